"""The one place that loads the MLIR Python bindings.

Everything else in tfc imports the modules below and never names the package that they are in.
They are typed `Any`: the bindings are generated code, and the two packages have no type stubs in
common.
"""

import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from tfc.backends.mlir import dialects
from tfc.backends.mlir.package import PROVIDER
from tfc.backends.mlir.symbols import own_symbols_first
from tfc.errors import UnsupportedError
from tfc.runtime.later import later

with own_symbols_first():
    ir: Any = import_module(f"{PROVIDER}.ir")
passmanager: Any = import_module(f"{PROVIDER}.passmanager")

arith: Any = import_module(f"{PROVIDER}.dialects.arith")
func: Any = import_module(f"{PROVIDER}.dialects.func")
llvm: Any = later(f"{PROVIDER}.dialects.llvm")  # large, and few kernels need its classes
to_llvm: Any = import_module(f"{PROVIDER}._mlir_libs._mlirDialectsLLVM")
memref: Any = import_module(f"{PROVIDER}.dialects.memref")
scf: Any = import_module(f"{PROVIDER}.dialects.scf")
vector: Any = import_module(f"{PROVIDER}.dialects.vector")

_USES = 64  # of a context, which keeps the types and attributes of all that it has held
_DIALECTS = ["arith", "complex", "func", "llvm", "math", "memref", "scf", "vector"]


def new_context(*further: str) -> Any:
    """A context with the dialects that code is made of, and further ones.

    Passes load those that they lower to. To load all that exist takes longer than a small program.
    """
    context = ir.Context(load_on_create_dialects=[])
    for name in (*_DIALECTS, *further):
        context.get_dialect_descriptor(name)  # loads no Python classes, as `context.dialects` does
    return context


class ReusedContext(threading.local):
    """A context of each thread, which serves many programs and is then replaced.

    To make one, and to have it load what passes need, takes as long as a small program does. What
    was made in one that is replaced keeps it.
    """

    def __init__(self, make: Callable[[], Any], uses: int = _USES):
        """Args: how to make a context, and how many uses it serves."""
        self._make, self._uses, self._left = make, uses, 0
        self._context: Any = None

    def take(self, weight: int = 1) -> Any:
        """The context, for something that counts as so many uses."""
        if self._left <= 0:
            self._context, self._left = self._make(), self._uses
            # It would have threads of its own, which a fork loses.
            self._context.enable_multithreading(False)
        found, self._left = self._context, self._left - weight
        if self._left <= 0:
            self._context = None
        return found


KERNELS = ReusedContext(new_context)


@cache
def gpu() -> Any:
    """The module of the dialect for GPUs, which programs for CPUs need not load."""
    return import_module(f"{PROVIDER}.dialects.gpu")


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
