"""Measure programs for GPUs beside PyTorch, JAX and Triton, in one process and in turns.

    python benchmarks/gpu.py --build build/gpu      compile the cases to bundles; needs no GPU
    python benchmarks/gpu.py --bundles build/gpu    measure them; needs no compiler, and of tfc
                                                    nothing but what was built
    python benchmarks/gpu.py                        both, on a machine that has both

Results are written after each case, so a run that is cut off leaves what it has. The clock is the
host's, around as many calls as fill some hundredths of a second and the wait for the last.
"""

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    # The folder that holds the package takes the place of the one that holds this file.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

from benchmarks.gpu_cases import CASES, GpuCase
from benchmarks.gpu_page import page, row_text

_SAMPLE = 0.02  # seconds of calls in a sample, about
_ROUNDS = 5
_MOST_CALLS = 2000
_COPIED = 1 << 29  # bytes


@dataclass
class Contender:
    """A library with a case ready to run: `call` asks for a run, `wait` waits for all of them."""

    call: Callable[[], Any]
    wait: Callable[[], Any]
    result: Callable[[], list[np.ndarray]]


# --- Building -------------------------------------------------------------------------------------


def build(folder: Path, cases: Sequence[GpuCase], architectures: Sequence[str], small: bool) -> int:
    """Compile cases to bundles; gives how many could not be, each with its reason."""
    failed = 0
    for case in cases:
        try:
            start = time.perf_counter()
            made = build_case(folder, case, architectures, small)
            print(f"{made} for {case.group}: {case.name}: {time.perf_counter() - start:.1f} s, "
                  f"{made.stat().st_size >> 10} KiB", flush=True)  # fmt: skip
        except Exception as error:
            failed += 1
            print(f"{case.group}: {case.name}: {type(error).__name__}: {error}", file=sys.stderr)
    return failed


def build_case(
    folder: Path, case: GpuCase, architectures: Sequence[str] = (), small: bool = False
) -> Path:
    """Compile a case to a bundle; its path."""
    tfc: Any = importlib.import_module("tfc")
    aot: Any = importlib.import_module("tfc.aot")
    path = folder / case.key
    with tfc.default_matmul_precision("tensorfloat32" if case.tf32 else None):
        if case.network is not None:
            text = _model(case, small).stablehlo()
            source, arguments = tfc.from_stablehlo(text).hlo, ()
        else:
            specs = case.small if small else case.specs
            arguments = [aot.ArgumentSpec(dims, _dtype(dtype)) for dtype, dims in specs]
            source = lambda *arrays: case.function(tfc, *arrays)  # noqa: E731
        made = aot.compile_gpu(source, *arguments, out=path, architectures=architectures)
    return made.bundle


def _model(case: GpuCase, small: bool) -> Any:
    assert case.network is not None
    name, sizes, few = case.network
    return importlib.import_module("benchmarks.models").MODELS[name](**(few if small else sizes))


def _dtype(name: str) -> np.dtype:
    if name not in ("bfloat16", "float8_e4m3fn"):
        return np.dtype(name)
    return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))


# --- Contenders -----------------------------------------------------------------------------------


def arguments_of(case: GpuCase, small: bool = False) -> list[np.ndarray]:
    """The arrays of a case, the same at each run."""
    if case.network is not None:
        return _model(case, small).leaves()
    specs = case.small if small else case.specs
    drawn = np.random.default_rng(0)
    block = drawn.standard_normal(1 << 20).astype(np.float32)
    most = specs[0][1][0] if specs[0][1] else 1

    def array(dtype: str, dims: tuple[int, ...]) -> np.ndarray:
        if dtype == "int32":
            return drawn.integers(0, most, dims).astype(np.int32)
        return np.resize(block, dims).astype(_dtype(dtype))

    return [array(dtype, dims) for dtype, dims in specs]


def of_tfc(case: GpuCase, arrays: Sequence[np.ndarray], bundles: Path) -> Contender:
    """A case's bundle, run by its loader alone; built before if it is not there."""
    bundle = bundles / f"{case.key}.gpu"
    if not bundle.exists():
        build_case(bundles, case)
    program = loader_beside(bundle).load(bundle)
    program.put(*arrays)

    def result() -> list[np.ndarray]:
        found = program.results()
        return found if isinstance(found, list) else [found]

    return Contender(program.run, program.wait, result)


