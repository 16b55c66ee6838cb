"""A C++ compiler for the tests, and the examples of the documentation."""

import shutil
from pathlib import Path

import pytest
from cpp_programs import Cpp

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cpp(tmp_path: Path) -> Cpp:
    """The system's C++ compiler; tests that need it are skipped where there is none."""
    command = shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")
    if command is None:
        pytest.skip("no C++ compiler")
    return Cpp(tmp_path, command)


@pytest.fixture(scope="session")
def matmul_text() -> str:
    """The HLO text of examples/matmul.hlo."""
    return (ROOT / "examples" / "matmul.hlo").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def matmul_main() -> Path:
    """The C++ program of the documentation that multiplies matrices."""
    return ROOT / "examples" / "cpp" / "matmul_main.cc"
