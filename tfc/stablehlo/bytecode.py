"""Bytecode as text, in a process of its own: malformed bytecode can end the process that reads it.

Run as a program it needs the MLIR bindings alone, so that it starts quickly: bytecode on the
standard input, the name of the bindings' package as argument, text on the standard output.
"""

import sys
from importlib import import_module
from typing import Any

REFUSED = 3  # the exit code for bytecode that MLIR refuses


def new_context(provider: str) -> Any:
    """An MLIR context that knows StableHLO and CHLO, and nothing that is not registered.

    Raises:
        ImportError: the package's bindings come without StableHLO.
    """
    stablehlo: Any = import_module(f"{provider}._mlir_libs._stablehlo")
    ir: Any = import_module(f"{provider}.ir")
    passmanager: Any = import_module(f"{provider}.passmanager")
    context = ir.Context()
    context.enable_multithreading(False)
    stablehlo.register_dialect(context)
    # The bindings have no way to load CHLO but through a pass that makes it.
    stablehlo.register_stablehlo_passes()
    pipeline = "builtin.module(func.func(stablehlo-legalize-quant-to-math))"
    module = ir.Module.parse("module {}", context)
    passmanager.PassManager.parse(pipeline, context).run(module.operation)
    return context


def deserialize(provider: str, content: bytes) -> Any:
    """The module of bytecode or of a portable artifact; what is wrong goes to standard error.

    Raises:
        ValueError: it is neither, or newer than the bindings.
    """
    stablehlo: Any = import_module(f"{provider}._mlir_libs._stablehlo")
    return stablehlo.deserialize_portable_artifact(new_context(provider), content)


def main() -> None:
    """Turn bytecode into text."""
    try:
        module = deserialize(sys.argv[1], sys.stdin.buffer.read())
    except (ValueError, RuntimeError):
        sys.exit(REFUSED)  # MLIR has said why
    sys.stdout.write(module.operation.get_asm(enable_debug_info=True))


if __name__ == "__main__":
    main()
