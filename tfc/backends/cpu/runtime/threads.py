"""The thread pool of this process, and for how many threads kernels are shared out."""

import atexit
import ctypes
import os
import signal
import sys
import threading
from functools import cache

import llvmlite.ir as ir

from tfc.backends.cpu.runtime.pool import PARALLEL_FOR, define_pool
from tfc.backends.llvm.compilation import LoadedCode, compile_ir
from tfc.backends.target import Target
from tfc.runtime.threads import MOST_THREADS, available_cores, on_change


def sharing_cores() -> int:
    """For how many threads to share out kernels: the cores there are, whatever is asked for.

    So results are the same for any number of threads. It is 1 where there is no pool.
    """
    return min(available_cores(), MOST_THREADS) if os.name == "posix" else 1


def pool_symbols() -> dict[str, int]:
    """The address of the function that code with split kernels calls, by its name."""
    with _lock:
        return {PARALLEL_FOR: _code().address(PARALLEL_FOR)}


_lock = threading.Lock()  # so that there is one pool


@cache
def _code() -> LoadedCode:
    """The pool, with the number of threads that is asked for."""
    module, host = ir.Module("tfc.pool"), Target.host()
    architecture, on_linux = host.triple.split("-")[0], sys.platform == "linux"
    define_pool(module, architecture, int(signal.SIG_SETMASK), on_linux)
    code = compile_ir(str(module), host, optimise=False).load()
    forget = ctypes.CFUNCTYPE(None)(code.address("tfc.forget_threads"))
    forget()
    on_change(lambda threads: _resize(code, threads))
    os.register_at_fork(after_in_child=forget)
    # Before the code that the workers run goes, with the interpreter.
    atexit.register(_resize, code, 1)
    return code


def _resize(code: LoadedCode, threads: int) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.address("tfc.resize"))(threads)
