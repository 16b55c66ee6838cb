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
    """

    def __init__(self, outer: Graph, name: str):
        super().__init__()
        self.outer, self.name = outer, name
        self.seed = outer.seed
        self.inputs: list[Tensor] = []
        self.captures: dict[Tensor, Tensor] = {}
        self.outputs: list[Tensor] = []
        self.control_outputs: list[Operation] = []

    def parameter(self, dtype: DType, shape: TensorShape, name: str = "input") -> Tensor:
        """A further input."""
        spec = (dtype, shape)
        with self.control_dependencies(None):
            attributes = {"dtype": dtype, "shape": shape}
            made = self.create_operation("Placeholder", (), attributes, name, [spec]).outputs[0]
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
            made = self.parameter(outer.dtype, outer.shape, f"captured_{outer.op.name}")
            made.element = outer.element
            self.captures[outer] = made
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
