"""The thread pool of this process, and for how many threads kernels are shared out."""

import atexit
import ctypes
import os
import signal
import sys
import threading
from functools import cache

from tfc.backends.cpu.runtime.generated import constant, runtime_ir
from tfc.backends.llvm.compilation import LoadedCode, compile_ir
from tfc.backends.target import Target
from tfc.runtime.threads import MOST_THREADS, available_cores, on_change

# What tells a processor of an architecture that this is a loop that waits.
_PAUSE = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
}


def sharing_cores() -> int:
    """For how many threads to share out kernels: the cores there are, whatever is asked for.

    So results are the same for any number of threads. It is 1 where there is no pool.
    """
    return min(available_cores(), MOST_THREADS) if os.name == "posix" else 1


def parallel_for() -> int:
    """The address of the function that runs kernels which threads share."""
    with _lock:
        return _pool().address("tfc_parallel_for")


_lock = threading.Lock()  # so that there is one pool


@cache
def _pool() -> LoadedCode:
    """The pool (pool.c), with the number of threads that is asked for."""
    host = Target.host()
    pause = _PAUSE.get(host.triple.split("-")[0], "")
    definitions = {
        "tfc_sig_setmask": constant("tfc_sig_setmask", int(signal.SIG_SETMASK)),
        "tfc_is_linux": constant("tfc_is_linux", sys.platform == "linux"),
        "tfc_pause": f"define internal void @tfc_pause() {{\n  {pause}\n  ret void\n}}",
    }
    code = compile_ir(runtime_ir("pool", definitions), host, optimise=False).load()
    forget = ctypes.CFUNCTYPE(None)(code.address("tfc_forget_threads"))
    forget()
    on_change(lambda threads: _resize(code, threads))
    os.register_at_fork(after_in_child=forget)
    # Before the code that the workers run goes, with the interpreter.
    atexit.register(_resize, code, 1)
    return code


def _resize(code: LoadedCode, threads: int) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.address("tfc_resize"))(threads)
