"""Cells of recurrent networks that are made of other cells."""

import zlib
from collections.abc import Sequence
from typing import Any

from tfc.errors import ShapeError, UnsupportedError
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.activations import dropout
from tfc.graph.functions.arrays import concat, split
from tfc.graph.networks.cells import LSTMStateTuple, RNNCell
from tfc.graph.variables.scopes import variable_scope


class MultiRNNCell(RNNCell):
    """Cells one behind the other: each gets the output of the one before it.

    state_is_tuple: the state is the tuple of their states; those side by side otherwise.
    """

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True):
        super().__init__()
        if not cells:
            raise ShapeError("Must specify at least one cell for MultiRNNCell.")
        self._cells, self._is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any(not isinstance(c.state_size, int) for c in self._cells):
            raise ShapeError("Some cells return tuples of states: state_is_tuple must be True")

    @property
    def state_size(self) -> Any:
        """The sizes of the cells' states."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return self._cells[-1].output_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The last cell's output, and the next states."""
        sizes = [cell.state_size for cell in self._cells]
        states = state if self._is_tuple else split(state, sizes, 1)
        if len(states) != len(self._cells):
            raise ShapeError(f"{len(self._cells)} cells need as many states, got {len(states)}")
        after = []
        for number, (cell, before) in enumerate(zip(self._cells, states)):
            with variable_scope(f"cell_{number}"):
                inputs, new = cell(inputs, before)
            after.append(new)
        return inputs, tuple(after) if self._is_tuple else concat(after, 1)


class DropoutWrapper(RNNCell):
    """A cell whose inputs, states and outputs are 0 with a probability, others in each step.

    What an LSTM cell remembers (`c`) stays. Variables are those of the cell.
    """

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
    ):
        """Wrap a cell.

        Args:
            input_keep_prob, output_keep_prob, state_keep_prob: the probabilities to stay: numbers
                or scalar tensors.

        Raises:
            UnsupportedError: the same elements are to be dropped in all steps.
        """
        super().__init__()
        if variational_recurrent:
            raise UnsupportedError(
                "variational_recurrent is not offered: DropoutWrapper draws anew in each step"
            )
        self._cell, self._seed, self._draws = cell, seed, 0
        self._keep = {"input": input_keep_prob, "state": state_keep_prob,
                      "output": output_keep_prob}  # fmt: skip

    @property
    def state_size(self) -> Any:
        """The size of the cell's state."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of the cell's output."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The cell's state of zeros."""
        return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """The output and the next state."""
        output, after = self._cell(self._dropped("input", inputs), state, scope)
        return self._dropped("output", output), self._dropped("state", after)

    def _dropped(self, what: str, value: Any) -> Any:
        keep = self._keep[what]
        if isinstance(keep, (int, float)) and keep == 1:
            return value
        if isinstance(value, LSTMStateTuple):
            return LSTMStateTuple(value.c, self._dropped(what, value.h))
        if isinstance(value, tuple):
            return tuple(self._dropped(what, part) for part in value)
        return dropout(convert_to_tensor(value), keep, seed=self._seed_of(what))

    def _seed_of(self, what: str) -> int | None:
        """A seed of its own for each draw, so that equal shapes do not drop the same elements."""
        if self._seed is None:
            return None
        self._draws += 1
        return zlib.crc32(f"{self._seed}{what}{self._draws}".encode()) & 0x7FFFFFFF
