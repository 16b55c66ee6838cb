"""Programs that tests start as jobs of several processes."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def mpiexec(
    ranks: int, *words: object, seconds: float = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What mpiexec of this environment gives for Python with such arguments.

    Raises:
        TimeoutExpired: it took longer.
    """
    launcher = Path(sys.executable).with_name("mpiexec")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [launcher, "-n", str(ranks), sys.executable, *map(str, words)],
        capture_output=True, text=True, timeout=seconds, check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )  # fmt: skip
