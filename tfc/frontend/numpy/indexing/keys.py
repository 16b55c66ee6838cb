"""Keys of x[key] and x.at[key]: what each dimension of the array gives, and where it comes to lie.

None and boolean scalars stand for further dimensions of size one, masks for the integer arrays of
their places, so that in the end each dimension has one part: a Cut, an integer, a scalar Tensor or
an array of integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, TypeAlias

import numpy as np

from tfc.errors import OutOfBoundsError, ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend.eager import ask_for_value
from tfc.frontend.numpy.manipulation import array
from tfc.frontend.promotion import shortened
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import PRED, S64


@dataclass(frozen=True)
class Cut:
    """`count` elements of a dimension from `start` on, `step` apart, which may be negative."""

    start: int
    count: int
    step: int

    @property
    def is_run(self) -> bool:
        """Whether the elements are neighbours."""
        return abs(self.step) == 1

    @property
    def low(self) -> int:
        """The first of the elements in the array's order."""
        return self.start if self.step > 0 else self.start + (self.count - 1) * self.step


Part: TypeAlias = "Cut | int | Tensor | np.ndarray"


@dataclass(frozen=True)
class Key:
    """A key that was read.

    dims: those of the array, with those of size one that the key adds.
    parts: what is taken of each of them.
    together: whether the integers and arrays stand beside each other, so that what they give lies
        in their place; else it comes first.
    """

    dims: tuple[int, ...]
    parts: tuple[Part, ...]
    together: bool

    @property
    def has_arrays(self) -> bool:
        """Whether a part is an array, which makes all integers count as such."""
        return any(isinstance(p, (np.ndarray, Tensor)) and p.ndim for p in self.parts)

    @property
    def cuts(self) -> list[Cut]:
        """The slices among the parts."""
        return [p for p in self.parts if isinstance(p, Cut)]

    @property
    def block(self) -> int:
        """Before how many dimensions of slices the result has those of the arrays."""
        if not self.together:
            return 0
        first = next(d for d, p in enumerate(self.parts) if not isinstance(p, Cut))
        return first


def read_key(key: Any, dims: Sequence[int], strict: bool = True) -> Key:
    """What a key takes of an array with these dimensions.

    Args:
        strict: whether known places that do not exist are refused; else they are left as they are.

    Raises:
        ShapeError: the key does not fit, or has what is no index.
        OutOfBoundsError: a known place does not exist.
        TraceError: a mask or a bound of a slice is not known while tracing.
    """
    given = [_as_index(k) for k in (key if isinstance(key, tuple) else (key,))]
    used = sum(_consumed(k) for k in given)
    if used > len(dims):
        raise OutOfBoundsError(
            f"{used} indices are too many for an array of {len(dims)} dimensions"
        )
    if sum(k is Ellipsis for k in given) > 1:
        raise ShapeError("an index can have one Ellipsis, got several")
    if not any(k is Ellipsis for k in given):
        given.append(Ellipsis)
    all_dims: list[int] = []
    parts: list[Part] = []
    rest = list(dims)
    for part in given:
        if part is Ellipsis:
            count = len(dims) - used
            taken = [Cut(0, n, 1) for n in rest[:count]]
        else:
            count = _consumed(part)
            taken = _parts(part, rest[:count], len(dims) - len(rest), strict)
        all_dims += rest[:count] or [1] * len(taken)
        parts += taken
        del rest[:count]
    return Key(tuple(all_dims), tuple(parts), _stand_together(given))


def _as_index(part: Any) -> Any:
    """One entry of a key: None, Ellipsis, a slice, an int, a bool, an array or a Tensor."""
    if part is None or part is Ellipsis or isinstance(part, (slice, Tensor, bool)):
        return part
    if isinstance(part, (list, tuple)):
        part = array(part) if _holds_tensor(part) else _as_array(part)
        return part if isinstance(part, Tensor) or part.size else part.astype(np.int64)
    if isinstance(part, np.bool_) or (isinstance(part, np.ndarray) and part.dtype == np.bool_):
        return part if part.ndim else bool(part)
    if isinstance(part, np.ndarray):
        if part.dtype.kind not in "iu":
            raise ShapeError(f"an index must be an integer, got an array of {part.dtype}")
        return part if part.ndim else int(part)
    try:
        return index(part)
    except TypeError as error:
        raise ShapeError(
            f"an index must be an integer or a slice, got {shortened(part)}"
        ) from error


