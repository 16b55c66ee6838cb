"""The nodes and edges of a graph: operations and tensors. Neither computes anything."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.graph.overloads import Overloads
from tfc.graph.types.dtypes import DType
from tfc.graph.types.shapes import TensorShape


class Owner(Protocol):
    """What tensors and operations ask of the graph that they are in."""

    changes: int

    def get_operations(self) -> list["Operation"]:
        """The operations, in the order in which they were made."""
        ...

    def session_for(self, session: Any, what: str) -> Any:
        """The session stated, or the default one."""
        ...

    def known_value(self, tensor: "Tensor") -> np.ndarray | None:
        """The value of a tensor if constants and known shapes alone decide it."""
        ...


class Operation:
    """A node: an operator applied to tensors; made by the functions of `tfc.graph`.

    name: unique in its graph. type: the operator's name.
    inputs: the tensors that it takes. control_inputs: operations that run before it.
    outputs: the tensors that it makes.
    attributes: constants of its operator: numbers, DTypes, TensorShapes, arrays, graphs.
    device: where it is to run, as device strings say it.
    number: its place in the order in which operations were made.
    location: the user's file and line that made it.
    """

    def __init__(
        self,
        graph: Owner,
        name: str,
        type: str,
        inputs: Sequence["Tensor"],
        control_inputs: Sequence["Operation"],
        attributes: Mapping[str, Any],
        device: str,
        location: tuple[str, int],
    ):
        self.graph, self.name, self.type = graph, name, type
        self.inputs: tuple[Tensor, ...] = tuple(inputs)
        self.control_inputs: tuple[Operation, ...] = tuple(control_inputs)
        self.attributes: Mapping[str, Any] = dict(attributes)
        self.device, self.location = device, location
        self.number = -1
        self.outputs: tuple[Tensor, ...] = ()

    def hand_elements_on(self) -> None:
        """Let results that are handles or lists hold what inputs do that are."""
        held = next((x.element for x in self.inputs if x.element is not None), None)
        for x in self.outputs:
            if x.dtype.numpy is None:
                x.element = held

    def values(self) -> tuple["Tensor", ...]:
        """Its outputs."""
        return self.outputs

    def get_attr(self, name: str) -> Any:
        """An attribute.

        Raises:
            ValueError: it has none of this name.
        """
        if name not in self.attributes:
            raise ShapeError(f"operation {self.name!r} has no attribute {name!r}")
        return self.attributes[name]

    def _add_control_inputs(self, operations: Sequence["Operation"]) -> None:
        """Let further operations run before it."""
        self.control_inputs = tuple(dict.fromkeys((*self.control_inputs, *operations)))
        self.graph.changes += 1

    def _add_control_input(self, operation: "Operation") -> None:
        """Let a further operation run before it."""
        self._add_control_inputs([operation])

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run it and what it needs, in a session or in the default one."""
        self.graph.session_for(session, "run").run(self, feed_dict)

    def __str__(self) -> str:
        return f"{self.name}: {self.type}({', '.join(x.name for x in self.inputs)})"

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


class Tensor(Overloads):
    """An edge: one result of an operation, which a session computes.

    op: the operation that makes it. value_index: which of its results it is.
    dtype: its element type.
    element: of a handle: dtype and shape of what the variable or list that it names holds.
    """

    __array_priority__ = 100  # an array on the left leaves operators to us

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: TensorShape):
        self.op, self.value_index, self.dtype = op, value_index, dtype
        self._shape = shape
        self._known: list[np.ndarray | None] = []
        self.element: tuple[DType, TensorShape] | None = None

    @property
    def name(self) -> str:
        """The operation's name, and which result it is: `add:0`."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Owner:
        """The graph that it belongs to."""
        return self.op.graph

    @property
    def device(self) -> str:
        """Where it is made."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """What is known of its shape while the graph is built."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """What is known of its shape while the graph is built."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Tell more of its shape, which holds together with what is known.

        Raises:
            ValueError: it contradicts what is known.
        """
        self._shape = self._shape.merge_with(shape)

    def consumers(self) -> list[Operation]:
        """The operations that take it."""
        return [op for op in self.graph.get_operations() if self in op.inputs]

    def known_value(self) -> np.ndarray | None:
        """Its value if constants and known shapes alone decide it; None otherwise."""
        if not self._known:
            self._known.append(self.graph.known_value(self))
        return self._known[0]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value, computed in a session or in the default one."""
        return self.graph.session_for(session, "eval").run(self, feed_dict)

    def __bool__(self) -> bool:
        raise TraceError(
            f"{self.name} has no truth value while the graph is built: use tfc.graph.cond for a "
            "choice in the graph, or `is not None` to ask whether there is a tensor"
        )

    def __iter__(self) -> Any:
        if self._shape.dims is None or not self._shape.dims or self._shape.dims[0] is None:
            raise TraceError(f"{self.name} is not iterable, as its first dimension is not known")
        return iter([self[n] for n in range(self._shape.dims[0])])

    def __len__(self) -> int:
        raise TraceError(f"len() of a graph's tensor ({self.name}): use tfc.graph.shape(x)[0]")

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TraceError(
            f"NumPy cannot be given {self.name}, which has no value while the graph is built: "
            "run it in a session first, or use tfc.graph's function"
        )

    __hash__ = object.__hash__

    def __str__(self) -> str:
        shape = "" if self._shape.dims is None else f", shape={self._shape}"
        on = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{on})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"
