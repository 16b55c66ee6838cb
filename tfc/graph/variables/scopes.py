"""Variable scopes: variables that are shared by name, under TensorFlow 1's rules of reuse."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from tfc.errors import ShapeError, UnsupportedError
from tfc.graph.constants import as_array
from tfc.graph.graph import Graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import DType, as_dtype, float32
from tfc.graph.types.shapes import TensorShape
from tfc.graph.variables.initializers import Zeros, glorot_uniform_initializer
from tfc.graph.variables.keys import GraphKeys
from tfc.graph.variables.variable import Variable, outermost_graph, outside_of_scopes


class _AutoReuse:
    """Reuse a variable that exists, make one that does not."""

    def __repr__(self) -> str:
        return "AUTO_REUSE"


AUTO_REUSE = _AutoReuse()


class VariableScope:
    """What `get_variable` goes by: a prefix of names, and defaults of its arguments."""

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ):
        self.name, self.initializer, self.regularizer = name, initializer, regularizer
        self.reuse, self.custom_getter, self.constraint = reuse, custom_getter, constraint
        self.original_name_scope, self.dtype = name_scope, as_dtype(dtype)

    def reuse_variables(self) -> None:
        """Take only variables that exist, from now on."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Set the default regularizer."""
        self.regularizer = regularizer

    def set_dtype(self, dtype: Any) -> None:
        """Set the default dtype."""
        self.dtype = as_dtype(dtype)

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Set the function that makes the variables."""
        self.custom_getter = custom_getter

    def get_collection(self, name: str) -> list[Any]:
        """The values of a collection that lie in this scope."""
        scope = f"{self.name}/" if self.name else ""
        return outermost_graph().get_collection(name, scope)

    def trainable_variables(self) -> list[Any]:
        """The trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """The variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """The local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, name: str, **arguments: Any) -> Variable:
        """A variable of this scope: see the function of this name."""
        full = f"{self.name}/{name}" if self.name else name
        if arguments.get("partitioner") is not None:
            raise UnsupportedError("partitioned variables are not offered: leave partitioner out")
        for what in ("regularizer", "initializer", "constraint"):
            if arguments.get(what) is None:
                arguments[what] = getattr(self, what)
        arguments["dtype"] = self.dtype if arguments.get("dtype") is None else arguments["dtype"]
        getter = arguments.pop("custom_getter", None) or self.custom_getter
        reuse = self.reuse if arguments.get("reuse") is None else arguments["reuse"]
        arguments["reuse"] = reuse
        make = _Shared.of(outermost_graph()).get
        graph = outermost_graph()
        with outside_of_scopes(graph), graph.name_scope(None):
            return make(full, **arguments) if getter is None else getter(make, full, **arguments)


class _Shared:
    """The variables of a graph that `get_variable` has made, and the scope that is open."""

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.scope = VariableScope(False)
        self.opened: dict[str, int] = {}

    @staticmethod
    def of(graph: Graph) -> "_Shared":
        """The one of a graph."""
        held = graph.get_collection_ref(("variable_scopes",))
        if not held:
            held.append(_Shared())
        return held[0]

    def get(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = float32,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool = True,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: Any = None,
        constraint: Any = None,
    ) -> Variable:
        """The variable of a complete name: one that exists, or a new one, as `reuse` says.

        Raises:
            ValueError: it exists and must not, or must and does not, or is of another shape.
        """
        found = self.variables.get(name)
        if found is not None:
            if not reuse:
                file, line = found.op.location
                raise ShapeError(
                    f"Variable {name} already exists, disallowed. Did you mean to set reuse=True "
                    f"or reuse=tf.AUTO_REUSE in VarScope? It was made at {file}:{line}"
                )
            return _checked(found, name, shape, as_dtype(dtype))
        if reuse is True:
            raise ShapeError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did "
                "you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        initial, wanted = _initial(name, initializer, shape, as_dtype(dtype))
        made = Variable(
            initial,
            trainable=trainable,
            collections=collections,
            validate_shape=validate_shape,
            name=name,
            dtype=wanted,
            constraint=constraint,
        )
        self.variables[name] = made
        if regularizer is not None:
            with made.graph.name_scope(f"{name}/Regularizer/"):
                loss = regularizer(made)
            if loss is not None:
                made.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return made


def _checked(found: Variable, name: str, shape: Any, dtype: DType) -> Variable:
    """The variable that exists, which is to be of a shape and dtype."""
    if shape is not None and not TensorShape(shape).is_compatible_with(found.shape):
        raise ShapeError(
            f"Trying to share variable {name}, but specified shape {TensorShape(shape)} and found "
            f"shape {found.shape}."
        )
    if dtype != found.dtype:
        raise ShapeError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{found.dtype.name}."
        )
    return found


def _initial(name: str, initializer: Any, shape: Any, dtype: DType) -> tuple[Any, DType | None]:
    """What the variable's initial value is made of: a tensor, or a function that gives it."""
    if initializer is None:
        if dtype.is_floating or dtype.is_complex:
            initializer = glorot_uniform_initializer()
        elif dtype.is_integer or dtype.is_bool:
            initializer = Zeros(dtype)
        else:
            raise ShapeError(f"An initializer for variable {name} of {dtype.name} is required")
    if isinstance(initializer, type):
        initializer = initializer()
    if not callable(initializer) or isinstance(initializer, (Tensor, Variable)):
        if shape is not None:
            raise ShapeError("If initializer is a constant, do not specify shape.")
        if isinstance(initializer, (Tensor, Variable)):
            return initializer, None
        return as_array(initializer, dtype), dtype
    if shape is None or not TensorShape(shape).is_fully_defined():
        raise ShapeError(
            f"Shape of a new variable ({name}) must be fully defined, but instead was "
            f"{TensorShape(shape)}."
        )
    return partial(initializer, TensorShape(shape).known(), dtype=dtype), dtype


