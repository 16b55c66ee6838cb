"""One step for each slice of some arrays, which hands on a carry and gives a slice each: scan.

A scan is a `while` whose state is a counter, the carry, the results and the arrays: an iteration
takes the slices at the counter, and puts what the step gives into the results, where they lie.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.control.emission import at, counted, with_at
from tfc.frontend.control.settling import show, trace_until_settled, with_structure
from tfc.frontend.program import Abstract, Program, apply_program
from tfc.frontend.promotion import as_tensor
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import Tensor, evaluable
from tfc.frontend.tree import Structure
from tfc.hlo.shape import S32, Shape


@evaluable
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """carry, y = f(carry, x) for the slices x of xs along their first dimension, from `init`.

    Args:
        f: (carry, x) -> (carry of the same structure, shapes and dtypes, y). It may use other
            Tensors as well.
        init: the first carry: a nested structure of arrays. Python numbers in it take the dtype
            that f gives.
        xs: a nested structure of arrays of one length; None where only the carry matters.
        length: the number of steps; needed if xs has no arrays.
        reverse: begin with the last slice. The results lie in the order of xs all the same.
        unroll: how many steps to run in an iteration of the loop; True for all.

    Returns:
        The last carry, and the ys, stacked along a new first dimension.

    Raises:
        ShapeError: the lengths differ, or f changes a shape or dtype of the carry; names the leaf.
        TraceError: f returns no pair, or a carry of another structure.
    """
    carry_leaves, carried = tree.flatten(init)
    arrays, sliced = tree.flatten(xs)
    inputs = [as_tensor(array) for array in arrays]
    count = _length(inputs, tree.paths(sliced, "xs"), length)
    slices = [Abstract(Shape(x.array_shape.element_type, x.shape[1:])) for x in inputs]
    held = len(carry_leaves)

    def step(*leaves: Tensor) -> Any:
        given = tree.unflatten(carried, leaves[:held]), tree.unflatten(sliced, leaves[held:])
        return call_python(f, *given)

    carry, program = trace_until_settled(
        "scan_body",
        step,
        [as_tensor(leaf) for leaf in carry_leaves],
        slices,
        lambda traced: _check_structure(traced, carried),
        "scan requires f to return a carry of the shapes and dtypes of its argument",
        tree.paths(carried, "carry"),
    )
    last, stacked = _loop(program, carry, inputs, count, reverse, _unrolled(unroll, count))
    after = with_structure(carried, last, [t.weak for t in carry])
    return after, tree.unflatten(program.structure.children[1], stacked)


def _length(inputs: Sequence[Tensor], paths: Sequence[str], length: Any) -> int:
    """The number of steps, as `length` and the arrays say.

    Raises:
        ShapeError: they differ, or an array is a scalar.
        TraceError: neither says it.
    """
    said = None if length is None else whole(length, "the length of a scan")
    first = "length"
    if said is not None and said < 0:
        raise ShapeError(f"scan requires a length that is not negative, got {said}")
    for path, x in zip(paths, inputs):
        if not x.ndim:
            raise ShapeError(f"scan requires arrays to take slices of, got {show(x)} for {path}")
        if said is None:
            said, first = x.shape[0], path
        elif x.shape[0] != said:
            raise ShapeError(
                f"scan requires arrays of one length, got {said} for {first} and {x.shape[0]} for "
                f"{path}"
            )
    if said is None:
        raise TraceError("scan requires arrays in xs or a length to know the number of steps")
    return said


def _check_structure(step: Program, carried: Structure) -> None:
    """Check that a step returns a pair of a carry and what is to be stacked.

    Raises:
        TraceError: it does not.
    """
    made = step.structure
    if made.kind not in (tuple, list) or len(made.children) != 2:
        raise TraceError(f"scan requires f to return a pair (carry, y), got {made}")
    if made.children[0] != carried:
        raise TraceError(
            f"scan requires f to return a carry of the structure of its argument {carried}, got "
            f"{made.children[0]} (WH-2)"
        )


def _unrolled(unroll: int | bool, count: int) -> int:
    """How many steps an iteration runs.

    Raises:
        ShapeError: it is no positive integer.
    """
    if isinstance(unroll, (bool, np.bool_)):
        return max(count, 1) if unroll else 1
    steps = whole(unroll, "unroll")
    if steps < 1:
        raise ShapeError(f"scan requires unroll to be positive, got {steps}")
    return min(steps, max(count, 1))


def _loop(
    step: Program, carry: list[Tensor], inputs: list[Tensor], count: int, reverse: bool, unroll: int
) -> tuple[list[Tensor], list[Tensor]]:
    """The last carry and the stacked results of `count` steps, `unroll` of them an iteration."""
    held, given = len(carry), len(inputs)
    results = [
        ops.full(0, (count, *r.shape), r.array_shape.element_type) for r in step.results[held:]
    ]
    if not count:
        return carry, results
    captures = step.captures
    end = held + len(results)

    def one(number: Tensor, parts: list[Tensor]) -> list[Tensor]:
        """The state after the step of that number."""
        last = ops.constant(count - 1, S32)
        place = ops.operation("subtract", last, number) if reverse else number
        inside, outside = parts[end : end + given], parts[end + given :]
        taken = [*parts[:held], *(at(x, place) for x in inside)]
        made = apply_program(step, taken, dict(zip(captures, outside)))
        stacked = [with_at(y, place, new) for y, new in zip(parts[held:end], made[held:])]
        return [*made[:held], *stacked, *parts[end:]]

    def several(number: Tensor, parts: list[Tensor]) -> list[Tensor]:
        """The state after an iteration: `unroll` steps."""
        first = number if unroll == 1 else ops.operation("multiply", number, _s32(unroll))
        for more in range(unroll):
            parts = one(first if not more else ops.operation("add", first, _s32(more)), parts)
        return parts

    state = [*carry, *results, *inputs, *(ops.wrap(c) for c in captures)]
    iterations, rest = divmod(count, unroll)
    if iterations:
        state = counted(iterations, state, several, "scan")
    for number in range(count - rest, count):
        state = one(_s32(number), state)
    return state[:held], state[held:end]


def _s32(number: int) -> Tensor:
    return ops.constant(number, S32)
