"""Exported programs of torch as functions with named parameters."""

import os
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import open_traces
from tfc.importers.graph import all_needed_nodes
from tfc.importers.model import Model, Shapes
from tfc.importers.table import unknown_operators
from tfc.importers.torch.archive import load
from tfc.importers.torch.exchange import array_of, tensor_of
from tfc.importers.torch.plain import is_plain
from tfc.importers.torch.reader import decompositions, read_graph
from tfc.importers.torch.table import TABLE
from tfc.options import Options
from tfc.tracebacks import api_boundary

torch: Any = import_module("torch")
pytree: Any = import_module("torch.utils._pytree")


def read(
    source: Any, args: Any, kwargs: Any, dynamic_shapes: Any, shapes: Shapes | None, backend: str,
    options: Options | None,
) -> "TorchModel":  # fmt: skip
    """The function of a module, of an exported program, or of a file with one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's about its own code
        file, program = _program(source, args, kwargs, dynamic_shapes)
        if not is_plain(program.graph_module):
            program = program.run_decompositions(decompositions())
    return TorchModel(file, program, shapes, backend, options)


def _program(source: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> tuple[str, Any]:
    """What to call a source, and its exported program."""
    file = type(source).__name__
    if isinstance(source, (str, bytes, os.PathLike)):
        file = "the bytes" if isinstance(source, bytes) else os.fspath(source)
        source = load(source if isinstance(source, bytes) else file, file)
    if isinstance(source, torch.jit.ScriptModule):
        raise UnsupportedError(
            f"{file} is a TorchScript module: export the module that it was made of by "
            "torch.export.export(module, args), and save that by torch.export.save"
        )
    if isinstance(source, torch.nn.Module):
        source = _exported(source, args, kwargs, dynamic_shapes)
    if not isinstance(source, torch.export.ExportedProgram):
        raise TfcError(f"from_torch takes a module or an ExportedProgram, got {type(source)}")
    return file, source


def _exported(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
    if not isinstance(args, tuple):
        raise TfcError("from_torch needs the arguments of an example call as a tuple")
    examples, named = pytree.tree_map(_torch_value, (args, dict(kwargs or {})))
    try:
        return torch.export.export(module, examples, named, dynamic_shapes=dynamic_shapes)
    except Exception as error:
        raise UnsupportedError(
            f"torch.export refuses {type(module).__name__}: {_sentence(error)}"
        ) from error


def _sentence(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _torch_value(value: Any) -> Any:
    return tensor_of(value) if isinstance(value, (np.ndarray, np.generic)) else value


class TorchModel(Model):
    """A PyTorch module as a function: of arrays, or of torch's tensors, which then gives tensors.

    It takes what the module takes and is compiled for each choice of shapes. Buffers that the
    module writes to are further inputs and outputs of its program, after its own, and are replaced
    in `parameters` when it is called outside of traces.

    parameters: its weights, buffers and constants as arrays, under state_dict's names.
    written: the names of the buffers that it writes to.
    """

    def __init__(
        self, file: str, program: Any, shapes: Shapes | None = None, backend: str = "cpu",
        options: Options | None = None,
    ):  # fmt: skip
        signature = program.graph_signature
        if signature.user_inputs_to_mutate:
            names = ", ".join(signature.user_inputs_to_mutate.values())
            raise UnsupportedError(f"the module writes to its arguments ({names}): copy them first")
        held = {**program.state_dict, **program.constants}
        written = signature.buffers_to_mutate
        self.written = tuple(written.values())
        parameters: dict[str, np.ndarray] = {}
        weights: dict[str, tuple[str, np.ndarray]] = {}
        states: dict[str, str] = {}
        for spec in signature.input_specs:
            if isinstance(held.get(spec.target), torch.Tensor):
                parameters[spec.target] = array_of(held[spec.target])
                if spec.target in self.written:
                    states[spec.target] = spec.arg.name
                else:
                    weights[spec.arg.name] = spec.target, parameters[spec.target]
        self._leaves_of = _UserValues(program)
        graph = read_graph(program.graph_module, file, weights)
        graph = _ordered(graph, self._leaves_of.inputs, [states[n] for n in self.written])
        if error := unknown_operators(list(all_needed_nodes([graph])), TABLE, {}, file):
            raise error
        super().__init__(
            file, graph, TABLE, parameters, shapes=shapes, backend=backend, options=options
        )
        self.__name__ = "model"
        for name in self.written:
            del self._constants[name]

    @api_boundary
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the module, or make it part of the function that is being traced.

        Raises:
            ShapeError: the arguments are nested otherwise than the example's, or do not fit.
        """
        if open_traces.traces:
            return self.step(self.parameters, *args, **named)[0]
        self._check_constants()
        leaves, is_torch = self._arrays(args, named)
        found = self._compiled(*leaves, *[self.parameters[name] for name in self.written])
        result, state = self._parted(found, is_torch)
        self.parameters.update(state)
        return result

    def function(self, parameters: Mapping[str, Any], *args: Any, **named: Any) -> Any:
        """The module as a pure function of its parameters, which may be differentiated.

        Args:
            parameters: arrays under names of `parameters`; the module's own for those left out.
        """
        return self.step(parameters, *args, **named)[0]

    def step(self, parameters: Mapping[str, Any], *args: Any, **named: Any) -> Any:
        """As `function`, with the buffers that the module writes to: (result, {name: array})."""
        leaves, is_torch = self._arrays(args, named)
        given = {name: value for name, value in parameters.items() if name not in self.written}
        states = [parameters.get(name, self.parameters[name]) for name in self.written]
        return self._parted(super().function(given, *leaves, *states), is_torch)

    def lower(self, *args: Any, **named: Any) -> Any:
        """The module for given arguments, lowered as by `tfc.jit(…).lower`.

        The parameters are constants of it, but for buffers that the module writes to.
        """
        if not args and not named:
            return super().lower()
        return super().lower(*self._arrays(args, named)[0],
                             *[self.parameters[name] for name in self.written])  # fmt: skip

    def _arrays(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Any], bool]:
        """The arrays among the arguments, checked, and whether some are torch's tensors."""
        leaves = self._leaves_of.flat(args, named)
        is_torch = any(isinstance(leaf, torch.Tensor) for leaf in leaves)
        arrays = [array_of(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        count = len(arrays)
        return self._given([*arrays, *[self.parameters[n] for n in self.written]], {})[:count], (
            is_torch
        )

    def _parted(self, found: Any, is_torch: bool) -> tuple[Any, dict[str, Any]]:
        """The result in torch's nesting, and the new buffers."""
        outputs = list(found) if isinstance(found, tuple) else [found]
        count = len(outputs) - len(self.written)
        results = outputs[:count]
        if is_torch:
            results = [tensor_of(o) if isinstance(o, np.ndarray) else o for o in results]
        return self._leaves_of.nested(results), dict(zip(self.written, outputs[count:]))


class _UserValues:
    """How a program's arrays lie in what its users give and get.

    inputs: the names of the values that are no constants.
    """

    def __init__(self, program: Any):
        signature = program.graph_signature
        own = [s.arg for s in signature.input_specs if s.kind.name == "USER_INPUT"]
        self._constants = [getattr(arg, "value", _OPEN) for arg in own]
        self.inputs = [arg.name for arg, c in zip(own, self._constants) if c is _OPEN]
        outputs = [s.arg for s in signature.output_specs if s.kind.name == "USER_OUTPUT"]
        self._results = [type(arg).__name__ for arg in outputs]
        self._in_spec, self._out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        # Looking at nested structures takes longer than a small program, so these are told first.
        count = len(own)
        self._takes_arrays = (
            pytree.tree_structure(((0,) * count, {})) == self._in_spec and len(self.inputs) == count
        )
        self._gives_array = pytree.tree_structure(0) == self._out_spec

    def flat(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The arguments that are no constants, in order.

        Raises:
            ShapeError: they are nested otherwise, or a constant is another.
        """
        is_flat = self._takes_arrays and not named and len(args) == len(self.inputs)
        if is_flat and all(isinstance(arg, _ARRAYS) for arg in args):
            return list(args)
        leaves, found = pytree.tree_flatten((args, named))
        if found != self._in_spec:
            raise ShapeError(
                "the arguments must be nested as those that the module was exported with"
            )
        for constant, leaf in zip(self._constants, leaves):
            if constant is not _OPEN and (type(leaf) is not type(constant) or leaf != constant):
                raise ShapeError(f"the module was exported for the argument {constant}, got {leaf}")
        return [leaf for constant, leaf in zip(self._constants, leaves) if constant is _OPEN]

    def nested(self, results: Sequence[Any]) -> Any:
        """Results in the nesting of what the module returns; its numbers are Python's."""
        found = [_number(r) if kind.startswith("Sym") or kind == "ConstantArgument" else r
                 for r, kind in zip(results, self._results)]  # fmt: skip
        return found[0] if self._gives_array else pytree.tree_unflatten(found, self._out_spec)


_OPEN = object()
_ARRAYS = (torch.Tensor, np.ndarray, Tensor)


def _number(value: Any) -> Any:
    return value if value is None or isinstance(value, Tensor) else value.item()


def _ordered(graph: Any, inputs: Sequence[str], states: Sequence[str]) -> Any:
    """A graph that takes the users' inputs and the buffers that it writes to, and gives likewise.

    torch gives the buffers first.
    """
    ports = {port.name: port for port in graph.inputs}
    outputs = (*graph.outputs[len(states) :], *graph.outputs[: len(states)])
    return type(graph)(
        graph.name, tuple(ports[name] for name in [*inputs, *states]), outputs, graph.nodes,
        graph.constants, graph.weights,
    )  # fmt: skip
