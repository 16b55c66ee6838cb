"""Programs of torch as functions with named parameters."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from tfc.frontend.trace import open_traces
from tfc.importers.graph import all_needed_nodes
from tfc.importers.model import Model, Shapes
from tfc.importers.table import unknown_operators
from tfc.importers.torch.operators import ATEN
from tfc.importers.torch.program import Program, is_tensor
from tfc.importers.torch.table import TABLE
from tfc.options import Options
from tfc.tracebacks import api_boundary

assert ATEN  # the rows of the table are entered by their modules


class TorchModel(Model):
    """A PyTorch module as a function: of arrays, or of torch's tensors, which then gives tensors.

    It takes what the module takes and is compiled for each choice of shapes. Buffers that the
    module writes to are further inputs and outputs of its program, after its own, and are replaced
    in `parameters` when it is called outside of traces.

    parameters: its weights, buffers and constants as arrays, under state_dict's names.
    written: the names of the buffers that it writes to.
    """

    def __init__(
        self, file: str, program: Program, shapes: Shapes | None = None, backend: str = "cpu",
        options: Options | None = None,
    ):  # fmt: skip
        self.written, self._values = program.written, program.values
        if error := unknown_operators(list(all_needed_nodes([program.graph])), TABLE, {}, file):
            raise error
        super().__init__(
            file, program.graph, TABLE, program.parameters, shapes=shapes, backend=backend,
            options=options,
        )  # fmt: skip
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
        leaves = self._values.flat(args, named)
        is_torch = any(map(is_tensor, leaves))
        arrays = [_exchange().array_of(v) if is_tensor(v) else v for v in leaves]
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
            tensor_of = _exchange().tensor_of
            results = [tensor_of(o) if isinstance(o, np.ndarray) else o for o in results]
        return self._values.nested(results), dict(zip(self.written, outputs[count:]))


def _exchange() -> Any:
    """The room's module that knows torch's tensors, which is loaded when there are some."""
    return import_module("tfc.importers.torch.exchange")
