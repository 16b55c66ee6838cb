"""Counting what the emitted code does."""

import re

from tfc.compiler import emit_text
from tfc.hlo import Module
from tfc.options import Options

AS_STEPS = Options(disabled=("loop-kernels",))


def copies_in_loops(module: Module) -> int:
    """How many copies the code makes in each iteration of all loops, which are steps all."""
    text = emit_text(module, "mlir", options=AS_STEPS)
    steps = re.findall(r"^// +(\d+)  (.*)$", text, re.MULTILINE)
    jumps = [(int(at), re.fullmatch(r"go to (\d+)", step)) for at, step in steps]
    loops = [(int(to[1]), at) for at, to in jumps if to is not None and int(to[1]) < at]
    copies = [int(at) for at, step in steps if re.match(r"copy|kernel @\S*\.copy\(", step)]
    return sum(any(first <= at < last for first, last in loops) for at in copies)


def functions_and_calls(module: Module) -> tuple[int, int]:
    """How many functions the code has, and how often the steps run one."""
    text = emit_text(module, "mlir")
    return text.count("func.func private @"), len(re.findall(r"^// +\d+  kernel @", text, re.M))
