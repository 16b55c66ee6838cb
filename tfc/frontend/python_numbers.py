"""Python arguments that are part of the program: whole numbers, sizes of dimensions, numbers."""

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.tensor import Tensor

Dims = int | Sequence[int]


def whole(value: Any, what: str) -> int:
    """A whole number, known while tracing.

    Args:
        what: what the number is, with its article, for the message.

    Raises:
        ShapeError: it is something else.
        TraceError: it is a Tensor, whose value is not known.
    """
    if isinstance(value, Tensor):
        return index(value)  # refuses, with the reason
    try:
        return index(value)
    except TypeError as error:
        raise ShapeError(f"{what} must be an integer, got {value!r}") from error


def sizes(shape: Any, what: str = "a dimension's size") -> list[int]:
    """The whole numbers that an argument names: an integer, or a sequence or vector of them.

    Raises:
        ShapeError: one of them is no integer.
    """
    is_vector = isinstance(shape, np.ndarray) and shape.ndim == 1
    if is_vector or (isinstance(shape, Sequence) and not isinstance(shape, str)):
        return [whole(n, what) for n in shape]
    return [whole(shape, what)]


def real_number(value: Any, what: str) -> float:
    """A real number, known while tracing.

    Raises:
        ShapeError: it is something else.
    """
    if not isinstance(value, (int, float, np.integer, np.floating)):
        raise ShapeError(f"{what} must be a number, got {value!r}")
    return float(value)
