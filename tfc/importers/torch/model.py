"""Exported programs of torch as functions with named parameters."""

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import open_traces
from tfc.importers.torch.exchange import array_of, numpy_dtype, tensor_of
from tfc.importers.torch.walk import Walk, check_operators, decompositions
from tfc.jitted import jit
from tfc.options import Options
from tfc.tracebacks import api_boundary

torch: Any = import_module("torch")
pytree: Any = import_module("torch.utils._pytree")


def read(
    source: Any, args: Any, kwargs: Any, dynamic_shapes: Any, backend: str, options: Options | None
) -> "TorchModel":
    """The function of a module, of an exported program, or of a file with one."""
    if isinstance(source, (str, os.PathLike)):
        source = _loaded(Path(source))
    if isinstance(source, torch.nn.Module):
        source = _exported(source, args, kwargs, dynamic_shapes)
    if not isinstance(source, torch.export.ExportedProgram):
        raise TfcError(f"from_torch takes a module or an ExportedProgram, got {type(source)}")
    return TorchModel(source, backend, options)


def _loaded(path: Path) -> Any:
    if not path.is_file():
        raise TfcError(f"there is no file {path}")
    try:
        return torch.export.load(path)
    except Exception as error:
        raise TfcError(f"{path} is no exported program of torch: {_sentence(error)}") from error


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


class TorchModel:
    """A PyTorch module as a function: of arrays, or of torch's tensors, which then gives tensors.

    It takes what the module takes and is compiled for each choice of shapes and numbers. Buffers
    that the module writes to are replaced in `parameters` when it is called outside of traces.

    parameters: its weights, buffers and constants as arrays, under state_dict's names.
    inputs, outputs: the names of the arrays that it takes and gives.
    """

    def __init__(self, program: Any, backend: str = "cpu", options: Options | None = None):
        program = program.run_decompositions(decompositions())
        signature = program.graph_signature
        if signature.user_inputs_to_mutate:
            names = ", ".join(signature.user_inputs_to_mutate.values())
            raise UnsupportedError(f"the module writes to its arguments ({names}): copy them first")
        self.module = program.graph_module
        self.__name__ = "model"
        check_operators([self.module], "the module")
        held = {**program.state_dict, **program.constants}
        self._specs = signature.input_specs
        self.parameters: dict[str, Any] = {
            s.target: array_of(held[s.target])
            for s in self._specs
            if s.target in held and isinstance(held[s.target], torch.Tensor)
        }
        self._written = [
            s.target for s in signature.output_specs if s.kind.name == "BUFFER_MUTATION"
        ]
        self._results = [n for n, s in enumerate(signature.output_specs)
                         if s.kind.name == "USER_OUTPUT"]  # fmt: skip
        self.inputs = tuple(s.arg.name for s in self._specs if s.kind.name == "USER_INPUT")
        self.outputs = tuple(signature.output_specs[n].arg.name for n in self._results)
        self._in_spec, self._out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        self._metas = {node.name: node.meta.get("val") for node in self.module.graph.nodes
                       if node.op == "placeholder"}  # fmt: skip
        self._jit = jit(self._flat, static_argnums=(0,), backend=backend, options=options)

    @api_boundary
    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the module, or make it part of the function that is being traced.

        Raises:
            ShapeError: the arguments are nested otherwise than the example's, or do not fit.
        """
        leaves = self._leaves(args, named)
        if open_traces.traces:
            return self._nested(self._outputs(self.parameters, leaves)[0])
        numbers, arrays = _apart(leaves)
        outputs, state = self._jit(numbers, self.parameters, arrays)
        self.parameters.update(state)
        if any(isinstance(leaf, torch.Tensor) for leaf in leaves):
            outputs = [tensor_of(o) if isinstance(o, np.ndarray) else o for o in outputs]
        return self._nested(outputs)

    def function(self, parameters: Mapping[str, Any], *args: Any, **named: Any) -> Any:
        """The module as a pure function of its parameters, which may be differentiated.

        Args:
            parameters: arrays under names of `parameters`; the module's own for those left out.
        """
        return self.step(parameters, *args, **named)[0]

    def step(self, parameters: Mapping[str, Any], *args: Any, **named: Any) -> Any:
        """As `function`, with the buffers that the module writes to: (result, {name: array})."""
        if unknown := set(parameters) - set(self.parameters):
            raise TfcError(f"the module has no parameter '{min(unknown)}'")
        leaves = self._leaves(args, named)
        held = {**self.parameters, **parameters}
        if open_traces.traces:
            outputs, state = self._outputs(held, leaves)
        else:
            outputs, state = self._jit(*_apart(leaves)[:1], held, _apart(leaves)[1])
        return self._nested(outputs), state

    def lower(self, *args: Any, **named: Any) -> Any:
        """The module for given arguments, lowered as by `tfc.jit(…).lower`."""
        numbers, arrays = _apart(self._leaves(args, named))
        return self._jit.lower(numbers, self.parameters, arrays)

    def _flat(self, numbers: Any, parameters: Any, arrays: Any) -> Any:
        given = iter(arrays)
        leaves = [next(given) if number is _ARRAY else number for number in numbers]
        outputs, state = self._outputs(parameters, leaves)
        return list(outputs), state

    def _outputs(self, parameters: Mapping[str, Any], leaves: list[Any]) -> Any:
        user = iter(leaves)
        inputs = []
        for spec in self._specs:
            if spec.kind.name == "USER_INPUT":
                inputs.append(next(user))
            else:
                inputs.append(parameters.get(spec.target))
        results = Walk().run(self.module, inputs)
        state = dict(zip(self._written, results))
        return [results[n] for n in self._results], state

    def _leaves(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The arguments in the order of `inputs`, checked.

        Raises:
            ShapeError: they are nested otherwise, or an array has another dtype or rank.
        """
        leaves, found = pytree.tree_flatten((args, named))
        if found != self._in_spec:
            raise ShapeError(
                "the arguments must be nested as those that the module was exported with"
            )
        for name, leaf in zip(self.inputs, leaves):
            meta = self._metas.get(name)
            if not isinstance(meta, torch.Tensor) or _fits(leaf, meta):
                continue
            raise ShapeError(f"the argument {name} must be {_shown(meta)}, got {_shown(leaf)}")
        return leaves

    def _nested(self, outputs: Any) -> Any:
        return pytree.tree_unflatten(list(outputs), self._out_spec)


