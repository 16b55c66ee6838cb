"""Layers that make one array of several."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.keras.operators.numbers import promoted
from tfc.importers.keras.table import Use, layer


def _either(use: Use, mask: Any, result: Any) -> Any:
    """The mask of a sum: where any input has one, and before Keras 3 where all that have one do."""
    masks = list(mask) if isinstance(mask, (list, tuple)) else [mask]
    if use.is_old:
        shown = [m for m in masks if m is not None]
        return reduce(tnp.logical_and, shown) if shown else None
    return None if any(m is None for m in masks) else reduce(tnp.logical_or, masks)


def aligned(arrays: Sequence[Any]) -> list[Any]:
    """Arrays of the same number of dimensions, in one dtype: new ones come after the batch."""
    found = promoted(*arrays)
    most = max(a.ndim for a in found)
    made = []
    for a in found:
        for _ in range(most - a.ndim):
            a = tnp.expand_dims(a, 1)
        made.append(a)
    return made


def _merge(function: Callable[[Any, Any], Any], doc: str) -> Callable[..., Any]:
    def merged(use: Use, inputs: Any) -> Any:
        return reduce(function, aligned(inputs))

    merged.__doc__ = doc
    return merged


layer("Add", mask=_either)(_merge(lambda a, b: a + b, "The sum."))
layer("Multiply", mask=_either)(_merge(lambda a, b: a * b, "The product."))
layer("Maximum", mask=_either)(_merge(tnp.maximum, "The largest."))
layer("Minimum", mask=_either)(_merge(tnp.minimum, "The smallest."))


@layer("Subtract", mask=_either)
def subtract(use: Use, inputs: Any) -> Any:
    """The first without the second."""
    first, second = aligned(inputs)
    return first - second


@layer("Average", mask=_either)
def average(use: Use, inputs: Any) -> Any:
    """The mean."""
    return reduce(lambda a, b: a + b, aligned(inputs)) / len(inputs)


def _joined_mask(use: Use, mask: Any, result: Any) -> Any:
    """The masks side by side, as the arrays are; where one has none, it shows all."""
    masks = list(mask) if isinstance(mask, (list, tuple)) else [mask]
    if all(m is None for m in masks):
        return None
    arrays = use.shown
    found = []
    for m, x in zip(masks, arrays):
        whole = tnp.ones(x.shape, bool)
        found.append(whole if m is None else whole & (m[..., None] if m.ndim < x.ndim else m))
    return tnp.all(tnp.concatenate(found, axis=_axis(use)), axis=-1) if use.is_old else tnp.any(
        tnp.concatenate(found, axis=_axis(use)), axis=-1
    )  # fmt: skip


def _axis(use: Use) -> int:
    return int(use.layer.config.get("axis", -1))


@layer("Concatenate", mask=_joined_mask)
def concatenate(use: Use, inputs: Any, *, axis: int = -1) -> Any:
    """One after the other along an axis."""
    use.shown = list(inputs)
    return tnp.concatenate(promoted(*inputs), axis=axis)


@layer("Dot")
def dot(use: Use, inputs: Any, *, axes: Any, normalize: bool = False) -> Any:
    """Sums of products along an axis of each, for each example."""
    first, second = promoted(*inputs)
    pair = list(axes) if isinstance(axes, (list, tuple)) else [axes, axes]
    a, b = int(pair[0]) % first.ndim, int(pair[1]) % second.ndim
    if not a or not b:
        raise UnsupportedError("Dot along the batch is not supported")
    if normalize:
        first, second = (
            x / tnp.sqrt(tnp.maximum(tnp.sum(x * x, axis=k, keepdims=True), 1e-12))
            for x, k in ((first, a), (second, b))
        )
    letters = "bcdefghijklmnopqrstuvwxyz"
    left = list(letters[: first.ndim])
    right = ["b", *letters[first.ndim : first.ndim + second.ndim - 1]]
    right[b] = left[a]
    result = [c for c in left if c != left[a]] + [c for c in right[1:] if c != left[a]]
    made = tnp.einsum(f"{''.join(left)},{''.join(right)}->{''.join(result)}", first, second)
    return made[:, None] if made.ndim == 1 else made
