"""Graphs of TensorFlow as models: values have names of their own, and there are variables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import open_traces
from tfc.graph.types.dtypes import as_dtype
from tfc.graph.types.handles import Handle
from tfc.graph.types.shapes import TensorShape
from tfc.importers.graph import Port
from tfc.importers.model import Model, Shapes
from tfc.importers.tensorflow import arrays, loops, rows, tables
from tfc.importers.tensorflow.context import Context
from tfc.importers.tensorflow.reader import Content, Feed, Fetch, VariableArgument
from tfc.importers.tensorflow.table import TENSORFLOW
from tfc.importers.values import Held, Value, traced
from tfc.importers.walk import Walk
from tfc.jitted import jit
from tfc.options import Options
from tfc.tracebacks import api_boundary

ROWS = (arrays, loops, rows, tables)  # importing them enters them in the table


class TensorFlowModel(Model):
    """A part of a TensorFlow graph as a function.

    Its inputs are the feeds, then the variables that are arguments; its outputs the fetches, then
    what those of the variables hold in the end that may be written.

    Variables that it changes are replaced in `parameters` when it is called outside of traces.

    variables: the values of the other variables, by what their handles name; parameters as well.
    """

    def __init__(
        self,
        content: Content,
        feeds: Sequence[Feed],
        fetches: Sequence[Fetch],
        arguments: Sequence[VariableArgument] = (),
        variables: Mapping[str, np.ndarray] | None = None,
        name: str = "",
        shapes: Shapes | None = None,
        fixed: Mapping[str, Any] | None = None,
        backend: str = "cpu",
        options: Options | None = None,
    ):
        self._inner, self._facts, self._tables = content.graph, content.facts, content.tables
        self._arguments = tuple(arguments)
        self._variables = dict(variables or {})
        states = [Port(a.name or a.variable, a.dtype, a.dims) for a in arguments]
        written = [p for p, a in zip(states, arguments) if not a.readonly]
        inputs = [Port(f.name or f.tensor, f.dtype, f.dims, is_assumed=f.is_assumed) for f in feeds]
        inputs += states
        outputs = [Port(f.name or f.tensor, f.dtype, f.dims) for f in fetches] + written
        graph = replace(
            content.graph, name=name or content.graph.name, inputs=tuple(inputs),
            outputs=tuple(outputs),
        )  # fmt: skip
        parameters = {**content.parameters, **self._variables}
        super().__init__(content.file, graph, TENSORFLOW, parameters, content.functions, shapes,
                         fixed, backend, options)  # fmt: skip

        self._changed = sorted(content.changed & set(self._variables))
        for name in self._changed:
            del self._constants[name]
        named = self._named(self._stepped, ["state"])
        self._stepping = jit(named, backend=backend, options=options)

    @api_boundary
    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Run the model, or make it part of the function that is being traced.

        Raises:
            ShapeError: an input is missing, or has another dtype or other dimensions.
            UnsupportedError: the model has something that has no counterpart.
        """
        if open_traces.traces or not self._changed:
            return super().__call__(*inputs, **named)
        self._check_constants()
        state = {name: self.parameters[name] for name in self._changed}
        outputs, state = self._stepping(state, *self._given(inputs, named))
        self.parameters.update(state)
        return outputs

    def _stepped(self, parameters: Mapping[str, Any], *inputs: Any) -> Any:
        """The outputs, and the variables that are changed, by name."""
        walk, outputs = self.walked(parameters, inputs)
        context: Context = walk.state
        state = {name: context.read(self._handle(name)) for name in self._changed}
        return outputs[0] if len(outputs) == 1 else tuple(outputs), state

    def _handle(self, name: str) -> Handle:
        array = self._variables[name]
        return Handle(name, as_dtype(array.dtype), TensorShape(array.shape))

    def results(self, walk: Walk, values: Sequence[Any]) -> Sequence[Any]:
        """The outputs for the inputs, where the walk has variables."""
        count = len(self._inner.inputs)
        held: dict[str, Value] = {
            name: Held(array, _tensor(walk.parameters[name]))
            for name, array in self._variables.items()
        }
        # What changes from call to call decides nothing while importing.
        held |= {name: traced(held[name]) for name in self._changed}
        held |= {a.variable: value for a, value in zip(self._arguments, values[count:])}
        walk.state = context = Context(held, self._facts, tables=self._tables)
        outputs = walk.main(self._inner, values[:count])
        handles = [Handle(a.variable, as_dtype(a.dtype), TensorShape(a.dims))
                   for a in self._arguments if not a.readonly]  # fmt: skip
        return [*outputs, *map(context.held, handles)]


def _tensor(given: Any) -> Any:
    return given if isinstance(given, Tensor) else ops.constant(np.asarray(given))
