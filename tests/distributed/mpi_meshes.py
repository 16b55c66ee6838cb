"""Run by mpiexec: functions of whole arrays on a mesh of all ranks, beside NumPy."""

from functools import partial

import numpy as np

import tfc
from tfc.sharding import Mesh, P, psum, shard_map

tfc.distributed.initialize()
RANK, SIZE = tfc.distributed.process_index(), tfc.distributed.process_count()
MESH = Mesh((SIZE,), ("i",))


def matmul(a, b):
    return psum(a @ b, "i")


def main() -> None:
    """A product cut along what it sums over, a result that stays cut, and a gradient."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(4 * SIZE, 4 * SIZE)).astype(np.float32) for _ in range(2))
    product = shard_map(matmul, MESH, (P(None, "i"), P("i")), P())
    np.testing.assert_allclose(tfc.jit(product)(a, b), a @ b, 1e-4, 1e-4)
    divided = tfc.jit(
        lambda x, y: x @ y, mesh=MESH, in_shardings=(P("i"), P()), out_shardings=P("i")
    )
    np.testing.assert_allclose(divided(a, b), a @ b, 1e-4, 1e-4)
    odd = a[: SIZE + 1]  # rows that the ranks do not divide
    np.testing.assert_allclose(divided(odd, b), odd @ b, 1e-4, 1e-4)
    slope = tfc.jit(tfc.grad(lambda x: product(x, b).sum()))(a)
    np.testing.assert_allclose(slope, np.broadcast_to(b.sum(1), a.shape), 1e-4, 1e-4)
    doubled = shard_map(partial(np.multiply, 2), MESH, P("i"), P("i"))
    np.testing.assert_array_equal(tfc.jit(doubled)(a), 2 * a)
    job = tfc.distributed.all_reduce(np.float32(1))  # every rank came so far
    print(f"rank {RANK}: 4 programs agree, {job:g} ranks\n", end="", flush=True)


main()
