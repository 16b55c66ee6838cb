"""Distances between the rows of arrays."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.importers.torch.table import aten, cast


def norms(differences: Any, p: float) -> Any:
    """The p-norms along the last dimension."""
    sizes = tnp.absolute(differences)
    if p == 0:
        return tnp.sum(cast(sizes != 0, sizes.dtype), axis=-1)
    if p == 1:
        return tnp.sum(sizes, axis=-1)
    if p == 2:
        return tnp.sqrt(tnp.sum(sizes * sizes, axis=-1))
    if p == float("inf"):
        return tnp.max(sizes, axis=-1, initial=0)
    return tnp.power(tnp.sum(tnp.power(sizes, cast(p, sizes.dtype)), axis=-1), 1 / p)


@aten("_cdist_forward.default")
def between(a: Any, b: Any, p: float, compute_mode: int | None = None) -> Any:
    """The distance of each row of a from each row of b."""
    return norms(a[..., :, None, :] - b[..., None, :, :], p)


@aten("_pdist_forward.default")
def among(x: Any, p: float = 2.0) -> Any:
    """The distance of each row from each later one."""
    rows, others = np.triu_indices(x.shape[0], 1)
    return norms(x[rows] - x[others], p)
