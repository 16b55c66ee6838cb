"""Jobs on two hosts, which namespaces make of one machine: values, progress, and how they end."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from distributed.hosts import NAMES, Hosts, can_be_made
from distributed.launching import HERE
from distributed.test_mpi import ranks_that_agree

pytestmark = pytest.mark.skipif(not can_be_made(), reason="namespaces need root, and `ip`")
EXAMPLES = HERE.parents[1] / "examples"
RANKS = [(1, 1), (2, 2)]
SOON = 60.0  # seconds in which a job and all its processes must have ended
WAITS = {"TFC_COLLECTIVES_TIMEOUT": "3"}


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with Hosts(tmp_path) as made:
        yield made


def ended(
    hosts: Hosts, job: subprocess.Popen[str], names: Sequence[str] = NAMES
) -> tuple[str, str]:
    """What a job printed, once nothing of it is left on the hosts."""
    printed = job.communicate(timeout=200)
    until = time.monotonic() + SOON
    while any(map(hosts.processes, names)):
        assert time.monotonic() < until, list(map(hosts.processes, names))
        time.sleep(0.1)
    return printed


def started(hosts: Hosts, ranks: Sequence[int]) -> subprocess.Popen[str]:
    """A job whose ranks have all begun to sum, and go on."""
    job = hosts.start(ranks, HERE / "failing.py", "elsewhere", **WAITS)
    assert job.stdout is not None
    text = ""
    while text.count("began to wait") < sum(ranks):
        line = job.stdout.readline()
        assert line, "the job ended"
        text += line
    return job


def ranks_of(hosts: Hosts, name: str) -> list[int]:
    """The processes of a host that are ranks of the job."""
    found = hosts.processes(name)
    return sorted(n for n, c in found.items() if "failing.py" in c and "python" in c.split()[0])


def said(error: str) -> str:
    """The one sentence of tfc's on what ended a job."""
    found = re.findall(r"^tfc: (.*); the job ends$", error, re.MULTILINE)
    assert len(found) == 1, error
    return found[0]


def test_what_is_begun_ends_while_its_process_works(hosts: Hosts):
    printed, error = ended(hosts, hosts.start((1, 1), HERE / "mpi_progress.py", hosts.folder))
    assert ranks_that_agree(printed) == [0, 1], error


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
def test_what_is_begun_over_a_slow_cable_ends_while_its_process_works(
    hosts: Hosts, ranks: Sequence[int]
):
    if not hosts.slow_down(200):
        pytest.skip("the kernel cannot slow a network down")
    printed, error = ended(hosts, hosts.start(ranks, HERE / "mpi_progress.py", hosts.folder))
    assert ranks_that_agree(printed) == list(range(sum(ranks))), error


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(
    "words",
    [
        ("mpi_collectives.py", 3),  # of every kind, and send and recv
        ("mpi_begun.py", "begun"),
        ("mpi_begun.py", "reversed"),
        ("mpi_overlap.py",),
        ("mpi_meshes.py",),
    ],
)
def test_values_are_those_of_threads(hosts: Hosts, ranks: Sequence[int], words: Sequence[object]):
    program, *rest = words
    printed, error = ended(hosts, hosts.start(ranks, HERE / str(program), *rest))
    assert ranks_that_agree(printed) == list(range(sum(ranks))), error


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
def test_training_gives_what_one_process_gives(hosts: Hosts, ranks: Sequence[int]):
    words = (EXAMPLES / "data_parallel.py", "--check", "--steps", 10)
    printed, error = ended(hosts, hosts.start(ranks, *words))
    assert "losses and weights are those of one process, of 10 steps" in printed, error


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("killed", r"rank N was killed or crashed outside of collectives, after 4 of them"),
        ("raised", r"rank N raised KeyError after 4 collectives"),
        ("stalled", r"has waited for 3 s in all-reduce 'total': rank (N is outside|N, of another)"),
        ("ended", r"rank N ended without the all-re|rank 0 has waited for 3 s in .*: rank N, of"),
        ("program", r"rank [01] raised TfcError"),
        ("order", r"rank [01] raised TfcError"),
    ],
)
def test_the_first_rank_of_the_second_host_fails(
    hosts: Hosts, ranks: Sequence[int], fault: str, sentence: str
):
    check = {"TFC_CHECK_COLLECTIVES": "1"} if fault == "order" else {}
    job = hosts.start(ranks, HERE / "failing.py", fault, ranks[0], **WAITS, **check)
    printed, error = ended(hosts, job)
    assert job.returncode != 0
    assert "went on" not in printed
    assert re.search(sentence.replace("N", str(ranks[0])), said(error)), error
    if fault == "program":
        assert f"rank {ranks[0]} runs a program 'another' that is not rank 0's, 'one'" in error
    if fault == "order":
        assert f"rank {ranks[0]} runs collective-permute 1 of float32[4]" in error


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", NAMES)
def test_a_process_is_killed(hosts: Hosts, ranks: Sequence[int], name: str):
    job = started(hosts, ranks)
    os.kill(ranks_of(hosts, name)[0], signal.SIGKILL)
    _, error = ended(hosts, job)
    assert job.returncode != 0
    assert re.match(r"rank \d was killed or crashed (in all-reduce 'total'|outside)", said(error))


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", NAMES)
def test_the_cable_is_pulled_out(hosts: Hosts, ranks: Sequence[int], name: str):
    """mpiexec hears only its own host then: that of the other one has nobody to tell it to."""
    job = started(hosts, ranks)
    hosts.cable(name, "down")
    _, error = ended(hosts, job)
    assert job.returncode != 0
    expected = r"rank [01] has waited for 3 s in all-reduce 'total': (rank 1, of|some of ranks)"
    assert re.match(expected, said(error)), error


@pytest.mark.slow
@pytest.mark.parametrize("ranks", RANKS)
def test_a_process_is_stopped(hosts: Hosts, ranks: Sequence[int]):
    """It is said to be stopped where another of its host waits, else not to have come."""
    job = started(hosts, ranks)
    os.kill(ranks_of(hosts, "second")[0], signal.SIGSTOP)
    _, error = ended(hosts, job)
    assert job.returncode != 0
    assert re.search(r"in all-reduce 'total'|outside of collectives", said(error)), error
    assert re.search(r"rank \d (is|has been) stopped|rank 1, of another host", said(error)), error


@pytest.mark.slow
def test_a_host_stands_still(hosts: Hosts):
    """The job ends although one host does not answer; there it ends when it goes on."""
    job = started(hosts, (1, 1))
    stopped = list(hosts.processes("second"))
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    _, error = ended(hosts, job, ["first"])
    assert job.returncode != 0
    assert "rank 0 has waited for 3 s in all-reduce 'total': rank 1, of another" in said(error)
    for process in stopped:
        os.kill(process, signal.SIGCONT)
    ended(hosts, job)
