"""What `tfc simulate` says beside what is measured, and what it says of more devices.

    TFC_THREADS=1 python -m benchmarks.simulation measured     at 1, 2 and 4 ranks, as Markdown
    python -m benchmarks.simulation scaling     8 to 1024 devices of a table that tfc ships

The programs are a step of training with the batch cut among devices (data), and a transformer
layer whose heads and hidden units are (tensor). Ranks are processes joined by MPI, and threads,
with one thread each. Times are the best of some runs.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tfc
import tfc.numpy as tnp
from tfc.hlo.ir import Module
from tfc.sharding import Mesh, P
from tfc.tools.simulation import Assumptions, parse_mesh, read_speeds, simulate
from tfc.tools.simulation.measuring import measured_table

_ROUNDS = 40
_LAUNCHER = str(Path(sys.executable).with_name("mpiexec"))


def data_step(devices: int, batch: int, width: int, layers: int = 4) -> Module:
    """A step of gradient descent of dense layers, the batch cut along "data"."""
    mesh = Mesh((devices,), ("data",))

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = tnp.tanh(x @ w)
        return (x * x).mean()

    def step(weights: Any, x: Any) -> Any:
        slopes = tfc.grad(loss)(weights, x)
        return [w - 0.1 * s for w, s in zip(weights, slopes)]

    weights = [_zeros(width, width) for _ in range(layers)]
    run = tfc.jit(step, mesh=mesh, in_shardings=(P(), P("data")), out_shardings=P())
    return run.lower(weights, _zeros(batch, width)).hlo


def layer(
    data: int, model: int, batch: int, length: int, width: int, heads: int, trains: bool = False
) -> Module:
    """A transformer layer: the batch along "data", heads and hidden units along "model".

    Args:
        trains: make a step of gradient descent of it, not its output.
    """
    mesh = Mesh((data, model), ("data", "model"))
    head = width // heads

    def normalized(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / tnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)

    def run(w: dict[str, Any], x: Any) -> Any:
        y = normalized(x)
        q, k, v = (tnp.einsum("blw,whd->bhld", y, w[name]) for name in ("q", "k", "v"))
        scores = tnp.einsum("bhld,bhmd->bhlm", q, k) / np.float32(np.sqrt(head))
        mixed = tnp.einsum("bhlm,bhmd->bhld", tfc.nn.softmax(scores), v)
        x = x + tnp.einsum("bhld,hdw->blw", mixed, w["out"])
        return x + tnp.tanh(normalized(x) @ w["up"]) @ w["down"]

    weights = {
        **{name: _zeros(width, heads, head) for name in "qkv"},
        "out": _zeros(heads, head, width),
        "up": _zeros(width, 4 * width),
        "down": _zeros(4 * width, width),
    }
    cut = {
        **{name: P(None, "model") for name in "qkv"},
        "out": P("model"), "up": P(None, "model"), "down": P("model"),
    }  # fmt: skip

    def step(w: dict[str, Any], x: Any) -> Any:
        slopes = tfc.grad(lambda w: (run(w, x) ** 2).mean())(w)
        return {name: w[name] - 0.1 * slopes[name] for name in w}

    made = tfc.jit(
        step if trains else run,
        mesh=mesh,
        in_shardings=(cut, P("data")),
        out_shardings=cut if trains else P("data"),
    )
    return made.lower(weights, _zeros(batch, length, width)).hlo


def _zeros(*dims: int) -> Any:
    return np.broadcast_to(np.float32(0), dims)


# --- Measured -----------------------------------------------------------------------------------

PROGRAMS: dict[str, Callable[[int], Module]] = {
    "data, 256 rows a device": lambda n: data_step(n, 256 * n, 256),
    "data, 1024 rows in all": lambda n: data_step(n, 1024, 512),
    "tensor, width 256": lambda n: layer(1, n, 2, 128, 256, 8),
    "tensor, width 512": lambda n: layer(1, n, 4, 256, 512, 8),
}


def work(path: str) -> None:
    """Run as one rank: time a module on the arguments of this device; the first prints seconds."""
    tfc.distributed.initialize()
    executable = tfc.compile(tfc.hlo.parse(Path(path).read_text()))
    given = _arguments(executable)
    found = []
    for _ in range(_ROUNDS + 1):
        tfc.distributed.barrier()
        begin = time.perf_counter()
        executable(*given)
        tfc.distributed.barrier()
        found.append(time.perf_counter() - begin)
    if tfc.distributed.process_index() == 0:
        print(min(found[1:]))


def _arguments(executable: Any) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.random(s.dims, np.float32) - 0.5 for s in executable.parameter_shapes]


def by_processes(module: Module, ranks: int) -> float:
    """Seconds of a run by so many processes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.hlo"
        path.write_text(str(module))
        words = [sys.executable, "-m", "benchmarks.simulation", "work", str(path)]
        words = [_LAUNCHER, "-n", str(ranks), *words] if ranks > 1 else words
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    return float(done.stdout.split()[-1])


