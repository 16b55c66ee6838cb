"""What docs/distributed.md shows works as it stands: on one process, and started by mpiexec."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from distributed.launching import ROOT, environment, mpiexec, run

PAGE = (ROOT / "docs" / "distributed.md").read_text()
PYTHON = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.S))
COMMANDS = re.findall(r"^\$ (.*)$", PAGE, re.M)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
def test_python_of_the_page_runs(ranks: int):
    job = mpiexec(ranks, "-c", PYTHON)
    assert job.returncode == 0, job.stderr


@pytest.mark.slow
def test_commands_of_the_page_succeed(tmp_path: Path):
    (tmp_path / "build").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert len(COMMANDS) == 5
    programs = {"tfc": [sys.executable, "-m", "tfc"], "python": [sys.executable]}
    for line in COMMANDS:
        launcher, option, ranks, program, *words = shlex.split(line)
        assert (launcher, option) == ("mpiexec", "-n")
        job = run(int(ranks), [*programs[program], *words], environment(), 60, tmp_path)
        assert job.returncode == 0, f"{line}\n{job.stderr}"
    assert "goes on at step 10" in job.stdout


def test_the_sentences_of_the_page_are_those_that_are_said():
    """What stands in the table is in the code that says it, word by word."""
    code = "".join(p.read_text() for p in (ROOT / "tfc/runtime/engines/mpi").glob("*.py"))
    for words in (
        "was killed or crashed", "while rank", "ended without the", "has waited for",
        "that is not rank 0's", "where rank", "of another host, has not come, or cannot be reached",
        "after {self._row[DONE]} collectives",
    ):  # fmt: skip
        assert words in code
        plain = re.sub(r"\{.*?\}", "4", words)
        assert plain in PAGE, words
