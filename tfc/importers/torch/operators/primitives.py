"""torch's prims, which its own definitions of operators end in."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.importers.torch.operators.reductions import variance
from tfc.importers.torch.operators.shapes import concatenate
from tfc.importers.torch.table import ATEN, Call, aten, cast

_SHARED = {
    "add": "add.Tensor", "sub": "sub.Tensor", "where": "where.self", "pow": "pow.Tensor_Tensor",
    "amax": "amax.default", "amin": "amin.default",
}  # fmt: skip
_ALIKE = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "atan2", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "cos", "cosh", "digamma", "eq", "erf",
    "erfc", "exp", "exp2", "expm1", "floor", "fmax", "fmin", "fmod", "ge", "gt", "hypot", "le",
    "lgamma", "log", "log10", "log1p", "log2", "lt", "maximum", "minimum", "mul", "ne", "neg",
    "nextafter", "reciprocal", "remainder", "round", "rsqrt", "sign", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc",
)  # fmt: skip
aten("prims.cat.default")(concatenate)
for _name in _ALIKE:
    ATEN[f"prims.{_name}.default"] = ATEN[f"{_name}.default"]
for _name, _row in _SHARED.items():
    ATEN[f"prims.{_name}.default"] = ATEN[_row]


@aten("prims.div.default")
def divide(a: Any, b: Any, *, node: Call) -> Any:
    """a / b, of integers rounded towards zero."""
    a, b = cast(a, node.dtype), cast(b, node.dtype)
    if np.dtype(node.dtype).kind in "iu":
        return tnp.floor_divide(a - tnp.fmod(a, b), b)
    return tnp.divide(a, b)


@aten("prims.broadcast_in_dim.default")
def broadcast(x: Any, shape: Sequence[int], dims: Sequence[int]) -> Any:
    """The array with its dimensions at places of a larger shape."""
    sizes = [1] * len(shape)
    for own, dim in zip(x.shape, dims):
        sizes[dim] = own
    return tnp.broadcast_to(tnp.reshape(x, tuple(sizes)), tuple(shape))


@aten("prims.sum.default")
def total(x: Any, dims: Any, *, output_dtype: Any = None, node: Call) -> Any:
    """The sums over dimensions."""
    return tnp.sum(cast(x, node.dtype), axis=tuple(dims or ()))


@aten("prims.prod.default")
def product(x: Any, dims: Any, *, output_dtype: Any = None, node: Call) -> Any:
    """The products over dimensions."""
    return tnp.prod(cast(x, node.dtype), axis=tuple(dims or ()))


@aten("prims.var.default")
def var(x: Any, dims: Any, correction: Any = 1, *, output_dtype: Any = None) -> Any:
    """The variances over dimensions."""
    return variance(x, list(dims), correction=correction)


@aten("prims.convert_element_type.default", "prims.device_put.default", "prims.view_of.default",
      "prims.clone.default")  # fmt: skip
def converted(x: Any, *_: Any, **__: Any) -> Any:
    """The array, which the walk converts to what is stated."""
    return x


@aten("prims.iota.default")
def iota(length: int, *, start: int, step: int, node: Call, **_: Any) -> Any:
    """Numbers at a distance."""
    return (start + step * np.arange(length)).astype(node.dtype)


@aten("prims.rev.default")
def backwards(x: Any, dims: Sequence[int]) -> Any:
    """The array backwards along dimensions."""
    return tnp.flip(x, tuple(dims))
