"""Rows of operators that run subgraphs: branches, loops, calls of functions.

Where something of theirs is Tensors of a trace they are tfc's own `cond` and `while_loop`, with the
variables that are written within as further values. With arrays alone, the branch is taken, or the
body repeated, at once.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.abstract import eval_shape
from tfc.frontend.control.branches import cond as traced_cond
from tfc.frontend.control.branches import switch as traced_switch
from tfc.frontend.control.loops import while_loop as traced_while
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.promotion import as_tensor
from tfc.frontend.trace import current_trace
from tfc.graph.control.facts import decided, facts, written
from tfc.graph.control.list_rows import Unset
from tfc.graph.evaluation import Context
from tfc.graph.operation import Operation
from tfc.graph.operators.registry import Attributes, Spec, operator
from tfc.graph.subgraph import Subgraph
from tfc.graph.types.handles import Handle


def _of_branches(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    graphs = _branches(attributes)
    made = []
    for results in zip(*(graph.outputs for graph in graphs)):
        shape = results[0].shape
        for other in results[1:]:
            shape = shape.common(other.shape)
        made.append((results[0].dtype, shape))
    return made


def _branches(attributes: Attributes) -> list[Subgraph]:
    if "branches" in attributes:
        return list(attributes["branches"])
    return [attributes["then_branch"], attributes["else_branch"]]


def is_known(value: Any) -> bool:
    """Whether a value is an array rather than a Tensor of a trace."""
    return isinstance(value, (np.ndarray, np.generic))


@operator("If", "StatelessIf", "XlaIf", types="", infer=_of_branches, decide=decided)
def branch(
    pred: Any,
    *arguments: Any,
    then_branch: Subgraph,
    else_branch: Subgraph,
    context: Context,
    _forward: Operation | None = None,
) -> list[Any]:
    """What one of two subgraphs gives, of which only that one is run.

    Args:
        _forward: of a gradient, the operation that it is of: it draws the same random numbers.
    """
    context.operation = _forward or context.operation
    if is_known(pred):
        return context.call(then_branch if np.any(pred) else else_branch, arguments)
    graphs = [then_branch, else_branch]
    first, second = (_part(graph, arguments, graphs, context) for graph in graphs)
    begun = _begun(written(graphs, arguments), context)
    return _ended(traced_cond(pred, first, second, begun), graphs, arguments, context)


@operator("Case", "StatelessCase", types="", infer=_of_branches, decide=decided)
def choice(
    index: Any,
    *arguments: Any,
    branches: Sequence[Subgraph],
    context: Context,
    _forward: Operation | None = None,
) -> list[Any]:
    """What one of several subgraphs gives; the last one's for an index that is out of range."""
    context.operation = _forward or context.operation
    last = len(branches) - 1
    if is_known(index):
        place = int(index)
        return context.call(branches[place if 0 <= place < last else last], arguments)
    parts = [_part(graph, arguments, branches, context) for graph in branches]
    begun = _begun(written(branches, arguments), context)
    index = _within(index, last)
    return _ended(traced_switch(index, parts, begun), branches, arguments, context)


def _within(index: Any, last: int) -> Any:
    return (index < 0) * last + (index >= 0) * index


def _begun(handles: Sequence[Handle], context: Context) -> list[Any]:
    return [context.read(handle) for handle in handles]


