"""Calls outside any trace: who runs them, and the traces in which arrays stay arguments.

    tnp.erf(x)    → traced with x as a parameter → whoever runs it: tfc/eager.py, which compiles

What runs computations lies above the frontend, so it is handed in (runtime/calls.py). Constants
would make another program of every value, so an eager trace makes a parameter of each array that
becomes a Tensor in it, wherever it comes from: arguments, what the function closes over, results of
NumPy. Python sees the array itself meanwhile, and may look at its values.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend.trace import Trace, current_trace, open_traces
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape, element_type_of


class EagerTrace(Trace):
    """The outermost trace of a call that is run at once.

    arrays: what its parameters stand for, in their order.
    numbers: Python floats that may be others the next time: the call's arguments, by identity.
    copies: whether arrays may change while the trace lasts, as a user's function may write to them.
    hides_values: whether the call's arrays are Tensors in it, so that its program serves others.
    """

    def __init__(self, name: str, numbers: Sequence[float] = (), copies: bool = True):
        super().__init__(name)
        self.arrays: list[np.ndarray] = []
        self.hides_values = False
        self._copies = copies
        self._numbers = {id(number): number for number in numbers}
        # Of each array its parameters. It is held: another could have its identity afterwards.
        self._known: dict[int, tuple[Any, list[int]]] = {}

    def argument(self, array: np.ndarray) -> Instruction:
        """A further parameter that stands for an array."""
        self.arrays.append(array)
        return self.parameter(Shape(element_type_of(array.dtype), array.shape))

    def parameter_for(self, value: Any, array: np.ndarray) -> Instruction | None:
        """The parameter that stands for a value; None for one that is part of the program.

        Args:
            array: the value as an array of the dtype that is wanted.
        """
        if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
            return self.argument(array) if self._numbers.get(id(value)) is value else None
        if not isinstance(value, np.ndarray):
            return self.argument(array if isinstance(value, (list, tuple)) else np.array(array))
        _, places = self._known.setdefault(id(value), (value, []))
        for place in places:
            known = self.arrays[place]
            if known.dtype == array.dtype and (not self._copies or _same_bits(known, array)):
                return self.parameters[place]
        places.append(len(self.arrays))
        return self.argument(np.array(array) if self._copies else array)


def ask_for_value(instruction: Instruction) -> None:
    """Let a function look at the value of a Tensor, if that is an array of a call run at once.

    Raises:
        TraceError: it is one, hidden as yet; the call is traced again with its arrays in sight.
    """
    outermost = open_traces.traces[0] if open_traces.traces else None
    if not isinstance(outermost, EagerTrace) or not outermost.hides_values:
        return
    if instruction in outermost.parameters:
        raise TraceError("the value of an argument is needed")


def _same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    return x.shape == y.shape and x.tobytes() == y.tobytes()


def parameter_for(value: Any, array: np.ndarray) -> tuple[Instruction, Trace] | None:
    """The parameter of the outermost trace that stands for a value, and that trace.

    None where the value is to be a constant: in traces that are not eager, and in those that have
    no way to the outermost one.
    """
    outermost = open_traces.traces[0]
    if not isinstance(outermost, EagerTrace):
        return None
    trace = current_trace()
    while trace is not None and trace is not outermost:
        trace = trace.parent
    made = None if trace is None else outermost.parameter_for(value, array)
    return None if made is None else (made, outermost)
