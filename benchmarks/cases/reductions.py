"""Reductions, and what moves elements without computing: transposes and permutations."""

import math
from typing import Any

from benchmarks.case import Case, Statement, Torch, normal, shared, traffic

_SIZE = 4096
_READ = traffic(4 * _SIZE**2, "read")
_AIMS = {"best": 1.0, "share": 0.85}


def _reduction(name: str, function: Statement, torch: Statement, tolerance: float = 1e-4) -> Case:
    return Case(
        "reductions of 4096²", name, shared(function), normal((_SIZE, _SIZE)), normal((9, 37)),
        numpy=function, torch=Torch(torch), work=_READ, tolerance=tolerance, aims=_AIMS,
    )  # fmt: skip


def _transposed(xp: Any, x: Any) -> Any:
    return x.T + xp.float32(1)


def _permutation(order: tuple[int, ...]) -> Case:
    dims = (32, 64, 64, 64)

    def permuted(np: Any, x: Any) -> Any:
        return np.ascontiguousarray(np.transpose(x, order))

    return Case(
        "movement", f"permutation {order} of {'×'.join(map(str, dims))}",
        lambda jax, x: jax.numpy.transpose(x, order), normal(dims), normal((3, 5, 7, 9)),
        numpy=permuted, torch=Torch(lambda torch, x: x.permute(order).contiguous()),
        work=traffic(8 * math.prod(dims)), tolerance=0, aims={"best": 1.0, "share": 0.6},
    )  # fmt: skip


CASES = [
    # Added one after another in f32, so many numbers have lost the last three digits.
    _reduction("sum of all", lambda xp, x: xp.sum(x), lambda torch, x: torch.sum(x), 1e-3),
    _reduction(
        "sums of rows", lambda xp, x: xp.sum(x, axis=1), lambda torch, x: torch.sum(x, dim=1)
    ),
    _reduction(
        "sums of columns", lambda xp, x: xp.sum(x, axis=0), lambda torch, x: torch.sum(x, dim=0)
    ),
    _reduction(
        "argmax of rows", lambda xp, x: xp.argmax(x, axis=1), lambda torch, x: torch.argmax(x, 1), 0
    ),
    _reduction(
        "variance of rows",
        lambda xp, x: xp.var(x, axis=1),
        lambda torch, x: torch.var(x, dim=1, correction=0),
    ),
    Case(
        "movement", "transpose + 1, 4096²", shared(_transposed), normal((_SIZE, _SIZE)),
        normal((9, 37)), numpy=_transposed,
        torch=Torch(lambda torch, x: (x.t() + 1).contiguous()), work=traffic(8 * _SIZE**2),
        aims={"best": 1.0, "share": 0.6},
    ),
    *map(_permutation, ((0, 2, 3, 1), (0, 2, 1, 3), (3, 2, 1, 0))),
]  # fmt: skip
