"""Reductions and running totals that take NaN for nothing: nansum, nanmean, nanmax and their like.

Of what is all NaN, sums are 0, products 1, and everything else is NaN.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.frontend.numpy import reductions
from tfc.frontend.numpy.arithmetic import named
from tfc.frontend.numpy.comparisons import is_nan
from tfc.frontend.numpy.manipulation import Axes
from tfc.frontend.numpy.reductions import highest, lowest, only_where
from tfc.frontend.numpy.windows import cumprod, cumsum
from tfc.frontend.numpy_keywords import refuse_out
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import ArrayLike, Tensor
from tfc.hlo.shape import ElementType


def _numbers(tensor: Tensor, where: ArrayLike | None = None) -> Tensor:
    """True for what is no NaN, and chosen."""
    return only_where(operation("not", is_nan(tensor)), where, False)


def _total(name: str, of: Callable[..., Tensor], doc: str):
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
        chosen = _numbers(tensor, where)
        return of(tensor, axis, dtype, None, keepdims, initial, where=chosen)

    return named(function, name, doc)


nansum = _total("nansum", reductions.sum, "The sum of what is not NaN; 0 if all are.")
nanprod = _total("nanprod", reductions.prod, "The product of what is not NaN; 1 if all are.")


def _extreme(name: str, of: Callable[..., Tensor], rest: Callable[[ElementType], Any], doc: str):
    def function(
        a: ArrayLike,
        axis: Axes | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Tensor:
        refuse_out(name, out)
        tensor = as_tensor(a)
        kind = tensor.array_shape.element_type
        if not (kind.is_float or kind.is_complex):
            return of(tensor, axis, None, keepdims, initial, where)
        numbers = _numbers(tensor)
        filled = only_where(tensor, numbers, rest(kind))
        found = of(filled, axis, None, keepdims, initial, where)
        if initial is not None:
            return found
        some = reductions.any(numbers, axis, keepdims=keepdims)
        return only_where(found, some, of(tensor, axis, None, keepdims, None, where))

    return named(function, name, doc)


nanmax = _extreme("nanmax", reductions.max, lowest, "The largest of what is not NaN.")
nanmin = _extreme("nanmin", reductions.min, highest, "The smallest of what is not NaN.")


def _mean(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Tensor:
    refuse_out("nanmean", out)
    tensor = as_tensor(a)
    chosen = _numbers(tensor, where)
    return reductions.mean(tensor, axis, dtype, None, keepdims, where=chosen)


nanmean = named(_mean, "nanmean", "The mean of what is not NaN; NaN if all are.")


def _spread(name: str, of: Callable[..., Tensor], doc: str):
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
        tensor = as_tensor(a)
        chosen = _numbers(tensor, where)
        found = of(tensor, axis, dtype, None, ddof, keepdims,
                   where=chosen, mean=mean, correction=correction)  # fmt: skip
        # NumPy gives NaN where no degree of freedom is left, and not an infinity.
        count = reductions.sum(chosen, axis, keepdims=keepdims)
        enough = count > (ddof if correction is None else correction)
        return only_where(found, enough, np.nan)

    return named(function, name, doc)


nanvar = _spread("nanvar", reductions.var, "The variance of what is not NaN.")
nanstd = _spread("nanstd", reductions.std, "The standard deviation of what is not NaN.")


def _running(name: str, of: Callable[..., Tensor], rest: int, doc: str):
    def function(
        a: ArrayLike, axis: int | None = None, dtype: Any = None, out: None = None
    ) -> Tensor:
        refuse_out(name, out)
        tensor = as_tensor(a)
        return of(only_where(tensor, _numbers(tensor), rest), axis, dtype)

    return named(function, name, doc)


nancumsum = _running("nancumsum", cumsum, 0, "The running sums, NaN counting as 0.")
nancumprod = _running("nancumprod", cumprod, 1, "The running products, NaN counting as 1.")
