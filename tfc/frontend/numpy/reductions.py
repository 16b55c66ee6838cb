"""Functions of the NumPy namespace that combine elements along axes: sums, extremes, statistics.

Sums of small integers and booleans are taken in 64 bits, those of narrow floats in float32, as in
NumPy.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import as_bool, named
from tfc.frontend.numpy.comparisons import is_nan, ordered
from tfc.frontend.numpy.manipulation import Axes, normalize_axes, normalize_axis, ravel
from tfc.frontend.numpy.parts import is_complex, on_parts, parts
from tfc.frontend.numpy_keywords import refuse_out
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import as_inexact, as_tensor, cast, expand, widen
from tfc.frontend.python_numbers import real_number
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.frontend.trace import Trace, current_trace
from tfc.hlo import builder
from tfc.hlo.ir import Computation
from tfc.hlo.shape import S64, ElementType, Shape


def wide_type(tensor: Tensor) -> np.dtype:
    """The dtype of a sum: 64 bits for integers and booleans."""
    element_type = tensor.array_shape.element_type
    if element_type.kind == "unsigned":
        return np.dtype(np.uint64)
    return np.dtype(np.int64) if element_type.kind in ("pred", "signed") else tensor.dtype


def _accumulate(tensor: Tensor, opcode: str, init: int, axis: Axes | None, keep: bool) -> Tensor:
    """Reduce in float32 at least, and give the operand's own element type."""
    result = ops.reduce(widen(tensor), opcode, init, normalize_axes(axis, tensor.ndim), keep)
    return ops.convert(result, tensor.array_shape.element_type)


def only_where(tensor: Tensor, where: ArrayLike | None, rest: Any) -> Tensor:
    """The elements for which `where` holds, `rest` elsewhere; all if it is None."""
    if where is None:
        return tensor
    other = rest if isinstance(rest, Tensor) else full_like(rest, tensor)
    return select(_mask(tensor, where), tensor, expand(other, tensor.shape))


def _mask(tensor: Tensor, where: ArrayLike) -> Tensor:
    return expand(as_bool(where), tensor.shape)


def _beside(opcode: str, result: Tensor, initial: ArrayLike | None) -> Tensor:
    """The result combined with what a reduction is to begin with, if anything."""
    if initial is None:
        return result
    return operation(opcode, result, expand(cast(as_tensor(initial), result.dtype), result.shape))


