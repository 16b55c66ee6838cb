"""Graphs within graphs: the bodies of branches, loops and functions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfc.errors import ShapeError
from tfc.graph.graph import Graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.types.dtypes import DType
from tfc.graph.types.shapes import TensorShape


class Subgraph(Graph):
    """A graph that an operation of another one runs, as a function of its inputs.

    outer: the graph that it is made in.
    inputs: its parameters; behind those stated come the captured ones.
    captures: a parameter for each tensor of the outer graph that it uses, in their order.
    outputs: what it gives. control_outputs: what must run with it besides.
    control_captures: operations around it that must run before it.
    known_facts: what analyses have found out of it, and for which state of it.
    """

    def __init__(self, outer: Graph, name: str):
        super().__init__()
        self.outer, self.name = outer, name
        self.seed = outer.seed
        self.inputs: list[Tensor] = []
        self.captures: dict[Tensor, Tensor] = {}
        self.outputs: list[Tensor] = []
        self.control_outputs: list[Operation] = []
        self.control_captures: list[Operation] = []
        self.known_facts: tuple[Any, Any] | None = None
        # What is stated around it holds within it, too.
        self._collections = outer._collections
        self._device_stack = list(outer._device_stack)
        self._attribute_stack = list(outer._attribute_stack)
        self._override_stack = list(outer._override_stack)

    def parameter(
        self,
        dtype: DType,
        shape: TensorShape,
        name: str = "input",
        element: tuple[DType, TensorShape] | None = None,
    ) -> Tensor:
        """A further input; one that is a handle or list holds what `element` says."""
        spec = (dtype, shape)
        with self.control_dependencies(None):
            attributes = {"dtype": dtype, "shape": shape}
            made = self.create_operation("Placeholder", (), attributes, name, [spec]).outputs[0]
        made.element = element
        self.inputs.append(made)
        return made

    def admit(self, tensor: Tensor) -> Tensor:
        """The tensor, or the parameter that stands for one of a graph around this one.

        Raises:
            ValueError: it belongs to another graph.
        """
        if tensor.graph is self:
            return tensor
        graph = self.outer
        while graph is not tensor.graph:
            if not isinstance(graph, Subgraph):
                raise ShapeError(f"{tensor} is of another graph than the one that uses it")
            graph = graph.outer
        outer = self.outer.admit(tensor)
        if outer not in self.captures:
            name = f"captured_{outer.op.name}"
            self.captures[outer] = self.parameter(outer.dtype, outer.shape, name, outer.element)
        return self.captures[outer]

    def known_value(self, tensor: Tensor) -> Any:
        """As in any graph; what is captured is known if it is known outside."""
        for outer, inner in self.captures.items():
            if inner is tensor:
                return outer.known_value()
        return super().known_value(tensor)

    @contextmanager
    def building(self) -> Iterator["Subgraph"]:
        """Put what is made within into this graph."""
        with self.as_default():
            yield self

    def arguments(self, stated: Sequence[Tensor]) -> list[Tensor]:
        """What the operation that runs it takes: the arguments stated, then what is captured."""
        return [*stated, *self.captures]

    def _operation_of(self, value: Any) -> Operation | None:
        """The operation that a control input is; one of a graph around this runs before it all."""
        found = getattr(value, "op", value)
        if isinstance(found, Operation) and found.graph is not self and self._is_within(found):
            self.control_captures.append(found)
            return None
        return super()._operation_of(value)

    def _is_within(self, op: Operation) -> bool:
        graph: Graph = self
        while isinstance(graph, Subgraph):
            graph = graph.outer
            if op.graph is graph:
                return True
        return False


def agree(graphs: Sequence[Subgraph]) -> tuple[list[Tensor], list[Operation]]:
    """Let subgraphs of one operation take the same captures, in one order, behind their inputs.

    Returns:
        what is captured, and the operations around them that must run before.
    """
    union = list(dict.fromkeys(x for graph in graphs for x in graph.captures))
    for graph in graphs:
        for tensor in union:
            graph.admit(tensor)
        own = set(graph.captures.values())
        stated = [x for x in graph.inputs if x not in own]
        graph.inputs[:] = [*stated, *(graph.captures[x] for x in union)]
    return union, list(dict.fromkeys(op for graph in graphs for op in graph.control_captures))
