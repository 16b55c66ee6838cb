"""An object file for WebAssembly as a module that an engine loads, linked by LLVM's wasm-ld."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tfc.errors import TfcError, UnsupportedError

# Of C's stack in the module's memory, which lies in front of all else, so that one that is too
# small is an error of the engine rather than wrong values.
_STACK_BYTES = 1 << 20


def wasm_module(code: bytes, exports: Sequence[str], symbols: Sequence[str]) -> bytes:
    """A WebAssembly module that exports these symbols, `memory` and `__heap_base`.

    Args:
        symbols: the functions that the object calls, which the module imports from `env`.

    Raises:
        UnsupportedError: there is no wasm-ld.
        TfcError: it refuses.
    """
    command = _linker()
    with tempfile.TemporaryDirectory() as folder:
        source, made, outside = (Path(folder, name) for name in ("code.o", "code.wasm", "outside"))
        source.write_bytes(code)
        outside.write_text("".join(f"{symbol}\n" for symbol in symbols))
        arguments = [
            *command, "--no-entry", "--export=__heap_base",
            *(f"--export={name}" for name in exports),
            f"--allow-undefined-file={outside}", "-z", f"stack-size={_STACK_BYTES}",
            "--stack-first", "--strip-all", str(source), "-o", str(made),
        ]  # fmt: skip
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TfcError(f"{command[-1]} makes no module of it: {done.stderr.strip()}")
        return made.read_bytes()


def _linker() -> list[str]:
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "wasm-ld"]
    for found in (shutil.which("wasm-ld"), shutil.which("zig")):
        if found is not None:
            return [found, "wasm-ld"] if Path(found).stem == "zig" else [found]
    raise UnsupportedError(
        "a WebAssembly module is linked by wasm-ld, of which there is none: run `pip install "
        "ziglang`, or install LLVM's lld"
    )