def _part(
    graph: Subgraph, arguments: Sequence[Any], graphs: Sequence[Subgraph], context: Context
) -> Any:
    """A branch as a function of the variables that are written in one of the branches."""
    changed = written(graphs, arguments)
    known = read_only(arguments, changed, context) if facts(graph).effect else {}

    def run(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if not facts(graph).effect:
            return context.call(graph, arguments), list(values)
        inner = context.nested({**known, **dict(zip(changed, values))})
        results = inner.call(graph, arguments)
        return results, [inner.read(handle) for handle in changed]

    return run


def _ended(
    made: Any, graphs: Sequence[Subgraph], arguments: Sequence[Any], context: Context
) -> list[Any]:
    results, values = made
    for handle, value in zip(written(graphs, arguments), values):
        context.write(handle, value)
    return list(results)


def read_only(
    arguments: Sequence[Any], changed: Sequence[Handle], context: Context
) -> dict[Handle, Any]:
    """The values of the variables among arguments that have one, without those to be changed."""
    handles = [x for x in arguments if isinstance(x, Handle) and x not in changed]
    return {x: context.read(x) for x in handles if context.is_initialized(x)}


# --- loops


def _like_state(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(x.dtype, x.shape) for x in attributes["body"].inputs]


@operator("While", "StatelessWhile", "XlaWhile", types="", infer=_like_state, decide=decided)
def loop(*state: Any, cond: Subgraph, body: Subgraph, context: Context) -> list[Any]:
    """The state after a body has been repeated while a condition holds."""
    is_host = facts(cond).on_host or facts(body).on_host
    if is_host and current_trace() is None:
        return repeated(cond, body, list(state), context)
    try:
        return _looped(cond, body, list(state), context)
    except ShapeError:
        if current_trace() is not None:
            raise  # whoever compiles this runs it on the host instead
        return repeated(cond, body, list(state), context)


def carried(body: Subgraph) -> list[int]:
    """The elements of a loop's state, by number, that its body does not hand on as they are."""
    pairs = zip(body.inputs, body.outputs)
    return [n for n, (before, after) in enumerate(pairs) if before is not after]


def _looped(cond: Subgraph, body: Subgraph, state: list[Any], context: Context) -> list[Any]:
    """The loop as tfc's own; what the body hands on as it is stays known."""
    places = carried(body)
    graphs = [cond, body]
    changed = written(graphs, state)
    has_effects = any(facts(graph).effect for graph in graphs)
    known = read_only(state, changed, context) if has_effects else {}

    def called(graph: Subgraph, now: Any) -> tuple[list[Any], Any]:
        values, variables, number = now
        filled = list(state)
        for place, value in zip(places, values):
            filled[place] = value
        if not has_effects:
            return context.call(graph, filled), context
        inner = context.nested({**known, **dict(zip(changed, variables))}, number)
        return inner.call(graph, filled), inner

    def test(now: Any) -> Any:
        return called(cond, now)[0][0]

    def step(now: Any) -> Any:
        made, inner = called(body, now)
        variables = [inner.read(handle) for handle in changed]
        number = now[2] + np.uint32(1) if has_effects else now[2]
        return [made[n] for n in places], variables, number

    variables = _begun(changed, context)
    state = settled(
        state,
        places,
        lambda now: called(body, ([now[n] for n in places], variables, np.uint32(0)))[0],
    )
    begun = [state[n] for n in places], variables, np.uint32(0)
    values, variables, _ = traced_while(test, step, begun if has_effects else (*begun[:2], ()))
    for handle, value in zip(changed, variables):
        context.write(handle, value)
    return filled_in(state, places, values)


def settled(
    state: list[Any], places: Sequence[int], step: Callable[[list[Any]], list[Any]]
) -> list[Any]:
    """The state before a loop, with lists whose elements have no shape yet of those the loop sets.

    Args:
        step: the state after an iteration from the one before it.
    """
    unset = [n for n in places if isinstance(state[n], Unset)]
    if not unset:
        return state
    known = [n for n in places if n not in unset]

    def after(*values: Any) -> list[Any]:
        made = step(filled_in(state, known, values))
        return [x.filled(()) if isinstance(x, Unset) else x for x in (made[n] for n in unset)]

    if current_trace() is None:
        shapes = [x.shape for x in eval_shape(after, *(state[n] for n in known))]
    else:
        given = [Abstract.of(as_tensor(state[n])) for n in known]
        shapes = [x.shape for x in trace_function("first_iteration", after, given).results]
    return filled_in(state, unset, [state[n].filled(s[1:]) for n, s in zip(unset, shapes)])


def filled_in(state: Sequence[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """The state with other values at some places."""
    made = list(state)
    for place, value in zip(places, values):
        made[place] = value
    return made


def repeated(
    cond: Subgraph,
    body: Subgraph,
    state: list[Any],
    context: Context,
    seen: Any = None,
    writes: bool = True,
) -> list[Any]:
    """The loop at once, with arrays; its shapes may change, and host code runs within.

    Args:
        seen: is called with the state before each iteration.
        writes: whether the variables that it wrote stay so.
    """
    changed = written([cond, body], state)
    known = read_only(state, changed, context)
    variables = {x: context.read(x) for x in changed if context.is_initialized(x)}
    number = 0
    while True:
        inner = context.nested({**known, **variables}, np.uint32(number))
        if not np.all(inner.call(cond, state)[0]):
            break
        if seen is not None:
            seen(state)
        state = inner.call(body, state)
        variables |= {x: inner.read(x) for x in changed if inner.is_initialized(x)}
        number += 1
    for handle, value in variables.items() if writes else ():
        context.write(handle, value)
    return state


# --- functions


def _of_function(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(x.dtype, x.shape) for x in attributes["f"].outputs]


@operator(
    "PartitionedCall", "StatefulPartitionedCall", types="", infer=_of_function, decide=decided
)
def call(
    *arguments: Any, f: Subgraph, context: Context, _forward: Operation | None = None
) -> list[Any]:
    """What a subgraph gives."""
    context.operation = _forward or context.operation
    return context.call(f, arguments)
