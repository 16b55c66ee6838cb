"""All partial results of an operation that may be grouped anyhow, in about 2 log2(n) steps."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.control.settling import show
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor, evaluable

Combine = Callable[[Sequence[Tensor], Sequence[Tensor]], list[Tensor]]


@evaluable
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """The results of combining the first elements along an axis, for each number of them.

    Args:
        fn: (a, b) -> both combined, for as many pairs at once as the arrays have along the axis.
            fn(a, fn(b, c)) must be fn(fn(a, b), c).
        elems: a nested structure of arrays of one length along the axis.
        reverse: combine the last elements instead, as the scan of the reversed arrays, reversed.

    Raises:
        ShapeError: the lengths differ, or the axis does not exist.
        TraceError: there are no arrays, or fn returns another structure.
    """
    leaves, structure = tree.flatten(elems)
    arrays = [as_tensor(leaf) for leaf in leaves]
    axis = _checked_axis(arrays, tree.paths(structure, "elems"), axis)

    def combine(first: Sequence[Tensor], second: Sequence[Tensor]) -> list[Tensor]:
        made = call_python(fn, tree.unflatten(structure, first), tree.unflatten(structure, second))
        results, returned = tree.flatten(made)
        if returned != structure:
            raise TraceError(
                "associative_scan requires fn to return the structure of its arguments "
                f"{structure}, got {returned}"
            )
        return [as_tensor(r) for r in results]

    turned = [ops.reverse(a, (axis,)) if reverse else a for a in arrays]
    scanned = _scan(combine, turned, axis)
    return tree.unflatten(structure, [ops.reverse(s, (axis,)) if reverse else s for s in scanned])


def _checked_axis(arrays: Sequence[Tensor], paths: Sequence[str], axis: int) -> int:
    """The axis counted from the start.

    Raises:
        ShapeError: it does not exist, or the arrays differ in length along it.
        TraceError: there are no arrays.
    """
    if not arrays:
        raise TraceError("associative_scan requires at least one array, got none")
    rank = arrays[0].ndim
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} does not exist in {show(arrays[0])}, which is {paths[0]}")
    axis %= rank
    for array, path in zip(arrays, paths):
        if array.ndim <= axis or array.shape[axis] != arrays[0].shape[axis]:
            raise ShapeError(
                f"associative_scan requires arrays of one length along axis {axis}, got "
                f"{show(arrays[0])} for {paths[0]} and {show(array)} for {path}"
            )
    return axis


def _scan(combine: Combine, arrays: list[Tensor], axis: int) -> list[Tensor]:
    """Combine pairs, scan those, and combine what is between with them (Blelloch's scan)."""
    count = arrays[0].shape[axis]
    if count < 2:
        return arrays

    def every_second(start: int, limit: int) -> list[Tensor]:
        return [ops.slice_along(a, axis, start, limit, 2) for a in arrays]

    odd = _scan(combine, combine(every_second(0, count - 1), every_second(1, count)), axis)
    before = [ops.slice_along(a, axis, 0, (count - 1) // 2) for a in odd]
    even = [ops.slice_along(a, axis, 0, 1) for a in arrays]
    if count > 2:
        between = combine(before, every_second(2, count))
        even = [ops.concatenate([first, b], axis) for first, b in zip(even, between)]
    return [_interleaved(*pair, axis) for pair in zip(even, odd)]


def _interleaved(even: Tensor, odd: Tensor, axis: int) -> Tensor:
    """even[0], odd[0], even[1] …; there may be one more even than odd."""
    pairs, missing = even.shape[axis], even.shape[axis] - odd.shape[axis]
    zero = ops.full(0, (), odd.array_shape.element_type)
    padding = [(0, missing if d == axis else 0, 0) for d in range(odd.ndim)]
    before, after = even.shape[:axis], even.shape[axis + 1 :]
    column = (*before, pairs, 1, *after)
    columns = [ops.reshape(t, column) for t in (even, ops.pad(odd, zero, padding))]
    paired = ops.reshape(ops.concatenate(columns, axis + 1), (*before, 2 * pairs, *after))
    return ops.slice_along(paired, axis, 0, 2 * pairs - missing)
