"""A tensor-parallel transformer layer: heads and hidden units are divided among devices.

    python examples/tensor_parallel.py            2 and 4 partitions beside one device
    python examples/tensor_parallel.py --check    fails where values or gradients differ
    mpiexec -n 4 python examples/tensor_parallel.py --check     4 partitions, each a process

Written twice: by hand with shard_map, and as the plain function with shardings, of which the
compiler makes the same two all-reduces.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tfc
import tfc.numpy as tnp
from tfc.sharding import Mesh, P, psum, shard_map

BATCH, LENGTH, WIDTH, HEADS, HIDDEN = 2, 16, 32, 4, 64
HEAD = WIDTH // HEADS
# Along "model", weights are cut by heads and by hidden units.
SPECS = {
    "query": P(None, "model"), "key": P(None, "model"), "value": P(None, "model"),
    "out": P("model"), "up": P(None, "model"), "down": P("model"),
}  # fmt: skip


def weights(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random weights of one layer."""
    dims = {
        **dict.fromkeys(("query", "key", "value"), (WIDTH, HEADS, HEAD)),
        "out": (HEADS, HEAD, WIDTH), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH),
    }  # fmt: skip
    return {k: (rng.normal(size=d) / np.sqrt(WIDTH)).astype(np.float32) for k, d in dims.items()}


def normalized(x: Any) -> Any:
    """Layer normalization along the last dimension."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / tnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def layer(w: dict[str, Any], x: Any, combine: Any = lambda part: part) -> Any:
    """Attention and two dense layers, each added to its input; `combine` sums devices' parts."""
    y = normalized(x)
    q, k, v = (tnp.einsum("blw,whd->bhld", y, w[name]) for name in ("query", "key", "value"))
    scores = tfc.nn.softmax(tnp.einsum("bhld,bhmd->bhlm", q, k) / np.float32(np.sqrt(HEAD)))
    mixed = tnp.einsum("bhlm,bhmd->bhld", scores, v)
    x = x + combine(tnp.einsum("bhld,hdw->blw", mixed, w["out"]))
    return x + combine(tnp.tanh(normalized(x) @ w["up"]) @ w["down"])


def loss(run: Any, w: dict[str, Any], x: Any) -> Any:
    """A scalar of a layer's output."""
    return (run(w, x) ** 2).mean()


def forms(devices: int) -> dict[str, Callable[..., Any]]:
    """The layer on so many devices: by hand, and automatically."""
    mesh = Mesh((devices,), ("model",))
    by_hand = shard_map(
        partial(layer, combine=lambda part: psum(part, "model")), mesh, (SPECS, P()), P()
    )
    return {
        "shard_map": by_hand,
        "shardings": tfc.jit(layer, mesh=mesh, in_shardings=(SPECS, P()), out_shardings=P()),
    }


def main() -> int:
    tfc.distributed.initialize()
    processes = tfc.distributed.process_count()
    rng = np.random.default_rng(0)
    w, x = weights(rng), rng.normal(size=(BATCH, LENGTH, WIDTH)).astype(np.float32)
    value = tfc.jit(layer)(w, x)
    gradient = tfc.jit(tfc.grad(partial(loss, layer)))(w, x)
    worst = 0.0
    for devices in (2, 4) if processes == 1 else (processes,):
        for name, run in forms(devices).items():
            compiled = tfc.jit(run).lower(w, x).compile()
            text = compiled.as_text()
            got = compiled(w, x)
            slopes = tfc.jit(tfc.grad(partial(loss, run)))(w, x)
            off = float(np.abs(got - value).max())
            slope = max(float(np.abs(slopes[k] - gradient[k]).max()) for k in w)
            worst = max(worst, off, slope)
            if tfc.distributed.process_index():
                continue
            print(
                f"{devices} devices, {name:9}: {text.count(' all-reduce(')} all-reduces, "
                f"{text.count(' all-gather(')} all-gathers; output differs by {off:.1e}, "
                f"gradients by {slope:.1e}"
            )
    return int("--check" in sys.argv and worst > 1e-5)


if __name__ == "__main__":
    sys.exit(main())
