"""Reading a StableHLO program as an HLO module."""

from collections.abc import Sequence

from tfc.errors import UnsupportedError
from tfc.hlo.ir import Module
from tfc.hlo.shape import Shape
from tfc.hlo.verification.verifier import verify
from tfc.stablehlo.importer.module import import_module
from tfc.stablehlo.source import Source, read_module


def read(source: Source, name: str = "", shapes: Sequence[Shape] | None = None) -> Module:
    """The verified HLO module of a StableHLO program in any form that source.py knows.

    Args:
        shapes: those of the entry's arguments, for a program that leaves sizes open.

    Raises:
        TfcError: it cannot be read, is malformed, or has no counterpart in HLO.
    """
    try:
        module = import_module(read_module(source, name, shapes))
    except TypeError as error:
        # MLIR's bindings raise it wherever they meet an attribute that is a location.
        if "ir.Location" not in str(error):
            raise
        reason = "has a location where another attribute is meant"
        raise UnsupportedError(f"{name or 'the program'} {reason}") from None
    verify(module)
    return module
