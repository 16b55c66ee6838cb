"""Counting what the emitted code does."""

import re

from tfc.compiler import emit_text
from tfc.hlo import Module


def copies_in_loops(module: Module) -> int:
    """How many copies the code makes in each iteration of all loops."""
    depth = found = 0
    inside: list[int] = []
    for line in emit_text(module, "mlir").split("\n"):
        if "scf.while" in line:
            inside.append(depth)
        found += bool(inside) and bool(re.search(r"memref\.copy|\.copy\(", line))
        depth += line.count("{") - line.count("}")
        while inside and depth <= inside[-1] and "scf.while" not in line:
            inside.pop()
    return found


def functions_and_calls(module: Module) -> tuple[int, int]:
    """How many kernels the code has, and at how many places it calls one."""
    text = emit_text(module, "mlir")
    return text.count("func.func private @"), len(re.findall(r"\bcall @", text))
