"""Loops: as graph mode has them, or unrolled where shapes change or numbers must be known."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError, UnsupportedError
from tfc.graph.control.rows import loop
from tfc.importers.tensorflow.context import Body, Context, context_at
from tfc.importers.tensorflow.meanings import FunctionReference
from tfc.importers.tensorflow.table import operator
from tfc.importers.values import Held, Value, is_known, known
from tfc.importers.walk import Call

_MANY = 1 << 15  # nodes that unrolling may make


class _ConditionVaries(UnsupportedError):
    """Whether a loop goes on depends on what it computes."""


@operator("While", is_pure=False)
@operator("StatelessWhile", is_pure=False)
def repeat(
    *state: Any, cond: FunctionReference, body: FunctionReference, node: Call
) -> tuple[Value, ...]:
    """The state after a function has been repeated while a condition holds."""
    context = context_at(node)
    test, step = context.body(cond, node.walk), context.body(body, node.walk)
    try:
        return tuple(loop(*state, cond=test, body=step, context=context)) or (None,)
    except (UnsupportedError, ShapeError, TraceError) as error:
        context_at(node)
        try:
            return tuple(_unrolled(test, step, node.inputs, context)) or (None,)
        except _ConditionVaries:
            raise error from None


def _unrolled(test: Body, step: Body, state: list[Value], context: Context) -> list[Value]:
    """All iterations, one after the other.

    Raises:
        _ConditionVaries: how many there are is not known while importing.
        UnsupportedError: there are too many.
    """
    left = _MANY
    while True:
        (goes_on,) = context.called(test, state)
        if not is_known(goes_on) or isinstance(goes_on, Held):
            raise _ConditionVaries("whether a loop goes on is not known while importing")
        if not np.all(known(goes_on)):
            return state
        left -= 1 + len(step.graph.nodes)
        if left < 0:
            raise UnsupportedError(
                f"a loop whose shapes change, or that needs known numbers, makes over {_MANY} nodes"
            )
        state = context.called(step, state)
