"""Calls: their parts, and the function that a device has by itself, cudaGraphSetConditional."""

from collections.abc import Callable

import numpy as np

from tfc.testing.ptx.instructions.access import load
from tfc.testing.ptx.instructions.decode import Decoder, Run
from tfc.testing.ptx.state.faults import UnknownInstructionError
from tfc.testing.ptx.state.threads import Lanes, Threads
from tfc.testing.ptx.text.syntax import Instruction, Operand, Symbol, Vector
from tfc.testing.ptx.text.types import DTYPES


def call_parts(call: Instruction) -> tuple[tuple[Operand, ...], str, tuple[Operand, ...]]:
    """(results, callee, arguments) of a call."""
    operands = list(call.operands)
    results: tuple[Operand, ...] = ()
    if isinstance(operands[0], Vector):
        results = operands.pop(0).elements  # type: ignore[union-attr]
    callee = operands.pop(0)
    if not isinstance(callee, Symbol):
        raise UnknownInstructionError(call.name, call.line, "an indirect call")
    arguments = operands[0].elements if operands and isinstance(operands[0], Vector) else ()
    return results, callee.name, arguments


def _call(decoder: Decoder, instruction: Instruction) -> Run:
    decoder.flags(instruction, ("uni",))
    results, name, arguments = call_parts(instruction)
    if name != "cudaGraphSetConditional" or results or len(arguments) != 2:
        raise decoder.unknown(instruction, f"a call of {name}, which is not defined")
    places = [_place(decoder, a) for a in arguments]
    kinds = DTYPES["u64"], DTYPES["u32"]

    def run(t: Threads, lanes: Lanes) -> None:
        handles, values = (
            load(t, lanes, "local", np.uint64(place), kind, 1, True)[0]
            for place, kind in zip(places, kinds)
        )
        t.conditions.set(handles, values)

    return run


def _place(decoder: Decoder, argument: object) -> int:
    """Where a thread has an argument in its own memory."""
    if not isinstance(argument, Symbol):
        raise TypeError("arguments of a call are variables in .param")
    space, address = decoder.symbols[argument.name]
    if space != "local":
        raise TypeError(f"{argument.name} is no argument of a call")
    return address + argument.offset


ROWS: dict[str, Callable[[Decoder, Instruction], Run]] = {"call": _call}
