"""Loops: those that carry scalars, those over a space, and those with a condition."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.backends.mlir.arithmetic.value import Scalar, bitcast
from tfc.backends.mlir.provider import ir, scf
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import BF16, F16, U16, ElementType

# (loop variable, carried scalars) -> the scalars for the next iteration
LoopBody = Callable[[Any, Sequence[Scalar]], Sequence[Scalar]]


def for_loop(
    lower: Any,
    upper: Any,
    step: Any,
    body: LoopBody,
    carried: Sequence[Scalar] = (),
) -> Sequence[Scalar]:
    """`for i in range(lower, upper, step)`, carrying scalars from one iteration to the next.

    A float of 16 bits is carried as an integer: LLVM would carry it as an f32, and call a function
    of the compiler's library to make one of 16 bits again.

    Args:
        lower, upper, step: Python integers or values of type `index`.

    Returns:
        The scalars after the last iteration; `carried` if there is none.
    """
    bounds = [index_value(b) if isinstance(b, int) else b for b in (lower, upper, step)]
    types = [c.element_type for c in carried]
    loop = scf.ForOp(*bounds, _carriers(carried))
    with ir.InsertionPoint(loop.body):
        state = _carried(loop.inner_iter_args, types)
        scf.yield_(_carriers(body(loop.induction_variable, state)))
    return _carried(loop.results, types)


def for_each(low: Any, high: Any, body: Callable[[Any], object]) -> None:
    """A loop over `range(low, high)` that carries nothing."""

    def step(point: Any, _: Sequence[Scalar]) -> Sequence[Scalar]:
        body(point)
        return []

    for_loop(low, high, 1, step)


def _carriers(scalars: Sequence[Scalar]) -> list[Any]:
    """The values that carry scalars through a loop."""
    return [(bitcast(s, U16) if s.element_type in (F16, BF16) else s).value for s in scalars]


def _carried(values: Sequence[Any], types: Sequence[ElementType]) -> list[Scalar]:
    """The scalars of these types that the values carry."""
    return [bitcast(Scalar(v, U16), t) if t in (F16, BF16) else Scalar(v, t)
            for v, t in zip(values, types)]  # fmt: skip


def when(condition: Any, body: Callable[[], object]) -> None:
    """Emit `body` where an i1 holds."""
    with ir.InsertionPoint(scf.IfOp(condition).then_block):
        body()
        scf.yield_([])


def found_when(
    condition: Any, body: Callable[[], Sequence[Scalar]], otherwise: Sequence[Scalar]
) -> Sequence[Scalar]:
    """The scalars of `body` where an i1 holds, else others of the same types."""
    types = [o.element_type for o in otherwise]
    choice = scf.IfOp(condition, [c.type for c in _carriers(otherwise)], has_else=True)
    with ir.InsertionPoint(choice.then_block):
        scf.yield_(_carriers(body()))
    with ir.InsertionPoint(choice.else_block):
        scf.yield_(_carriers(otherwise))
    return _carried(choice.results, types)


def each_point(sizes: Sequence[int], body: Callable[[Sequence[Any]], None]) -> None:
    """Nested sequential loops around `body`, which gets their variables; the last is fastest."""

    def nest(points: list[Any]) -> None:
        if len(points) == len(sizes):
            body(points)
        else:
            for_each(0, sizes[len(points)], lambda point: nest([*points, point]))

    nest([])


def while_loop(
    start: Sequence[Any],
    condition: Callable[[Sequence[Any]], Any],
    body: Callable[[Sequence[Any]], Sequence[Any]],
) -> Sequence[Any]:
    """`while condition(state): state = body(state)` on MLIR values; gives the last state.

    Args:
        condition: emits an i1.
    """
    types = [v.type for v in start]
    loop = scf.WhileOp(types, list(start))
    before, after = (region.blocks.append(*types) for region in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        scf.condition(condition(before.arguments), list(before.arguments))
    with ir.InsertionPoint(after):
        scf.yield_(list(body(after.arguments)))
    return loop.results


def while_scalars(
    start: Sequence[Scalar],
    condition: Callable[[Sequence[Scalar]], Scalar],
    body: Callable[[Sequence[Scalar]], Sequence[Scalar]],
) -> Sequence[Scalar]:
    """`while condition(state): state = body(state)` on scalars; gives the last state."""
    types = [s.element_type for s in start]
    ended = while_loop(
        _carriers(start),
        lambda state: condition(_carried(state, types)).value,
        lambda state: _carriers(body(_carried(state, types))),
    )
    return _carried(ended, types)
