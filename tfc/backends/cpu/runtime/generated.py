"""The LLVM IR of the C files of this folder: checked in beside them, made by regenerate.py.

pool.c  ──regenerate.py──►  pool.ll  ──runtime_ir("pool", …)──►  text to compile, or to join
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
_DECLARED = re.compile(r"^(?:@(\w+) = external|declare [^@]*@(\w+)\().*\n", re.MULTILINE)


def runtime_ir(name: str, definitions: Mapping[str, str]) -> str:
    """The LLVM IR of a C file, complete with definitions of what the C file only declares.

    Args:
        name: that of the .ll file.
        definitions: LLVM IR by the names that it defines; empty for what is defined elsewhere in
            the text that this becomes a part of. What is not named stays declared.
    """
    text = _DECLARED.sub(
        lambda line: "" if (line[1] or line[2]) in definitions else line[0], _text(name)
    )
    return "".join([text, *(f"{d}\n" for d in definitions.values() if d)])


def constant(name: str, value: int, bits: int = 32) -> str:
    """LLVM IR that defines a constant that a C file declares."""
    return f"@{name} = internal constant i{bits} {int(value)}"


@cache
def _text(name: str) -> str:
    return (FOLDER / f"{name}.ll").read_text(encoding="utf-8")
