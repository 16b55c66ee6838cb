"""Imported models: callables with named inputs, outputs and parameters."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature
from keyword import iskeyword
from operator import is_
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.frontend.abstract import ShapeDtypeStruct
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import open_traces
from tfc.hlo.ir import Module
from tfc.importers.graph import Function, Graph, Key, Node, Port, all_nodes
from tfc.importers.table import Table
from tfc.importers.values import Text, UnknownValueError, traced
from tfc.importers.walk import Walk
from tfc.jitted import jit
from tfc.options import Options
from tfc.tracebacks import api_boundary

Shapes = Mapping[str, Sequence[int] | int]
_MOST_DECIDING = 16  # elements of an input whose value may decide what is computed
_MOST_DECIDED = 16  # values of such inputs for which programs are kept


class Model:
    """A model from elsewhere as a function of arrays.

    It is called with its inputs by position, with one dictionary of them, or by their names, and is
    compiled once for all inputs of the same shapes. In a function that is being traced it becomes a
    part of that.

    An output that is text is computed as its places among labels: calls give the text, programs and
    functions that are traced the places, and `labels` has the text for them.

    Where the value of an input must be known while importing, such as a sample rate by which an If
    chooses, calls compile for each value of the small inputs of integers and truth values anew.

    inputs, outputs: what it takes and gives, with names, dtypes and sizes.
    parameters: its weights by name, as arrays.
    graph: the nodes that were read.
    """

    def __init__(
        self,
        file: str,
        graph: Graph,
        table: Table,
        parameters: Mapping[str, np.ndarray],
        functions: Mapping[Key, Function] | None = None,
        shapes: Shapes | None = None,
        fixed: Mapping[str, Any] | None = None,
        backend: str = "cpu",
        options: Options | None = None,
    ):
        self.file, self.table, self.functions = file, table, dict(functions or {})
        self.parameters: dict[str, np.ndarray] = dict(parameters)
        self._constants = dict(parameters)  # which calls are compiled for
        self._fixed = _fixed_values(file, graph, fixed or {})
        self._backend, self._options = backend, options
        # Which inputs decide what is computed, once a call has shown it; models for their values.
        self._deciding: tuple[int, ...] = ()
        self._decided: dict[Any, Model] = {}
        self.graph = replace(graph, inputs=_stated(file, graph.inputs, shapes or {}))
        self.inputs = tuple(p for p in self.graph.inputs if p.name not in self._fixed)
        self.outputs = graph.outputs
        self.__name__ = identifier(graph.name or "model")
        # Weights that are constants are laid out for the kernels when the model is compiled.
        closed, general = self._named(self._closed, []), self._named(self._walked, ["parameters"])
        self.labels: dict[str, np.ndarray] = {}  # of outputs that are text, once they are traced
        self._compiled = jit(closed, backend=backend, options=options)
        self._general = jit(general, backend=backend, options=options)

    @api_boundary
    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Run the model, or make it part of the function that is being traced.

        Returns:
            The output, or a tuple of the outputs.

        Raises:
            ShapeError: an input is missing, or has another dtype or other dimensions.
            UnsupportedError: the model has something that has no counterpart.
            TfcError: an entry of `parameters` was replaced, which calls have as constants.
        """
        given = self._given(inputs, named)
        if open_traces.traces:
            return self.function(self.parameters, *given)
        self._check_constants()
        if self._deciding:
            return self._for_values(given)
        try:
            return self._labelled(self._compiled(*given))
        except UnknownValueError:
            self._deciding = tuple(i for i, value in enumerate(given) if _may_decide(value))
            if not self._deciding:
                raise
            return self._for_values(given)

    def _check_constants(self) -> None:
        """Check that the weights are those that calls are compiled for.

        Raises:
            TfcError: one was replaced.
        """
        constants = self._constants
        if not all(map(is_, map(self.parameters.get, constants), constants.values())):
            raise TfcError(
                f"{self.file}: calls have its parameters as constants, but one was replaced: "
                "pass those that change to .function(parameters, …)"
            )

    def _for_values(self, given: Sequence[Any]) -> Any:
        """The result of the model that has the deciding inputs fixed to the values given."""
        values = {self.inputs[i].name: given[i] for i in self._deciding}
        key = tuple((v.shape, v.tobytes()) for v in values.values())
        model = self._decided.get(key)
        if model is None:
            model = Model(
                self.file, self.graph, self.table, self.parameters, self.functions,
                fixed={**self._fixed, **values}, backend=self._backend, options=self._options,
            )  # fmt: skip
            if len(self._decided) == _MOST_DECIDED:
                self._decided.pop(next(iter(self._decided)))
            self._decided[key] = model
        return model(*(v for i, v in enumerate(given) if i not in self._deciding))

    def _closed(self, *inputs: Any) -> Any:
        """The model with the file's own parameters."""
        return self._walked({}, *inputs)

    def function(self, parameters: Mapping[str, Any], *inputs: Any) -> Any:
        """The model as a pure function of its parameters and inputs, which may be differentiated.

        What shapes depend on is decided by the file's own parameters.

        Args:
            parameters: arrays or Tensors under the names of `parameters`; the file's own are taken
                for those that are left out.
            inputs: in the order of `inputs`.

        Raises:
            ShapeError: the inputs do not fit.
            UnsupportedError: the model has something that has no counterpart.
        """
        called = self._walked if open_traces.traces else self._general
        return called(parameters, *inputs)

    def _walked(self, parameters: Mapping[str, Any], *inputs: Any) -> Any:
        """The model in the current trace."""
        outputs = self.walked(parameters, inputs)[1]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def walked(
        self, parameters: Mapping[str, Any], inputs: Sequence[Any]
    ) -> tuple[Walk, list[Any]]:
        """The walk through the model in the current trace, and the outputs.

        Raises:
            TfcError: it has no parameter of a name.
        """
        if unknown := set(parameters) - set(self.parameters):
            raise TfcError(f"{self.file} has no parameter '{min(unknown)}'")
        found = dict(zip([p.name for p in self.inputs], inputs))
        values = [self._fixed[p.name] if p.name in self._fixed else _value(found[p.name])
                  for p in self.graph.inputs]  # fmt: skip
        walk = Walk(self.table, self.file, {**self.parameters, **parameters}, self.functions)
        outputs = [traced(value) for value in self.results(walk, values)]
        for number, value in enumerate(outputs):
            if isinstance(value, Text):
                self.labels[self.outputs[number].name] = np.array(value.labels, object)
                outputs[number] = value.places
        return walk, outputs

    def _labelled(self, found: Any) -> Any:
        """Results of a call, with text for the outputs of which programs give the places."""
        if not self.labels:
            return found
        results = found if isinstance(found, tuple) else (found,)
        texts = [self.labels[port.name][r] if port.name in self.labels else r
                 for port, r in zip(self.outputs, results)]  # fmt: skip
        return tuple(texts) if isinstance(found, tuple) else texts[0]

    def results(self, walk: Walk, values: Sequence[Any]) -> Sequence[Any]:
        """The outputs of a walk for the graph's inputs."""
        return walk.main(self.graph, values)

    @property
    def hlo(self) -> Module:
        """The module, with the parameters as constants.

        Raises:
            ShapeError: the sizes of an input are open.
        """
        return self.lower().hlo

    @api_boundary
    def lower(self, *inputs: Any) -> Any:
        """The model for inputs of given shapes, lowered as by `tfc.jit(…).lower`.

        The parameters are constants of it.

        Args:
            inputs: arrays or ShapeDtypeStructs; those that the file states when left out.

        Raises:
            ShapeError: the sizes of an input are open.
        """
        examples = list(inputs) or [self._example(port) for port in self.inputs]
        closed = self._named(self._closed, [])
        return jit(closed).lower(*examples)

    def _named(self, function: Callable[..., Any], before: list[str]) -> Callable[..., Any]:
        """A function under the model's name, whose inputs have theirs, for programs made of it.

        Args:
            before: what it takes before them.
        """

        def called(*args: Any) -> Any:
            return function(*args)

        called.__name__ = called.__qualname__ = self.__name__
        names = dict.fromkeys(identifier(name) for name in before + [p.name for p in self.inputs])
        if len(names) == len(before) + len(self.inputs):
            found = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
            called.__dict__["__signature__"] = Signature(found)
        return called

    def _example(self, port: Port) -> Any:
        _check_is_no_text(port)
        if port.kind != "tensor" or port.dtype is None or port.dims is None:
            raise ShapeError(f"the shape of the input {port} is not known: call the model instead")
        sizes = tuple(d for d in port.dims if isinstance(d, int))
        if len(sizes) < len(port.dims):
            open_sizes = [d for d in port.dims if not isinstance(d, int)]
            names = ", ".join("?" if d is None else d for d in open_sizes)
            raise ShapeError(
                f"the input {port} has open sizes ({names}): give them by "
                f"shapes={{'{port.name}': …}}, or --shape {port.name}=… on the command line"
            )
        return ShapeDtypeStruct(sizes, port.dtype)

    def _given(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The inputs in order, checked.

        Raises:
            ShapeError: one is missing, twice there, or does not fit.
        """
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            named, inputs = {**inputs[0], **named}, ()
        names = [p.name for p in self.inputs]
        if len(inputs) > len(names):
            raise ShapeError(f"{self.file} takes {len(names)} inputs, got {len(inputs)}")
        found = dict(zip(names, inputs))
        for name, value in named.items():
            if name in found or name not in names:
                problem = "is given twice" if name in found else "is none of its inputs"
                raise ShapeError(f"{self.file}: '{name}' {problem}, which are {', '.join(names)}")
            found[name] = value
        if missing := [n for n in names if n not in found]:
            raise ShapeError(f"{self.file} needs the inputs {', '.join(missing)}, too")
        return [_checked(port, found[port.name]) for port in self.inputs]

    def operators(self) -> Counter[str]:
        """How often each operator occurs in the file, that of subgraphs and functions included."""
        return Counter(node.label for node in self._nodes())

    def unsupported(self) -> set[str]:
        """Those of the operators that have no counterpart."""
        return {
            node.label
            for node in self._nodes()
            if (node.domain, node.op) not in self.functions and self.table.find(node) is None
        }

    def _nodes(self) -> Iterator[Node]:
        return all_nodes([self.graph, *(f.graph for f in self.functions.values())])

    def __repr__(self) -> str:
        taken = ", ".join(map(str, self.inputs))
        return f"<Model {self.file} ({taken}) -> {', '.join(map(str, self.outputs))}>"


def identifier(name: str) -> str:
    """A name as programs can have it."""
    found = re.sub(r"\W+", "_", name).strip("_")
    return found if found.isidentifier() and not iskeyword(found) else f"input_{found}"


def _value(given: Any) -> Any:
    """An input of the walk: a Tensor, a list of them, or None."""
    if given is None:
        return None
    return [_value(v) for v in given] if isinstance(given, (list, tuple)) else as_tensor(given)


def _may_decide(value: Any) -> bool:
    """Whether an input is such a number, or a vector of a few, as models choose by."""
    is_array = isinstance(value, np.ndarray) and value.dtype.kind in "biu"
    return is_array and value.ndim < 2 and value.size <= _MOST_DECIDING


def _check_is_no_text(port: Port) -> None:
    """Check that programs can take an input.

    Raises:
        UnsupportedError: it is text.
    """
    if port.dtype is not None and port.dtype.kind == "O":
        raise UnsupportedError(
            f"the input '{port.name}' is text, which programs do not take: export the model "
            "without the part that looks text up, and give that part's numbers"
        )


def _checked(port: Port, value: Any) -> Any:
    """An input as an array of its port.

    Raises:
        ShapeError: it has another dtype or other dimensions.
    """
    _check_is_no_text(port)
    if value is None:
        if port.kind == "optional":
            return None
        raise ShapeError(f"the input {port} got None")
    if port.kind == "sequence" or (port.kind == "optional" and isinstance(value, (list, tuple))):
        element = replace(port, kind="tensor")
        return [_checked(element, v) for v in value]
    array = value
    if not isinstance(value, Tensor):
        is_number = isinstance(value, (bool, int, float, list)) and not isinstance(
            value, np.generic
        )
        array = np.asarray(value, port.dtype if is_number else None)
    dims = port.dims
    fits = dims is None or (
        len(dims) == array.ndim
        and all(not isinstance(d, int) or d == n for d, n in zip(dims, array.shape))
    )
    if not fits or (port.dtype not in (None, array.dtype) and not port.is_assumed):
        sizes = ",".join(map(str, array.shape))
        raise ShapeError(f"the input {port} got {array.dtype}[{sizes}]")
    return array


def _stated(file: str, ports: Sequence[Port], shapes: Shapes) -> tuple[Port, ...]:
    """Ports with the sizes that a user gives: those of an input, or that of a name of a size.

    Raises:
        ShapeError: no input and no size has such a name, or the sizes contradict the file's.
    """
    symbols = {d for p in ports for d in p.dims or () if isinstance(d, str)}
    inputs = {p.name for p in ports}
    for name in shapes:
        if name not in inputs | symbols:
            known = ", ".join(map(str, ports))
            raise ShapeError(f"{file} has no input and no open size '{name}'; it takes {known}")
    sizes = {k: v for k, v in shapes.items() if isinstance(v, int) and k not in inputs}
    found = []
    for port in ports:
        dims = port.dims
        given = shapes.get(port.name)
        if given is not None:
            stated = (given,) if isinstance(given, int) else tuple(int(n) for n in given)
            if dims is not None and (
                len(dims) != len(stated)
                or any(isinstance(d, int) and d != n for d, n in zip(dims, stated))
            ):
                raise ShapeError(f"the input {port} cannot have the sizes {list(stated)}")
            dims = stated
        elif dims is not None:
            dims = tuple(sizes.get(d, d) if isinstance(d, str) else d for d in dims)
        if any(isinstance(d, int) and d < 0 for d in dims or ()):
            raise ShapeError(f"the input '{port.name}' cannot have the sizes {list(dims or ())}")
        found.append(replace(port, dims=dims))
    return tuple(found)


def _fixed_values(file: str, graph: Graph, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of the inputs that a user fixes.

    Raises:
        ShapeError: there is no such input, or the value is not of its dtype and sizes.
    """
    ports = {p.name: p for p in graph.inputs}
    found = {}
    for name, value in fixed.items():
        if name not in ports:
            raise ShapeError(f"{file} has no input '{name}'; it takes {', '.join(ports)}")
        port = ports[name]
        array = np.asarray(value)
        if port.dtype is not None and not isinstance(value, (np.ndarray, np.generic)):
            array = array.astype(port.dtype)
        if port.dims is not None and array.ndim != len(port.dims) and array.size == 1:
            array = array.reshape([1] * len(port.dims))
        found[name] = _checked(port, array)
    return found
