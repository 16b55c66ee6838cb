"""Shapes that may be unknown in part: of placeholders, and of what is computed from them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.errors import ShapeError


@dataclass(frozen=True)
class Dimension:
    """One dimension; its value is None where it is unknown. It equals the number it is."""

    value: int | None

    def __int__(self) -> int:
        return self.__index__()

    def __index__(self) -> int:
        if self.value is None:
            raise TypeError("an unknown dimension has no size: tfc.graph.shape(x) is computed")
        return self.value

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Dimension) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"


@dataclass(frozen=True, init=False, repr=False)
class TensorShape:
    """The dimensions of a tensor, None for each that is unknown; or not even their number.

    dims: None if the rank is unknown.
    """

    dims: tuple[int | None, ...] | None

    def __init__(self, dims: Any = None):
        if isinstance(dims, TensorShape):
            known = dims.dims
        elif dims is None:
            known = None
        else:
            listed = [dims] if isinstance(dims, (int, Dimension)) else dims
            known = tuple(_dimension(n) for n in listed)
        object.__setattr__(self, "dims", known)

    @property
    def ndims(self) -> int | None:
        """The number of dimensions; None if it is unknown."""
        return None if self.dims is None else len(self.dims)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """The dimensions, None for the unknown.

        Raises:
            ValueError: not even their number is known.
        """
        if self.dims is None:
            raise ShapeError("as_list() is not defined on an unknown TensorShape")
        return list(self.dims)

    def is_fully_defined(self) -> bool:
        """Whether every dimension is known."""
        return self.dims is not None and None not in self.dims

    def known(self) -> tuple[int, ...]:
        """The dimensions, which are all known.

        Raises:
            ValueError: some are not.
        """
        if self.dims is None or None in self.dims:
            raise ShapeError(f"the shape {self} is not fully known")
        return tuple(n for n in self.dims if n is not None)

    def num_elements(self) -> int | None:
        """The number of elements; None if a dimension is unknown."""
        if not self.is_fully_defined():
            return None
        count = 1
        for n in self.known():
            count *= n
        return count

    def is_compatible_with(self, other: Any) -> bool:
        """Whether some shape is both."""
        other = TensorShape(other)
        if self.dims is None or other.dims is None:
            return True
        return len(self.dims) == len(other.dims) and all(
            m is None or n is None or m == n for m, n in zip(self.dims, other.dims)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Check that some shape is both.

        Raises:
            ValueError: none is.
        """
        if not self.is_compatible_with(other):
            raise ShapeError(f"shapes {self} and {TensorShape(other)} are incompatible")

    def merge_with(self, other: Any) -> "TensorShape":
        """What is known when both are true.

        Raises:
            ValueError: they contradict each other.
        """
        other = TensorShape(other)
        self.assert_is_compatible_with(other)
        if self.dims is None or other.dims is None:
            return other if self.dims is None else self
        return TensorShape(m if n is None else n for m, n in zip(self.dims, other.dims))

    def common(self, other: "TensorShape") -> "TensorShape":
        """What is known when either is true."""
        if self.dims is None or other.dims is None or len(self.dims) != len(other.dims):
            return TensorShape(None)
        return TensorShape(m if m == n else None for m, n in zip(self.dims, other.dims))

    def concatenate(self, other: Any) -> "TensorShape":
        """The dimensions of the one and then of the other."""
        other = TensorShape(other)
        if self.dims is None or other.dims is None:
            return TensorShape(None)
        return TensorShape(self.dims + other.dims)

    def with_rank(self, rank: int) -> "TensorShape":
        """This shape, which is known to have a rank.

        Raises:
            ValueError: it has another.
        """
        return self.merge_with([None] * rank)

    def __len__(self) -> int:
        return len(self.as_list())

    def __iter__(self) -> Iterator[Dimension]:
        return iter([Dimension(n) for n in self.as_list()])

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return TensorShape(None if self.dims is None else self.dims[key])
        return Dimension(None if self.dims is None else self.dims[key])

    def __bool__(self) -> bool:
        return self.dims is not None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self.dims == other.dims
        return isinstance(other, (list, tuple)) and self.dims == tuple(other)

    def __hash__(self) -> int:
        return hash(self.dims)

    def __str__(self) -> str:
        if self.dims is None:
            return "<unknown>"
        inner = ", ".join("?" if n is None else str(n) for n in self.dims)
        return f"({inner},)" if len(self.dims) == 1 else f"({inner})"

    def __repr__(self) -> str:
        return f"TensorShape({None if self.dims is None else [Dimension(n) for n in self.dims]})"


def _dimension(value: Any) -> int | None:
    if value is None or (isinstance(value, Dimension) and value.value is None):
        return None
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"a dimension is a number or None, got {value!r}") from None
    if number < 0:
        raise ShapeError(f"dimension {number} must be >= 0")
    return number


def broadcast(shapes: Sequence[TensorShape]) -> TensorShape:
    """The shape of an elementwise result, by NumPy's rule; an unknown dimension may be 1.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    if any(shape.dims is None for shape in shapes):
        return TensorShape(None)
    known = [shape.dims or () for shape in shapes]
    rank = max((len(dims) for dims in known), default=0)
    result: list[int | None] = []
    for place in range(rank):
        sizes = {dims[place - rank + len(dims)] for dims in known if place >= rank - len(dims)}
        larger = sizes - {1, None}
        if len(larger) > 1:
            raise ShapeError(
                f"dimensions must be equal or 1 to broadcast, got {' and '.join(map(str, shapes))}"
            )
        result.append(larger.pop() if larger else None if None in sizes else 1)
    return TensorShape(result)
