"""Products with weights that are integers of 8 bits, as `model.quantize("int8")` makes them.

What is multiplied is rounded to integers as well, each row by the scale of its largest element, so
that products are of integers; the scales divide the sums.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.importers.keras.layer import Layer, Variable, serialized
from tfc.importers.keras.table import Use

_WIDE = np.dtype(np.int32)
_RANGE, _EPSILON = (-127, 127), 1e-7


def with_scale(layer: Layer, variables: Sequence[Variable]) -> list[Variable]:
    """The variables of a layer, with the scale of the first one if that is of integers."""
    weight, *others = variables
    if not layer.is_int8:
        return [*variables]
    integers = Variable(weight.name, trainable=False)
    return [integers, *others, Variable(f"{weight.name}_scale", trainable=False)]


def dense_product(use: Use, x: Any) -> Any:
    """x @ kernel."""
    integers, scale = _quantized(use, x, (-1,))
    kernel = use["kernel"]
    if scale is None:
        return tnp.matmul(x, kernel.astype(x.dtype)) / use["kernel_scale"]
    made = tnp.matmul(integers, kernel.astype(_WIDE)).astype(x.dtype)
    return made / (use["kernel_scale"] * scale)


def einsum_product(use: Use, equation: str, x: Any) -> Any:
    """The sum of products by an equation, whose kernel has its scale in the result's dimensions.

    Raises:
        UnsupportedError: the equation has dimensions without letters.
    """
    equation = equation.replace(" ", "")
    if "." in equation or "->" not in equation:
        raise UnsupportedError(f"the equation '{equation}' is not supported in a quantized layer")
    terms, result = equation.split("->")
    taken = terms.split(",")[0]
    summed = [n for n, letter in enumerate(taken) if letter not in result]
    integers, scale = _quantized(use, x, summed)
    kernel = use["kernel"]
    if scale is None:
        return tnp.einsum(equation, x, kernel.astype(x.dtype)) / use["kernel_scale"]
    left = "".join(letter for letter in taken if letter in result)
    kept = "".join(letter for letter in result if letter in left)
    moved = tnp.einsum(f"{left}->{kept}", tnp.squeeze(scale, tuple(summed)))
    apart = [n for n, letter in enumerate(result) if letter not in left]
    made = tnp.einsum(equation, integers, kernel.astype(_WIDE)).astype(x.dtype)
    return made / (tnp.expand_dims(moved, tuple(apart)) * use["kernel_scale"])


def _quantized(use: Use, x: Any, axes: Sequence[int]) -> tuple[Any, Any]:
    """(integers, the scale that makes them); None for both where weights alone are integers.

    Raises:
        UnsupportedError: they are made in a way that is not known.
    """
    stated = use.layer.config.get("quantization_config")
    held: Any = {}
    if isinstance(stated, Mapping):
        _, config = serialized(stated)
        quantizer = config.get("activation_quantizer")
        if quantizer is None:
            return None, None
        kind, held = serialized(quantizer)
        if kind != "AbsMaxQuantizer":
            raise UnsupportedError(f"the quantizer {kind} is not supported")
    low, high = held.get("value_range") or _RANGE
    epsilon = held.get("epsilon", _EPSILON)
    most = tnp.max(tnp.abs(x), axis=tuple(axes), keepdims=True)
    scale = np.asarray(high, x.dtype) / (most + np.asarray(epsilon, x.dtype))
    return tnp.clip(tnp.rint(x * scale), low, high).astype(_WIDE), scale
