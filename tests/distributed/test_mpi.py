"""Collectives over MPI: values are those of threads, which other tests compare with NumPy."""

import re

import pytest
from distributed.launching import HERE, mpiexec


def ranks_that_agree(text: str) -> list[int]:
    return sorted(int(n) for n in re.findall(r"rank (\d): \d+ programs agree", text))


def test_programs_of_bytes_that_mpi_cannot_reduce():
    job = mpiexec(2, HERE / "mpi_collectives.py", 6, "bf16")
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1]), job.stderr


@pytest.mark.slow
def test_every_element_type_on_two_processes():
    job = mpiexec(2, HERE / "mpi_collectives.py", 1, seconds=200)
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1]), job.stderr


@pytest.mark.parametrize("order", ["begun", "reversed"])
def test_collectives_of_every_kind_and_type_are_under_way_together(order: str):
    job = mpiexec(2, HERE / "mpi_begun.py", order)
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1]), job.stderr


def test_collectives_of_a_program_are_begun_and_waited_for_apart():
    job = mpiexec(2, HERE / "mpi_overlap.py")
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1]), job.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_arrays_without_elements_or_dimensions_and_every_kind_of_type(ranks: int):
    job = mpiexec(ranks, HERE / "mpi_edges.py")
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, list(range(ranks))), job.stderr


@pytest.mark.slow
def test_groups_among_four_processes():
    job = mpiexec(4, HERE / "mpi_collectives.py", 1, "f32", seconds=200)
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1, 2, 3]), job.stderr


@pytest.mark.slow
def test_functions_of_whole_arrays_on_a_mesh_of_processes():
    job = mpiexec(2, HERE / "mpi_meshes.py")
    assert (job.returncode, ranks_that_agree(job.stdout)) == (0, [0, 1]), job.stderr


@pytest.mark.slow
def test_a_module_for_two_devices_is_run_by_mpiexec_and_by_threads():
    """Each device adds its number to 0, 1, 2, 3; both print the sum, and what the other has."""
    file = HERE.parents[1] / "examples" / "all_reduce.hlo"
    job = mpiexec(2, "-m", "tfc", "run", file)
    alone = mpiexec(1, "-m", "tfc", "run", file)
    total, before = "[1. 3. 5. 7.]", ("[1. 2. 3. 4.]", "[0. 1. 2. 3.]")
    for title, run in (("rank", job), ("device", alone)):
        lines = [x for x in run.stdout.splitlines() if "[" in x and "f32" not in x]
        assert lines == [f"{title} {d}: {v}" for d in (0, 1) for v in (total, before[d])], (
            run.stderr
        )
    refused = mpiexec(3, "-m", "tfc", "run", file)
    assert "runs on 2 devices, and mpiexec started 3 processes" in refused.stderr


@pytest.mark.slow
def test_collectives_are_measured_beside_mpi4py():
    job = mpiexec(2, "-m", "tfc", "bench-collectives", "--bytes", 64)
    rows = re.findall(r"^([a-z-]+) +64 +[\d.]+ +[\d.]+ +[\d.]+$", job.stdout, re.MULTILINE)
    kinds = ["all-reduce", "all-to-all", "collective-permute", "collective-broadcast"]
    assert rows == [*kinds, "all-gather", "reduce-scatter"], job.stderr
