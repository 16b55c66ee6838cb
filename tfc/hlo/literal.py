"""Literal: a constant array as a hashable value, compared bit by bit."""

from functools import cached_property
from typing import Any

import numpy as np

from tfc.hlo.shape import Shape, element_type_of


class Literal:
    """An immutable array with value semantics.

    Two literals are equal when dtype, dimensions and every bit agree: NaN equals the same NaN, and
    -0.0 differs from 0.0, so that sharing equal constants never changes a program.

    Raises:
        ShapeError: the array's dtype has no element type.
    """

    def __init__(self, value: object):
        array = np.array(value, order="C")  # a copy: later writes to the source must not show
        array.setflags(write=False)
        self.array = array
        self.shape = Shape(element_type_of(array.dtype), array.shape)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        # Bytes are hashed once: constants can be hundreds of megabytes.
        return (self.array.dtype, self.array.shape, hash(self.array.tobytes()))

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
            and self.array.tobytes() == other.array.tobytes()
        )

    def __repr__(self) -> str:
        return f"Literal({self.shape}, {np.array2string(self.array, threshold=8)})"

    def is_splat(self) -> bool:
        """True if there is an element and all have the same bits."""
        raw = self.array.reshape(-1)
        return raw.size > 0 and raw.tobytes() == raw[:1].tobytes() * raw.size
