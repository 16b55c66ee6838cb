"""Loading the MLIR bindings beside other programs' LLVM.

A program that makes its own LLVM visible to all libraries of the process, as TensorFlow does, would
have the bindings' calls go to that one: options are registered in it twice, and it ends the
process. They are loaded such that their own symbols come first then. Where no LLVM is visible they
are loaded as ever: a library whose own symbols come first takes no memory allocator that was
preloaded.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# `llvm::cl::Option::addArgument()`, which registers an option of a command line.
_OF_LLVM = "_ZN4llvm2cl6Option11addArgumentEv"


def sees_another_llvm() -> bool:
    """Whether a library that is loaded now would take functions of an LLVM that is there."""
    if not hasattr(os, "RTLD_DEEPBIND"):  # systems whose libraries always take their own
        return False
    return hasattr(ctypes.CDLL(None), _OF_LLVM)


@contextmanager
def own_symbols_first() -> Iterator[None]:
    """A block in which libraries are loaded that take their own functions before others'."""
    if not sees_another_llvm():
        yield
        return
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
    try:
        yield
    finally:
        sys.setdlopenflags(flags)