def get_variable_scope() -> VariableScope:
    """The scope that is open, or the outermost one, without a name."""
    return _Shared.of(outermost_graph()).scope


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Sequence[Any] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Any = None,
) -> Variable:
    """The variable of a name in the open variable scope, made unless the scope reuses it.

    Args:
        initializer: (shape, dtype=…) -> tensor, or a value; the scope's, or glorot_uniform, else.
        regularizer: (variable) -> a loss, which is added to REGULARIZATION_LOSSES.
        custom_getter: (getter, name, **arguments) -> variable.

    Raises:
        ValueError: it exists and the scope does not reuse, or the other way round; or its shape or
            dtype is another.
    """
    return get_variable_scope().get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        partitioner=partitioner,
        validate_shape=validate_shape,
        custom_getter=custom_getter,
        constraint=constraint,
    )


def get_local_variable(name: str, *arguments: Any, **options: Any) -> Variable:
    """A variable that is no part of the model: not trainable, in LOCAL_VARIABLES."""
    collections = [*(options.pop("collections", None) or []), GraphKeys.LOCAL_VARIABLES]
    options["trainable"] = False
    return get_variable(name, *arguments, collections=collections, **options)


@contextmanager
def variable_scope(
    name_or_scope: Any,
    default_name: str | None = None,
    values: Sequence[Any] | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Open a scope of variables, and one of names.

    Args:
        name_or_scope: a name below the open scope, or a scope that was open before; None for
            `default_name`, which is made unique.
        reuse: True to take variables that exist, AUTO_REUSE to make those that do not, None for
            what the scope around it does; nothing turns reuse off within a scope that has it.

    Raises:
        ValueError: there is neither a name nor a default one.
    """
    if partitioner is not None:
        raise UnsupportedError("partitioned variables are not offered: leave partitioner out")
    if name_or_scope is None and default_name is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    if name_or_scope is None and reuse is True:
        raise ShapeError("reuse=True cannot be used without a name_or_scope")
    graph = outermost_graph()
    shared = _Shared.of(graph)
    before, opened = shared.scope, dict(shared.opened)
    with ExitStack() as stack:
        name, scope = _entered(
            shared, graph, stack, name_or_scope, default_name, auxiliary_name_scope
        )
        made = _inner(name_or_scope, before, name, scope, reuse)
        for what, value in [
            ("initializer", initializer),
            ("regularizer", regularizer),
            ("constraint", constraint),
            ("dtype", None if dtype is None else as_dtype(dtype)),
        ]:
            if value is not None:
                setattr(made, what, value)
        made.custom_getter = _nested(custom_getter, made.custom_getter)
        shared.scope = made
        shared.opened[name] = shared.opened.get(name, 0) + 1
        try:
            yield made
        finally:
            shared.scope = before
            for other in [key for key in shared.opened if key.startswith(f"{name}/")]:
                del shared.opened[other]
            if isinstance(name_or_scope, VariableScope):
                shared.opened = opened


def _entered(
    shared: _Shared,
    graph: Graph,
    stack: ExitStack,
    name_or_scope: Any,
    default_name: str | None,
    auxiliary: bool,
) -> tuple[str, str]:
    """The complete name of the scope that is opened, and the scope of names, which is open now."""
    inner = name_or_scope if name_or_scope is not None else default_name
    if isinstance(inner, VariableScope):
        name, last = inner.name, inner.name.split("/")[-1]
    elif isinstance(inner, str):
        if name_or_scope is None:
            inner = _unique(shared, inner)
        last = inner if name_or_scope is not None else str(default_name)
        name = f"{shared.scope.name}/{inner}" if shared.scope.name else inner
    else:
        raise TypeError(f"VariableScope: name_or_scope must be a string or scope, got {inner!r}")
    if not auxiliary:
        return name, graph.get_name_scope() + "/" if graph.get_name_scope() else ""
    if not last:
        return name, stack.enter_context(graph.name_scope(None))
    return name, stack.enter_context(graph.name_scope(last))


def _unique(shared: _Shared, prefix: str) -> str:
    """A name for a scope that none has that was opened here."""
    base = f"{shared.scope.name}/" if shared.scope.name else ""
    if not shared.opened.get(base + prefix):
        return prefix
    number = 1
    while shared.opened.get(f"{base}{prefix}_{number}"):
        number += 1
    return f"{prefix}_{number}"


def _inner(given: Any, before: VariableScope, name: str, scope: str, reuse: Any) -> VariableScope:
    """A scope with the defaults of the one it is made from: the one given, or the one around."""
    like = given if isinstance(given, VariableScope) else before
    kept = like.original_name_scope if like is given else scope
    inherited = like.reuse if like is given else before.reuse
    return VariableScope(
        reuse or inherited or before.reuse,
        name,
        like.initializer,
        like.regularizer,
        custom_getter=like.custom_getter,
        name_scope=kept,
        dtype=like.dtype,
        constraint=like.constraint,
    )


def _nested(inner: Any, outer: Any) -> Any:
    """A getter that calls the outer scope's."""
    if inner is None or outer is None:
        return inner or outer

    def getter(make: Any, name: str, **arguments: Any) -> Any:
        return inner(partial(outer, make), name, **arguments)

    return getter


@contextmanager
def variable_op_scope(
    values: Sequence[Any], name_or_scope: Any, default_name: str | None = None, **options: Any
) -> Iterator[VariableScope]:
    """`variable_scope` with its older order of arguments."""
    with variable_scope(name_or_scope, default_name, values, **options) as scope:
        yield scope
