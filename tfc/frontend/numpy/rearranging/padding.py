"""Arrays with something put around them: `pad` in all of NumPy's modes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.functions import rint
from tfc.frontend.numpy.reductions import max, mean, min
from tfc.frontend.numpy.spacings import linspace
from tfc.frontend.numpy.statistics.quantiles import median
from tfc.frontend.promotion import as_tensor, cast, expand, shortened
from tfc.frontend.tensor import ArrayLike, Tensor, traceable

Pairs = list[list[Any]]

# What each mode takes beside the widths, and what that is if it is left out.
_TAKES: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "median": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
}
_STATISTICS = {"maximum": max, "mean": mean, "median": median, "minimum": min}


@traceable
def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **named: Any) -> Tensor:
    """The array with elements put before and after it along each axis.

    Args:
        pad_width: how many: one number, a pair (before, after), a pair for each axis, or a
            dictionary of them by axis.
        mode: "constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
            "symmetric", "wrap", "empty" (zeros), or a function (vector, (before, after), axis,
            named arguments) -> vector.
        named: what the mode takes: constant_values, end_values, stat_length, reflect_type; numbers,
            pairs, or a pair for each axis.

    Raises:
        ShapeError: widths that are no integers of 0 or more or do not fit, or an unknown mode.
    """
    tensor = as_tensor(array)
    widths = _widths(pad_width, tensor.ndim)
    if callable(mode):
        return _by_function(tensor, widths, mode, named)
    if mode not in _TAKES:
        raise ShapeError(f"pad requires one of the modes {', '.join(_TAKES)}, got {mode!r}")
    if unknown := set(named) - set(_TAKES[mode]):
        raise ShapeError(f"pad in the mode '{mode}' takes no {', '.join(sorted(unknown))}")
    options = {**_TAKES[mode], **named}
    given = next(iter(options.values()), None)
    if mode in ("constant", "empty"):
        return _constant(tensor, widths, _pairs(0 if given is None else given, tensor.ndim))
    if mode == "linear_ramp":
        return _ramps(tensor, widths, _pairs(given, tensor.ndim))
    if mode in _STATISTICS:
        return _statistics(tensor, widths, mode, _pairs(given, tensor.ndim))
    return _repeated(tensor, widths, mode, given)


def _widths(pad_width: Any, rank: int) -> list[list[int]]:
    if isinstance(pad_width, dict):
        by_axis = {axis % rank: pair for axis, pair in pad_width.items()}
        pad_width = [
            np.broadcast_to(np.asarray(by_axis.get(d, 0)), (2,)).tolist() for d in range(rank)
        ]
    given = np.asarray(pad_width)
    if given.dtype.kind not in "iu" or np.any(given < 0):
        raise ShapeError(f"pad requires widths that are integers of 0 or more, got {pad_width}")
    try:
        return np.broadcast_to(given, (rank, 2)).tolist()
    except ValueError as error:
        raise ShapeError(
            f"pad requires one width, a pair or a pair for each of {rank} axes, got {pad_width}"
        ) from error


def _pairs(values: Any, rank: int) -> Pairs:
    """A value before and after each axis: of one value, a pair, or a pair for each axis."""
    if values is None or isinstance(values, Tensor):
        if values is not None and values.ndim:
            raise ShapeError(f"pad requires one value or pairs of them, got {values!r}")
        return [[values, values]] * rank
    spread = np.empty((rank, 2), object)
    try:
        spread[...] = values
    except ValueError as error:
        raise ShapeError(
            f"pad requires one value, a pair or a pair for each of {rank} axes, got "
            f"{shortened(values)}"
        ) from error
    return spread.tolist()


def _scalar(value: Any, tensor: Tensor) -> Tensor:
    scalar = cast(as_tensor(value), tensor.dtype)
    if scalar.ndim:
        raise ShapeError(f"pad requires numbers, got {shortened(value)}")
    return scalar


def _constant(tensor: Tensor, widths: list[list[int]], values: Pairs) -> Tensor:
    first = values[0][0] if values else 0
    if _all_same(values):
        padding = [(low, high, 0) for low, high in widths]
        return ops.pad(tensor, _scalar(first, tensor), padding)
    for axis, (pair, (low, high)) in enumerate(zip(values, widths)):
        for value, edges in zip(pair, ((low, 0, 0), (0, high, 0))):
            padding = [edges if d == axis else (0, 0, 0) for d in range(tensor.ndim)]
            tensor = ops.pad(tensor, _scalar(value, tensor), padding)
    return tensor


def _all_same(values: Pairs) -> bool:
    """Whether one value is put everywhere."""
    listed = [value for pair in values for value in pair]
    if any(isinstance(value, Tensor) for value in listed):
        return all(value is listed[0] for value in listed)
    return all(type(v) is type(listed[0]) and v == listed[0] for v in listed)


def _around(tensor: Tensor, axis: int, before: Tensor | None, after: Tensor | None) -> Tensor:
    parts = [part for part in (before, tensor, after) if part is not None and part.shape[axis]]
    return ops.concatenate(parts or [tensor], axis)


def _ramps(tensor: Tensor, widths: list[list[int]], ends: Pairs) -> Tensor:
    """Numbers in equal steps from an end value to the edge."""
    for axis, ((low, high), (first, last)) in enumerate(zip(widths, ends)):
        size = tensor.shape[axis]
        _require_edge(size, low + high, axis)
        sides = []
        for count, end, place in ((low, first, 0), (high, last, size - 1)):
            edge = ops.slice_along(tensor, axis, place, place + 1) if size else tensor
            dims = [n for d, n in enumerate(edge.shape) if d != axis]
            ramp = linspace(expand(_scalar(end, tensor), dims), ops.reshape(edge, dims), count,
                            endpoint=False, dtype=tensor.dtype, axis=axis)  # fmt: skip
            sides.append(ramp)
        tensor = _around(tensor, axis, sides[0], ops.reverse(sides[1], [axis]))
    return tensor


def _statistics(tensor: Tensor, widths: list[list[int]], mode: str, lengths: Pairs) -> Tensor:
    """A statistic of the elements next to each edge, or of all."""
    for axis, (pair, length) in enumerate(zip(widths, lengths)):
        size = tensor.shape[axis]
        _require_edge(size, pair[0] + pair[1], axis)
        sides = []
        for is_after, (count, reach) in enumerate(zip(pair, length)):
            reach = size if reach is None or reach > size else int(reach)
            if reach < 1:
                raise ShapeError(f"pad requires a stat_length of 1 or more, got {reach}")
            start = size - reach if is_after else 0
            found = _STATISTICS[mode](
                ops.slice_along(tensor, axis, start, start + reach), axis=axis, keepdims=True
            )
            if tensor.dtype.kind in "iu":
                found = rint(found)
            dims = [count if d == axis else n for d, n in enumerate(tensor.shape)]
            sides.append(expand(cast(found, tensor.dtype), dims))
        tensor = _around(tensor, axis, *sides)
    return tensor


def _require_edge(size: int, width: int, axis: int) -> None:
    if not size and width:
        raise ShapeError(f"pad cannot continue axis {axis}, which has no elements")


def _places(mode: str, size: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """Which element stands at each place of the padded axis, and how often it was reflected."""
    places = np.arange(-low, size + high)
    if mode == "edge":
        return np.clip(places, 0, size - 1), np.zeros_like(places)
    if mode == "wrap":
        return places % size, np.zeros_like(places)
    period = np.maximum(size - 1, 1) if mode == "reflect" else size
    turns, rest = np.divmod(places, period)
    if mode == "reflect":
        found = np.where(turns % 2 == 0, rest, size - 1 - rest)
        return (found if size > 1 else np.zeros_like(places)), turns
    return np.where(turns % 2 == 0, rest, size - 1 - rest), turns


def _repeated(tensor: Tensor, widths: list[list[int]], mode: str, kind: Any) -> Tensor:
    """Elements again: the edge, or all of them in turns, in the same or the opposite order."""
    if mode in ("reflect", "symmetric") and kind not in ("even", "odd"):
        raise ShapeError(f"pad requires the reflect_type 'even' or 'odd', got {kind!r}")
    for axis, (low, high) in enumerate(widths):
        size = tensor.shape[axis]
        if not low + high:
            continue
        _require_edge(size, low + high, axis)
        places, turns = _places(mode, size, low, high)
        found = _taken(tensor, places, axis)
        tensor = found if kind != "odd" else _odd(tensor, found, places, turns, axis, mode)
    return tensor


def _taken(tensor: Tensor, places: np.ndarray, axis: int) -> Tensor:
    """The elements at known places along an axis, slice by slice where they run on."""
    ends = np.flatnonzero(np.diff(places, 2) != 0)
    if len(ends) > 8:
        return _gathered(tensor, places, axis)
    parts, start = [], 0
    while start < len(places):
        stop = start + 1
        step = int(places[stop] - places[start]) if stop < len(places) else 1
        while stop < len(places) and places[stop] - places[stop - 1] == step and abs(step) <= 1:
            stop += 1
        parts.append(_run(tensor, int(places[start]), int(places[stop - 1]), stop - start, axis))
        start = stop
    return ops.concatenate(parts, axis)


def _run(tensor: Tensor, first: int, last: int, count: int, axis: int) -> Tensor:
    """Elements one after the other, forward, backward, or one of them again and again."""
    low, high = sorted((first, last))
    part = ops.slice_along(tensor, axis, low, high + 1)
    if first == last and count > 1:
        return expand(part, [count if d == axis else n for d, n in enumerate(tensor.shape)])
    return ops.reverse(part, [axis]) if last < first else part


def _gathered(tensor: Tensor, places: np.ndarray, axis: int) -> Tensor:
    return ops.operation(
        "gather", tensor, ops.constant(places),
        offset_dims=tuple(d for d in range(tensor.ndim) if d != axis),
        collapsed_slice_dims=(axis,), start_index_map=(axis,), index_vector_dim=1,
        slice_sizes=tuple(1 if d == axis else n for d, n in enumerate(tensor.shape)),
    )  # fmt: skip


def _odd(
    tensor: Tensor, found: Tensor, places: np.ndarray, turns: np.ndarray, axis: int, mode: str
) -> Tensor:
    """Reflected elements turned about the edge's value, once for each reflection."""
    size = tensor.shape[axis]
    first = ops.slice_along(tensor, axis, 0, 1)
    last = ops.slice_along(tensor, axis, size - 1, size)
    dims = [len(turns) if d == axis else 1 for d in range(tensor.ndim)]

    def along(values: np.ndarray) -> Tensor:
        return ops.reshape(ops.constant(values.astype(tensor.dtype)), dims)

    # f(-x) = 2 first - f(x) and f(x) = 2 last - f(2 size - x), again and again.
    sign = np.where(turns % 2 == 0, 1, -1)
    pairs = (turns - (turns % 2)) // 2
    spread = last - first
    odd = turns % 2 != 0
    shift = along(2 * pairs) * spread + along(np.where(odd, 2, 0)) * last
    return expand(along(sign), found.shape) * found + expand(shift, found.shape)


def _by_function(
    tensor: Tensor, widths: list[list[int]], function: Callable[..., Any], named: dict[str, Any]
) -> Tensor:
    """What a function makes of each vector of the array padded with zeros, axis by axis."""
    padded = ops.pad(
        tensor, ops.full(0, [], tensor.array_shape.element_type),
        [(low, high, 0) for low, high in widths],
    )  # fmt: skip
    for axis, pair in enumerate(widths):
        order = [*(d for d in range(padded.ndim) if d != axis), axis]
        rows = ops.transpose(padded, order)
        flat = ops.reshape(rows, [rows.size // rows.shape[-1] if rows.size else 0, rows.shape[-1]])
        made = []
        for row in flat:
            result = function(row, tuple(pair), axis, named)
            if result is None:
                raise ShapeError(
                    "pad requires a function that returns the padded vector, got one that gives "
                    "None; Tensors cannot be written to"
                )
            made.append(ops.reshape(cast(as_tensor(result), padded.dtype), [1, flat.shape[1]]))
        if made:
            rows = ops.reshape(ops.concatenate(made, 0), rows.shape)
        padded = ops.transpose(rows, [order.index(d) for d in range(padded.ndim)])
    return padded
