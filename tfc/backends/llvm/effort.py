"""How much LLVM does for a function: code that runs seldom, or comes as it is to be, needs little.

Compiling takes longest where there is nothing to gain: kernels of products and convolutions are
many nested loops around calls of a few functions, which are made of vectors and unrolled already.
"""

import re
from enum import Enum
from typing import Any

import llvmlite.binding as llvmlite


class Effort(Enum):
    """What LLVM does for code; the most first."""

    UNROLLED = "as in full, and unrolls short loops, so that what is in memory goes to registers"
    FULL = "makes vectors of loops, several at a time, and all that prepares and follows it"
    INDEPENDENT = "as in full, one vector at a time: no iteration waits for the one before"
    VECTORS = "puts operations together, and allocates registers: it is made of vectors already"
    STEERING = "puts operations together: it calls what does the work"
    NONE = "makes code of it as it is"


# Microseconds that it takes for a character of LLVM IR, about.
_WORK = {
    Effort.UNROLLED: 4.0,
    Effort.FULL: 2.6,
    Effort.INDEPENDENT: 2.2,
    Effort.VECTORS: 0.8,
    Effort.STEERING: 0.4,
    Effort.NONE: 0.1,
}


def work(text: str, effort: Effort) -> float:
    """How long LLVM takes for a text, compared with others."""
    return len(text) * _WORK[effort]


_LOOP_KERNEL = re.compile(r'define [^@]*@"?[-\w.$]+\.while"?\(')
_PACKING = re.compile(r"define [^@]*@pack\w*\.")
_CALL = re.compile(r"call \S+ @(?!llvm\.)")
_STORED = re.compile(r"\n  store (.)")  # with ^ in place of \n it would take ten times as long
_CARRIED = re.compile(r" = phi (?!i64 )")
_INTRINSIC = re.compile(r"@llvm\.(?![su](?:min|max)\.)")


def effort_for(function: str) -> Effort:
    """The effort that a function's LLVM IR is worth.

    A function that only calls others, on indices that it computes, is steering. One that stores
    nothing but whole vectors has no loop that LLVM could make vectors of; in packing, single
    elements are what is left over beside vectors. A kernel that is a whole loop runs many times
    what it is made of. A sum's loop waits for the last addition unless there are several sums;
    other loops carry nothing but where they are, and the processor runs their iterations at once.
    """
    if _LOOP_KERNEL.match(function):
        return Effort.UNROLLED
    stored = set(_STORED.findall(function))
    if not stored and " = load " not in function and _CALL.search(function):
        return Effort.FULL if _INTRINSIC.search(function) else Effort.STEERING
    is_made = stored == {"<"} or ("<" in stored and _PACKING.match(function))
    if is_made:
        return Effort.VECTORS
    return Effort.FULL if _CARRIED.search(function) else Effort.INDEPENDENT


def codegen_level(effort: Effort) -> int:
    """The level for making machine code; with 0, registers hold nothing from block to block."""
    return 0 if effort in (Effort.STEERING, Effort.NONE) else 3


def pass_manager(effort: Effort, machine: Any, is_gpu: bool) -> tuple[Any, Any]:
    """The passes over a module, for an effort that has any, and the builder to run them with."""
    # The CPU's kernels come with their tiles unrolled. What LLVM adds to that beyond making vectors
    # of loops doubles the time of compiling, and no kernel is measurably faster for it.
    unrolls = is_gpu or effort is Effort.UNROLLED
    options = llvmlite.create_pipeline_tuning_options(speed_level=3 if unrolls else 1)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_interleaving = effort is not Effort.INDEPENDENT
    options.loop_unrolling = unrolls
    builder = llvmlite.create_pass_builder(machine, options)
    if effort in (Effort.UNROLLED, Effort.FULL, Effort.INDEPENDENT):
        return builder.getModulePassManager(), builder
    passes = llvmlite.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    return passes, builder
