"""Cells of recurrent networks: (inputs, state) -> (output, next state), variables by scope.

A cell makes its variables when it is first called, in a scope of its own below the open one, under
TensorFlow's names (`rnn/lstm_cell/kernel`), and takes the same ones afterwards.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tfc.errors import ShapeError
from tfc.frontend import tree
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.activations import bias_add
from tfc.graph.functions.arithmetic import add, clip_by_value, multiply, sigmoid, subtract, tanh
from tfc.graph.functions.arrays import concat, split
from tfc.graph.functions.creation import zeros
from tfc.graph.functions.products import matmul
from tfc.graph.operation import Tensor
from tfc.graph.types.shapes import TensorShape
from tfc.graph.variables.initializers import Constant, Zeros
from tfc.graph.variables.scopes import VariableScope, get_variable, variable_scope

Activation = Callable[[Any], Any]


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM cell: what it remembers, and its last output."""

    c: Any
    h: Any


class RNNCell:
    """What turns inputs and a state into an output and the next state: `call` says how.

    A subclass states `state_size` and `output_size`, and makes its variables by `get_variable`.
    """

    # For subclasses that do not call `__init__`, as programs of TensorFlow have them.
    _reuse: Any = None
    _scope: VariableScope | None = None
    _name: str | None = None

    def __init__(self, name: str | None = None, reuse: Any = None):
        self._name, self._reuse = name, reuse

    @property
    def _base(self) -> str:
        return self._name or _snake(type(self).__name__)

    @property
    def state_size(self) -> Any:
        """The size of the state, or nested sizes of its parts."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output and the next state."""
        raise NotImplementedError

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """The output and the next state.

        Args:
            inputs: of shape (batch, depth). state: of (batch, size), nested as `state_size` is.
            scope: of the variables, where the cell is not to name it.
        """
        if self._scope is not None:
            with variable_scope(self._scope, reuse=True):
                return self.call(inputs, state)
        named = scope or (self._base if self._reuse else None)
        with variable_scope(named, self._base, reuse=self._reuse) as opened:
            made = self.call(inputs, state)
            self._scope = opened
            return made

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros."""
        sizes, structure = tree.flatten(self.state_size)
        parts = [zeros([batch_size, *dims_of(size)], dtype) for size in sizes]
        return tree.unflatten(structure, parts)


def dims_of(size: Any) -> list[int]:
    """The dimensions that a size states: a number, or a TensorShape."""
    return list(size.known()) if isinstance(size, TensorShape) else [int(size)]


def _snake(name: str) -> str:
    words = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", words).lower().lstrip("_")


def depth_of(inputs: Tensor) -> int:
    """The last dimension of inputs, which the shapes of variables need.

    Raises:
        ShapeError: it is not known.
    """
    dims = inputs.shape.dims
    if not dims or dims[-1] is None:
        raise ShapeError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs.shape}")
    return dims[-1]


def _linear(parts: list[Any], units: int, kernel: Any = None, bias: Any = None) -> Tensor:
    """The parts, side by side, times a matrix, and a number added to each unit."""
    joined = concat(parts, 1)
    dtype = joined.dtype
    matrix = get_variable("kernel", [depth_of(joined), units], dtype, kernel)
    offset = get_variable("bias", [units], dtype, bias or Zeros())
    return bias_add(matmul(joined, matrix), offset)


class _Units(RNNCell):
    """A cell of one size, whose output is its state."""

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str | None = None,
    ):
        super().__init__(name, reuse)
        self._units, self._activation = int(num_units), activation or tanh

    @property
    def state_size(self) -> Any:
        """The number of units."""
        return self._units

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._units


class BasicRNNCell(_Units):
    """output = state = activation([inputs, state] W + b)."""

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output, twice."""
        made = self._activation(_linear([convert_to_tensor(inputs), state], self._units))
        return made, made


