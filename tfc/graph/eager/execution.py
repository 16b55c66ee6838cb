"""The graph whose operations are computed as they are made, and its tensors, which have values."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.graph.defaults import default
from tfc.graph.evaluation import evaluate
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.registry import Spec
from tfc.graph.running.effects import Stored
from tfc.graph.types.shapes import TensorShape
from tfc.graph.variables.keys import GraphKeys


class EagerTensor(Tensor):
    """A tensor that is computed.

    value: its array; of a handle, what it names.
    """

    def __init__(self, symbol: Tensor, value: Any):
        shape = TensorShape(value.shape) if isinstance(value, np.ndarray) else symbol.shape
        super().__init__(symbol.op, symbol.value_index, symbol.dtype, shape)
        self.value, self.element = value, symbol.element

    def numpy(self) -> Any:
        """Its value as an array of its own, or as a number of NumPy."""
        return np.array(self.value)[()]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.value, dtype)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return self.value.__index__()

    def __len__(self) -> int:
        return len(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec) if spec else str(self)

    def __str__(self) -> str:
        return f"tf.Tensor({self.value}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self.value!r}>"


class EagerGraph(Graph):
    """A graph that computes operations at once, and forgets them unless a tape is open.

    tapes: how many are open.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tapes = 0
        self._made = 0
        self._variables: dict[str, np.ndarray] = {}

    def create_operation(
        self,
        type: str,
        inputs: Sequence[Tensor] = (),
        attributes: Mapping[str, Any] | None = None,
        name: str | None = None,
        results: Sequence[Spec] | None = None,
    ) -> Operation:
        """Make an operation and compute it.

        Raises:
            OpError: it failed, as in a run.
        """
        number, given = self._made, dict(attributes or {})
        self._made += 1
        if type == "VarHandleOp":  # names are not unique here, variables are
            given["shared_name"] = f"{given['shared_name']}_{number}"
        made = super().create_operation(type, inputs, given, name, results)
        del self._operations[made.name]
        made.number = number
        forward = given.get("_forward")  # whose random numbers a gradient draws again
        drawn = number if forward is None else forward.number
        values: dict[Tensor, Any] = {}
        values |= {x: x.value for x in made.inputs if isinstance(x, EagerTensor)}
        evaluate([made], values, Stored(self._variables, np.uint32(drawn)))
        found = [values[x] for x in made.outputs]
        made.outputs = tuple(
            EagerTensor(x, np.asarray(v) if isinstance(v, np.generic) else v)
            for x, v in zip(made.outputs, found)
        )
        made.control_inputs = ()
        if not self.tapes:
            made.inputs = ()
        return made

    def admit(self, tensor: Tensor) -> Tensor:
        """A tensor that is computed already.

        Raises:
            ValueError: it belongs to another graph.
        """
        if not isinstance(tensor, EagerTensor):
            raise ShapeError(f"{tensor} has no value: it is of a graph that sessions run")
        return tensor

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name in the open name scopes; several operations may have it."""
        return super().unique_name(name, mark_as_used=False)

    def known_value(self, tensor: Tensor) -> Any:
        """The value of a tensor: all are known."""
        value = getattr(tensor, "value", None)
        return value if isinstance(value, np.ndarray) else None

    @property
    def has_control_dependencies(self) -> bool:
        """True, as each use of a variable reads it anew."""
        return True

    @property
    def version(self) -> int:
        """How many operations were made."""
        return self._made

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Keep the global step; nothing else, as collections would keep what was made alive."""
        if name == GraphKeys.GLOBAL_STEP:
            super().add_to_collection(name, value)


def executing_eagerly() -> bool:
    """Whether functions compute at once what they make."""
    return isinstance(get_default_graph(), EagerGraph)


def enable_eager_execution(config: Any = None, device_policy: Any = None) -> None:
    """Let functions compute at once from now on, in this thread, outside of `with graph`.

    Raises:
        ValueError: the default graph has operations already.
    """
    if default.graphs and isinstance(default.graphs[0], EagerGraph):
        return
    if default.graphs or get_default_graph().version:
        raise ShapeError("tf.enable_eager_execution must be called at program startup.")
    default.graphs.insert(0, EagerGraph())


def eager_graph(what: str) -> EagerGraph:
    """The default graph, which computes at once.

    Raises:
        TypeError: it does not.
    """
    graph = get_default_graph()
    if not isinstance(graph, EagerGraph):
        raise TraceError(f"{what} needs eager execution: call enable_eager_execution() at first")
    return graph
