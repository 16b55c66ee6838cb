"""Weight-only quantization: weights are stored as s8 or f16, and computed with in their own type.

    d = f32[8,16] dot(x, w)     -->     q = f32[64,16] convert(s8[64,16] constant)
                                        d = f32[8,16] dot(x, q · scales)

The conversion is part of the product's kernel, which packs the weight anyway.
"""

from typing import Literal

import numpy as np

from tfc.errors import TfcError
from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32
from tfc.passes.analysis.products import summed_dimensions
from tfc.quantization.affine import symmetric_weights
from tfc.quantization.products import Product

Storage = Literal["int8", "f16"]


def stored_weights(
    product: Product, storage: Storage, *, per_channel: bool
) -> dict[int, tuple[Instruction, np.ndarray]]:
    """For each operand that is a weight: what takes its place, and the value of that.

    Raises:
        TfcError: an element is NaN or infinite, or becomes so.
    """
    found = {}
    for number, value in enumerate(product.weights):
        if value is not None:
            made = _as_half(value) if storage == "f16" else None
            if made is None:
                summed = summed_dimensions(product.instruction, number)
                made = _as_bytes(value, summed, per_channel=per_channel)
            wide = product.instruction.operands[number].array_shape.element_type
            found[number] = builder.convert(made[0], wide), made[1]
    return found


def _as_half(value: np.ndarray) -> tuple[Instruction, np.ndarray]:
    with np.errstate(over="ignore"):
        half = value.astype(np.float16)
    if not np.isfinite(half).all():
        raise TfcError("its weight is NaN, infinite or beyond the range of f16")
    return _kept(half), half.astype(value.dtype)


def _kept(stored: np.ndarray) -> Instruction:
    """A constant whose conversion is not done while compiling."""
    return builder.instruction("opt-barrier", [builder.constant(stored)])


def _as_bytes(
    value: np.ndarray, summed: tuple[int, ...], *, per_channel: bool
) -> tuple[Instruction, np.ndarray]:
    integers, scales = symmetric_weights(value, summed, per_channel=per_channel)
    kept = [d for d in range(value.ndim) if d not in summed] if per_channel else []
    wide = builder.convert(_kept(integers), F32)
    made = builder.binary(
        "multiply", wide, builder.broadcast(builder.constant(scales), value.shape, kept)
    )
    spread = np.expand_dims(scales, summed) if per_channel else scales
    return made, integers.astype(np.float32) * spread
