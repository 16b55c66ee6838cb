"""The table of operators: what each operation of a graph computes, by TensorFlow's name.

    @operator("MatMul")
    def matmul(a, b, transpose_a=False, transpose_b=False): ...

A row is a function over arrays: parameters without defaults are the inputs, the others and those
behind * the attributes that matter (files state further ones, which are left out). The function is
called with Tensors of a trace and with NumPy arrays alike; an input that is known while tracing is
an array, so that whatever depends on shapes and constants alone is known as well. It knows no
graph.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Literal

import numpy as np

from tfc.errors import ShapeError, UnsupportedError, did_you_mean
from tfc.graph.types.dtypes import DType
from tfc.graph.types.shapes import TensorShape

Attributes = Mapping[str, Any]
Effect = Literal["", "read", "write"]
Spec = tuple[DType, TensorShape]  # what is known of a result before it is computed
Infer = Callable[[Sequence[Any], Attributes], Sequence[Spec]]


class UnknownValueError(UnsupportedError):
    """What a compiler must know, a shape or an axis say, is computed only when the program runs."""


@dataclass(frozen=True)
class Operator:
    """What one type of operation does.

    name: TensorFlow's.
    function: (*inputs, **attributes) -> the result, or a tuple of several.
    keywords: the attributes that the function takes.
    parameters: what the inputs are called.
    types: the attribute that states the dtype of each input; "" if none does. The last one is of
        the inputs that follow as well.
    known: the inputs, by number, whose values a compiler must know: shapes, axes.
    hints: the inputs whose values decide the shapes of results if they are known.
    infer: (inputs as graph tensors, attributes) -> what the results are; None for what tracing the
        function with abstract inputs tells.
    effect: "read" if its results depend on more than its inputs: variables, random numbers; "write"
        if it does more than compute them. Both run once a run, reads before the writes that
        nothing orders before them, and may take `context` (evaluation.py) as a keyword.
    on_host: compiled code cannot have it: it runs between clusters.
    takes_context: its function has the keyword `context`.
    takes_any: it takes any number of inputs behind its parameters.
    decide: (row, attributes) -> the row as it is for a node of these attributes: what runs other
        operators or graphs is as they are. None where all nodes are alike.
    """

    name: str
    function: Callable[..., Any]
    keywords: frozenset[str]
    parameters: tuple[str, ...] = ()
    types: tuple[str, ...] = ("T",)
    known: tuple[int, ...] = ()
    hints: tuple[int, ...] = ()
    infer: Infer | None = None
    effect: Effect = ""
    on_host: bool = False
    takes_context: bool = False
    takes_any: bool = False
    decide: Callable[["Operator", Attributes], "Operator"] | None = None

    def __call__(self, inputs: Sequence[Any], attributes: Attributes, **more: Any) -> list[Any]:
        """The results for inputs and attributes."""
        taken = {name: attributes[name] for name in self.keywords if name in attributes}
        made = self.function(*inputs, **taken, **more)
        return list(made) if isinstance(made, (tuple, list)) else [] if made is None else [made]

    def type_attributes(self, dtypes: Sequence[DType]) -> dict[str, DType]:
        """The attributes that state the dtypes of inputs."""
        if not self.types:
            return {}
        names = [*self.types, *[self.types[-1]] * (len(dtypes) - len(self.types))]
        stated: dict[str, DType] = {}
        for name, dtype in zip(names, dtypes):
            if name:
                stated.setdefault(name, dtype)
        return stated

    def default(self, attribute: str) -> Any:
        """What an attribute is where a node states none; None if it must."""
        default = signature(self.function).parameters[attribute].default
        return None if default is Parameter.empty else default

    def called(self, place: int) -> str:
        """What the input at a place is called."""
        return self.parameters[place] if place < len(self.parameters) else "values"


OPERATORS: dict[str, Operator] = {}
REFUSED: dict[str, str] = {}  # why there is no row for an operator of TensorFlow's
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def operator(
    *names: str,
    types: str = "T",
    known: Sequence[int] = (),
    hints: Sequence[int] = (),
    infer: Infer | None = None,
    effect: Effect = "",
    on_host: bool = False,
    decide: Callable[[Operator, Attributes], Operator] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function as what the operations of these names compute.

    Args:
        types: the attributes that state inputs' dtypes, "T Tidx" say, with - where none does.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = signature(function).parameters.values()
        keywords = frozenset(p.name for p in parameters if p.kind is not Parameter.VAR_POSITIONAL)
        inputs = [p.name for p in parameters if p.kind in _POSITIONAL and p.default is p.empty]
        for name in names:
            assert name not in OPERATORS, f"two rows for {name}"
            OPERATORS[name] = Operator(
                name,
                function,
                keywords - {"context", *inputs},
                tuple(inputs),
                tuple(word.replace("-", "") for word in types.split()),
                tuple(known),
                tuple(hints),
                infer,
                effect,
                on_host,
                "context" in keywords,
                any(p.kind is Parameter.VAR_POSITIONAL for p in parameters),
                decide,
            )
        return function

    return enter


def find(name: str, attributes: Attributes | None = None) -> Operator:
    """The row of an operator; with attributes, as it is for a node that has them.

    Raises:
        UnsupportedError: there is none.
    """
    found = OPERATORS.get(name)
    if found is None and name in REFUSED:
        raise UnsupportedError(f"operator {name} is not supported: {REFUSED[name]}")
    if found is None:
        raise UnsupportedError(f"no operator is called {name!r}{did_you_mean(name, OPERATORS)}")
    if attributes is not None and found.decide is not None:
        return found.decide(found, attributes)
    return found


def is_known(*values: Any) -> bool:
    """Whether values are known while compiling."""
    return all(isinstance(x, (np.ndarray, np.generic)) for x in values)


def known(value: Any, what: str) -> np.ndarray:
    """An input that must be known while a program is compiled.

    Args:
        what: what it is, as "the axes of a sum".

    Raises:
        UnknownValueError: it is not.
    """
    if isinstance(value, (np.ndarray, np.generic, int, list, tuple)):
        return np.asarray(value)
    raise UnknownValueError(
        f"{what} must be known when a program is compiled, but depends on what it is run with"
    )


def known_numbers(value: Any, what: str) -> tuple[int, ...]:
    """An input of integers that must be known, one after the other."""
    return tuple(int(n) for n in known(value, what).ravel())


def axis_of(value: Any, rank: int, what: str) -> int:
    """An axis that must be known, counted from the first one.

    Raises:
        ShapeError: there are not so many dimensions.
    """
    axis = int(known(value, f"the axis of {what}").ravel()[0])
    if not -rank <= axis < rank:
        raise ShapeError(f"{what} takes an axis from {-rank} to {rank - 1}, got {axis}")
    return axis % rank
