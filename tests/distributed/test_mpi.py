"""Collectives over MPI: values are those of threads, which other tests compare with NumPy."""

import re

import pytest
from distributed.launching import HERE, mpiexec


def ranks_that_agree(text: str) -> list[int]:
    return sorted(int(n) for n in re.findall(r"rank (\d): \d+ programs agree", text))


def test_reductions_and_movement_of_two_processes():
    """f32 is reduced by MPI itself, bf16 in the order of ranks."""
    job = mpiexec(2, HERE / "mpi_collectives.py", "f32", "bf16")
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1]), job.stderr


@pytest.mark.slow
def test_every_element_type_on_four_processes():
    job = mpiexec(4, HERE / "mpi_collectives.py", seconds=200)
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1, 2, 3]), job.stderr
