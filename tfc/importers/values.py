"""Values while a model is imported: known ones as NumPy arrays, others as Tensors."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfc.errors import UnsupportedError
from tfc.frontend.tensor import Tensor
from tfc.frontend.tree import Container, register_container


@dataclass(frozen=True, eq=False)
class Held:
    """A value that is computed from parameters, and known: what they are in the file.

    known: for rows that need a value while importing, such as the scales of a Resize.
    traced: for computing with, so that parameters can be others, and derivatives be taken.
    """

    known: np.ndarray
    traced: Any


@dataclass(frozen=True, eq=False)
class Text:
    """Text that is chosen among labels: programs compute the places, labels are known.

    places: integers, an array or a Tensor.
    labels: what these are places among.
    """

    places: Any
    labels: tuple[str, ...]


register_container(
    Text,
    Container(
        lambda text: ((text.places,), ("places",), text.labels),
        lambda labels, places: Text(places[0], labels),
    ),
)


class UnknownValueError(UnsupportedError):
    """A value that must be known while importing depends on the model's inputs."""


# A Tensor, an array, Held, Text, a list of values (a sequence), None for what is left out, or what
# an importer's own rows make of each other's results.
Value: TypeAlias = Any


def known(value: Value) -> Any:
    """The array that a value is known to be, also in lists; None for what is left out.

    Raises:
        UnknownValueError: it is not known before the model runs.
    """
    if isinstance(value, Held):
        return value.known
    if isinstance(value, Text):
        return Text(known(value.places), value.labels)
    if isinstance(value, Tensor):
        raise UnknownValueError("its value is not known before the model runs")
    return [known(v) for v in value] if isinstance(value, list) else value


def is_known(value: Value) -> bool:
    """Whether `known` gives an array."""
    if isinstance(value, list):
        return all(map(is_known, value))
    if isinstance(value, Text):
        return is_known(value.places)
    return not isinstance(value, Tensor)


def traced(value: Value) -> Any:
    """What to compute with: a Tensor, or an array that becomes a constant of the program."""
    if isinstance(value, Held):
        return value.traced
    return [traced(v) for v in value] if isinstance(value, list) else value


def holds(value: Value) -> bool:
    """Whether a value is computed from parameters."""
    return any(map(holds, value)) if isinstance(value, list) else isinstance(value, Held)


def size(value: Value) -> int:
    """How many elements a value has; none if it is no array, but a name of a variable say."""
    if isinstance(value, list):
        return sum(map(size, value))
    return getattr(value.known if isinstance(value, Held) else value, "size", 0)


def few(count: int, most: int = 1 << 24) -> int:
    """A number of elements that are computed while importing.

    Raises:
        UnsupportedError: it is more than a model can mean.
    """
    if count > most:
        raise UnsupportedError(f"it computes {count} elements while importing, of {most} at most")
    return count


def whole_numbers(array: Any) -> list[int]:
    """The elements of a known array of integers, as Python's."""
    return [int(n) for n in np.asarray(array).reshape(-1)]
