"""Graphs: operations under unique names, and the scopes in which they are made."""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TfcError, TraceError, UnsupportedError
from tfc.frontend.trace import locate, outside_traces, user_location
from tfc.graph.collecting import Collections
from tfc.graph.defaults import default, writers
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.inference import infer
from tfc.graph.operators.registry import Spec, find
from tfc.graph.types.devices import canonical, merge

_OP_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\\-/>]*\Z")
_SCOPE_NAME = re.compile(r"[A-Za-z0-9_.\\\-/]*\Z")
_MOST_KNOWN = 1 << 16  # elements of a value that is computed while the graph is built


class Graph(Collections):
    """Operations and what they are made in: scopes of names, devices, control dependencies.

    seed: of random operations, where they state none: `set_random_seed`.
    seeds_within: how many its bodies of loops and branches have taken of its numbers for seeds.
    changes: how often an operation that was there was changed: sessions plan anew then.
    """

    def __init__(self) -> None:
        super().__init__()
        self._operations: dict[str, Operation] = {}
        self._names_used: dict[str, int] = {}
        self._finalized = False
        self._name_stack = ""
        self._device_stack: list[Any] = []
        self._control_stack: list[list[Operation]] = []
        self._attribute_stack: list[Mapping[str, Any]] = []
        self._override_stack: list[Mapping[str, str]] = []
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self.seed: int | None = None
        self.seeds_within = 0
        self.changes = 0
        self.lock = threading.RLock()

    # --- making operations

    def create_operation(
        self,
        type: str,
        inputs: Sequence[Tensor] = (),
        attributes: Mapping[str, Any] | None = None,
        name: str | None = None,
        results: Sequence[Spec] | None = None,
    ) -> Operation:
        """Make an operation in the scopes that are open.

        Args:
            type: an operator's name.
            inputs: tensors of this graph.
            name: what it is called, made unique; the operator's name if left out; used as it is,
                apart from the end, if it ends with /.
            results: dtype and shape of each result; inferred if left out.

        Raises:
            ShapeError: the operator does not take such inputs.
            InvalidName (ValueError): the name has characters that names may not have.
            RuntimeError: the graph is finalized.
        """
        self._check_open()
        inputs = [self.admit(x) for x in inputs]
        given = dict(attributes or {})
        for scope in self._attribute_stack:
            given = {**scope, **given}
        location = user_location()
        try:
            specs = infer(find(type, given), inputs, given) if results is None else list(results)
        except TfcError as error:
            error.add_note(f"for operation {name or type!r} of type {type}")
            locate(error)
            raise
        override = next((m[type] for m in reversed(self._override_stack) if type in m), None)
        if override is not None:
            given["_gradient_op_type"] = override
        with self.lock:
            full = name[:-1] if name and name.endswith("/") else self.unique_name(name or type)
            if not _OP_NAME.match(full):
                raise ShapeError(f"{full!r} is not a valid name of an operation")
            made = Operation(self, full, type, inputs, self._controls(inputs), given, "", location)
            made.device = self._device_of(made)
            made.number = len(self._operations)
            made.outputs = tuple(
                Tensor(made, place, dtype, shape) for place, (dtype, shape) in enumerate(specs)
            )
            made.hand_elements_on()
            self._operations[full] = made
        return made

    def admit(self, tensor: Tensor) -> Tensor:
        """A tensor that operations of this graph may take.

        Raises:
            ValueError: it belongs to another graph.
        """
        if tensor.graph is not self:
            raise ShapeError(f"{tensor} is not an element of this graph, but of another")
        return tensor

    def _check_open(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def _controls(self, inputs: Sequence[Tensor]) -> list[Operation]:
        taken = {x.op for x in inputs}
        found = dict.fromkeys(op for scope in self._control_stack for op in scope)
        return [op for op in found if op not in taken]

    # --- names

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name in the open name scopes, with _1, _2 … at its end if it is taken."""
        full = f"{self._name_stack}/{name}" if self._name_stack else name
        if not _SCOPE_NAME.match(full.replace(">", "")):
            raise ShapeError(f"{name!r} is not a valid name of an operation or scope")
        key = full.lower()
        count = self._names_used.get(key, 0)
        if mark_as_used:
            self._names_used[key] = count + 1
        if not count:
            return full
        while (candidate := f"{full}_{count}").lower() in self._names_used:
            count += 1
        if mark_as_used:
            self._names_used[candidate.lower()] = 1
        return candidate

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Put `name/` before the names of what is made within; None or "" for no prefix at all.

        A name that ends with / is a scope that was entered before, as `with … as scope` gives it.
        """
        before = self._name_stack
        if not name:
            self._name_stack = ""
        elif name.endswith("/"):
            self._name_stack = name[:-1]
        else:
            self._name_stack = self.unique_name(name)
        try:
            yield f"{self._name_stack}/" if self._name_stack else ""
        finally:
            self._name_stack = before

    def get_name_scope(self) -> str:
        """The open name scope, without / at its end."""
        return self._name_stack

    # --- other scopes

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Let what is made within run after these operations; None forgets outer scopes'."""
        before = self._control_stack
        if control_inputs is None:
            self._control_stack = []
        else:
            operations = [self._operation_of(x) for x in control_inputs]
            self._control_stack = [*before, [op for op in operations if op is not None]]
        try:
            yield
        finally:
            self._control_stack = before

    @property
    def has_control_dependencies(self) -> bool:
        """Whether what is made now runs after operations that a scope names."""
        return any(self._control_stack)

    def _operation_of(self, value: Any) -> Operation | None:
        """The operation that a control input is; None for one that needs no mention here."""
        value = getattr(value, "op", value)
        if not isinstance(value, Operation):
            raise TypeError(f"a control input is an operation or a tensor, got {value!r}")
        if value.graph is not self:
            raise ShapeError(f"operation {value.name!r} is of another graph")
        return value

    @contextmanager
    def device(self, device: Any) -> Iterator[None]:
        """Let what is made within run on a device: a string, a function of operations, or None."""
        before = self._device_stack
        asked = canonical(device) if isinstance(device, str) else device
        self._device_stack = [] if device is None else [*before, asked]
        try:
            yield
        finally:
            self._device_stack = before

    def _device_of(self, op: Operation) -> str:
        """The device of an operation, as the scopes that are open say."""
        found = ""
        for scope in self._device_stack:
            op.device = found
            found = merge(found, str(scope(op) or "") if callable(scope) else scope)
        return found

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Let what is made within run where an operation runs."""
        with self.device(None), self.device(getattr(self._operation_of(op), "device", None)):
            yield

    @contextmanager
    def attributes(self, **attributes: Any) -> Iterator[None]:
        """Give what is made within further attributes, `_XlaCompile=True` for example."""
        self._attribute_stack.append(attributes)
        try:
            yield
        finally:
            self._attribute_stack.pop()

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """Let operators have another registered gradient for what is made within."""
        if not isinstance(op_type_map, Mapping):
            raise TypeError(f"op_type_map must be a dictionary, got {op_type_map!r}")
        self._override_stack.append(op_type_map)
        try:
            yield
        finally:
            self._override_stack.pop()

    @contextmanager
    def as_default(self) -> Iterator["Graph"]:
        """Make it the graph that functions put operations into."""
        default.graphs.append(self)
        try:
            yield self
        finally:
            popped = default.graphs.pop()
            if popped is not self:
                raise RuntimeError("the default graph was changed within its `with`")

    # --- looking up

    def get_operations(self) -> list[Operation]:
        """The operations, in the order in which they were made."""
        return list(self._operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of a name.

        Raises:
            KeyError: there is none.
        """
        found = self.as_graph_element(name, allow_tensor=False)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of a name such as `add:0`.

        Raises:
            KeyError: there is none.
        """
        found = self.as_graph_element(name, allow_operation=False)
        assert isinstance(found, Tensor)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """The tensor or operation that an object or its name stands for.

        Raises:
            KeyError: nothing has this name. ValueError: it is of another graph, or no name.
            TypeError: it stands for neither.
        """
        element = obj
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            element = convert()
        if isinstance(element, (Tensor, Operation)):
            if element.graph is not self:
                raise ShapeError(f"{element!r} is not an element of this graph")
            if isinstance(element, Tensor) if allow_tensor else isinstance(element, Operation):
                return element
            if allow_operation and isinstance(element, Operation):
                return element
        if isinstance(element, str):
            return self._named(element, allow_tensor, allow_operation)
        wanted = " or ".join(
            what
            for what, on in [("a Tensor", allow_tensor), ("an Operation", allow_operation)]
            if on
        )
        raise TypeError(f"{obj!r} is not {wanted}, nor the name of one")

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
        operation, colon, place = name.partition(":")
        if not colon:
            if not allow_operation:
                raise ShapeError(f"{name!r} is the name of an operation; tensors are {name}:0 …")
            if name not in self._operations:
                raise KeyError(f"the graph has no operation called {name!r}")
            return self._operations[name]
        if not allow_tensor or not place.isdigit():
            raise ShapeError(f"{name!r} is not the name of an operation")
        if operation not in self._operations:
            raise KeyError(f"the name {name!r} refers to an operation that is not in the graph")
        outputs = self._operations[operation].outputs
        if int(place) >= len(outputs):
            raise KeyError(f"{operation!r} has {len(outputs)} outputs, so there is no {name!r}")
        return outputs[int(place)]

    # --- what the graph allows

    @property
    def version(self) -> int:
        """How many operations there are: grows with each."""
        return len(self._operations)

    @property
    def finalized(self) -> bool:
        """Whether nothing may be added any more."""
        return self._finalized

    def finalize(self) -> None:
        """Refuse further operations from now on."""
        self._finalized = True

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """The graph as a GraphDef message."""
        return writers.to_proto(self)

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Refuse feeds of a tensor."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a run may be given the tensor's value."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Refuse fetches of an operation."""
        self._unfetchable.add(op)

    def is_fetchable(self, element: Any) -> bool:
        """Whether a run may give the value."""
        return getattr(element, "op", element) not in self._unfetchable

    def session_for(self, session: Any, what: str) -> Any:
        """The session stated, or the default one.

        Raises:
            ValueError: there is none, or it is one of another graph.
        """
        found = session or (default.sessions[-1] if default.sessions else None)
        if found is None:
            raise ShapeError(
                f"no session is the default one: call {what}(session=…), or within `with session:`"
            )
        if found.graph is not self:
            raise ShapeError("the default session is one of another graph: pass session=")
        return found

    # --- values known while the graph is built

    def known_value(self, tensor: Tensor) -> np.ndarray | None:
        """The value of a tensor if constants and known shapes alone decide it, and it is small."""
        op = tensor.op
        if op.type in ("Shape", "Size", "Rank") and op.inputs[0].shape.is_fully_defined():
            dims = op.inputs[0].shape.known()
            value = {"Shape": dims, "Size": int(np.prod(dims)), "Rank": len(dims)}[op.type]
            return np.asarray(value, tensor.dtype.dtype)
        row = find(op.type, op.attributes)
        count = tensor.shape.num_elements()
        if row.effect or row.on_host or op.type == "Placeholder" or op.graph is not self:
            return None
        if op.type != "Const" and (count is None or count > _MOST_KNOWN or not op.inputs):
            return None
        values = [x.known_value() for x in op.inputs]
        if any(value is None for value in values):
            return None
        try:
            with outside_traces():
                return np.asarray(row(values, op.attributes)[tensor.value_index])
        except (TfcError, UnsupportedError):
            return None


def get_default_graph() -> Graph:
    """The graph that functions put operations into: the innermost `as_default`, or the thread's."""
    if default.graphs:
        return default.graphs[-1]
    return _first()


_lock = threading.Lock()
_global: list[Graph] = []


def _first() -> Graph:
    with _lock:
        if not _global:
            _global.append(Graph())
        return _global[0]


def reset_default_graph() -> None:
    """Begin with an empty graph.

    Raises:
        TraceError: a graph or session is the default one by `with`.
    """
    if default.graphs:
        raise TraceError("reset_default_graph is not allowed within `with graph.as_default():`")
    with _lock:
        _global[:] = [Graph()]
