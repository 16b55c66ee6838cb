"""NVIDIA's own cuda-bindings take what tfc and the loader of bundles give them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parents[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="makes a libcuda.so.1")
def test_tests_of_the_driver_pass_with_the_package_in_the_place_of_its_stand_in():
    """In a process of its own, where a library that tests make is the driver's."""
    path = os.pathsep.join(map(str, (TESTS.parent, TESTS)))
    parts = "driver", "bundles", "decisions", "interop"
    names = [f"test_gpu_{part}.py" for part in parts]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "real_bindings", *(str(HERE / n) for n in names),
         "-p", "no:cacheprovider",
         "-k", "not a_signal_ends"],  # there the stand-in raises, which no function in C can
        cwd=TESTS.parent, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
        timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
