"""gradients: the operations that compute derivatives, added by walking a graph backwards.

    y = f(x);  gradients(y, x)   -->   gradients/f_grad/Vjp(x, dy)

An operation whose gradient is registered has that function called, which makes operations. Every
other one gets one operation of type Vjp. Gradients of gradients need nothing more.
"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.graph.building import result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.differentiation.registered import registered
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.dependences import dependences
from tfc.graph.operators.registry import Spec, find
from tfc.graph.types.dtypes import resource


class AggregationMethod:
    """How gradients that reach a tensor by several ways are added: in one operation, always."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: Any = None,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
) -> list[Any]:
    """The derivative of the sum of ys by each of xs: a list of tensors, None where there is none.

    Args:
        ys, xs: a tensor or variable, or a list of them.
        grad_ys: what the derivative by each of ys is; ones if left out, or where it is None.
        colocate_gradients_with_ops: let each gradient run where its operation does.
        stop_gradients: tensors to take for constants.

    Raises:
        LookupError: an operation between them has no gradient. ValueError: the lists' lengths
            differ. TypeError: one of ys holds no numbers, or a gradient given has another dtype.
    """
    graph = get_default_graph()
    results = [convert_to_tensor(y) for y in _listed(ys)]
    wanted = [_source(graph, x) for x in _listed(xs)]
    stopped = {_source(graph, x) for x in _listed(stop_gradients)}
    with graph.name_scope(name):
        flow = _Flow(graph, [graph.admit(y) for y in results], wanted, stopped)
        flow.colocates = colocate_gradients_with_ops
        for y, given in zip(results, _given(results, grad_ys)):
            flow.add(graph.admit(y), given)
        flow.run()
        return [flow.gradient(x) for x in wanted]


def _listed(values: Any) -> list[Any]:
    if values is None:
        return []
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _source(graph: Graph, x: Any) -> Tensor:
    """The tensor by which is differentiated: a variable's is its handle."""
    handle = getattr(x, "handle", None)
    tensor = handle if isinstance(handle, Tensor) else convert_to_tensor(x)
    return graph.admit(tensor)


def _given(ys: Sequence[Tensor], grad_ys: Any) -> list[Tensor]:
    given = _listed(grad_ys) or [None] * len(ys)
    if len(given) != len(ys):
        raise ShapeError(f"Passed {len(given)} grad_ys for {len(ys)} ys")
    made = []
    for place, (y, gradient) in enumerate(zip(ys, given)):
        if not is_differentiable(y) and not y.dtype.is_integer:
            raise TraceError(f"Gradients of tensors must be floating or complex: {y} is not")
        if gradient is None:
            if y.dtype.is_complex:
                raise TraceError(f"Gradients of complex tensors must set grad_ys ({y})")
            made.append(result("OnesLike", y, name=f"grad_ys_{place}"))
            continue
        tensor = convert_to_tensor(gradient, None if hasattr(gradient, "dtype") else y.dtype)
        if tensor.dtype != y.dtype:
            raise TraceError(
                f"a gradient of {y} must be of {y.dtype.name}, got {tensor.dtype.name}"
            )
        made.append(tensor)
    return made


def held(tensor: Tensor) -> Spec:
    """The dtype and shape of a tensor's gradient: of a handle, those of its variable."""
    if tensor.dtype == resource and tensor.element is not None:
        return tensor.element
    return tensor.dtype, tensor.shape


def is_differentiable(tensor: Tensor) -> bool:
    """Whether a tensor may have a gradient: floats and complex numbers, handles and lists of such.

    A list's gradient is a list.
    """
    dtype = tensor.dtype if tensor.element is None else tensor.element[0]
    return dtype.is_floating or dtype.is_complex


