"""Literal: a constant array as a hashable value, compared bit by bit."""

from functools import cached_property
from typing import Any

import numpy as np

from tfc.hlo.shape import Shape, element_type_of

_MOST_HASHED = 1 << 12  # elements


class Literal:
    """An immutable array with value semantics.

    Two literals are equal when dtype, dimensions and every bit agree: NaN equals the same NaN, and
    -0.0 differs from 0.0, so that sharing equal constants never changes a program.

    Raises:
        ShapeError: the array's dtype has no element type.
    """

    def __init__(self, value: object):
        if not (isinstance(value, np.ndarray) and _lies_in_bytes(value)):
            value = np.array(value, order="C")  # a copy: later writes to it must not show
        self._hold(value)

    @classmethod
    def of_own(cls, array: np.ndarray) -> "Literal":
        """The literal that holds an array itself, which nobody writes to any more.

        One that is transposed stays so until its elements are asked for in order.
        """
        literal = cls.__new__(cls)
        array = np.asarray(array)
        literal._hold(array if _in_memory_order(array) is not None else np.array(array, order="C"))
        return literal

    def _hold(self, array: np.ndarray) -> None:
        array.setflags(write=False)
        self.strided = array
        self.shape = Shape(element_type_of(array.dtype), array.shape)

    @cached_property
    def array(self) -> np.ndarray:
        """The elements in order; what may lie in another one is `strided`."""
        array = np.asarray(self.strided, order="C")
        array.setflags(write=False)
        self.strided = array
        return array

    @cached_property
    def _key(self) -> tuple[object, ...]:
        # Constants can be hundreds of megabytes: of large ones some elements are enough.
        array = self.strided
        step = max(-(-array.size // _MOST_HASHED), 1)
        if array.flags.c_contiguous:
            some = array.reshape(-1)[::step]
        else:
            some = array[np.unravel_index(np.arange(0, array.size, step), array.shape)]
        return (array.dtype, array.shape, hash(some.tobytes()))

    @property
    def bytes(self) -> np.ndarray:
        """The elements in order, as a vector of bytes."""
        return self.array.reshape(-1).view(np.uint8)

    def __reduce__(self) -> tuple[Any, ...]:
        return Literal, (self.array,)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Literal)
            and self._key == other._key
            and np.array_equal(self.bytes, other.bytes)
        )

    def __repr__(self) -> str:
        return f"Literal({self.shape}, {np.array2string(self.array, threshold=8)})"

    def is_splat(self) -> bool:
        """True if there is an element and all have the same bits."""
        raw = _in_memory_order(self.strided)
        assert raw is not None
        if not raw.size:
            return False
        # Most arrays show in their first elements that they are no splat, without comparing all.
        start = raw[:256]
        if start.tobytes() != raw[:1].tobytes() * start.size:
            return False
        elements = raw.view(np.uint8).reshape(raw.size, -1)
        return bool((elements == elements[0]).all())


def _in_memory_order(array: np.ndarray) -> np.ndarray | None:
    """The elements as a vector in the order in which they lie; None if they lie apart."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    lying = array.transpose(sorted(range(array.ndim), key=lambda d: -array.strides[d]))
    return lying.reshape(-1) if lying.flags.c_contiguous else None


def _lies_in_bytes(array: np.ndarray) -> bool:
    """Whether nobody can write to an array's elements, which lie in order: they are of `bytes`."""
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    return type(base) is bytes and array.flags.c_contiguous and array.flags.aligned
