"""MLIR's locations as the metadata of HLO text: the operation's name, its file and line."""

from typing import Any

from tfc.backends.mlir.provider import ir
from tfc.hlo.ir import Metadata

MAX_NESTING = 100


def metadata_of(location: Any) -> Metadata | None:
    """The outermost name, and the innermost call's file and line; None for an unknown location."""
    name, file, line = "", "", 0
    for _ in range(MAX_NESTING):
        match location:
            case ir.NameLoc():
                name = name or location.name_str
                location = location.child_loc
            case ir.CallSiteLoc():
                location = location.callee
            case ir.FusedLoc() if location.locations:
                location = location.locations[0]
            case ir.FileLineColLoc():
                # Text without locations is its own: "-" and the line in it say nothing.
                file = "" if location.filename == "-" else location.filename
                line = location.start_line if file else 0
                break
            case _:
                break
    if not (name or file):
        return None
    return Metadata(op_name=name, source_file=file, source_line=line)
