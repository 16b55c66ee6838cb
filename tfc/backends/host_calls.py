"""Instructions that the host runs, whatever the program runs on: custom calls, feeds, collectives.

Their meaning is a function of values in the host's memory. A backend brings the operands there, and
the result to where it is wanted.
"""

from collections.abc import Callable, Sequence

from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Instruction
from tfc.hlo.op import Bind, Value, op_named
from tfc.hlo.specs import spec_of
from tfc.runtime.functions import custom_call_target


def is_call(instruction: Instruction) -> bool:
    """True if an instruction is run by a function outside of the code."""
    return instruction.opcode == "custom-call" or op_named(instruction.opcode).on_host


def host_function(instruction: Instruction) -> Callable[[Sequence[Value]], Value]:
    """The result of the instruction for its operands' values.

    A custom call's target is the one that is registered now.

    Raises:
        UnsupportedError: it is not registered.
    """
    if instruction.opcode == "custom-call":
        result = spec_of(instruction.shape)
        target = custom_call_target(instruction["custom_call_target"])
        return lambda values: target(values, result)
    op = op_named(instruction.opcode)
    return lambda values: op.evaluate(instruction, values, evaluate_computation)


def bound_in_place(instruction: Instruction) -> Bind | None:
    """What runs the instruction on arrays where they lie; None if it takes copies."""
    bind = None if instruction.opcode == "custom-call" else op_named(instruction.opcode).bind
    return None if bind is None else bind(instruction, evaluate_computation)
