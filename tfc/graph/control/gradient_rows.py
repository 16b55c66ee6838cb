"""The row of WhileGrad: a loop once more, keeping its states, and its body's gradient backwards.

Compiled code needs the number of iterations for that: it is found by repeating, with arrays, just
what the condition depends on. A loop for which that is not known runs on the host.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import TraceError
from tfc.frontend.control.scan import scan
from tfc.frontend.trace import current_trace
from tfc.graph.control.facts import facts, written
from tfc.graph.control.rows import carried, filled_in, is_known, read_only, repeated, settled
from tfc.graph.evaluation import Context, needed
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.registry import Attributes, Operator, find, operator
from tfc.graph.subgraph import Subgraph

_MOST_ITERATIONS = 1_000_000


@dataclass(frozen=True)
class Part:
    """Some results of a subgraph, which a context can be asked for."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    control_outputs: list[Operation] = field(default_factory=list)


def deciding(cond: Subgraph, body: Subgraph) -> list[int]:
    """The elements of a loop's state, by number, that its condition depends on."""
    found: set[int] = set()
    new = _used(cond, cond.outputs)
    while new - found:
        found |= new
        new = _used(body, [body.outputs[n] for n in found])
    return sorted(found)


def _used(graph: Subgraph, outputs: Sequence[Tensor]) -> set[int]:
    """The inputs of a subgraph that some of its results depend on, by number."""
    ops = needed([x.op for x in outputs], graph.inputs)
    used = {x for op in ops for x in op.inputs} | set(outputs)
    return {n for n, x in enumerate(graph.inputs) if x in used}


def _decided(row: Operator, attributes: Attributes) -> Operator:
    """It writes no variable, though the loop may; and what is on the host there is so here."""
    graphs = [attributes["cond"], attributes["body"], attributes["gradient"]]
    known = [facts(graph) for graph in graphs]
    on_host = any(fact.on_host for fact in known) or bool(attributes.get("_on_host"))
    return replace(row, effect="read" if any(f.effect for f in known) else "", on_host=on_host)


@operator("WhileGrad", types="", infer=lambda *_: [], decide=_decided)
def loop_gradient(
    *inputs: Any,
    cond: Subgraph,
    body: Subgraph,
    gradient: Subgraph,
    wanted: Sequence[int],
    given: Sequence[int],
    context: Context,
    _forward: Operation,
) -> list[Any]:
    """The gradients of the state before a loop, from those of the state after it.

    Args:
        inputs: the state before the loop, the gradients of the elements `wanted` of the state after
            it, and what the body's gradient takes besides.
        gradient: takes the body's inputs, gradients of its results `given`, and the rest.
    """
    context.operation = _forward  # so that random numbers are those of the loop
    count = len(body.inputs)
    way = _Way(body, gradient, wanted, given, list(inputs[:count]), context)
    way.rest = list(inputs[count + len(wanted) :])
    arrived = dict(zip(wanted, inputs[count : count + len(wanted)]))
    is_host = any(facts(graph).on_host for graph in (cond, body, gradient))
    times = None if is_host else trip_count(cond, body, way.begun, context)
    if times is None and current_trace() is not None:
        raise TraceError(
            "the gradient of a loop needs its number of iterations while compiling, and that of "
            f"{_forward.name!r} is not known: it runs on the host"
        )
    if times is None:
        return way.at_once(cond, arrived)
    return way.scanned(times, arrived)


@dataclass
class _Way:
    """The way back through a loop.

    begun: the state before it. rest: what the body's gradient takes behind the others.
    """

    body: Subgraph
    gradient: Subgraph
    wanted: Sequence[int]
    given: Sequence[int]
    begun: list[Any]
    context: Context
    rest: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._changed = written([self.body], self.begun)
        self._has_effects = bool(facts(self.body).effect or facts(self.gradient).effect)
        self._known = (
            read_only(self.begun, [], self.context) if self._has_effects else {}
        )  # of the variables that the loop writes, the gradient reads none

    def _called(self, graph: Subgraph, inputs: list[Any], number: Any) -> list[Any]:
        if not self._has_effects:
            return self.context.call(graph, inputs)
        return self.context.nested(self._known, number).call(graph, inputs)

    def _back(self, state: list[Any], found: dict[int, Any], number: Any) -> dict[int, Any]:
        """The gradients before an iteration, from those after it."""
        inputs = [*state, *(found[n] for n in self.given), *self.rest]
        made = dict(zip(self.wanted, self._called(self.gradient, inputs, number)))
        moving = set(self.given)
        return {n: made[n] if n in moving else tnp.add(found[n], made[n]) for n in self.wanted}

    def at_once(self, cond: Subgraph, found: dict[int, Any]) -> list[Any]:
        """With arrays."""
        states: list[list[Any]] = []
        repeated(cond, self.body, self.begun, self.context, states.append, writes=False)
        for number in range(len(states) - 1, -1, -1):
            found = self._back(states[number], found, np.uint32(number))
        return [found[n] for n in self.wanted]

    def scanned(self, times: int, found: dict[int, Any]) -> list[Any]:
        """In a trace, or compiled at once."""
        places = carried(self.body)
        step = lambda now: self._called(self.body, now, np.uint32(0))  # noqa: E731
        self.begun = settled(self.begun, places, step)
        numbers = np.arange(times, dtype=np.uint32)

        def forwards(values: Any, number: Any) -> tuple[Any, Any]:
            made = self._called(self.body, filled_in(self.begun, places, values), number)
            return [made[n] for n in places], values

        def backwards(found: Any, at: Any) -> tuple[Any, Any]:
            state = filled_in(self.begun, places, at[0])
            made = self._back(state, dict(zip(self.wanted, found)), at[1])
            return [made[n] for n in self.wanted], ()

        begun = [self.begun[n] for n in places]
        _, states = scan(forwards, begun, numbers)
        last = [found[n] for n in self.wanted]
        return list(scan(backwards, last, (states, numbers), reverse=True)[0])


def trip_count(
    cond: Subgraph, body: Subgraph, state: Sequence[Any], context: Context
) -> int | None:
    """How often a loop repeats its body; None if what decides that is not known."""
    places = deciding(cond, body)
    if not all(is_known(state[n]) for n in places):
        return None
    part = Part(body.inputs, [body.outputs[n] for n in places])
    ops = needed([x.op for x in (*part.outputs, *cond.outputs)], [*body.inputs, *cond.inputs])
    if any((row := find(op.type, op.attributes)).on_host or row.effect for op in ops):
        return None
    now = list(state)
    for number in range(_MOST_ITERATIONS):
        if not np.all(context.call(cond, now)[0]):
            return number
        now = filled_in(now, places, context.call(part, now))
    return None