def _total(name: str, opcode: str, init: int, doc: str):
    def function(
        a: ArrayLike,
        axis: Axes | None = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Tensor:
        refuse_out(name, out)
        tensor = as_tensor(a)
        tensor = cast(tensor, wide_type(tensor) if dtype is None else dtype)
        tensor = only_where(tensor, where, init)
        return _beside(opcode, _accumulate(tensor, opcode, init, axis, keepdims), initial)

    return named(function, name, doc)


def _truth(name: str, opcode: str, init: bool, doc: str):
    def function(
        a: ArrayLike,
        axis: Axes | None = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Tensor:
        refuse_out(name, out)
        tensor = only_where(as_bool(a), where, init)
        return ops.reduce(tensor, opcode, init, normalize_axes(axis, tensor.ndim), keepdims)

    return named(function, name, doc)


sum = _total("sum", "add", 0, "The sum along the axes; of small integers and booleans in 64 bits.")
prod = _total("prod", "multiply", 1, "The product along the axes; of small integers in 64 bits.")
all = _truth("all", "and", True, "True where all elements along the axes are not zero.")
any = _truth("any", "or", False, "True where an element along the axes is not zero.")


def lowest(element_type: ElementType) -> Any:
    """The least value of an element type: minus infinity for floats, in both parts if complex."""
    if element_type.is_float or element_type.is_complex:
        return complex(-np.inf, -np.inf) if element_type.is_complex else -np.inf
    return element_type.limits[0]


def highest(element_type: ElementType) -> Any:
    """The greatest value of an element type: infinity for floats, in both parts if complex."""
    if element_type.is_float or element_type.is_complex:
        return complex(np.inf, np.inf) if element_type.is_complex else np.inf
    return element_type.limits[1]


def _require_elements(name: str, tensor: Tensor, dimensions: tuple[int, ...]) -> None:
    # NumPy refuses this too: there is no identity to return.
    if 0 in (tensor.shape[d] for d in dimensions):
        raise ShapeError(
            f"{name} of no elements: got {list(tensor.shape)} along {list(dimensions)}"
        )


def _extreme(name: str, opcode: str, init: Callable[[ElementType], Any], doc: str, *names: str):
    def function(
        a: ArrayLike,
        axis: Axes | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Tensor:
        refuse_out(name, out)
        if where is not None and initial is None:
            raise ShapeError(f"{name} with 'where' requires 'initial', for where nothing is chosen")
        tensor = as_tensor(a)
        dimensions = normalize_axes(axis, tensor.ndim)
        first = init(tensor.array_shape.element_type)
        if initial is None:
            _require_elements(name, tensor, dimensions)
        else:
            first = cast(as_tensor(initial), tensor.dtype)
            tensor = only_where(tensor, where, first)
        if is_complex(tensor):
            tensor = _with_initial(tensor, dimensions, first) if initial is not None else tensor
            return _complex_extreme(name, tensor, dimensions, keepdims)
        found = ops.reduce(
            tensor, opcode, init(tensor.array_shape.element_type), dimensions, keepdims
        )
        return _beside(opcode, found, initial)

    return named(function, name, doc, *names)


def _complex_extreme(name: str, tensor: Tensor, dimensions: tuple[int, ...], keep: bool) -> Tensor:
    """The first of the largest or smallest elements, taken by its index: NumPy's order of them."""
    kept = [d for d in range(tensor.ndim) if d not in dimensions]
    dims = [tensor.shape[d] for d in kept]
    shape = [1 if d in dimensions else n for d, n in enumerate(tensor.shape)] if keep else dims
    if 0 in dims:
        return ops.full(0, shape, tensor.array_shape.element_type)
    moved = ops.transpose(tensor, [*kept, *dimensions])
    rows = ops.reshape(moved, [*dims, _count(tensor, dimensions)])
    outer = tuple(range(len(dims)))
    found = operation(
        "gather", rows, (argmax if name == "max" else argmin)(rows, axis=-1), offset_dims=(),
        collapsed_slice_dims=(len(dims),), start_index_map=(len(dims),),
        operand_batching_dims=outer, start_indices_batching_dims=outer,
        index_vector_dim=len(dims), slice_sizes=(1,) * rows.ndim,
    )  # fmt: skip
    return ops.reshape(found, shape)


def _with_initial(tensor: Tensor, dimensions: Sequence[int], first: Tensor) -> Tensor:
    """The Tensor with one more element along one of the dimensions: what to begin with."""
    if not dimensions:
        raise ShapeError("an extreme of complex numbers along no axis takes no 'initial'")
    dims = [*tensor.shape]
    dims[dimensions[0]] = 1
    return ops.concatenate([expand(first, dims), tensor], dimensions[0])


max = _extreme("max", "maximum", lowest, "The largest along the axes; NaN if any is.", "amax")
min = _extreme("min", "minimum", highest, "The smallest along the axes; NaN if any is.", "amin")


@traceable
def ptp(a: ArrayLike, axis: Axes | None = None, out: None = None, keepdims: bool = False) -> Tensor:
    """The largest minus the smallest along the axes."""
    refuse_out("ptp", out)
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


@traceable
def count_nonzero(a: ArrayLike, axis: Axes | None = None, *, keepdims: bool = False) -> Tensor:
    """How many elements along the axes are not zero, as int64."""
    return sum(as_bool(a), axis, keepdims=keepdims)


def _count(tensor: Tensor, axis: Axes | None) -> int:
    count = 1
    for d in normalize_axes(axis, tensor.ndim):
        count *= tensor.shape[d]
    return count


def _divided(total: Tensor, by: float) -> Tensor:
    """A sum divided by a real number, by parts: a complex quotient is NaN beside infinities."""
    return on_parts(lambda part: operation("divide", part, full_like(by, part)), total)


def _operand(a: ArrayLike, dtype: Any) -> Tensor:
    return as_inexact(a) if dtype is None else cast(as_tensor(a), dtype)


@traceable
def mean(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tensor:
    """The arithmetic mean along the axes; of integers and booleans in float64."""
    refuse_out("mean", out)
    tensor = _operand(a, dtype)
    found = _mean(widen(tensor), axis, keepdims, where)
    return ops.convert(found, tensor.array_shape.element_type)


def _mean(
    wide: Tensor, axis: Axes | None, keepdims: bool, where: ArrayLike | None, less: float = 0.0
) -> Tensor:
    """Sums divided by how many elements they are of, less a number, but not below 0."""
    dimensions = normalize_axes(axis, wide.ndim)
    total = ops.reduce_sum(only_where(wide, where, 0), dimensions, keepdims)
    if where is None:
        return _divided(total, np.maximum(_count(wide, axis) - less, 0))
    chosen = _mask(wide, where)
    component = wide.array_shape.element_type.component
    count = ops.reduce_sum(ops.convert(chosen, component), dimensions, keepdims)
    if less:
        count = operation("maximum", count - full_like(less, count), full_like(0, count))
    return on_parts(lambda part: operation("divide", part, count), total)


def _spread(name: str, finish: Callable[[Tensor], Tensor], doc: str):
    """A function of the mean squared distance from the mean."""

    def function(
        a: ArrayLike,
        axis: Axes | None = None,
        dtype: Any = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        correction: float | None = None,
    ) -> Tensor:
        refuse_out(name, out)
        if correction is not None and ddof:
            raise ShapeError(f"{name} takes either ddof or correction, which are the same")
        less = real_number(ddof if correction is None else correction, f"the ddof of {name}")
        tensor = _operand(a, dtype)
        wide = widen(tensor)
        center = (
            _mean(wide, axis, True, where) if mean is None else cast(as_tensor(mean), wide.dtype)
        )
        squares = _squares(wide - expand(center, wide.shape))
        found = finish(_mean(squares, axis, keepdims, where, less))
        return ops.convert(found, tensor.array_shape.element_type.component)

    return named(function, name, doc)


def _squares(distance: Tensor) -> Tensor:
    """The squared magnitudes."""
    sides = parts(distance) if is_complex(distance) else [distance]
    squares = operation("multiply", sides[0], sides[0])
    for side in sides[1:]:
        squares = squares + operation("multiply", side, side)
    return squares


var = _spread(
    "var",
    lambda variance: variance,
    "The mean squared distance from the mean, with n - ddof as the divisor; real if complex.",
)
std = _spread(
    "std", lambda variance: operation("sqrt", variance), "The square root of the variance."
)


def _choose(direction: str, element_type: ElementType) -> Computation:
    """(value, index, value, index) -> the better pair: NaN first, then the smaller index of equals.

    Reduction may combine in any order, so the choice must not depend on which side a pair is on.
    """
    trace = Trace(f"arg_{direction}_{element_type}", current_trace())
    with trace:
        value, number = Shape(element_type), Shape(S64)
        parameters = [trace.parameter(s) for s in (value, number, value, number)]
        left, i, right, j = (ops.wrap(p) for p in parameters)
        left_nan, right_nan = is_nan(left), is_nan(right)
        wins = ordered(direction, left, right)
        wins = operation("or", wins, operation("and", left_nan, operation("not", right_nan)))
        same = operation("or", compare("EQ", left, right), operation("and", left_nan, right_nan))
        wins = operation("or", wins, operation("and", same, compare("LT", i, j)))
        root = ops.make_tuple([select(wins, left, right), select(wins, i, j)])
    return trace.computation(root.instruction)


def _arg_extreme(name: str, direction: str, init: Callable[[ElementType], Any], doc: str):
    def function(a: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
        tensor = as_tensor(a)
        values = ravel(tensor) if axis is None else tensor
        dimension = normalize_axis(0 if axis is None else axis, values.ndim)
        _require_elements(name, values, (dimension,))
        element_type = values.array_shape.element_type
        inits = [builder.constant(init(element_type), element_type), builder.constant(0, S64)]
        # The init's index 0 is right where it wins: then all elements equal the init.
        pair = operation(
            "reduce", values, ops.iota(S64, values.shape, dimension), *map(ops.wrap, inits),
            dimensions=(dimension,), to_apply=_choose(direction, element_type),
        )  # fmt: skip
        found = operation("get-tuple-element", pair, index=1)
        if not keepdims:
            return found
        kept = [1 if axis is None or d == dimension else n for d, n in enumerate(tensor.shape)]
        return ops.reshape(found, kept)

    return named(function, name, doc)


argmax = _arg_extreme(
    "argmax", "GT", lowest, "The index of the first largest element, or of the first NaN; int64."
)
argmin = _arg_extreme(
    "argmin", "LT", highest, "The index of the first smallest element, or of the first NaN; int64."
)
