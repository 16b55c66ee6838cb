"""x.at[key].set(y), .add(y) …: new arrays in which some elements differ, as in JAX.

Slices and scalars become dynamic-update-slices of what is made of the old elements there, arrays
one scatter, and masks, known or not, a choice by elements.
"""

from collections.abc import Callable
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import divide, multiply, power
from tfc.frontend.numpy.indexing.keys import Key, read_key
from tfc.frontend.numpy.indexing.places import require_mode
from tfc.frontend.numpy.indexing.reading import chosen_places, gathered, scalar_dims
from tfc.frontend.numpy.indexing.regions import Region
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor, cast, expand, result_type
from tfc.frontend.tensor import FUNCTIONS, ArrayLike, Tensor, evaluable
from tfc.frontend.trace import Trace, current_trace
from tfc.hlo.ir import Computation
from tfc.hlo.shape import PRED, ElementType, Shape

Combine = Callable[[Tensor, Tensor], Tensor]


def _elementwise(opcode: str, on_bool: str | None = None) -> Combine:
    """(old, update) -> new by one op; of booleans by another."""

    def combine(old: Tensor, update: Tensor) -> Tensor:
        is_bool = old.array_shape.element_type == PRED
        return operation(on_bool if is_bool and on_bool else opcode, old, update)

    return combine


COMBINE: dict[str, Combine] = {
    "set": lambda _, update: update,
    "add": _elementwise("add", "or"),
    "multiply": _elementwise("multiply", "and"),
    "min": _elementwise("minimum", "and"),
    "max": _elementwise("maximum", "or"),
}


class At:
    """An array some of whose elements are to be read or replaced: x.at, to be given a key."""

    def __init__(self, array: ArrayLike):
        self.array = array

    def __getitem__(self, key: Any) -> "Update":
        return Update(self.array, key)

    def __repr__(self) -> str:
        return f"At({self.array!r})"


def at(x: ArrayLike) -> At:
    """What x.at is: at(x)[key].set(y) is the array x with other elements where x[key] are."""
    return At(x)


FUNCTIONS["at"] = at


class Update:
    """The elements x[key], x.at[key]: read with a mode, or replaced in a new array.

    Places beyond the bounds: writing leaves them out, reading takes the nearest. The modes are
    "clip", the nearest; "drop" and "fill", which leave out and read `fill_value`;
    "promise_in_bounds", which says there are none. What lies twice at one place is combined with it
    twice; of several elements set, one is.

    indices_are_sorted, unique_indices: promises of the caller that may save time.
    """

    def __init__(self, array: ArrayLike, key: Any):
        self.array, self.key = array, key

    def __repr__(self) -> str:
        return f"Update({self.array!r}, {self.key!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
        fill_value: ArrayLike = None,
    ) -> Tensor:
        """x[key]; beyond the bounds `fill_value`, or NaN or an extreme integer, if so asked."""
        return _read(self.array, self.key, mode, fill_value, indices_are_sorted)

    def set(self, values: ArrayLike, **promises: Any) -> Tensor:
        """The array with `values`, broadcast and converted, in place of x[key]."""
        return _written("set", self.array, self.key, values, **promises)

    def add(self, values: ArrayLike, **promises: Any) -> Tensor:
        """The array with `values` added to x[key]."""
        return _written("add", self.array, self.key, values, **promises)

    def subtract(self, values: ArrayLike, **promises: Any) -> Tensor:
        """The array with `values` subtracted from x[key]."""
        return _subtracted(self.array, self.key, values, **promises)

    def multiply(self, values: ArrayLike, **promises: Any) -> Tensor:
        """The array with x[key] multiplied by `values`."""
        return _written("multiply", self.array, self.key, values, **promises)

    mul = multiply

    def divide(self, values: ArrayLike, **promises: Any) -> Tensor:
        """The array divided by `values` at x[key]; of integers a float array."""
        return _by_factors(divide, self.array, self.key, values, **promises)

    def power(self, values: ArrayLike, **promises: Any) -> Tensor:
        """The array with x[key] raised to `values`."""
        return _by_factors(power, self.array, self.key, values, **promises)

    def min(self, values: ArrayLike, **promises: Any) -> Tensor:
        """The array with the smaller of x[key] and `values`; NaN if either is."""
        return _written("min", self.array, self.key, values, **promises)

    def max(self, values: ArrayLike, **promises: Any) -> Tensor:
        """The array with the larger of x[key] and `values`; NaN if either is."""
        return _written("max", self.array, self.key, values, **promises)

    def apply(self, function: Callable[[Any], Any], **promises: Any) -> Tensor:
        """The array with a function of elements applied to x[key], once for each time it is named.

        Raises:
            TraceError: the function needs another traced value, where arrays are indices.
        """
        return _applied(self.array, self.key, function, **promises)


