"""What readers make of torch's programs, with torch or without it."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tfc.frontend.tensor import Tensor
from tfc.importers.graph import Graph


class UserValues(Protocol):
    """How a program's arrays lie in what its users give and get."""

    def flat(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The arguments that are no constants, in order."""
        ...

    def nested(self, results: Sequence[Any]) -> Any:
        """Results in the nesting of what the module returns."""
        ...


@dataclass(frozen=True)
class Program:
    """A program of torch that writes to nothing.

    graph: takes the users' arrays and then those it writes to, and gives likewise.
    parameters: weights, buffers and constants by the names that they have in the module.
    written: those of them that it writes to.
    values: how the users' arrays are nested.
    """

    graph: Graph
    parameters: Mapping[str, np.ndarray]
    written: tuple[str, ...]
    values: UserValues


def is_tensor(value: Any) -> bool:
    """Whether a value is torch's, which is not loaded to tell."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    """Whether a value is an array, whoever made it."""
    return isinstance(value, (np.ndarray, Tensor)) or is_tensor(value)
