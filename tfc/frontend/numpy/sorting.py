"""Functions of the NumPy namespace that order elements: sort, argsort.

NaN comes after all numbers, as in NumPy, and equal elements keep their order.
"""

from collections.abc import Sequence

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.numpy.manipulation import (
    normalize_axis,
    ravel,
)
from tfc.frontend.numpy.parts import is_complex, parts
from tfc.frontend.operations import compare, operation
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.frontend.trace import Trace, current_trace
from tfc.hlo.ir import Computation
from tfc.hlo.shape import S64, ElementType, Shape


@traceable
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Tensor:
    """The elements in ascending order along an axis; all of them in one dimension if it is None.

    NaN comes last; a descending order is the ascending one reversed, so that NaN comes first.
    Equal elements keep their order whatever `stable` and `kind` say.

    Raises:
        ShapeError: an `order` of fields, which no array has here.
    """
    tensor, dimension = _along(a, axis, order)
    return sorted_together([tensor], dimension, descending)[0]


@traceable
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = True,
) -> Tensor:
    """The int64 indices along an axis that put the elements in the order of `sort`."""
    tensor, dimension = _along(a, axis, order)
    numbers = ops.iota(S64, tensor.shape, dimension)
    return sorted_together([tensor, numbers], dimension, descending)[1]


def _along(a: ArrayLike, axis: int | None, order: object) -> tuple[Tensor, int]:
    if order is not None:
        raise ShapeError(f"elements have no fields to sort by, got the order {order!r}")
    tensor = ravel(a) if axis is None else as_tensor(a)
    return tensor, normalize_axis(0 if axis is None else axis, tensor.ndim)


def comes_before(left: Tensor, right: Tensor) -> Tensor:
    """pred: the left element is the smaller one, or the right one alone is NaN."""
    if is_complex(left):
        return _complex_comes_before(left, right)
    before = compare("LT", left, right)
    if not left.array_shape.element_type.is_float:
        return before
    is_last = operation("and", compare("EQ", left, left), is_nan(right))
    return operation("or", before, is_last)


def _complex_comes_before(left: Tensor, right: Tensor) -> Tensor:
    """By real parts, then by imaginary ones; NaN in one part counts before NaN in the other:

    numbers, NaN imaginary parts, NaN real parts, both; each of them in the order of what is known.
    """
    sides = [(is_nan(part), part) for tensor in (left, right) for part in parts(tensor)]
    left_real, left_imag, right_real, right_imag = sides
    keys = [
        (left_real[0], right_real[0]),
        (left_imag[0], right_imag[0]),
        (left_real[1], right_real[1]),
        (left_imag[1], right_imag[1]),
    ]
    before = compare("LT", *keys[-1])
    for smaller, larger in reversed(keys[:-1]):
        # Two NaN in one part are alike: what follows decides.
        decided = operation("or", compare("LT", smaller, larger), compare("GT", smaller, larger))
        before = ops.select(decided, compare("LT", smaller, larger), before)
    return before


def sorted_together(
    operands: Sequence[Tensor], dimension: int, descending: bool = False
) -> list[Tensor]:
    """Arrays in the order of the first one."""
    types = [o.array_shape.element_type for o in operands]
    made = operation(
        "sort", *operands, dimensions=(dimension,), is_stable=True,
        to_apply=_comparator(types, descending),
    )  # fmt: skip
    return ops.elements(made) if len(operands) > 1 else [made]


def _comparator(types: Sequence[ElementType], descending: bool) -> Computation:
    trace = Trace("descending" if descending else "ascending", current_trace())
    with trace:
        sides = [trace.parameter(Shape(t)) for t in types for _side in range(2)]
        left, right = (ops.wrap(s) for s in sides[:2])
        before = comes_before(right, left) if descending else comes_before(left, right)
    return trace.computation(before.instruction)
