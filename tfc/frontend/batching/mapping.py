"""A function of each slice of some arrays: one slice after the other, or some of them at once."""

from collections.abc import Callable
from typing import Any

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.batching.vmap import vmap
from tfc.frontend.control.scan import scan
from tfc.frontend.promotion import as_tensor
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import Tensor, evaluable


@evaluable
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """f of each slice of xs along their first dimension, the results stacked.

    Args:
        f: x -> any nested structure of arrays.
        xs: a nested structure of arrays of one length.
        batch_size: how many slices to compute at once, as `vmap` does; one after the other if left
            out, all of them for 0.

    Raises:
        ShapeError: the lengths differ, or the batch size is negative.
        TraceError: xs holds no array.
    """
    if batch_size is None:
        return scan(lambda _, x: ((), call_python(f, x)), (), xs)[1]
    size = whole(batch_size, "batch_size")
    if size < 0:
        raise ShapeError(f"map requires a batch_size that is not negative, got {size}")
    inputs = tree.map_leaves(as_tensor, xs)
    lengths = {x.shape[0] for x in tree.flatten(inputs)[0] if x.ndim}
    count = max(lengths, default=0)
    if not size or size >= count:
        return vmap(f)(inputs)
    batches, rest = divmod(count, size)
    whole_ones = tree.map_leaves(lambda x: _split(x, batches, size), inputs)
    stacked = scan(lambda _, x: ((), vmap(f)(x)), (), whole_ones)[1]
    results = tree.map_leaves(_joined, stacked)
    if not rest:
        return results
    last = vmap(f)(tree.map_leaves(lambda x: ops.slice_along(x, 0, count - rest, count), inputs))
    first, structure = tree.flatten(results)
    pairs = zip(first, tree.flatten(last)[0])
    return tree.unflatten(structure, [ops.concatenate(list(pair), 0) for pair in pairs])


def _split(x: Tensor, batches: int, size: int) -> Tensor:
    """The first slices, as batches of some."""
    if not x.ndim or x.shape[0] < batches * size:
        return x  # scan says what is wrong with it
    used = ops.slice_along(x, 0, 0, batches * size)
    return ops.reshape(used, (batches, size, *x.shape[1:]))


def _joined(stacked: Tensor) -> Tensor:
    batches, size, *dims = stacked.shape
    return ops.reshape(stacked, (batches * size, *dims))
