"""What attributes of nodes, types and shapes mean: arrays, dtypes, functions by their names."""

from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, ShapeError, UnsupportedError
from tfc.graph import errors
from tfc.graph.files.attributes import from_proto
from tfc.graph.files.tensors import shape_from_proto, tensor_from_proto
from tfc.graph.types.dtypes import as_dtype
from tfc.importers.graph import AttributeReference, Node

_STRING = 7  # the number of the type of texts


@dataclass(frozen=True)
class FunctionReference:
    """In an attribute: a function of the library, with attributes for its body."""

    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Meanings:
    """What messages of one file mean.

    file: what to call it in errors. library: the names of its functions.
    """

    file: str
    library: Container[str]

    def attribute(self, made: Any, what: str) -> Any:
        """What an attribute means: also functions, and what calls of a function state."""
        kind = made.WhichOneof("value")
        if kind == "placeholder":
            return AttributeReference(made.placeholder)
        if kind == "func":
            return self._reference(made.func, what)
        if kind == "list" and made.list.func:
            return tuple(self._reference(x, what) for x in made.list.func)
        if kind == "tensor":
            return self.tensor(made.tensor, what)
        with file_errors(self.file):
            return from_proto(made, {}, what)

    def _reference(self, made: Any, what: str) -> FunctionReference:
        if made.name not in self.library:
            raise ModelFileError(f"{what} names the function '{made.name}', which there is not")
        held = {k: self.attribute(v, what) for k, v in made.attr.items()}
        return FunctionReference(made.name, held)

    def tensor(self, made: Any, what: str) -> np.ndarray:
        """The array of a message; texts are bytes."""
        if made.dtype == _STRING:
            return _texts(made, what)
        with file_errors(self.file):
            return tensor_from_proto(made, f"{self.file}, node '{what}'")

    def shape(self, made: Any) -> tuple[int | None, ...] | None:
        """The sizes that a message states, None for open ones; None if not even their number."""
        with file_errors(self.file):
            found = shape_from_proto(made).dims
        return None if found is None else tuple(found)

    def dtype_of(self, number: int, name: str) -> np.dtype:
        """The dtype of an input or output, by TensorFlow's number.

        Raises:
            UnsupportedError: it is one that arrays do not have.
        """
        with file_errors(self.file):
            found = as_dtype(number)
        if found.numpy is None:
            raise UnsupportedError(
                f"{self.file}: '{name}' holds values of type {found.name}, which are no arrays: "
                "state inputs= and outputs= between which the graph computes with numbers"
            )
        return found.numpy


def functions_of(node: Node, library: Container[str] = ()) -> list[str]:
    """The functions of the library that a node runs, by name."""
    found = [node.op] if node.op in library else []
    for value in node.attributes.values():
        parts = value if isinstance(value, tuple) else (value,)
        found += [x.name for x in parts if isinstance(x, FunctionReference)]
    return found


@contextmanager
def file_errors(file: str) -> Iterator[None]:
    """Let what graph mode says of a damaged file be what importers say."""
    try:
        yield
    except (errors.OpError, ShapeError, TypeError, OverflowError) as error:
        reason = str(error)
        raise ModelFileError(reason if file in reason else f"{file}: {reason}") from None


def _texts(made: Any, what: str) -> np.ndarray:
    """An array of texts, as bytes."""
    dims = tuple(dim.size for dim in made.tensor_shape.dim)
    values = np.empty(len(made.string_val), object)
    values[:] = list(made.string_val)
    if values.size == 1 and not dims:
        return values.reshape(())
    if any(n < 0 for n in dims) or prod(dims) != values.size:
        raise ModelFileError(f"{what} has {values.size} texts for the shape {list(dims)}")
    return values.reshape(dims)
