"""The one place that loads the MLIR Python bindings.

Everything else in tfc imports the modules below and never names the package that they are in.
They are typed `Any`: the bindings are generated code, and the two packages have no type stubs in
common.
"""

from functools import cache
from importlib import import_module
from typing import Any

from tfc.backends.mlir import dialects
from tfc.backends.mlir.package import PROVIDER
from tfc.errors import UnsupportedError

ir: Any = import_module(f"{PROVIDER}.ir")
passmanager: Any = import_module(f"{PROVIDER}.passmanager")

arith: Any = import_module(f"{PROVIDER}.dialects.arith")
func: Any = import_module(f"{PROVIDER}.dialects.func")
gpu: Any = import_module(f"{PROVIDER}.dialects.gpu")
llvm: Any = import_module(f"{PROVIDER}.dialects.llvm")
math: Any = import_module(f"{PROVIDER}.dialects.math")
memref: Any = import_module(f"{PROVIDER}.dialects.memref")
nvvm: Any = import_module(f"{PROVIDER}.dialects.nvvm")
scf: Any = import_module(f"{PROVIDER}.dialects.scf")
vector: Any = import_module(f"{PROVIDER}.dialects.vector")

_DIALECTS = ["arith", "complex", "func", "llvm", "math", "memref", "scf", "vector"]


def new_context(*further: str) -> Any:
    """A context with the dialects that code is made of, and further ones.

    Passes load those that they lower to. To load all that exist takes longer than a small program.
    """
    return ir.Context(load_on_create_dialects=[*_DIALECTS, *further])


@cache
def stablehlo() -> Any:
    """The extension for the StableHLO dialect.

    Raises:
        UnsupportedError: the bindings in use come without it.
    """
    try:
        found = import_module(f"{PROVIDER}._mlir_libs._stablehlo")
    except ImportError:
        raise UnsupportedError(
            f"the MLIR bindings in the package {PROVIDER} come without StableHLO: "
            "use those of torch-mlir (`pip install torch-mlir`)"
        ) from None
    bindings = import_module(f"{PROVIDER}._mlir_libs._mlir")
    bindings.globals.append_dialect_search_prefix(dialects.__name__)
    return found
