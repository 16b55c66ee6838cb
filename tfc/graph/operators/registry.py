"""The table of operators: what each operation of a graph computes, by TensorFlow's name.

    @operator("MatMul")
    def matmul(a, b, transpose_a=False, transpose_b=False): ...

A row is a function over arrays: positional parameters are the inputs, keyword parameters the
attributes that matter (files state further ones, which are left out). The function is called with
Tensors of a trace and with NumPy arrays alike; an input that is known while tracing is an array,
so that whatever depends on shapes and constants alone is known as well. It knows no graph.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Literal

from tfc.errors import UnsupportedError, did_you_mean
from tfc.graph.types.dtypes import DType
from tfc.graph.types.shapes import TensorShape

Attributes = Mapping[str, Any]
Effect = Literal["", "read", "write"]
Spec = tuple[DType, TensorShape]  # what is known of a result before it is computed
Infer = Callable[[Sequence[Any], Attributes], Sequence[Spec]]


@dataclass(frozen=True)
class Operator:
    """What one type of operation does.

    name: TensorFlow's.
    function: (*inputs, **attributes) -> the result, or a tuple of several.
    keywords: the attributes that the function takes.
    known: the inputs, by number, whose values a compiler must know: shapes, axes.
    infer: (inputs as graph tensors, attributes) -> what the results are; None for what tracing the
        function with abstract inputs tells.
    effect: "read" if its results depend on more than its inputs: variables, random numbers; "write"
        if it does more than compute them. Both run once a run, reads before the writes that
        nothing orders before them, and may take `context` (evaluation.py) as a keyword.
    on_host: compiled code cannot have it: it runs between clusters.
    takes_context: its function has the keyword `context`.
    decide: (row, attributes) -> the row as it is for a node of these attributes: what runs other
        operators or graphs is as they are. None where all nodes are alike.
    """

    name: str
    function: Callable[..., Any]
    keywords: frozenset[str]
    known: tuple[int, ...] = ()
    infer: Infer | None = None
    effect: Effect = ""
    on_host: bool = False
    takes_context: bool = False
    decide: Callable[["Operator", Attributes], "Operator"] | None = None

    def __call__(self, inputs: Sequence[Any], attributes: Attributes, **more: Any) -> list[Any]:
        """The results for inputs and attributes."""
        taken = {name: attributes[name] for name in self.keywords if name in attributes}
        made = self.function(*inputs, **taken, **more)
        return list(made) if isinstance(made, (tuple, list)) else [] if made is None else [made]


OPERATORS: dict[str, Operator] = {}


def operator(
    *names: str,
    known: Sequence[int] = (),
    infer: Infer | None = None,
    effect: Effect = "",
    on_host: bool = False,
    decide: Callable[[Operator, Attributes], Operator] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function as what the operations of these names compute."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = signature(function).parameters.values()
        keywords = frozenset(p.name for p in parameters if p.kind is not Parameter.VAR_POSITIONAL)
        for name in names:
            assert name not in OPERATORS, f"two rows for {name}"
            OPERATORS[name] = Operator(
                name,
                function,
                keywords - {"context"},
                tuple(known),
                infer,
                effect,
                on_host,
                "context" in keywords,
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
    if found is None:
        raise UnsupportedError(f"no operator is called {name!r}{did_you_mean(name, OPERATORS)}")
    if attributes is not None and found.decide is not None:
        return found.decide(found, attributes)
    return found
