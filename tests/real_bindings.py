"""A plugin of pytest: NVIDIA's own cuda-bindings in the place of their stand-in.

    python -m pytest -p real_bindings tests/backends/gpu/test_gpu_driver.py

The package calls a libcuda.so.1 that is made for it and asks the stand-in for its answers: what
a test counts and what it makes fail is as before, but arguments are taken as they are with a GPU.
The library stays in the process, so that no other tests should run in it.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cuda_bindings
import libcuda
from cuda_bindings import FakeCuda

_FOLDER = Path(tempfile.mkdtemp())
_COMPILER = [shutil.which("cc")] if shutil.which("cc") else [sys.executable, "-m", "ziglang", "cc"]
libcuda.build_library(_FOLDER, *map(str, _COMPILER))


@contextmanager
def _installed(fake: FakeCuda | None = None) -> Iterator[FakeCuda]:
    """The driver's library answers as the stand-in does."""
    made = fake or FakeCuda()
    libcuda.load(_FOLDER, made)
    yield made


def pytest_unconfigure() -> None:
    """What is loaded needs its file no more."""
    shutil.rmtree(_FOLDER)


cuda_bindings.installed = _installed