@evaluable
def _read(x: ArrayLike, key: Any, mode: Any, fill_value: ArrayLike, is_sorted: bool) -> Tensor:
    return gathered(x, key, mode, fill_value, is_sorted)


@evaluable
def _written(name: str, x: ArrayLike, key: Any, values: ArrayLike, **promises: Any) -> Tensor:
    tensor = as_tensor(x)
    return _Writing(tensor, key, **promises).write(COMBINE[name], _fitting(name, values, tensor))


@evaluable
def _subtracted(x: ArrayLike, key: Any, values: ArrayLike, **promises: Any) -> Tensor:
    tensor = as_tensor(x)
    update = operation("negate", _fitting("subtract", values, tensor))
    return _Writing(tensor, key, **promises).write(COMBINE["add"], update)


@evaluable
def _by_factors(
    function: Callable[[Any, Any], Tensor], x: ArrayLike, key: Any, values: ArrayLike, **named: Any
) -> Tensor:
    """The function of the array and the product of all factors at a place, one elsewhere."""
    tensor = as_tensor(x)
    joined = result_type(tensor, as_tensor(values))
    ones = ops.full_like(1, cast(tensor, joined))
    factors = _Writing(ones, key, **named).write(multiply, cast(as_tensor(values), joined))
    return function(tensor, factors)


@evaluable
def _applied(x: ArrayLike, key: Any, function: Callable[[Any], Any], **promises: Any) -> Tensor:
    tensor = as_tensor(x)

    def combine(old: Tensor, _: Tensor) -> Tensor:
        new = as_tensor(function(old))
        if new.shape != old.shape:
            raise ShapeError(
                f"apply requires a function of elements, got {list(new.shape)} for "
                f"{list(old.shape)}"
            )
        return cast(new, old.dtype)

    return _Writing(tensor, key, **promises).write(combine, ops.full(0, (), _type_of(tensor)))


def _type_of(tensor: Tensor) -> ElementType:
    return tensor.array_shape.element_type


def _fitting(name: str, values: ArrayLike, tensor: Tensor) -> Tensor:
    """The values in the array's element type.

    Raises:
        TraceError: that would lose an imaginary part, or what is combined with integers a fraction.
    """
    update = as_tensor(values)
    kinds = ("pred", "unsigned", "signed", "float", "complex")
    wanted, given = _type_of(tensor), _type_of(update)
    loses = kinds.index(given.kind) > max(2, kinds.index(wanted.kind))
    if loses and (name != "set" or given.is_complex):
        raise TraceError(
            f".at[…].{name} cannot put {given.dtype} values into an array of {wanted.dtype}; "
            "convert one of them with astype"
        )
    return cast(update, wanted.dtype)