def by_threads(module: Module, ranks: int) -> float:
    """Seconds of a run by so many threads of this process."""
    executable = tfc.compile(module)
    given = [_arguments(executable)] * ranks
    found = []
    for _ in range(_ROUNDS + 1):
        begin = time.perf_counter()
        executable.run_replicas(given)
        found.append(time.perf_counter() - begin)
    return min(found[1:])


def tables(folder: Path) -> Iterator[tuple[str, str, Callable[[Module, int], float]]]:
    """(how ranks run, the table of speeds measured for that, what measures a program)."""
    figures = folder / "collectives.json"
    subprocess.run(
        [_LAUNCHER, "-n", "2", sys.executable, "-m", "tfc", "bench-collectives",
         "--bytes", "1024", "--bytes", str(1 << 20), "--json", str(figures)],
        capture_output=True, check=True, timeout=300,
    )  # fmt: skip
    for name, text, run in (
        ("processes", measured_table(str(figures)), by_processes),
        ("threads", measured_table(), by_threads),
    ):
        path = folder / f"{name}.toml"
        path.write_text(text)
        yield name, str(path), run


def measured() -> Iterator[str]:
    """The rows of the table of measured and predicted times."""
    yield "| program | ranks | by | measured ms | predicted ms | predicted / measured |"
    yield "|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        for by, path, run in tables(Path(folder)):
            speeds = read_speeds(path)
            for name, make in PROGRAMS.items():
                for ranks in (1, 2, 4):
                    module = make(ranks)
                    took = run(module, ranks)
                    said = simulate(module, parse_mesh(f"d={ranks}"), speeds).seconds
                    yield (
                        f"| {name} | {ranks} | {by} | {took * 1e3:.3f} | {said * 1e3:.3f} | "
                        f"{said / took:.2f} |"
                    )


# --- Scaling ------------------------------------------------------------------------------------


def scaling(machine: str = "h100") -> Iterator[str]:
    """The rows of the tables for 8 to 1024 devices."""
    speeds = read_speeds(machine)
    yield "| program | devices | ms | not hidden | GB over the network a device | efficiency |"
    yield "|---|---|---|---|---|---|"
    rows: dict[str, Callable[[int], tuple[str, Module]]] = {
        "data, weak: 4096 rows a device": lambda n: (f"data={n}", data_step(n, 4096 * n, 4096)),
        "data, strong: 65536 rows in all": lambda n: (f"data={n}", data_step(n, 65536, 4096)),
        "layer, weak: 4096 tokens for 8": lambda n: (
            f"data={n // 8},model=8", layer(n // 8, 8, n // 4, 2048, 4096, 32, trains=True)),
        "layer, strong: 256 × 2048 tokens": lambda n: (
            f"data={n // 8},model=8", layer(n // 8, 8, 256, 2048, 4096, 32, trains=True)),
    }  # fmt: skip
    for name, make in rows.items():
        first = 0.0
        for devices in (8, 64, 256, 1024):
            mesh, module = make(devices)
            found = simulate(module, parse_mesh(mesh), speeds, Assumptions("gpu"))
            first = first or found.seconds
            ideal = first * 8 / devices if "strong" in name else first
            sent = sum(found.link_bytes().values()) / devices
            yield (
                f"| {name} | {devices} | {found.seconds * 1e3:.3f} | "
                f"{found.exposed_seconds / found.seconds:.0%} | {sent / 1e9:.3f} | "
                f"{ideal / found.seconds:.0%} |"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(sys.argv[2])
    elif sys.argv[1:2] in (["measured"], ["scaling"]):
        for line in measured() if sys.argv[1] == "measured" else scaling(*sys.argv[2:]):
            print(line, flush=True)
    else:
        sys.exit(__doc__)
