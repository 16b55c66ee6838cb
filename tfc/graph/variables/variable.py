"""Variables under TensorFlow 1's names: `v` is its handle, `v/Assign` and `v/read` its nodes."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.graph.constants import convert_to_tensor
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.overloads import Overloads
from tfc.graph.subgraph import Subgraph
from tfc.graph.types.dtypes import DType, as_dtype
from tfc.graph.types.shapes import TensorShape
from tfc.graph.variables.initialized import value_or_initial
from tfc.graph.variables.keys import GraphKeys


class Variable(Overloads):
    """A value that lives in a session, is read where a tensor is taken, and changed by assigning.

    graph: the graph that it is in. dtype: its element type.
    handle: the tensor that names it to operations that change it.
    initial_value: the tensor that the initializer assigns. initializer: the operation that does.
    trainable: whether optimizers change it if nothing else is said.
    constraint: a function that optimizers apply to it after each step, or None.
    """

    __array_priority__ = 100

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        collections: Sequence[Any] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
    ):
        """Make a variable of the default graph, not yet with a value in any session.

        Args:
            initial_value: a tensor, what becomes one, or a function of no arguments that gives it.
            collections: where it is listed; [GraphKeys.GLOBAL_VARIABLES] if left out.
            validate_shape: its shape is the initial value's, and stays so; else any may follow.

        Raises:
            ValueError: there is no initial value, or its shape is not known, or not as expected.
        """
        if initial_value is None or variable_def is not None:
            raise ShapeError("initial_value must be specified")
        if collections is not None and not isinstance(collections, (list, tuple, set)):
            raise ShapeError(f"collections must be a list, tuple or set, got {collections!r}")
        self.graph = outermost_graph()
        self.trainable, self.constraint = trainable, constraint
        with outside_of_scopes(self.graph), self.graph.name_scope(name or "Variable") as scope:
            self.initial_value = _initial(initial_value, dtype)
            self.dtype: DType = self.initial_value.dtype
            shape = self.initial_value.shape
            if validate_shape and not shape.is_fully_defined() and expected_shape is None:
                raise ShapeError(
                    f"initial_value must have a shape specified: {self.initial_value} has none"
                )
            if expected_shape is not None:
                shape = shape.merge_with(expected_shape)
            self._shape = shape if validate_shape else TensorShape(None)
            self.handle = handle(scope, self.dtype, self._shape)
            self.initializer = self._assigning("AssignVariableOp", [self.initial_value], "Assign")
            self._snapshot = self._reading("read")
        listed = list(collections) if collections is not None else [GraphKeys.GLOBAL_VARIABLES]
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in listed:
            listed.append(GraphKeys.TRAINABLE_VARIABLES)
        self.graph.add_to_collections(listed, self)

    @classmethod
    def of_operations(
        cls, handle: Tensor, initializer: Operation, snapshot: Tensor, trainable: bool
    ) -> "Variable":
        """The variable that operations of a graph already are: its handle, initializer and read.

        Raises:
            ValueError: they are not those of a variable.
        """
        if handle.element is None or len(initializer.inputs) != 2:
            raise ShapeError(f"{handle} and {initializer} are no variable's")
        made = cls.__new__(cls)
        graph = handle.graph
        assert isinstance(graph, Graph)
        made.graph, made.trainable, made.constraint = graph, trainable, None
        made.handle, made.initializer, made._snapshot = handle, initializer, snapshot
        made.initial_value = initializer.inputs[1]
        made.dtype, made._shape = handle.element
        return made

    # --- what it is

    @property
    def op(self) -> Operation:
        """The operation of its handle, which has the variable's name."""
        return self.handle.op

    @property
    def name(self) -> str:
        """Its name as a tensor has one: `v:0`."""
        return self.handle.name

    @property
    def device(self) -> str:
        """Where it is to be kept."""
        return self.handle.device

    @property
    def shape(self) -> TensorShape:
        """Its shape."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Its shape."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Tell more of its shape.

        Raises:
            ValueError: it contradicts what is known.
        """
        self._shape = self._shape.merge_with(shape)
        self._snapshot.set_shape(shape)

    # --- reading

    def value(self) -> Tensor:
        """The tensor of its value: `v/read`, or a read of its own in `control_dependencies`."""
        return self._as_tensor()

    def read_value(self) -> Tensor:
        """A new read, which runs after what `control_dependencies` says."""
        return self._reading(None)

    def initialized_value(self) -> Tensor:
        """Its value, or the initial one while it has none: for variables that begin by others."""
        with outside_of_scopes(self.graph):
            return value_or_initial(self.graph, self.handle, self.initial_value, self._shape)

    def _as_tensor(self) -> Tensor:
        graph = get_default_graph()
        if graph.has_control_dependencies and _belongs_to(graph, self.graph):
            return self._reading(None)
        return self._snapshot

    def _as_graph_element(self) -> Tensor:
        return self._snapshot

    def _reading(self, name: str | None) -> Tensor:
        graph = get_default_graph() if _belongs_to(get_default_graph(), self.graph) else self.graph
        attributes = {"dtype": self.dtype}
        read = graph.create_operation("ReadVariableOp", [self.handle], attributes, name)
        read.outputs[0].set_shape(self._shape)
        return read.outputs[0]

    def eval(self, session: Any = None) -> Any:
        """Its value in a session, or in the default one."""
        return self._snapshot.eval(session=session)

    # --- changing

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Give it a value: a tensor which, when computed, has done so and is the new value.

        Args:
            read_value: whether a tensor is given; else the operation.

        Raises:
            ValueError: the value has another dtype or shape.
        """
        return self._changed("AssignVariableOp", value, name or "Assign", read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add to it: a tensor which, when computed, has done so and is the new value."""
        return self._changed("AssignAddVariableOp", delta, name or "AssignAdd", read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract from it: a tensor which, when computed, has done so and is the new value."""
        return self._changed("AssignSubVariableOp", delta, name or "AssignSub", read_value)

    def _changed(self, type: str, value: Any, name: str, read_value: bool = True) -> Any:
        tensor = convert_to_tensor(value, self.dtype)
        if not tensor.shape.is_compatible_with(self._shape):
            raise ShapeError(
                f"variable {self.op.name!r} has shape {self._shape}, which a value of shape "
                f"{tensor.shape} does not fit"
            )
        return self.changed_by(type, [tensor], name, read_value)

    def changed_by(
        self,
        type: str,
        operands: Sequence[Any],
        name: str | None,
        read_value: bool = True,
        **attributes: Any,
    ) -> Any:
        """An operation that takes the handle and operands, or the variable's value after it."""
        made = self._assigning(type, operands, name, **attributes)
        if not read_value:
            return made
        graph = made.graph
        assert isinstance(graph, Graph)
        with graph.control_dependencies([made]), graph.name_scope(f"{made.name}/"):
            return self._reading("read")

    def _assigning(
        self, type: str, operands: Sequence[Any], name: str | None, **attributes: Any
    ) -> Operation:
        inputs = [self.handle, *(convert_to_tensor(x) for x in operands)]
        attributes = {"dtype": self.dtype, **attributes}
        return get_default_graph().create_operation(type, inputs, attributes, name)

    def scatter(self, kind: str, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Change what indices name: a tensor which, once computed, is the new value.

        Args:
            kind: Update, Add, Sub, Mul, Min, Max, NdUpdate, NdAdd or NdSub.
        """
        operands = [indices, convert_to_tensor(updates, self.dtype)]
        return self.changed_by(f"ResourceScatter{kind}", operands, name or f"Scatter{kind}")

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Replace parts that the last dimension of the indices names."""
        return self.scatter("NdUpdate", indices, updates, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Add to parts."""
        return self.scatter("NdAdd", indices, updates, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        """Subtract from parts."""
        return self.scatter("NdSub", indices, updates, name)

    def count_up_to(self, limit: int) -> Tensor:
        """Add one, giving what it was; running fails with OutOfRangeError once it is the limit."""
        attributes = {"limit": int(limit), "T": self.dtype}
        return self._assigning("ResourceCountUpTo", [], "CountUpTo", **attributes).outputs[0]

    def load(self, value: Any, session: Any = None) -> None:
        """Give it a value in a session, without operations of its own."""
        session = self.graph.session_for(session, "load")
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    # --- Python

    __hash__ = object.__hash__

    def __iter__(self) -> Any:
        raise TraceError("'Variable' object is not iterable")

    def __bool__(self) -> bool:
        return bool(self._snapshot)

    def __repr__(self) -> str:
        return f"<tf.Variable {self.name!r} shape={self._shape} dtype={self.dtype.name}>"


def handle(name: str, dtype: DType, shape: TensorShape) -> Tensor:
    """The handle of a variable of the default graph.

    Args:
        name: its operation's, complete; may end with /.
    """
    full = name.rstrip("/")
    attributes = {"dtype": dtype, "shape": shape, "shared_name": full, "container": ""}
    made = get_default_graph().create_operation("VarHandleOp", (), attributes, f"{full}/")
    made.outputs[0].element = (dtype, shape)
    return made.outputs[0]


def _initial(value: Any, dtype: Any) -> Tensor:
    """The tensor of an initial value; what a function gives is made in a scope `Initializer`."""
    graph = get_default_graph()
    if callable(value) and not isinstance(value, (Tensor, Variable)):
        with graph.name_scope("Initializer"):
            return convert_to_tensor(value(), dtype, "initial_value")
    wanted = None if dtype is None else as_dtype(dtype)
    return convert_to_tensor(value, wanted, "initial_value")


def outermost_graph() -> Graph:
    """The default graph, or the one around it whose body it is: variables are in no body."""
    graph = get_default_graph()
    while isinstance(graph, Subgraph):
        graph = graph.outer
    return graph


@contextmanager
def outside_of_scopes(graph: Graph) -> Any:
    """Make operations of a graph which depend on no scope of control dependencies."""
    with ExitStack() as stack:
        if get_default_graph() is not graph:
            stack.enter_context(graph.as_default())
        stack.enter_context(graph.control_dependencies(None))
        yield


def _belongs_to(graph: Graph, outer: Graph) -> bool:
    """Whether a graph is another one, or a body within it."""
    while graph is not outer:
        if not isinstance(graph, Subgraph):
            return False
        graph = graph.outer
    return True
