"""Checkpoint: variables of eager execution under names of the program's choice, in files."""

import os
from pathlib import Path
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.graph.eager.variables import Variable
from tfc.graph.files.checkpoints import CheckpointReader, write_checkpoint
from tfc.graph.training.states import checkpoint_exists, update_checkpoint_state

_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"


class Checkpoint:
    """Saves variables, and restores them.

    checkpoint = Checkpoint(x=x);  path = checkpoint.save("folder/");  checkpoint.restore(path)

    The arrays are of TensorFlow's names (`x/.ATTRIBUTES/VARIABLE_VALUE`), but TensorFlow's own
    Checkpoint wants a description of the objects too, which is not written: its readers of arrays
    take the files. All the files stay.
    """

    def __init__(self, **named: Variable):
        """Choose variables by name.

        Raises:
            TypeError: one is no variable of eager execution.
        """
        for name, value in named.items():
            if not isinstance(value, Variable):
                raise TraceError(
                    f"Checkpoint keeps variables of tfe.Variable, not {name}={value!r}"
                )
        self._variables = dict(named)
        self._written: list[str] = []

    def save(self, file_prefix: Any) -> str:
        """Write the variables' values; gives the path that `restore` takes.

        Args:
            file_prefix: the beginning of the files' names, behind which comes a number; its folder
                is made if it is not there.
        """
        prefix = f"{os.fspath(file_prefix)}-{len(self._written) + 1}"
        folder = os.path.dirname(prefix) or "."
        Path(folder).mkdir(parents=True, exist_ok=True)
        write_checkpoint(prefix, {x + _ENDING: v.numpy() for x, v in self._variables.items()})
        self._written.append(prefix)
        update_checkpoint_state(folder, prefix, self._written)
        return prefix

    def restore(self, save_path: Any) -> None:
        """Give the variables the values of a checkpoint: all of them, or, where one fails, none.

        Raises:
            ValueError: there is no such checkpoint, or an array is of another shape or dtype.
            NotFoundError: it lacks a variable. DataLossError: it is damaged.
        """
        prefix = os.fspath(save_path)
        if not checkpoint_exists(prefix):
            raise ShapeError(f"The passed save_path is not a valid checkpoint: {prefix}")
        reader = CheckpointReader(prefix)
        values = {name: reader.get_tensor(name + _ENDING) for name in self._variables}
        for name, v in self._variables.items():
            array = values[name]
            if array.dtype != v.dtype.dtype or not v.shape.is_compatible_with(array.shape):
                raise ShapeError(
                    f"{name} is {array.dtype}{list(array.shape)} in the checkpoint, but the "
                    f"variable is {v.dtype.name}{list(v.shape.known())}"
                )
        for name, v in self._variables.items():
            v.assign(values[name])
