"""What the functions of random numbers are told: element types, and shapes that parameters fit."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.promotion import as_tensor, broadcast_shapes, cast, expand
from tfc.frontend.python_numbers import Dims, sizes
from tfc.frontend.tensor import ArrayLike, Tensor
from tfc.hlo.shape import ElementType, element_type_of


def float_type(dtype: Any) -> ElementType:
    """The element type of numbers of a continuous distribution.

    Raises:
        ShapeError: it is not one of floats of 16 bits or more.
    """
    element_type = element_type_of(dtype)
    if not element_type.is_float or element_type.bits < 16:
        raise ShapeError(
            "random numbers of a distribution are floats of 16, 32 or 64 bits, got "
            f"{element_type.dtype}"
        )
    return element_type


def integer_type(dtype: Any, what: str = "random numbers of this kind") -> ElementType:
    """The element type of integers that are drawn.

    Raises:
        ShapeError: it is not one of integers of 8 bits or more.
    """
    element_type = element_type_of(dtype)
    if not element_type.is_integer or element_type.bits < 8:
        raise ShapeError(f"{what} are integers, got {element_type.dtype}")
    return element_type


def shape_for(name: str, shape: Dims | None, *parameters: Sequence[int]) -> tuple[int, ...]:
    """The shape asked for, to which the parameters' must broadcast; their own if it is None.

    Raises:
        ShapeError: they do not broadcast to it.
    """
    together = broadcast_shapes(*parameters)
    if shape is None:
        return together
    dims = tuple(sizes(shape))
    aligned = zip(reversed(together), reversed(dims))
    if len(together) > len(dims) or any(n not in (1, size) for n, size in aligned):
        raise ShapeError(
            f"{name} requires parameters that broadcast to the shape {list(dims)}, "
            f"got {list(together)}"
        )
    return dims


def parameters(
    name: str, shape: Dims | None, element_type: ElementType, *values: ArrayLike
) -> list[Tensor]:
    """The parameters of a distribution in its element type and in the shape of the result.

    Raises:
        ShapeError: they do not broadcast to the shape.
    """
    tensors = [as_tensor(v) for v in values]
    dims = shape_for(name, shape, *(t.shape for t in tensors))
    return [expand(cast(t, element_type.dtype), dims) for t in tensors]


def float_type_of(value: Tensor) -> np.dtype:
    """The type in which numbers that follow a parameter are drawn: its own, float32 of numbers."""
    is_float = value.array_shape.element_type.is_float and not value.weak
    return value.dtype if is_float else np.dtype(np.float32)
