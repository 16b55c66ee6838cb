"""Constant arguments: trees of arrays that a function is compiled for, as part of a cache's key.

Arrays are told apart by identity, as comparing their elements would take longer than many a call.
So they must be read-only: then the very same array holds what it held.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import tree
from tfc.frontend.statics import Static, kind_of_value
from tfc.frontend.tree import Structure

_NUMBERS = (bool, int, float, complex, np.generic)


@dataclass(frozen=True, eq=False)
class ConstantTree:
    """The value of a constant argument: containers, and their leaves."""

    structure: Structure
    leaves: tuple[Any, ...]

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return self.structure, *map(_leaf_key, self.leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantTree) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def value(self) -> Any:
        """The argument itself."""
        return tree.unflatten(self.structure, self.leaves)


def constant_argument(where: int | str, called: str, value: Any) -> Static:
    """The constant argument with that value.

    Args:
        called: the function's name, for errors.

    Raises:
        TraceError: it holds an array that can be written to, or what is neither array nor number.
    """
    leaves, structure = tree.flatten(value)
    for path, leaf in zip(tree.paths(structure, str(where)), leaves):
        if isinstance(leaf, np.ndarray):
            if _can_change(leaf):
                raise TraceError(
                    f"constant argument {path} of {called} must be a read-only array, and no view "
                    "of another, since the function is compiled for its elements; pass a copy "
                    "after its setflags(write=False)"
                )
        elif not isinstance(leaf, _NUMBERS):
            raise TraceError(
                f"constant argument {path} of {called} must be a NumPy array or a number, got "
                f"{type(leaf).__name__}"
            )
    return Static(where, "constant", ConstantTree(structure, tuple(leaves)))


def _leaf_key(leaf: Any) -> tuple[Any, ...]:
    return (id(leaf),) if isinstance(leaf, np.ndarray) else (kind_of_value(leaf), leaf)


def _can_change(array: np.ndarray) -> bool:
    """Whether an array, or the one whose memory it is a part of, can be written to."""
    held: Any = array
    while isinstance(held, np.ndarray):
        if held.flags.writeable:
            return True
        held = held.base
    return False


def arguments_at(places: Sequence[int], names: frozenset[str], args: Sequence[Any],
                 named: dict[str, Any]) -> list[tuple[int | str, Any]]:  # fmt: skip
    """The arguments of a call at some places and by some names: where each is, and its value."""
    found: list[tuple[int | str, Any]] = [(n, args[n]) for n in places if n < len(args)]
    return found + [(k, named[k]) for k in sorted(names & named.keys())]
