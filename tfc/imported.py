"""Programs from elsewhere as functions: compiled when they are first called.

f = tfc.from_stablehlo(jax.export.export(jax.jit(g))(x))
y = f(x)
"""

import threading
from importlib import import_module
from typing import Any

import numpy as np

from tfc import compiler
from tfc.backends.interfaces import Executable
from tfc.hlo.ir import Module
from tfc.options import Options
from tfc.runtime.collection import paused_collection


class ImportedFunction:
    """A module as a function of arrays, one for each parameter. Safe to call from any thread."""

    def __init__(self, module: Module, backend: str = "cpu", options: Options | None = None):
        self.hlo, self.backend, self.options = module, backend, options
        self._executable: Executable | None = None
        self._lock = threading.Lock()

    def __call__(self, *arrays: Any) -> Any:
        """Run with one array for each parameter; gives the result, or a tuple of the results.

        Raises:
            ShapeError: the arrays differ from the parameters in number, type or dimensions.
            UnsupportedError: the backend lacks something that the module needs.
        """
        results = self.compile()(*map(np.asarray, arrays))
        return results[0] if len(results) == 1 else tuple(results)

    def compile(self) -> Executable:
        """The compiled module."""
        with self._lock:
            if self._executable is None:
                self._executable = compiler.compile(self.hlo, self.backend, self.options)
            return self._executable

    def as_text(self, dialect: str = "hlo") -> str:
        """The module as text: "hlo" or "stablehlo".

        Raises:
            UnsupportedError: another dialect is asked for, or StableHLO lacks an operation.
        """
        return compiler.module_text(self.hlo, dialect)

    def __repr__(self) -> str:
        shapes = ", ".join(p.shape.without_layout() for p in self.hlo.entry.parameters)
        return f"<ImportedFunction {self.hlo.name}({shapes})>"


def from_stablehlo(
    source: Any, backend: str = "cpu", options: Options | None = None
) -> ImportedFunction:
    """The function that a StableHLO program is.

    Args:
        source: text; bytes of MLIR bytecode or of a portable artifact; the path of a file with
            either; or what jax.export.export(…)(…) returns. A string without a brace is a path.
        backend: "cpu", "gpu", "interpreter", or one that another package offers.
        options: how to compile; taken from the environment when left out.

    Raises:
        ParseError: the text is malformed.
        UnsupportedError: HLO has no counterpart of an operation or a type.
        TfcError: the source cannot be read.
    """
    return ImportedFunction(read_stablehlo(source), backend, options)


@paused_collection()
def read_stablehlo(source: Any, name: str = "") -> Module:
    """The module of a StableHLO program, taken as `from_stablehlo` takes it.

    Args:
        name: what to call the source in errors.

    Raises:
        TfcError: it cannot be read, is malformed, or has no counterpart in HLO.
    """
    # Loading MLIR takes a while, which those who need none of it are spared.
    reader: Any = import_module("tfc.stablehlo.read")
    return reader.read(source, name)
