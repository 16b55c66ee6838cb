"""Elements chosen by conditions: choose, select, piecewise, compress, extract, place."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import OutOfBoundsError, ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import as_bool, remainder, where
from tfc.frontend.numpy.indexing.known import are_known, numpy_if_known, require_size
from tfc.frontend.numpy.indexing.locating import count_before, positions
from tfc.frontend.numpy.indexing.taking import (
    numbers_within,
    refuse_in_place,
    refuse_out,
    take,
    take_along_axis,
)
from tfc.frontend.numpy.manipulation import normalize_axis, ravel, stack
from tfc.frontend.operations import compare, full_like, operation
from tfc.frontend.promotion import as_tensor, broadcast_together, cast, promote
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import S64

FEW = 32  # choices that are quicker compared in turn than gathered


@traceable
def choose(a: ArrayLike, choices: Any, out: None = None, mode: str | None = "raise") -> Tensor:
    """For each element of `a` the element of the choice that has its number.

    Args:
        choices: arrays, or one array of them along its first dimension; all broadcast together.
        mode: for numbers of no choice, as of take.

    Raises:
        ShapeError: the numbers are no integers, or there is no choice.
        OutOfBoundsError: a number that is known is out of bounds.
    """
    refuse_out("choose", out)
    if isinstance(choices, (Tensor, np.ndarray)):
        whole = as_tensor(choices)
        listed: Sequence[Any] = [whole[k] for k in range(whole.shape[0] if whole.ndim else 0)]
    else:
        listed = choices
    if not listed:
        raise ShapeError("choose requires at least one choice, got none")
    given = numbers_within(a, len(listed), mode)
    numbers, *arrays = broadcast_together(ops.convert(given, S64), *promote(*listed))
    numbers = where(numbers < 0, numbers + len(listed), numbers)
    if len(arrays) > FEW:
        found = take_along_axis(stack(arrays), ops.reshape(numbers, (1, *numbers.shape)), 0)
        return ops.reshape(found, numbers.shape)
    chosen = arrays[0]
    for number, array in enumerate(arrays[1:], 1):
        # What is beyond the bounds takes the nearest.
        chosen = ops.select(compare("GE", numbers, full_like(number, numbers)), array, chosen)
    return chosen


@traceable
def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Tensor:
    """The element of the first choice whose condition holds, else `default`.

    Raises:
        ShapeError: there is no condition, or not one for each choice, or one is not bool.
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(
            f"select requires a condition for each choice, got {len(condlist)} for "
            f"{len(choicelist)}"
        )
    conditions = [as_tensor(c) for c in condlist]
    if any(c.dtype != np.bool_ for c in conditions):
        raise ShapeError("select requires conditions that are bool")
    *choices, last = promote(*choicelist, default)
    together = broadcast_together(*conditions, *choices, last)
    conditions, choices, chosen = (
        together[: len(conditions)],
        together[len(conditions) : -1],
        together[-1],
    )
    for condition, choice in zip(conditions[::-1], choices[::-1]):
        chosen = ops.select(condition, choice, chosen)
    return chosen


@traceable
def piecewise(
    x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any
) -> Tensor:
    """The values of functions where their conditions hold, of a further one where none does.

    Every function is computed on all of x; of several conditions that hold, the last one counts.

    Args:
        funclist: functions of an array, or numbers; 0 is the further one if it is left out.
        args, kw: what functions take besides.

    Raises:
        ShapeError: there are not as many functions as conditions, or one more.
    """
    tensor = as_tensor(x)
    if not isinstance(condlist, (list, tuple)):
        whole = as_tensor(condlist)
        several = whole.ndim > tensor.ndim
        condlist = [whole[k] for k in range(whole.shape[0])] if several else [whole]
    elif not any(np.ndim(c) if are_known(c) else c.ndim for c in condlist) and tensor.ndim:
        condlist = [np.asarray(condlist)] if are_known(condlist) else [stack(list(condlist))]
    conditions = [as_bool(c) for c in condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ShapeError(
            f"piecewise requires {len(conditions)} functions or one more, got {len(funclist)}"
        )
    has_default = len(funclist) > len(conditions)
    default = funclist[-1] if has_default else 0

    def value(function: Callable[..., Any] | ArrayLike) -> Tensor:
        made = function(tensor, *args, **kw) if callable(function) else function
        return cast(as_tensor(made), tensor.dtype)

    found = broadcast_together(value(default), tensor)[0]
    for condition, function in zip(conditions, funclist):
        found = where(condition, value(function), found)
    return found


@numpy_if_known(np.compress)
def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    out: None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = None,
) -> Tensor:
    """The slices along an axis, or elements of the flattened array, for which a vector is true.

    Args:
        size: how many to give, needed if the condition is not known.
        fill_value: what comes after the last; 0 if left out.

    Raises:
        ShapeError: the condition is no vector, or longer than the dimension.
        TraceError: the size is needed and not given.
    """
    refuse_out("compress", out)
    tensor = ravel(as_tensor(a)) if axis is None else as_tensor(a)
    axis = normalize_axis(0 if axis is None else axis, tensor.ndim)
    if are_known(condition) and size is None:
        return take(tensor, np.flatnonzero(_vector(np.asarray(condition))), axis)
    count = require_size("compress", size)
    mask = _vector(as_bool(condition))
    if mask.size > tensor.shape[axis]:
        raise OutOfBoundsError(
            f"compress requires a condition of at most {tensor.shape[axis]} elements, "
            f"got {mask.size}"
        )
    places, exist = positions(mask, count)
    found = take(tensor, places, axis)
    spread = ops.broadcast(exist, found.shape, [axis])
    return where(spread, found, cast(as_tensor(fill_value or 0), tensor.dtype))


def _vector(condition: Any) -> Any:
    if condition.ndim != 1:
        raise ShapeError(f"a condition must be a vector, got {list(condition.shape)}")
    return condition


@numpy_if_known(np.extract)
def extract(
    condition: ArrayLike,
    arr: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike = None,
) -> Tensor:
    """The elements of an array for which a condition of its size is true; size as of compress."""
    flat = np.ravel(np.asarray(condition)) if are_known(condition) else ravel(condition)
    return compress(flat, ravel(as_tensor(arr)), size=size, fill_value=fill_value)


@traceable
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = False) -> Tensor:
    """A new array with the values, in turn and from the first again, where a mask is true.

    Raises:
        ShapeError: the mask has another size, there is no value, or an array is to be changed.
    """
    refuse_in_place("place", inplace)
    tensor, here = as_tensor(arr), as_bool(mask)
    values = ravel(cast(as_tensor(vals), tensor.dtype))
    if here.size != tensor.size:
        raise ShapeError(f"place requires a mask of {tensor.size} elements, got {list(here.shape)}")
    if not tensor.size:
        return tensor
    if not values.size:
        raise ShapeError("place requires at least one value, got none")
    flat = ravel(here)
    number = operation("subtract", count_before(flat), full_like(1, count_before(flat)))
    chosen = take(values, remainder(number, values.size))
    return where(ops.reshape(here, tensor.shape), ops.reshape(chosen, tensor.shape), tensor)