def loader_beside(bundle: Path) -> Any:
    """The loader that was written with a bundle."""
    path = bundle.with_name(f"{bundle.stem}_gpu.py")
    spec = importlib.util.spec_from_file_location(f"loader_{len(sys.modules)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def of_jax(case: GpuCase, arrays: Sequence[np.ndarray], small: bool = False) -> Contender:
    """A case in JAX, with products of f32 as exact as tfc's; its own default permits tf32."""
    jax: Any = importlib.import_module("jax")
    precision = "default" if case.tf32 else "highest"
    jax.config.update("jax_default_matmul_precision", precision)
    function: Callable[..., Any] = lambda *a: case.function(jax, *a)  # noqa: E731
    arguments: Any = [jax.device_put(a) for a in arrays]
    if case.network is not None:
        model = _model(case, small)
        function = model.function
        arguments = jax.device_put(model.arguments)
    compiled = jax.jit(function)
    last: list[Any] = [compiled(*arguments)]

    def call() -> None:
        last[0] = compiled(*arguments)

    def result() -> list[np.ndarray]:
        return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(last[0])]

    return Contender(call, lambda: jax.block_until_ready(last[0]), result)


def of_torch(
    case: GpuCase, arrays: Sequence[np.ndarray], compiled: bool = False
) -> Contender | None:
    """A case in PyTorch, or by torch.compile; None where it is not stated there."""
    if case.torch is None:
        return None
    torch: Any = importlib.import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = case.tf32
    tensors = _tensors(torch, arrays)
    stated = case.torch
    function = (lambda *a: stated(torch, *a)) if not compiled else torch.compile(
        lambda *a: stated(torch, *a)
    )  # fmt: skip
    last: list[Any] = [None]

    def call() -> None:
        last[0] = function(*tensors)

    def result() -> list[np.ndarray]:
        found = last[0] if isinstance(last[0], (tuple, list)) else [last[0]]
        return [t.detach().float().cpu().numpy() for t in found]

    return Contender(call, torch.cuda.synchronize, result)


def _tensors(torch: Any, arrays: Sequence[np.ndarray]) -> list[Any]:
    kinds = {n: getattr(torch, n) for n in ("bfloat16", "float16", "float8_e4m3fn")}
    return [
        torch.tensor(np.asarray(a, np.float32)).to(kinds[str(a.dtype)]).cuda()
        if str(a.dtype) in kinds
        else torch.tensor(a).cuda()
        for a in arrays
    ]


def of_triton(case: GpuCase, arrays: Sequence[np.ndarray]) -> Contender | None:
    """A case as a kernel of gpu_triton.py; None where there is none."""
    if not case.triton:
        return None
    torch: Any = importlib.import_module("torch")
    function = getattr(importlib.import_module("benchmarks.gpu_triton"), case.triton)
    tensors = _tensors(torch, arrays)
    last: list[Any] = [None]

    def call() -> None:
        last[0] = function(*tensors)

    return Contender(call, torch.cuda.synchronize, lambda: [last[0].float().cpu().numpy()])


# --- Measuring ------------------------------------------------------------------------------------


def seconds_of(contenders: dict[str, Contender]) -> dict[str, float]:
    """The median seconds of a call of each, in turns."""
    counts = {name: _calls(contender) for name, contender in contenders.items()}
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(_ROUNDS):
        for name, contender in contenders.items():
            samples[name].append(_sample(contender, counts[name]) / counts[name])
    return {name: statistics.median(found) for name, found in samples.items()}


def _calls(contender: Contender) -> int:
    """How many calls fill a sample."""
    _sample(contender, 3)
    once = _sample(contender, 3) / 3
    return max(1, min(_MOST_CALLS, round(_SAMPLE / max(once, 1e-7))))


