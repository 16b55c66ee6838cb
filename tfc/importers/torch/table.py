"""The table of ATen's operators: one function over tfc's own for each row."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np

import tfc.numpy as tnp
from tfc import random
from tfc.errors import UnsupportedError
from tfc.frontend.tensor import Tensor
from tfc.importers.graph import Node
from tfc.importers.table import Row, Table

SEED = "the seed of random numbers"
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Place:
    """In the arguments of a call: where an input goes, and whether it is a number to torch."""

    number: int
    is_number: bool


@dataclass(frozen=True)
class Call:
    """What a row may ask of the node that it is called for.

    dtypes: those of the results, as torch knows them; None for what is no array.
    common: the dtype that torch promotes the arguments to.
    key: makes the key of the node's random numbers.
    run: gives the outputs of a graph among the arguments, for inputs.
    """

    dtypes: tuple[Any, ...]
    common: Any
    key: Callable[[], Any]
    run: Callable[[Any, Sequence[Any]], list[Any]]

    @property
    def dtype(self) -> Any:
        """The dtype of the first result."""
        return self.dtypes[0]


ATEN: dict[str, Callable[..., Any]] = {}


def aten(*names: str) -> Callable[[Function], Function]:
    """Enter a function as the row of operators, named as `add.Tensor`.

    It takes what the operator takes, and as `node` the Call if it has such a parameter.
    """

    def enter(function: Function) -> Function:
        ATEN.update(dict.fromkeys(names, function))
        return function

    return enter


# Operators that make numbers of arrays: Python's, by which programs may be shaped.
_DECIDING = ("_local_scalar_dense.default", "item.default")


# Rows of what torch takes apart wherever it rewrites a program, and leaves in exported ones.
COMPOSITE: dict[str, Callable[..., Any]] = {}


def composite(*names: str) -> Callable[[Function], Function]:
    """Enter a function as the row of operators that torch defines by others."""

    def enter(function: Function) -> Function:
        COMPOSITE.update(dict.fromkeys(names, function))
        return function

    return enter


class AtenTable(Table):
    """The rows as the common Walk asks for them: their arguments are put together of a template."""

    def find(self, node: Node) -> Row | None:
        """The row for a node; operators of other domains than ATen's are named with it."""
        if node.domain == "python":
            function = _of_numbers(node.attributes.get("function", _itself))
        else:
            name = node.op if node.domain == "aten" else node.label
            function = ATEN.get(name) or COMPOSITE.get(name)
        if function is None:
            return None
        return _row(function, "draw" not in node.attributes, node.op in _DECIDING)

    def attributes(self, row: Row, node: Node) -> dict[str, Any]:
        """The template of the arguments, and what torch states of the results."""
        given = node.attributes
        return {key: given[key] for key in ("args", "named", "dtypes", "common", "draw")
                if key in given}  # fmt: skip

    def detail(self, node: Node) -> str:
        """Why an operator can have no row, if that is so."""
        is_open = "is_open" in node.attributes
        return ", the size of its result depends on values" if is_open else ""


@cache
def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's numbers; operators are functions of arrays as well."""
    if function is _itself or getattr(function, "__module__", "") == "_operator":
        return function

    def called(*args: Any, **named: Any) -> Any:
        if any(isinstance(arg, Tensor) for arg in args):
            raise UnsupportedError(
                "it computes with a number that depends on values of the inputs, which programs "
                "are not shaped by: compute with an array of it"
            )
        return function(*args, **named)

    return called


def _itself(value: Any) -> Any:
    return value


@cache
def _row(function: Callable[..., Any], is_pure: bool, decides: bool) -> Row:
    """A function of arguments as one of the inputs among them."""
    is_told = takes_node(function)

    def called(
        *inputs: Any, args: Any, named: Any, dtypes: Any = (), common: Any = None, draw: int = 0,
        node: Any = None,
    ) -> Any:  # fmt: skip
        further = {}
        if is_told:
            further["node"] = Call(
                dtypes, common, lambda: random.fold_in(random.key(inputs[-1]), draw),
                lambda graph, given: node.run(graph, list(map(_value, given))),
            )  # fmt: skip
        found = function(*_filled(args, inputs), **_filled(named, inputs), **further)
        return _stated(found, dtypes)

    attributes = frozenset({"node"} if is_told else ())
    return Row(called, 1, None, frozenset(), is_pure, ("x",), 0, True, attributes, decides)


def _value(given: Any) -> Any:
    """A number or an array as a value of the walk."""
    return np.asarray(given) if isinstance(given, (bool, int, float)) else given


def takes_node(function: Callable[..., Any]) -> bool:
    """Whether a row asks what is known of the node that it is called for."""
    return "node" in _parameters(function)


def _parameters(function: Callable[..., Any]) -> Any:
    """The names of a function's parameters; none for those of Python that do not say."""
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return ()


def _filled(template: Any, inputs: Sequence[Any]) -> Any:
    """Arguments with inputs in their places; known numbers are Python's."""
    if isinstance(template, Place):
        found = inputs[template.number]
        return found.item() if template.is_number and isinstance(found, np.ndarray) else found
    if isinstance(template, list):
        return [_filled(part, inputs) for part in template]
    if isinstance(template, dict):
        return {key: _filled(part, inputs) for key, part in template.items()}
    return template


def _stated(result: Any, dtypes: tuple[Any, ...]) -> Any:
    """What a row gives as values of the walk, in the dtypes that torch says."""
    if isinstance(result, (tuple, list)):
        parts = [_stated(r, (d,)) for r, d in zip_longest(result, dtypes[: len(result)])]
        return (parts,)
    result = np.asarray(result) if isinstance(result, np.generic) else _value(result)
    dtype = dtypes[0] if dtypes else None
    is_array = isinstance(result, (Tensor, np.ndarray))
    return cast(result, dtype) if is_array and dtype is not None else result


TABLE = AtenTable("PyTorch")


def cast(x: Any, dtype: Any) -> Any:
    """An array or a number in a dtype; of complex numbers the real part for real ones."""
    if isinstance(x, (bool, int, float, complex)):
        return np.array(x).astype(dtype)
    if x.dtype == dtype:
        return x
    if np.dtype(x.dtype).kind == "c" and np.dtype(dtype).kind not in "cb":
        x = tnp.real(x)
    return tnp.astype(x, dtype)


def wide(x: Any) -> Any:
    """An array in a type to compute whole layers in: floats of two bytes in four."""
    is_narrow = np.dtype(x.dtype).kind in "fV" and np.dtype(x.dtype).itemsize < 4
    return cast(x, np.float32) if is_narrow else x


def axis_of(dim: int, rank: int) -> int:
    """A dimension counted from the front; numbers have one to torch."""
    return dim % max(rank, 1)


def axes_of(dims: Any, rank: int) -> tuple[int, ...]:
    """Dimensions counted from the front; all of them for None or none."""
    if dims is None or dims == []:
        return tuple(range(rank))
    given = [dims] if isinstance(dims, int) else list(dims)
    return tuple(axis_of(d, rank) for d in given) if rank else ()
