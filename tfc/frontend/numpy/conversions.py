"""Functions of the NumPy namespace that make arrays of what users have: lists, numbers, arrays."""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.manipulation import array
from tfc.frontend.numpy.namespace import require_device
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import ArrayLike, Tensor, traceable, untraced
from tfc.frontend.trace import current_trace
from tfc.hlo.shape import element_type_of


@untraced
def asarray(
    a: ArrayLike, dtype: Any = None, *, device: Any = None, copy: bool | None = None
) -> Any:
    """An array of a nested list of numbers, arrays and Tensors; an array itself where it is one.

    Args:
        copy: True for an array of its own, False for a refusal where one must be made.

    Raises:
        ShapeError: `copy` is False, and `a` is no array of that dtype; or another device.
    """
    require_device(device)
    is_same = isinstance(a, (np.ndarray, Tensor)) and (
        dtype is None or element_type_of(dtype) == element_type_of(a.dtype)
    )
    if is_same and not copy and (isinstance(a, Tensor) or current_trace() is None):
        element_type_of(a.dtype)
        return a
    if copy is False and not is_same:
        raise ShapeError("asarray has to make an array of this, which copy=False forbids")
    return array(a, dtype)


@traceable
def copy(a: ArrayLike) -> Tensor:
    """An array with the same elements."""
    return as_tensor(a)


@traceable
def view(x: ArrayLike, dtype: Any = None) -> Tensor:
    """The bits of the elements taken for those of another dtype of the same size.

    Raises:
        ShapeError: its elements are of another size.
    """
    tensor = as_tensor(x)
    element_type = element_type_of(tensor.dtype if dtype is None else dtype)
    if element_type.bits != tensor.array_shape.element_type.bits:
        raise ShapeError(
            f"view requires a dtype of elements as large as those of {tensor.dtype}, got "
            f"{element_type.dtype}"
        )
    shape = tensor.array_shape.with_element_type(element_type)
    return ops.operation("bitcast-convert", tensor, shape=shape)
