"""Run by mpiexec: collectives of every kind are begun together, then finished one by one.

Argument: "begun" or "reversed", the order in which they are finished.

Prints "rank R: N programs agree" where all values are those that NumPy makes of all operands.
"""

import sys

import ml_dtypes
import numpy as np

import tfc
from tfc.runtime import replicas
from tfc.runtime.collectives import Collective, Reduction, results_of

tfc.distributed.initialize()
WORLD = replicas.world()
assert WORLD is not None
RANK, SIZE = WORLD.rank, WORLD.size
GROUP = tuple(range(SIZE))
ADD, EITHER = Reduction("add", np.add), Reduction("or", np.logical_or)
DTYPES = [
    np.float32, np.float64, np.complex64, np.int8, np.int32, np.uint8, np.uint64, np.float16,
    ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.bool_,
]  # fmt: skip
SHAPES = [(8, 12), (64, 512)]  # what is gathered by every rank, and what is reduced by parts
RING = tuple((r, (r + 1) % SIZE) for r in GROUP)


def collectives(dtype: np.dtype, own: int) -> list[Collective]:
    """Every kind of collective, as the device at a position sees it."""
    how = EITHER if dtype == np.bool_ else ADD
    return [
        Collective("all-reduce", "reduce", GROUP, own, reduction=how),
        Collective("reduce-scatter", "scatter", GROUP, own, 0, how),
        Collective("reduce-scatter", "scatter along 1", GROUP, own, 1, how),
        Collective("all-gather", "gather", GROUP, own, 1),
        Collective("all-to-all", "exchange", GROUP, own, 0),
        Collective("collective-permute", "permute", GROUP, own, pairs=RING),
        Collective("collective-broadcast", "broadcast", GROUP, own),
    ]


def given_by(device: int, dims: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Small integers, so that sums of two are exact in every type, in any order."""
    values = np.random.default_rng(device).integers(0, 8 // SIZE + 1, dims)
    return values.astype(dtype)


agreed = 0
for dims in SHAPES:
    for dtype in map(np.dtype, DTYPES):
        everybody = [[given_by(d, dims, dtype)] for d in GROUP]
        waiting = []
        for collective in collectives(dtype, RANK):
            expected = results_of(collective, everybody)
            # Of one order of dimensions, and of two, which are copied.
            for order in ("C", "F"):
                operand = np.array(everybody[RANK][0], order="C")
                results = [np.zeros(e.shape, dtype, order=order) for e in expected]
                finish = WORLD.engine.begin(collective, [operand], results)
                waiting.append((collective, operand, results, expected, finish))
        _ = np.ones((64, 64)) @ np.ones((64, 64))  # something to do meanwhile
        if sys.argv[1] == "reversed":
            waiting.reverse()
        for collective, _, results, expected, finish in waiting:
            finish()
            for got, wanted in zip(results, expected, strict=True):
                same = np.ascontiguousarray(got).tobytes() == wanted.astype(dtype).tobytes()
                assert same, (collective, dtype, dims)
            agreed += 1
print(f"rank {RANK}: {agreed} programs agree", flush=True)
