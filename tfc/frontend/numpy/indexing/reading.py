"""x[key] of a Tensor, in all of NumPy's forms whose result has a size known while tracing."""

from typing import Any

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend.numpy.indexing.keys import Cut, Key, read_key
from tfc.frontend.numpy.indexing.places import (
    Places,
    fill_value_of,
    make_places,
    require_mode,
    where_missing,
)
from tfc.frontend.numpy.indexing.regions import Region
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.tensor import ArrayLike, Tensor, traceable


@traceable
def getitem(x: ArrayLike, key: Any) -> Tensor:
    """x[key] by NumPy's rules: slices, integers, None, Ellipsis, arrays of integers, known masks.

    Slices are slices, a traced integer makes a dynamic slice, arrays one gather. Negative indices
    count from the end; of places beyond the bounds that are known only when the program runs, the
    nearest are taken. What was read is what gets the gradient, beyond the bounds, too (JAX drops it
    where places are arrays, and gives it where they are scalars); x.at[key].get(mode="fill") gives
    nothing there, and drops it.

    Raises:
        ShapeError: the key does not fit, or has what is no index.
        OutOfBoundsError: a place that is known does not exist.
        TraceError: a mask or a bound of a slice is not known while tracing.
    """
    return gathered(x, key, None, None)


def gathered(
    x: ArrayLike, key: Any, mode: str | None, fill_value: ArrayLike, is_sorted: bool = False
) -> Tensor:
    """x[key] with a mode for places beyond the bounds: x.at[key].get.

    Args:
        mode: "fill" and "drop" give `fill_value` there, NaN or an extreme integer if left out.
    """
    require_mode(mode)
    tensor = as_tensor(x)
    read = read_key(key, tensor.shape, strict=mode is None)
    whole = ops.reshape(tensor, read.dims)
    region = Region(read)
    part = region.read(whole)
    places = chosen_places(read, part)
    if places is None:
        found, exist, dims = _without_scalars(part, read), region.exists(), []
    else:
        found, exist = places.gather(part, is_sorted), places.exist(part)
        dims = [d for d in range(found.ndim) if d not in places.window_dims(part.ndim)]
    if mode not in ("fill", "drop") or exist is None:
        return found
    element_type = tensor.array_shape.element_type
    given = fill_value_of(element_type) if fill_value is None else fill_value
    return where_missing(found, exist, dims, cast(as_tensor(given), element_type.dtype))


def scalar_dims(key: Key) -> tuple[int, ...]:
    """The dimensions that an integer or a scalar Tensor takes an element of."""
    return tuple(
        d for d, part in enumerate(key.parts) if isinstance(part, int) or
        (isinstance(part, Tensor) and not part.ndim)
    )  # fmt: skip


def _without_scalars(part: Tensor, key: Key) -> Tensor:
    gone = scalar_dims(key)
    return ops.reshape(part, [n for d, n in enumerate(part.shape) if d not in gone])


def chosen_places(key: Key, region: Tensor) -> Places | None:
    """What the arrays of a key choose of its region; None if it has no array."""
    if not key.has_arrays:
        return None
    chosen = {d: p for d, p in enumerate(key.parts) if isinstance(p, (Tensor, np.ndarray))}
    dropped = [d for d, p in enumerate(key.parts) if not isinstance(p, Cut)]
    return make_places(chosen, region.shape, dropped, key.block)
