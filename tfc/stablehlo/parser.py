"""MLIR's parser as a service, in a process of its own: malformed programs can end the process.

Run as a program it needs the MLIR bindings alone, so that it starts quickly; the name of their
package is its argument. Requests come on the standard input, replies go to the standard output.

    request   a line of JSON: {"form": "text" or "bytecode", "passes": pipeline or "", "bytes": n}
              then n bytes
    reply     a line of JSON: {"refused": [[place, message] ...], "bytes": n}, then n bytes

The bytes of the reply are bytecode of the same bindings. What they hold was parsed, verified, read
back and, if it could be short in the file but long in print, printed here, so that nothing is left
in it that ends a process.
"""

import io
import json
import os
import re
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

IDLE_SECONDS = 120  # without a request, after which the process ends by itself
MOST_PRINTED = 64  # bytes of print for each byte of a program
LEAST_PRINTED = 1 << 22  # that are printed in any case
MOST_KEPT = 1 << 22  # bytes of programs whose types and attributes one context keeps
SPARE_MEMORY = 4 << 30  # that a program may need, and MEMORY times its size
MEMORY = 32
# Aliases that can be of what shares parts; those of locations are printed as aliases.
_ALIAS = re.compile(rb"![\w.$-]+\s*=|#[\w.$-]+\s*=(?!\s*loc\()")
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2})")


def new_context(provider: str) -> Any:
    """An MLIR context that knows StableHLO and CHLO, and takes other dialects in generic form.

    Raises:
        ImportError: the package's bindings come without StableHLO.
    """
    stablehlo: Any = import_module(f"{provider}._mlir_libs._stablehlo")
    ir: Any = import_module(f"{provider}.ir")
    passmanager: Any = import_module(f"{provider}.passmanager")
    # Others are loaded where they are met; to load all that exist takes longer than most programs.
    context = ir.Context(load_on_create_dialects=["func"])
    context.enable_multithreading(False)
    # What means nothing here is dropped, other operations are refused by name by the importer.
    context.allow_unregistered_dialects = True
    stablehlo.register_dialect(context)
    # The bindings have no way to load CHLO but through a pass that makes it.
    stablehlo.register_stablehlo_passes()
    pipeline = "builtin.module(func.func(stablehlo-legalize-quant-to-math))"
    module = ir.Module.parse("module {}", context)
    passmanager.PassManager.parse(pipeline, context).run(module.operation)
    return context


def is_utf8(string: bytes) -> bool:
    """Whether the strings in MLIR's text are UTF-8, their escapes, two digits, taken for bytes."""
    if b"\\" in string:
        string = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]), string)
    try:
        string.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class _Print:
    """A file that keeps what is printed as long as it is not too much."""

    def __init__(self, most: int):
        self._left, self._parts = most, []

    def write(self, part: str) -> None:
        """Keep a part.

        Raises:
            ValueError: the whole is too long.
        """
        self._left -= len(part)
        if self._left < 0:
            raise ValueError("it is too long when it is printed")
        self._parts.append(part)

    def text(self) -> bytes:
        """All parts."""
        return "".join(self._parts).encode()


def check_print(module: Any, size: int) -> None:
    """Print a module: types and attributes that share parts can be short in a file and endless.

    Raises:
        ValueError: what is printed is too long, or the module has strings that are not UTF-8.
    """
    printed = _Print(max(LEAST_PRINTED, MOST_PRINTED * size))
    module.operation.print(
        file=printed, enable_debug_info=True, large_elements_limit=16, large_resource_limit=16
    )
    if not is_utf8(printed.text()):
        raise ValueError("a string in it is not UTF-8")


def parse(provider: str, context: Any, form: str, content: bytes, passes: str) -> bytes:
    """The bytecode of a program.

    Raises:
        ValueError, MLIRError: it is malformed; the context's diagnostics say why.
    """
    ir: Any = import_module(f"{provider}.ir")
    if form == "bytecode":
        stablehlo: Any = import_module(f"{provider}._mlir_libs._stablehlo")
        module = stablehlo.deserialize_portable_artifact(context, content)
    else:
        module = ir.Module.parse(content.decode(), context)
    if passes:
        passmanager: Any = import_module(f"{provider}.passmanager")
        passmanager.PassManager.parse(passes, context).run(module.operation)
    if form == "bytecode" or _ALIAS.search(content):
        check_print(module, len(content))
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    found = written.getvalue()
    ir.Module.parse(found, context)
    return found


def answer(
    provider: str, context: Any, request: dict[str, Any], content: bytes
) -> tuple[Any, bytes]:
    """What was refused, as places and messages, and the bytecode if nothing was."""
    said: list[tuple[str, str]] = []

    def note(diagnostic: Any) -> bool:
        if diagnostic.severity.name == "ERROR":
            said.append((str(diagnostic.location), diagnostic.message))
        return True

    handler = context.attach_diagnostic_handler(note)
    try:
        return [], parse(provider, context, request["form"], content, request["passes"])
    except Exception as error:  # MLIR's errors are of several classes
        for diagnostic in getattr(error, "error_diagnostics", ()):
            note(diagnostic)
        return said or [("", str(error) or type(error).__name__)], b""
    finally:
        handler.detach()


def limit_memory(size: int) -> None:
    """Let the process fail to get memory before the machine runs out of it, where systems can."""
    with suppress(ImportError, OSError, ValueError):
        resource = import_module("resource")
        most = SPARE_MEMORY + MEMORY * size
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def read_request(requests: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """The next request; None at the end. A process that nobody asks anything for long ends."""
    idle = threading.Timer(IDLE_SECONDS, os._exit, (0,))
    idle.daemon = True
    idle.start()
    line = requests.readline()
    idle.cancel()
    if not line:
        return None
    request = json.loads(line)
    return request, requests.read(request["bytes"])


def main(provider: str) -> None:
    """Answer requests until there are no more."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no reply
    context, kept = new_context(provider), 0
    while found := read_request(sys.stdin.buffer):
        limit_memory(len(found[1]))
        kept += len(found[1])
        refused, content = answer(provider, context, *found)
        reply = {"refused": refused, "bytes": len(content)}
        replies.write(json.dumps(reply).encode() + b"\n" + content)
        replies.flush()
        if kept > MOST_KEPT:
            context, kept = new_context(provider), 0


if __name__ == "__main__":
    main(sys.argv[1])