def _sample(contender: Contender, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        contender.call()
    contender.wait()
    return time.perf_counter() - start


def measure(
    case: GpuCase, peers: Sequence[str], bundles: Path, small: bool = False
) -> dict[str, Any]:
    """A row of results: seconds of each library, those from its data on the host to its first
    result (loading or compiling, copying, one call), what is wrong, and what each could not do."""
    arrays = arguments_of(case, small)
    makers: dict[str, Callable[[], Contender | None]] = {
        "tfc": lambda: of_tfc(case, arrays, bundles),
        "jax": lambda: of_jax(case, arrays, small),
        "torch": lambda: of_torch(case, arrays),
        "compiled": lambda: of_torch(case, arrays, True),
        "triton": lambda: of_triton(case, arrays),
    }
    ready: dict[str, Contender] = {}
    problems: dict[str, str] = {}
    first: dict[str, float] = {}
    for name in ("tfc", *peers):
        start = time.perf_counter()
        try:
            made = makers[name]()
            if made is None:
                continue
            made.call()
            made.wait()
            ready[name], first[name] = made, time.perf_counter() - start
        except Exception as error:
            problems[name] = f"{type(error).__name__}: {error}".split("\n")[0][:300]
    fault = _fault(case, ready)
    return {
        "group": case.group, "name": case.name, "flops": case.flops, "bytes": case.bytes,
        "seconds": seconds_of(ready), "first": first, "problems": problems, "fault": fault,
    }  # fmt: skip


def _fault(case: GpuCase, ready: dict[str, Contender]) -> str:
    """What is wrong with tfc's results beside those of the first peer; "" if nothing is."""
    others = [name for name in ready if name != "tfc"]
    if "tfc" not in ready or not others:
        return ""
    found, wanted = ready["tfc"].result(), ready[others[0]].result()
    for number, (got, want) in enumerate(zip(found, wanted)):
        got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
        if got.shape != want.shape:
            return f"result {number} has dimensions {got.shape}, {others[0]}'s {want.shape}"
        error, size = np.max(np.abs(got - want), initial=0), np.max(np.abs(want), initial=1e-30)
        if not error <= case.tolerance * size:
            return f"result {number} is off by {error:.3g} of {size:.3g} beside {others[0]}'s"
    return ""


def copy_rate(bundles: Path) -> float:
    """Bytes a second, read and written, when the driver copies half a gigabyte."""
    bundle = next(iter(sorted(bundles.glob("*.gpu"))))
    driver = loader_beside(bundle).open_driver()
    places = [driver.allocate(_COPIED) for _ in range(2)]

    def call() -> None:
        driver.copy(*places, _COPIED)

    contender = Contender(call, lambda: driver.wait(None), lambda: [])
    rate = 2 * _COPIED / seconds_of({"copy": contender})["copy"]
    for place in places:
        driver.free(place)
    return rate


# --- The command ----------------------------------------------------------------------------------


def why_no_gpu() -> str:
    """Why nothing can be measured here, as a sentence; "" if something can."""
    try:
        cuda: Any = importlib.import_module("cuda.bindings.driver")
        status, *_ = cuda.cuInit(0)
    except ImportError:
        return "there is no binding to NVIDIA's driver here: pip install cuda-bindings"
    except RuntimeError as error:
        return f"there is no GPU here, as NVIDIA's driver cannot be loaded: {error}"
    return f"there is no GPU here: the driver says {status}" if int(status) else ""


def run(options: argparse.Namespace, cases: Sequence[GpuCase]) -> int:
    """Measure cases until the time is over; 1 if a result of tfc's is wrong."""
    start, bundles = time.monotonic(), Path(options.bundles)
    bundles.mkdir(parents=True, exist_ok=True)
    if not list(bundles.glob("*.gpu")):
        build_case(bundles, cases[0])
    cuda: Any = importlib.import_module("cuda.bindings.driver")
    name = cuda.cuDeviceGetName(256, 0)[1].split(b"\0")[0].decode()
    results: dict[str, Any] = {"device": name, "copy": copy_rate(bundles), "rows": []}
    print(f"{name}: copies at {results['copy'] / 1e9:.0f} GB/s")
    for case in cases:
        if time.monotonic() - start > options.seconds:
            print(f"no time is left for {case.group}: {case.name} and what follows")
            break
        row = measure(case, options.peers.split(","), bundles, options.small)
        results["rows"].append(row)
        print(row_text(row, results["copy"]), flush=True)
        write_whole(Path(options.results), json.dumps(results, indent=1))
    if options.docs:
        write_whole(Path(options.docs), page(results))
    return 1 if any(row["fault"] for row in results["rows"]) else 0


def write_whole(path: Path, text: str) -> None:
    """Write a file, which appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/gpu.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--build", metavar="DIR", help="compile the cases there, and do not run")
    parser.add_argument("--bundles", metavar="DIR", default="build/gpu-benchmarks")
    parser.add_argument("--gpu-arch", default="", help="such as sm_90a; those of tfc compile")
    parser.add_argument("--peers", default="torch,jax,triton", help="and compiled")
    parser.add_argument("--only", default="", metavar="GROUP,…")
    parser.add_argument("--seconds", type=float, default=480.0, help="begin no case after these")
    parser.add_argument("--results", default="gpu-results.json", metavar="FILE")
    parser.add_argument("--docs", metavar="FILE", help="write a page of the results, too")
    parser.add_argument("--small", action="store_true", help="sizes for tests")
    options = parser.parse_args(arguments)
    groups = set(filter(None, options.only.split(",")))
    cases = [case for case in CASES if not groups or case.group in groups]
    if not cases:
        parser.error(f"there are the groups {', '.join(sorted({c.group for c in CASES}))}")
    if options.build:
        architectures = tuple(filter(None, options.gpu_arch.split(",")))
        return 1 if build(Path(options.build), cases, architectures, options.small) else 0
    reason = why_no_gpu()
    if reason:
        print(reason, file=sys.stderr)
        return 2
    return run(options, cases)


if __name__ == "__main__":
    sys.exit(main())
