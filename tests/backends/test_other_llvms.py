"""tfc in a process in which another library's LLVM is visible to all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, sys
ctypes.CDLL({path!r}, ctypes.RTLD_GLOBAL)
flags = sys.getdlopenflags()
from tfc.backends.mlir.symbols import sees_another_llvm
assert sees_another_llvm()
import tfc
assert tfc.jit(lambda x: x + 1)(1) == 2
assert sys.getdlopenflags() == flags
"""


@pytest.mark.skipif(not hasattr(os, "RTLD_DEEPBIND"), reason="libraries take their own functions")
def test_the_bindings_call_their_own_llvm(tmp_path: Path):
    source, library = tmp_path / "llvm.c", tmp_path / "llvm.so"
    source.write_text("#include <stdlib.h>\nvoid _ZN4llvm2cl6Option11addArgumentEv() { abort(); }")
    compiler = shutil.which("cc") or shutil.which("gcc") or "c++"
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(path=str(library))],
        check=False,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
