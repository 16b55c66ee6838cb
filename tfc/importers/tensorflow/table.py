"""The table of TensorFlow's operators: graph mode's, and what only files have."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from tfc.errors import UnsupportedError
from tfc.frontend.tensor import Tensor
from tfc.graph.operators.registry import OPERATORS, Operator
from tfc.importers.graph import Node
from tfc.importers.table import Row, Table
from tfc.importers.tensorflow.context import context_at
from tfc.importers.tensorflow.meanings import FunctionReference
from tfc.importers.walk import Call


class OperatorTable(Table):
    """Rows of its own, and those of graph mode for all others."""

    def find(self, node: Node) -> Row | None:
        """The row for a node."""
        own = super().find(node)
        if own is not None or node.domain:
            return own
        operator = OPERATORS.get(node.op)
        return None if operator is None else _row_of(operator)

    def attributes(self, row: Row, node: Node) -> dict[str, Any]:
        """Those of a node's attributes that the row takes; files state others, too."""
        return {k: v for k, v in node.attributes.items() if k in row.attributes and v is not None}


@cache
def _row_of(operator: Operator) -> Row:
    """A row of graph mode as one of the importers'."""

    def function(*inputs: Any, node: Call, **attributes: Any) -> Any:
        if operator.on_host and any(isinstance(x, Tensor) for x in inputs):
            raise UnsupportedError(
                "what it gives has a size that depends on data, or it runs Python: its inputs must "
                "be known while importing"
            )
        more: dict[str, Any] = {}
        if operator.takes_context:
            more["context"] = context_at(node)
        return tuple(operator(inputs, _with_bodies(attributes, node), **more)) or (None,)

    names = (*operator.parameters, *(("values",) if operator.takes_any else ()))
    return Row(
        function,
        since=1,
        until=None,
        needs=frozenset(names[n] for n in operator.known),
        is_pure=not operator.effect and not operator.takes_context,
        inputs=names,
        least=len(operator.parameters),
        takes_any=operator.takes_any,
        attributes=operator.keywords | {"node"},
    )


def _with_bodies(attributes: Mapping[str, Any], node: Call) -> dict[str, Any]:
    """Attributes with the functions that they name."""

    def meant(value: Any) -> Any:
        if isinstance(value, tuple):
            return [meant(x) for x in value]
        is_named = isinstance(value, FunctionReference)
        return node.walk.state.body(value, node.walk) if is_named else value

    return {name: meant(value) for name, value in attributes.items()}


TENSORFLOW = OperatorTable("TensorFlow")
operator = TENSORFLOW.operator
