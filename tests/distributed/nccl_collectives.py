"""Run by mpiexec: every N-th collective of MPI's test by GPU programs that are interpreted.

Arguments: N, then the element types; all of them if left out.

The binding of NCCL is a stand-in. Each program runs three times, as steps, recorded as a graph and
as the graph again, and its values are those of the host's threads. Prints "rank R: N programs
agree" where they are, and no collective went through the host.
"""

import sys

import numpy as np
from mpi4py import MPI
from mpi_collectives import ALL, DTYPES, EXACT, GLOBAL, RANK, arguments, bodies, module_of
from nccl_stand_in import installed

import tfc
from tfc.backends.gpu.driver import using
from tfc.runtime.engines.mpi import engine
from tfc.testing.ptx.driver import InterpretedDriver


def refused(*_: object) -> None:
    raise AssertionError("a collective of a GPU program went through the host")


def check(kind: str, body: str, dims: tuple[int, ...]) -> None:
    """Run three times on the GPU, and once on threads of the host."""
    module, given = module_of(kind, body, dims), arguments(kind, dims)
    expected = tfc.compile(module, "cpu").run_replicas([[a] for a in given])[RANK]
    executable = tfc.compile(module, "gpu")
    made = [[np.asarray(r) for r in executable(given[RANK])] for _ in range(3)]
    for results in made[1:]:
        assert [r.tobytes() for r in results] == [r.tobytes() for r in made[0]], (kind, body)
    for got, value in zip(made[0], expected, strict=True):
        assert got.dtype == value.dtype
        assert got.shape == value.shape
        if kind in EXACT - {"f16", "bf16"}:
            plain = [np.where(v != v, np.zeros_like(v), v) for v in (got, value)]
            assert plain[0].tobytes() == plain[1].tobytes(), (kind, body, got, value)
        # Sums and products of f16 and bf16 are rounded after each step, in an order of NCCL's.
        wide = [v.astype(np.complex128) for v in (got, value)]
        tolerance = 0.1 if kind in ("f16", "bf16") else 1e-5
        np.testing.assert_allclose(wide[0], wide[1], tolerance, tolerance, err_msg=f"{kind} {body}")
        np.testing.assert_array_equal(np.isnan(wide[0]), np.isnan(wide[1]))
    if f"all-reduce(p), {GLOBAL}{ALL}" in body:
        bits = MPI.COMM_WORLD.allgather([r.tobytes() for r in made[0]])
        assert all(b == bits[0] for b in bits), (kind, body)


def main(every: int, *kinds: str) -> None:
    """Check the programs."""
    engine.MpiEngine.bind = engine.MpiEngine.begin = refused  # type: ignore[method-assign]
    with using(InterpretedDriver()) as driver:
        fake = installed(driver)  # type: ignore[arg-type]
        programs = [(kind, *body) for kind in kinds or DTYPES for body in bodies(kind)][::every]
        for kind, body, dims in programs:
            check(kind, body, dims)
        assert len(fake.calls) >= 3 * len(programs)
    print(f"rank {RANK}: {len(programs)} programs agree\n", end="", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