class _Writing:
    """Elements of an array to be combined with updates."""

    def __init__(
        self,
        tensor: Tensor,
        key: Any,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | None = None,
    ):
        require_mode(mode)
        self.tensor, self.mode = tensor, mode
        self.is_sorted, self.unique = indices_are_sorted, unique_indices
        self.mask = _mask_of(key, tensor)
        self.key: Key | None = None
        if self.mask is None:
            self.key = read_key(key, tensor.shape, strict=False)

    def write(self, combine: Combine, values: Tensor) -> Tensor:
        """The array with the updates, broadcast to the elements, combined into it."""
        if self.key is None:
            return self._choose(combine, values)
        key, region = self.key, Region(self.key)
        drop = self.mode in (None, "drop", "fill")
        whole = ops.reshape(self.tensor, key.dims)

        def change(part: Tensor) -> Tensor:
            if key.has_arrays:
                return self._scatter(part, key, combine, values)
            gone = scalar_dims(key)
            dims = [n for d, n in enumerate(part.shape) if d not in gone]
            update = ops.reshape(_spread(values, dims), part.shape)
            return combine(part, update)

        return ops.reshape(region.changed(whole, change, drop), self.tensor.shape)

    def _scatter(self, part: Tensor, key: Key, combine: Combine, values: Tensor) -> Tensor:
        places = chosen_places(key, part)
        assert places is not None, "a key with arrays chooses places"
        updates = _spread(values, places.result_dims(part))
        if not updates.size:
            return part
        if self.mode == "clip":
            places = places.clipped(part)
        computation = _scalar(combine, _type_of(part))
        return places.scatter(part, updates, computation, self.is_sorted, self.unique)

    def _choose(self, combine: Combine, values: Tensor) -> Tensor:
        """Where a mask that is not known holds; the same update for each of its places."""
        tensor, mask = self.tensor, self.mask
        assert mask is not None, "a key that is not read is a mask"
        rest = tensor.shape[mask.ndim :]
        extra = values.ndim - len(rest)
        if extra > 0 and any(n != 1 for n in values.shape[:extra]):
            raise TraceError(
                f"a mask that is not known while tracing takes the same values at each of its "
                f"places, of shape {list(rest)}, got {list(values.shape)}; use tfc.numpy.where"
            )
        update = expand(ops.reshape(values, values.shape[max(extra, 0) :]), rest)
        spread = ops.broadcast(update, tensor.shape, range(mask.ndim, tensor.ndim))
        here = ops.broadcast(mask, tensor.shape, range(mask.ndim))
        return ops.select(here, combine(tensor, spread), tensor)


def _mask_of(key: Any, tensor: Tensor) -> Tensor | None:
    """The mask that is all of a key, not known while tracing; None for any other key."""
    alone = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if not isinstance(alone, Tensor) or alone.array_shape.element_type != PRED:
        return None
    mask = ops.adopt(alone)
    if mask.shape != tensor.shape[: mask.ndim]:
        raise ShapeError(
            f"a mask must have the sizes of the dimensions it is for, {list(tensor.shape)}, "
            f"got {list(mask.shape)}"
        )
    return mask


def _spread(values: Tensor, dims: Any) -> Tensor:
    """The updates repeated to the dimensions of what they are for.

    Raises:
        ShapeError: they do not broadcast to them.
    """
    extra = values.ndim - len(dims)
    if extra > 0 and all(n == 1 for n in values.shape[:extra]):
        values = ops.reshape(values, values.shape[extra:])
    aligned = zip(values.shape[::-1], tuple(dims)[::-1])
    if values.ndim > len(dims) or any(n not in (1, wanted) for n, wanted in aligned):
        raise ShapeError(
            f".at[…] of elements of shape {list(dims)} requires values that broadcast to it, "
            f"got {list(values.shape)}"
        )
    return expand(values, dims)


def _scalar(combine: Combine, element_type: ElementType) -> Computation:
    """(old, update) -> new on scalars, as a scatter takes it."""
    trace = Trace("combine", current_trace())
    with trace:
        old, update = (ops.wrap(trace.parameter(Shape(element_type))) for _ in range(2))
        made = combine(old, update)
        root = ops.adopt(made)
    if trace.captures:
        raise TraceError(
            "the function that is applied to elements at arrays of indices needs a value from "
            "around it; use .at[…].set of what it makes of .at[…].get()"
        )
    return trace.computation(root.instruction)