def _holds_tensor(part: Any) -> bool:
    if isinstance(part, (list, tuple)):
        return any(_holds_tensor(p) for p in part)
    return isinstance(part, Tensor)


def _as_array(part: Any) -> np.ndarray:
    try:
        made = np.asarray(part)
    except ValueError as error:
        raise ShapeError(
            f"an index must be an integer or a slice, got {shortened(part)}: {error}"
        ) from error
    if made.size and made.dtype.kind not in "iub":
        raise ShapeError(f"an index must be an integer, got {shortened(part)}")
    return made


def _is_array(part: Any) -> bool:
    return isinstance(part, (np.ndarray, Tensor))


def _consumed(part: Any) -> int:
    """How many dimensions of the array an entry is for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, np.ndarray) and part.dtype == np.bool_:
        return part.ndim
    return 1


def _stand_together(given: Sequence[Any]) -> bool:
    kinds = [not (part is None or part is Ellipsis or isinstance(part, slice)) for part in given]
    if not any(kinds):
        return True
    first, last = kinds.index(True), len(kinds) - kinds[::-1].index(True)
    return all(kinds[first:last])


def _parts(part: Any, dims: Sequence[int], axis: int, strict: bool) -> list[Part]:
    """What an entry takes of each of the dimensions that it is for."""
    if part is None:
        return [Cut(0, 1, 1)]
    if isinstance(part, bool):
        return [np.zeros(int(part), np.int64)]
    if isinstance(part, Tensor):
        return [_traced(part, dims[0], strict)]
    if isinstance(part, slice):
        return [_cut(part, dims[0])]
    if isinstance(part, int):
        return [_position(part, axis, dims[0], strict)]
    if part.dtype == np.bool_:
        return _places(part, dims)
    return [_checked(part, axis, dims[0], strict)]


def _traced(part: Tensor, size: int, strict: bool) -> Tensor:
    if strict:
        ask_for_value(part.instruction)
    element_type = part.array_shape.element_type
    if element_type == PRED:
        raise TraceError(
            f"a mask that is not known while tracing, {part!r}, gives an array of unknown size: "
            "choose with tfc.numpy.where, or give a size to tfc.numpy.nonzero or compress"
        )
    if not element_type.is_integer:
        raise ShapeError(f"an index must be an integer, got {element_type}")
    if not size and part.size:
        raise OutOfBoundsError("a dimension of size 0 has no element to index")
    return part


def _cut(part: slice, size: int) -> Cut:
    for bound in (part.start, part.stop, part.step):
        if isinstance(bound, Tensor):
            raise TraceError(
                f"the bounds of a slice must be known while tracing, got {bound!r}; use "
                "tfc.dynamic_slice_in_dim(x, start, size), or dynamic_update_slice_in_dim to write"
            )
    try:
        start, stop, step = part.indices(size)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{shortened(part)} is no slice: {error}") from error
    count = len(range(start, stop, step))
    return Cut(start, count, step) if count else Cut(0, 0, 1)


def _position(part: int, axis: int, size: int, strict: bool) -> Part:
    if -size <= part < size:
        return part % size
    if strict:
        raise OutOfBoundsError(f"index {part} is out of bounds for axis {axis} of size {size}")
    return ops.constant(min(max(part, -size - 1), size), S64)


def _checked(part: np.ndarray, axis: int, size: int, strict: bool) -> Part:
    """Integers counted from the start; as they are if some are outside and that is allowed."""
    outside = (part < -size) | (part >= size)
    if not outside.any():
        wide = part.astype(np.int64)
        return np.where(wide < 0, wide + size, wide)
    if strict:
        wrong = int(part[outside][0])
        raise OutOfBoundsError(f"index {wrong} is out of bounds for axis {axis} of size {size}")
    near = np.where(part < 0, -size - 1, size)
    return ops.constant(np.where(outside, near, part.astype(np.int64)), S64)


def _places(mask: np.ndarray, dims: Sequence[int]) -> list[Part]:
    if mask.shape != tuple(dims):
        raise OutOfBoundsError(
            f"a mask must have the sizes of the dimensions it is for, {list(dims)}, "
            f"got {list(mask.shape)}"
        )
    return list(np.nonzero(mask))
