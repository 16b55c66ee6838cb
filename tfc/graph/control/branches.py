"""cond and case: one of several functions of the graph is run, chosen by a value."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.frontend import tree
from tfc.graph.building import result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.control.bodies import Body, body_of, callable_of, leaf_like
from tfc.graph.control.facts import facts
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.subgraph import agree
from tfc.graph.types.dtypes import bool_


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """true_fn() where `pred` holds when the graph is run, else false_fn(); only that one is run.

    What the functions use but did not make themselves runs in either case.

    Args:
        pred: a boolean scalar tensor.
        true_fn, false_fn: return nested structures of the same kind and dtypes.
        strict: give back a list of one as such; it is taken apart otherwise.
        fn1, fn2: older names of the functions.

    Raises:
        TypeError: a function is none, or pred is a Python bool. ValueError: pred is no scalar, or
            the functions return other structures or dtypes.
    """
    first, second = callable_of("true_fn", true_fn or fn1), callable_of("false_fn", false_fn or fn2)
    if isinstance(pred, bool):
        raise TraceError("pred must not be a Python bool")
    graph = get_default_graph()
    with graph.name_scope(name or "cond") as scope:
        chosen = convert_to_tensor(pred)
        if not chosen.shape.is_compatible_with(()):
            raise ShapeError(f"pred must be a scalar, but {chosen} is of shape {chosen.shape}")
        bodies = {"true_fn": body_of(f"{scope}true", first)}
        bodies["false_fn"] = body_of(f"{scope}false", second)
        made = _choosing(graph, chosen, bodies)
    is_single = isinstance(made, (list, tuple)) and len(made) == 1
    return made[0] if is_single and not strict else made


def _choosing(graph: Graph, pred: Tensor, bodies: dict[str, Body]) -> Any:
    """The operation that chooses between branches, and its results in their structure."""
    first, second = bodies.values()
    _check_alike(bodies)
    graphs = [first.graph, second.graph]
    captured, controls = agree(graphs)
    shapes = [
        (x.dtype, x.shape.common(y.shape))
        for x, y in zip(first.graph.outputs, second.graph.outputs)
    ]
    attributes = {
        "Tcond": pred.dtype,
        "Tin": [x.dtype for x in captured],
        "Tout": [dtype for dtype, _ in shapes],
        "then_branch": graphs[0],
        "else_branch": graphs[1],
    }
    if _must_choose_on_host(bodies):
        attributes["_on_host"] = True
    pure = not any(facts(g).effect for g in graphs)
    with graph.control_dependencies(controls):
        inputs = [pred, *captured]
        type = "StatelessIf" if pure else "If"
        made = graph.create_operation(type, inputs, attributes, "If", shapes).outputs
    for x, inside in zip(made, first.graph.outputs):
        x.element = inside.element
    leaves = [leaf_like(leaf, x) for leaf, x in zip(first.leaves, made)]
    return tree.unflatten(first.structure, leaves)


def _check_alike(bodies: Mapping[str, Body]) -> None:
    """Check that branches return the same structure of the same dtypes.

    Raises:
        ValueError: they do not.
    """
    (one, first), (other, second) = bodies.items()
    if first.structure != second.structure:
        raise ShapeError(
            f"{one} and {other} must return the same structure, got {first.structure} and "
            f"{second.structure}"
        )
    for x, y in zip(first.graph.outputs, second.graph.outputs):
        if x.dtype != y.dtype:
            raise ShapeError(
                f"Outputs of {one} and {other} must have the same type: {x.dtype.name}, "
                f"{y.dtype.name}"
            )


def _must_choose_on_host(bodies: Mapping[str, Body]) -> bool:
    """Whether branches give shapes that are known to differ, which compiled code cannot."""
    first, second = (body.graph.outputs for body in bodies.values())
    return any(not x.shape.is_compatible_with(y.shape) for x, y in zip(first, second))


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the first function whose predicate holds when the graph is run.

    Args:
        pred_fn_pairs: pairs of a boolean scalar tensor and a function, or a dictionary of them.
        default: what is run where none holds; the last function if left out.
        exclusive: running fails if several predicates hold.

    Raises:
        TypeError, ValueError: there are no pairs, or what is in them is not of these kinds.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    if not pairs and default is None:
        raise ShapeError("case needs at least one pair of a predicate and a function, or a default")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TraceError(f"each of pred_fn_pairs must be a 2-tuple, got {pair!r}")
        if not isinstance(pair[0], Tensor) or pair[0].dtype != bool_:
            raise TraceError(f"a predicate of case must be a boolean tensor, got {pair[0]!r}")
        callable_of("fn", pair[1])
    with get_default_graph().name_scope(name):
        if exclusive and len(pairs) > 1:
            pairs = _exclusive(pairs)
        last = pairs.pop()[1] if default is None else default
        return _first_of(pairs, last, strict)


def _first_of(
    pairs: Sequence[tuple[Tensor, Callable[[], Any]]], default: Callable[[], Any], strict: bool
) -> Any:
    """Conditions within conditions."""
    if not pairs:
        return default()
    (pred, function), *rest = pairs
    return cond(pred, function, lambda: _first_of(rest, default, strict), strict)


def _exclusive(pairs: Sequence[tuple[Tensor, Any]]) -> list[tuple[Tensor, Any]]:
    """The pairs, whose predicates are checked when the graph is run: one at most may hold."""
    count = result("Sum", result("Cast", result("Pack", *(p for p, _ in pairs)), DstT="int32"), 0)
    holds = result("LessEqual", count, 1)
    message = "case: more than one predicate holds, although exclusive=True"
    graph = get_default_graph()
    data = [holds, count]
    attributes = {"summarize": 3, "_message": message}
    check = graph.create_operation("Assert", data, attributes, "assert_exclusive")
    with graph.control_dependencies([check]):
        return [(result("Identity", pred), function) for pred, function in pairs]
