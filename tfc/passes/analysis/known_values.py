"""Values that depend on constants alone."""

from collections.abc import Container

import numpy as np

from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Computation, Instruction, has_side_effect
from tfc.hlo.op import op_named


def known_instructions(computation: Computation) -> set[Instruction]:
    """Constants, and what moves them and computes with them element by element."""
    found: set[Instruction] = set()
    for x in computation.instructions:
        if x.opcode in ("constant", "iota"):
            found.add(x)
        elif x.operands and all(o in found for o in x.operands):
            op = op_named(x.opcode)
            plain = op.elementwise or op.is_movement
            if plain and not has_side_effect(x) and not x.called_computations:
                found.add(x)
    return found


def known_value(x: Instruction, known: Container[Instruction]) -> np.ndarray | None:
    """The value of one of the `known` instructions, None for any other."""
    if x not in known:
        return None
    if x.opcode == "constant":
        return np.asarray(x["literal"].array)
    return np.asarray(evaluate_computation(Computation.make("known", [], x), ()))
