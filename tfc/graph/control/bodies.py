"""Python functions of tensors as subgraphs: what branches and bodies of loops are made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.frontend import tree
from tfc.frontend.tree import Structure
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.subgraph import Subgraph
from tfc.graph.types.dtypes import DType
from tfc.graph.types.shapes import TensorShape


@dataclass(frozen=True)
class Parameter:
    """What a subgraph takes: its dtype, what is known of its shape, and what a list's elements are.

    name: of the operation that stands for it.
    """

    dtype: DType
    shape: TensorShape
    name: str
    element: tuple[DType, TensorShape] | None = None

    @staticmethod
    def like(tensor: Tensor, shape: TensorShape | None = None) -> "Parameter":
        """A parameter that takes a tensor, or others of its dtype and a shape."""
        name = tensor.op.name.rpartition("/")[2]
        return Parameter(tensor.dtype, shape or tensor.shape, name, tensor.element)


def tensor_of(leaf: Any, dtype: Any = None) -> Tensor:
    """The tensor that stands for a leaf: that of a list's contents, or a constant.

    Raises:
        ValueError: the leaf is None.
    """
    if leaf is None:
        raise ShapeError("a branch or body must return values, got None")
    held = getattr(leaf, "flow", None)
    if isinstance(held, Tensor):
        return held
    return convert_to_tensor(leaf, dtype)


def leaf_like(template: Any, tensor: Tensor) -> Any:
    """A tensor as a leaf of the template's kind: lists are found again by their contents."""
    with_flow = getattr(template, "with_flow", None)
    return tensor if with_flow is None else with_flow(tensor)


@dataclass(frozen=True)
class Body:
    """A Python function as a subgraph.

    leaves: what the function returned, as leaves; structure: their nest.
    """

    graph: Subgraph
    leaves: list[Any]
    structure: Structure


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The leaves of a nested structure, None among them."""
    return tree.flatten(value, lambda x: x is None)


def body_of(
    name: str,
    function: Callable[..., Any],
    parameters: Sequence[Parameter] = (),
    called: Callable[[Callable[..., Any], Sequence[Tensor]], Any] | None = None,
    dtypes: Sequence[DType] = (),
) -> Body:
    """Call a function with parameters of a new subgraph, and take what it returns for its results.

    Args:
        called: (function, parameters) -> what it returns, where the arguments are nested.
        dtypes: of results that are numbers, where they must have certain ones.
    """
    graph = Subgraph(get_default_graph(), name)
    with graph.building():
        inputs = [graph.parameter(p.dtype, p.shape, p.name, p.element) for p in parameters]
        value = function(*inputs) if called is None else called(function, inputs)
        leaves, structure = flatten(value)
        for place, leaf in enumerate(leaves):
            dtype = dtypes[place] if place < len(dtypes) and _is_number(leaf) else None
            graph.outputs.append(_result(graph, leaf, dtype))
    return Body(graph, leaves, structure)


def _is_number(leaf: Any) -> bool:
    return not hasattr(leaf, "dtype") and not hasattr(leaf, "flow")


def _result(graph: Subgraph, leaf: Any, dtype: DType | None) -> Tensor:
    """The result that a leaf is; of an operation, a constant that waits for it."""
    if isinstance(leaf, Operation):
        with graph.control_dependencies([leaf]):
            done = constant(True, name="done")
            return graph.create_operation("Identity", [done], name="ran").outputs[0]
    return graph.admit(tensor_of(leaf, dtype))


def call_structured(structure: Structure, templates: Sequence[Any]) -> Callable[..., Any]:
    """How a function is called with nested arguments in place of flat tensors."""

    def called(function: Callable[..., Any], inputs: Sequence[Tensor]) -> Any:
        leaves = [leaf_like(t, x) for t, x in zip(templates, inputs)]
        return function(*tree.unflatten(structure, leaves))

    return called


def callable_of(name: str, function: Any) -> Callable[..., Any]:
    """A function that is an argument of this name.

    Raises:
        TypeError: it is none.
    """
    if not callable(function):
        raise TraceError(f"{name} must be callable.")
    return function