class GRUCell(_Units):
    """A gated recurrent unit: gates say what is reset and what is replaced.

    Its variables are `gates/kernel`, `gates/bias`, `candidate/kernel` and `candidate/bias`.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ):
        super().__init__(num_units, activation, reuse, name)
        self._initializers = kernel_initializer, bias_initializer

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output, twice."""
        x = convert_to_tensor(inputs)
        kernel, bias = self._initializers
        with variable_scope("gates"):
            gates = sigmoid(_linear([x, state], 2 * self._units, kernel, bias or Constant(1.0)))
        reset, update = split(gates, 2, 1)
        with variable_scope("candidate"):
            parts = [x, multiply(reset, state)]
            candidate = self._activation(_linear(parts, self._units, kernel, bias))
        kept = multiply(update, state)
        made = add(kept, multiply(subtract(1.0, update), candidate))
        return made, made


class LSTMCell(RNNCell):
    """A long short-term memory: gates say what comes in, is forgotten and goes out.

    The columns of `kernel` are those of the input gate, the candidate, the forget gate and the
    output gate. A number is added to what the forget gate gets.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: Any = None,
        num_proj_shards: Any = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str | None = None,
    ):
        """Make a cell.

        Args:
            use_peepholes: gates also see the memory: `w_i_diag`, `w_f_diag`, `w_o_diag`.
            cell_clip, proj_clip: the largest magnitude of the memory, of a projected output.
            num_proj: the size of the output, which a matrix projects: `projection/kernel`.
            state_is_tuple: the state is (c, h); one array of them side by side otherwise.

        Raises:
            ShapeError: sharded variables are asked for.
        """
        super().__init__(name, reuse)
        if num_unit_shards is not None or num_proj_shards is not None:
            raise ShapeError("variables of cells are whole: leave num_unit_shards and "
                             "num_proj_shards out")  # fmt: skip
        self._units, self._activation = int(num_units), activation or tanh
        self._peepholes, self._initializer = use_peepholes, initializer
        self._clip, self._projection_clip = cell_clip, proj_clip
        self._projected = None if num_proj is None else int(num_proj)
        self._forget_bias, self._is_tuple = forget_bias, state_is_tuple

    @property
    def state_size(self) -> Any:
        """The sizes of the memory and of the output."""
        state = LSTMStateTuple(self._units, self.output_size)
        return state if self._is_tuple else sum(state)

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        return self._units if self._projected is None else self._projected

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output and the next state."""
        x = convert_to_tensor(inputs)
        sizes = [self._units, self.output_size]
        c, h = state if self._is_tuple else split(state, sizes, 1)
        gates = _linear([x, h], 4 * self._units, self._initializer)
        enter, candidate, forget, leave = split(gates, 4, 1)
        forget = add(forget, self._forget_bias)
        kept = multiply(sigmoid(self._peeped(forget, "w_f_diag", c)), c)
        new = multiply(sigmoid(self._peeped(enter, "w_i_diag", c)), self._activation(candidate))
        memory = _clipped(add(kept, new), self._clip)
        opened = sigmoid(self._peeped(leave, "w_o_diag", memory))
        output = self._output(multiply(opened, self._activation(memory)))
        made = LSTMStateTuple(memory, output)
        return output, made if self._is_tuple else concat(list(made), 1)

    def _peeped(self, gate: Tensor, name: str, memory: Any) -> Tensor:
        if not self._peepholes:
            return gate
        diagonal = get_variable(name, [self._units], gate.dtype, self._initializer)
        return add(gate, multiply(diagonal, memory))

    def _output(self, made: Tensor) -> Tensor:
        if self._projected is None:
            return made
        with variable_scope("projection"):
            dims = [self._units, self._projected]
            matrix = get_variable("kernel", dims, made.dtype, self._initializer)
        return _clipped(matmul(made, matrix), self._projection_clip)


def _clipped(x: Tensor, limit: float | None) -> Tensor:
    return x if limit is None else clip_by_value(x, -limit, limit)


class BasicLSTMCell(LSTMCell):
    """An LSTM cell without peepholes, limits and projection."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str | None = None,
    ):
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
        )
