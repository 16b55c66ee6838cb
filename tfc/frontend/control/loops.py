"""Repetition: while_loop and fori_loop."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.control.emission import while_of
from tfc.frontend.control.scan import scan
from tfc.frontend.control.settling import show, trace_until_settled, with_structure
from tfc.frontend.program import Abstract, Program, apply_program, trace_function, union_of_captures
from tfc.frontend.promotion import as_tensor, cast, result_type
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.frontend.tree import Structure
from tfc.hlo.shape import PRED, Shape


@evaluable
def while_loop(
    cond_fun: Callable[[Any], ArrayLike], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Repeat state = body_fun(state) while cond_fun(state), from `init_val`; gives the last state.

    Args:
        cond_fun: state -> a scalar bool (WH-1).
        body_fun: state -> state of the same structure, shapes and dtypes (WH-2).
        init_val: a nested structure of arrays. Python numbers in it take the dtype that the body
            gives.

    Raises:
        ShapeError: the body changes a shape or dtype; names the leaf.
        TraceError: the body changes the structure, or the condition is no scalar bool.
    """
    leaves, structure = tree.flatten(init_val)
    tensors, body = trace_until_settled(
        "while_body",
        _of_state(body_fun, structure),
        [as_tensor(leaf) for leaf in leaves],
        [],
        lambda traced: _check_structure(traced, structure),
        "while_loop requires body_fun to return the shapes and dtypes of its argument",
        tree.paths(structure, "state"),
    )
    known = [Abstract.of(t) for t in tensors]
    condition = trace_function("while_condition", _of_state(cond_fun, structure), known)
    _check_condition(condition)
    captures = union_of_captures([condition, body])
    count = len(tensors)

    def test(parts: Sequence[Tensor]) -> Tensor:
        return apply_program(condition, parts[:count], dict(zip(captures, parts[count:])))[0]

    def step(parts: Sequence[Tensor]) -> list[Tensor]:
        made = apply_program(body, parts[:count], dict(zip(captures, parts[count:])))
        return [*made, *parts[count:]]

    looped = while_of([*tensors, *map(ops.wrap, captures)], test, step)
    return with_structure(structure, looped[:count], [t.weak for t in tensors])


def _of_state(function: Callable[[Any], Any], structure: Structure) -> Callable[..., Any]:
    return lambda *leaves: call_python(function, tree.unflatten(structure, leaves))


def _check_structure(body: Program, structure: Structure) -> None:
    if body.structure != structure:
        raise TraceError(
            "while_loop requires body_fun to return the structure of its argument "
            f"{structure}, got {body.structure} (WH-2)"
        )


def _check_condition(condition: Program) -> None:
    scalar = Shape(PRED)
    if not condition.structure.is_leaf or condition.results[0].array_shape != scalar:
        got = ", ".join(show(r) for r in condition.results) or "nothing"
        raise TraceError(f"while_loop requires cond_fun to return a scalar bool, got {got} (WH-1)")


@evaluable
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """value = body_fun(i, value) for i from `lower` to `upper` - 1, from `init_val`.

    Args:
        lower, upper: scalar integers. Only if both are numbers while tracing has the loop a
            gradient in reverse mode.
        body_fun: (i, value) -> value of the same structure, shapes and dtypes.
        unroll: how many iterations to run between two tests, True for all; the bounds must be
            numbers then.

    Raises:
        TraceError: a bound is no scalar integer, or `unroll` is given with one that is not known.
        ShapeError: the body changes a shape or dtype (WH-2).
    """
    first, last = _bound(lower), _bound(upper)
    dtype = result_type(first, last)
    if first.ndim or last.ndim or not np.issubdtype(dtype, np.integer):
        raise TraceError(f"fori_loop requires scalar integer bounds, got {first!r} and {last!r}")
    start, limit = cast(first, dtype), cast(last, dtype)
    counter = Tensor(start.instruction, start.home, first.weak and last.weak)

    def advance(state: tuple[Tensor, Any]) -> tuple[Tensor, Any]:
        number, value = state
        return number + 1, call_python(body_fun, number, value)

    if unroll is None:
        return while_loop(lambda state: state[0] < limit, advance, (counter, init_val))[1]
    bounds = [_number(t) for t in (start, limit)]
    if bounds[0] is None or bounds[1] is None:
        raise TraceError("fori_loop unrolls only between bounds that are numbers while tracing")
    count = max(bounds[1] - bounds[0], 0)
    step = lambda state, _: (advance(state), None)  # noqa: E731
    return scan(step, (counter, init_val), length=count, unroll=unroll)[0][1]


def _bound(value: ArrayLike) -> Tensor:
    """A bound; one that is a number of NumPy stays known where arrays become arguments."""
    if isinstance(value, np.integer):
        return ops.constant(value)
    return as_tensor(value)


def _number(bound: Tensor) -> int | None:
    is_known = bound.instruction.opcode == "constant"
    return int(bound.instruction["literal"].array) if is_known else None