_ARRAY = "array"


def _apart(leaves: list[Any]) -> tuple[tuple[Any, ...], list[Any]]:
    """Numbers and the like, which are compiled for, and arrays."""
    kinds = (torch.Tensor, np.ndarray, np.generic, Tensor)
    numbers = tuple(_ARRAY if isinstance(leaf, kinds) else leaf for leaf in leaves)
    arrays = [array_of(leaf) if isinstance(leaf, torch.Tensor) else leaf
              for leaf in leaves if isinstance(leaf, kinds)]  # fmt: skip
    return numbers, arrays


def _fits(leaf: Any, meta: Any) -> bool:
    if getattr(leaf, "shape", None) is None:
        return False
    is_tensor = isinstance(leaf, torch.Tensor)
    dtype = numpy_dtype(leaf.dtype) if is_tensor else leaf.dtype
    return (
        dtype == numpy_dtype(meta.dtype)
        and len(leaf.shape) == meta.ndim
        and all(not isinstance(m, int) or m == n for m, n in zip(meta.shape, leaf.shape))
    )


def _shown(leaf: Any) -> str:
    if getattr(leaf, "shape", None) is None:
        return type(leaf).__name__
    is_tensor = isinstance(leaf, torch.Tensor)
    dtype = numpy_dtype(leaf.dtype) if is_tensor else leaf.dtype
    return f"{dtype}[{','.join(map(str, leaf.shape))}]"
