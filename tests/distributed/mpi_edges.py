"""Run by mpiexec: collectives on arrays without elements or dimensions, of all kinds of types.

Prints "rank R: N programs agree" where both ways of running one give what NumPy makes of all
operands, and what MPI does by itself needs no Python from the second time on.
"""

import ml_dtypes
import numpy as np

import tfc
from tfc.runtime import replicas
from tfc.runtime.collectives import Collective, Reduction, Run, results_of

tfc.distributed.initialize()
WORLD = replicas.world()
assert WORLD is not None
RANK, SIZE = WORLD.rank, WORLD.size
GROUP = tuple(range(SIZE))
RING = tuple((r, (r + 1) % SIZE) for r in GROUP)
SOME = ((0, SIZE - 1),)  # a permutation in which most have no part
DTYPES = [
    np.float32, np.complex64, np.complex128, np.int8, np.uint16, np.float16, np.bool_,
    ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4,
]  # fmt: skip
SHAPES = [(), (0,), (SIZE, 0), (0, SIZE), (SIZE, 1), (2 * SIZE, 3, SIZE)]


def collectives(dtype: np.dtype, dims: tuple[int, ...]) -> list[Collective]:
    """Those that arrays of these dimensions can have."""
    add = Reduction("or", np.logical_or) if dtype == np.bool_ else Reduction("add", np.add)
    last = Reduction("", lambda _, y: y)  # a function that depends on the order
    found = [
        Collective("all-reduce", "sum", GROUP, RANK, reduction=add),
        Collective("all-reduce", "last", GROUP, RANK, reduction=last),
        Collective("collective-permute", "ring", GROUP, RANK, pairs=RING),
        Collective("collective-permute", "some", GROUP, RANK, pairs=SOME),
        Collective("collective-broadcast", "broadcast", GROUP, RANK),
    ]
    for along, count in enumerate(dims):
        found.append(Collective("all-gather", f"gather {along}", GROUP, RANK, along))
        if count % SIZE == 0:
            found.append(Collective("all-to-all", f"exchange {along}", GROUP, RANK, along))
            found += [
                Collective("reduce-scatter", f"scatter {along}", GROUP, RANK, along, how)
                for how in (add, last)
            ]
    return found


def given_by(device: int, dims: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros and ones, of which sums are exact in every type."""
    values = np.random.default_rng(device).integers(0, 2, dims)
    return np.asarray(values).astype(dtype)


X = np.ones((2 * SIZE, 3), np.float32)
for each in collectives(X.dtype, X.shape):
    outcome = [np.empty(r.shape, X.dtype) for r in results_of(each, [[X]] * SIZE)]
    # MPI does not add along another dimension than the first, nor fill with zeros, nor know `last`.
    is_python = each.what in ("some", "last") or (
        each.reduction is not None and (each.reduction.name != "add" or each.dimension == 1)
    )
    assert isinstance(WORLD.engine.bind(each, [X], outcome), Run) != is_python, each

agreed = 0
for dims in SHAPES:
    for dtype in map(np.dtype, DTYPES):
        everybody = [[given_by(d, dims, dtype)] for d in GROUP]
        for collective in collectives(dtype, dims):
            expected = [np.asarray(e).astype(dtype) for e in results_of(collective, everybody)]
            results = [np.ones(e.shape, dtype) for e in expected]
            for way in ("bound", "begun"):
                for result in results:
                    result[...] = 1
                prepare = WORLD.engine.bind if way == "bound" else WORLD.engine.begin
                prepare(collective, everybody[RANK], results)()
                for got, wanted in zip(results, expected, strict=True):
                    assert got.tobytes() == wanted.tobytes(), (way, collective, dims, dtype)
            agreed += 1
print(f"rank {RANK}: {agreed} programs agree\n", end="", flush=True)
