"""Modules and exported programs of torch, read by torch itself."""

import os
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.frontend.tensor import Tensor
from tfc.importers.torch.archive import load
from tfc.importers.torch.exchange import array_of, tensor_of
from tfc.importers.torch.plain import is_plain
from tfc.importers.torch.program import Program, is_array
from tfc.importers.torch.reader import decompositions, read_graph

torch: Any = import_module("torch")
pytree: Any = import_module("torch.utils._pytree")


def read(source: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> tuple[str, Program]:
    """What to call a module, an exported program or a file with one, and the program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's about its own code
        file, program = _program(source, args, kwargs, dynamic_shapes)
        if not is_plain(program.graph_module):
            program = program.run_decompositions(decompositions())
    return file, _read(program, file)


def _read(program: Any, file: str) -> Program:
    """The Program of torch's.

    Raises:
        UnsupportedError: it writes to its arguments, or has arrays without a counterpart.
    """
    signature = program.graph_signature
    if signature.user_inputs_to_mutate:
        names = ", ".join(signature.user_inputs_to_mutate.values())
        raise UnsupportedError(f"the module writes to its arguments ({names}): copy them first")
    held = {**program.state_dict, **program.constants}
    written = tuple(signature.buffers_to_mutate.values())
    parameters: dict[str, np.ndarray] = {}
    weights: dict[str, tuple[str, np.ndarray]] = {}
    states: dict[str, str] = {}
    for spec in signature.input_specs:
        if isinstance(held.get(spec.target), torch.Tensor):
            parameters[spec.target] = array_of(held[spec.target])
            if spec.target in written:
                states[spec.target] = spec.arg.name
            else:
                weights[spec.arg.name] = spec.target, parameters[spec.target]
    values = _UserValues(program)
    graph = read_graph(program.graph_module, file, weights)
    graph = _ordered(graph, values.inputs, [states[name] for name in written])
    return Program(graph, parameters, written, values)


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
        if is_flat and all(map(is_array, args)):
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