class _Flow:
    """Gradients on their way back through a graph.

    colocates: whether each is made on its operation's device.
    """

    def __init__(
        self, graph: Graph, ys: Sequence[Tensor], xs: Sequence[Tensor], stopped: set[Tensor]
    ):
        self.graph, self.colocates = graph, False
        self._stopped = stopped
        self._arrived: dict[Tensor, list[Tensor]] = {}
        self._between, self._tensors = _between(ys, set(xs), stopped)

    def add(self, tensor: Tensor, gradient: Tensor) -> None:
        """Let a gradient arrive at a tensor."""
        self._arrived.setdefault(tensor, []).append(gradient)

    def gradient(self, tensor: Tensor) -> Tensor | None:
        """The sum of what has arrived at a tensor."""
        arrived = self._arrived.get(tensor)
        if not arrived:
            return None
        if len(arrived) > 1:
            self._arrived[tensor] = arrived = [result("AddN", *arrived, N=len(arrived))]
        return arrived[0]

    def run(self) -> None:
        """Take what has arrived back through every operation that leads to the sources."""
        for op in self._between:
            found = [
                None if x in self._stopped or not is_differentiable(x) else self.gradient(x)
                for x in op.outputs
            ]
            if any(gradient is not None for gradient in found):
                self._through(op, found)

    def _through(self, op: Operation, found: list[Tensor | None]) -> None:
        is_stated, function = registered.function_of(op)
        if is_stated and function is None:
            return
        with self._scopes(op):
            if function is None:
                self._by_row(op, found)
                return
            zeros = [
                result("ZerosLike", x) if g is None and is_differentiable(x) else g
                for x, g in zip(op.outputs, found)
            ]
            made = function(op, *zeros)
        self._take(op, made)

    def _scopes(self, op: Operation) -> ExitStack:
        """The gradient's name, and what of the operation's own scopes holds for it too."""
        scopes = ExitStack()
        scopes.enter_context(self.graph.name_scope(f"{op.name.rpartition('/')[2]}_grad"))
        if self.colocates and op.device:
            scopes.enter_context(self.graph.device(op.device))
        compiled = {k: v for k, v in op.attributes.items() if k.startswith("_Xla")}
        scopes.enter_context(self.graph.attributes(**compiled))
        return scopes

    def _take(self, op: Operation, made: Any) -> None:
        """Enter what a gradient function gave for an operation's inputs.

        Raises:
            ValueError: it gave another number of gradients, or one of a shape that does not fit.
        """
        listed = list(made) if isinstance(made, (list, tuple)) else [made]
        if len(listed) != len(op.inputs):
            raise ShapeError(
                f"Num gradients {len(listed)} generated for op {op.name!r} ({op.type}) do not "
                f"match num inputs {len(op.inputs)}"
            )
        for place, (x, gradient) in enumerate(zip(op.inputs, listed)):
            if gradient is None or not is_differentiable(x):
                continue
            dtype, shape = held(x)
            tensor = convert_to_tensor(gradient, None if hasattr(gradient, "dtype") else dtype)
            if tensor.dtype != dtype or not tensor.shape.is_compatible_with(shape):
                raise ShapeError(
                    f"the gradient of {op.name!r} ({op.type}) by its input {place} must be of "
                    f"{dtype.name} and shape {shape}, got {tensor.dtype.name} of {tensor.shape}"
                )
            if not tensor.shape.is_fully_defined():
                tensor.set_shape(shape)
            self.add(x, tensor)

    def _by_row(self, op: Operation, found: list[Tensor | None]) -> None:
        """Enter the gradients of a Vjp operation.

        Raises:
            LookupError: the operation depends on more than its inputs, or runs on the host.
        """
        row = find(op.type, op.attributes)
        wanted = [
            place
            for place, x in enumerate(op.inputs)
            if place not in row.known and is_differentiable(x) and x.dtype != resource
            if x in self._tensors and place in self._between[op]
        ]
        if not wanted:
            return
        if row.effect or row.on_host:
            raise LookupError(
                f"No gradient defined for operation {op.name!r} (op type: {op.type}): register "
                "one with RegisterGradient"
            )
        given = [place for place, gradient in enumerate(found) if gradient is not None]
        attributes = {"type": op.type, "attributes": op.attributes}
        attributes |= {"wanted": wanted, "given": given}
        inputs = [*op.inputs, *(g for g in found if g is not None)]
        made = self.graph.create_operation("Vjp", inputs, attributes)
        for place, gradient in zip(wanted, made.outputs):
            self.add(op.inputs[place], gradient)


def _between(
    ys: Iterable[Tensor], xs: set[Tensor], stopped: set[Tensor]
) -> tuple[dict[Operation, frozenset[int]], set[Tensor]]:
    """The operations on the ways from xs to ys that gradients can take, and the tensors there.

    The operations come in the order in which gradients go through them, the last made first, each
    with its inputs, by number, that its outputs depend on.
    """
    above: set[Operation] = set()
    left = [y.op for y in ys if y not in stopped]
    while left:
        op = left.pop()
        if op in above or registered.function_of(op) == (True, None):
            continue
        above.add(op)
        left += [x.op for x in op.inputs if x not in stopped and is_differentiable(x)]
    tensors = set(xs)
    between: dict[Operation, frozenset[int]] = {}
    for op in sorted(above, key=lambda op: op.number):
        places = {place for place, x in enumerate(op.inputs) if x in tensors}
        if not places:
            continue
        depends = _dependences(op)
        reached = [x for x, own in zip(op.outputs, depends) if own & places]
        if reached:
            between[op] = frozenset[int]().union(*depends)
            tensors |= {x for x in reached if x not in stopped}
    return dict(reversed(between.items())), tensors


def _dependences(op: Operation) -> list[frozenset[int]]:
    """For each output of an operation, the inputs that it depends on.

    All of them are taken to matter, but for a Vjp, which takes the point of a derivative, and may
    not depend on it.
    """
    if op.type == "Vjp":
        found = dependences(find(op.type, op.attributes), op.inputs, op.attributes)
        if len(found) == len(op.outputs):
            return found
    return [frozenset(range(len(op.inputs)))] * len(op.outputs)
