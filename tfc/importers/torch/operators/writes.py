"""What takes the place of writes: values put back through views, and statistics that are kept."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.torch.operators.composites import batch_norm
from tfc.importers.torch.operators.shapes import select_scatter, slice_scatter
from tfc.importers.torch.table import ATEN, COMPOSITE, Call, aten, cast, takes_node, wide

# Views that have all elements in their order.
_ALIKE = frozenset((
    "view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "view_as", "reshape_as",
    "ravel", "contiguous", "alias", "detach", "to", "type_as", "dropout", "feature_dropout",
    "alpha_dropout", "_unsafe_view", "positive", "atleast_1d", "atleast_2d", "atleast_3d",
    "resolve_conj", "resolve_neg",
))  # fmt: skip


@aten("tfc.write_through")
def write_through(
    source: Any, value: Any, op: str, args: Sequence[Any], named: Any, part: int | None
) -> Any:
    """An array with a new value of what a view of it shows.

    Args:
        op, args, named: the view, and what it takes besides the array.
        part: the place of what was written to among the view's results.
    """
    name = op.partition(".")[0]
    if op == "view.dtype" or np.dtype(source.dtype) != np.dtype(value.dtype):
        raise UnsupportedError(f"it writes to memory of another dtype by {op}: copy it first")
    if name in _ALIKE:
        return tnp.reshape(value, source.shape)
    if op == "select.int":
        return select_scatter(source, value, *args)
    if op == "slice.Tensor":
        return slice_scatter(source, value, *args, **named)
    if op == "unbind.int":
        return select_scatter(source, value, args[0] if args else 0, part or 0)
    if op in ("transpose.int", "t.default", "swapaxes.default", "swapdims.default", "mT.default"):
        return _row(op)(value, *args)
    if op == "permute.default":
        return tnp.transpose(value, tuple(np.argsort([d % source.ndim for d in args[0]])))
    numbers = np.arange(source.size).reshape(source.shape)
    shown = _row(op)(numbers, *args, **named)
    places = shown if part is None else shown[part]
    flat = tnp.at(tnp.reshape(source, (-1,)))[tnp.reshape(places, (-1,))]
    return tnp.reshape(flat.set(tnp.reshape(value, (-1,))), source.shape)


def _row(op: str) -> Callable[..., Any]:
    """The row of a view.

    Raises:
        UnsupportedError: there is none that can be taken back.
    """
    row = ATEN.get(op) or COMPOSITE.get(op)
    if row is None or takes_node(row):
        raise UnsupportedError(f"it writes through {op}: copy what it shows first")
    return row


@aten("tfc.batch_norm")
def batch_norm_training(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float,
    eps: float, *_: Any, node: Call,
) -> list[Any]:  # fmt: skip
    """The elements normalized by the means and variances of their channels, and running ones."""
    full = wide(x)
    axes = (0, *range(2, x.ndim))
    found = tnp.mean(full, axis=axes)
    shape = (1, -1, *[1] * (x.ndim - 2))
    spread = tnp.mean(tnp.square(full - tnp.reshape(found, shape)), axis=axes)
    made = batch_norm(x, weight, bias, found, spread, False, momentum, eps)
    if mean is None:
        return [made]
    count = x.size // x.shape[1]
    share = cast(momentum, full.dtype)
    unbiased = spread * cast(count / max(count - 1, 1), full.dtype)
    return [made, *(wide(old) * (1 - share) + new * share
                    for old, new in ((mean, found), (variance, unbiased)))]  # fmt: skip
