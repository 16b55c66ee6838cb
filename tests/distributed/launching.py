"""Programs that tests start as jobs of several processes."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_LAUNCHER = str(Path(sys.executable).with_name("mpiexec"))


def command(ranks: int, *words: object) -> list[str]:
    """How mpiexec of this environment is called for Python with such arguments."""
    return [_LAUNCHER, "-n", str(ranks), sys.executable, *map(str, words)]


def environment(**variables: str) -> dict[str, str]:
    """This process's variables and others, for a process that imports this tree."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, **variables}


def mpiexec(
    ranks: int, *words: object, seconds: float = 60, **variables: str
) -> subprocess.CompletedProcess[str]:
    """What mpiexec gives for Python with such arguments.

    Raises:
        TimeoutExpired: it took longer.
    """
    return run(ranks, [sys.executable, *map(str, words)], environment(**variables), seconds)


def run(
    ranks: int,
    words: list[str],
    variables: dict[str, str],
    seconds: float,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """What mpiexec gives for a program.

    Raises:
        TimeoutExpired: it took longer.
    """
    return subprocess.run(
        [_LAUNCHER, "-n", str(ranks), *words], capture_output=True, text=True, timeout=seconds,
        check=False, env=variables, cwd=folder,
    )  # fmt: skip
