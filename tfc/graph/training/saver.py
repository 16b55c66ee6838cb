"""Saver: variables of a session to checkpoints and back."""

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError, UnsupportedError
from tfc.graph import errors
from tfc.graph.files.checkpoints import CheckpointReader, write_checkpoint
from tfc.graph.files.metagraphs import export_meta_graph
from tfc.graph.graph import get_default_graph
from tfc.graph.training.states import (
    checkpoint_exists,
    update_checkpoint_state,
)
from tfc.graph.types.shapes import TensorShape
from tfc.graph.variables.keys import GraphKeys
from tfc.graph.variables.variable import Variable

_ENDINGS = (".index", ".meta", ".data-00000-of-00001")


class Saver:
    """Writes variables under their names, and reads them into the variables of a session.

    No operations are made for it: a finalized graph may have one.
    """

    def __init__(
        self,
        var_list: Sequence[Any] | Mapping[str, Any] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ):
        """Choose the variables.

        Args:
            var_list: variables, or a dictionary of them by their names in files; all, if left out.
            reshape: let arrays of another shape fit if they have as many elements.
            max_to_keep: how many of the newest files stay; None or 0 for all.
            keep_checkpoint_every_n_hours: one file of each such time stays for ever.

        Raises:
            ValueError: there are no variables, or two have one name.
        """
        self._given, self._reshape, self._allow_empty = var_list, reshape, allow_empty
        self._most, self._hours = max_to_keep or 0, keep_checkpoint_every_n_hours
        self._pads, self._relative = pad_step_number, save_relative_paths
        self._kept: list[tuple[str, float]] = []
        self._next = time.time() + keep_checkpoint_every_n_hours * 3600
        self._named: dict[str, Variable] = {}
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Choose the variables that there are now, where that was deferred."""
        given = self._given
        if given is None:
            graph = get_default_graph()
            given = [
                *graph.get_collection(GraphKeys.GLOBAL_VARIABLES),
                *graph.get_collection(GraphKeys.SAVEABLE_OBJECTS),
            ]
        if not given and not self._allow_empty:
            raise ShapeError("No variables to save")
        self._named = _named(given)

    # --- writing

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
    ) -> str:
        """Write the variables' values; gives the path that `restore` takes.

        Args:
            save_path: the beginning of the files' names.
            global_step: a number for their ends, or a variable or tensor that is it.

        Raises:
            FailedPreconditionError: a variable has no value. ValueError: the folder is not there.
        """
        prefix = os.fspath(save_path)
        if global_step is not None:
            number = global_step
            if not isinstance(number, (int, np.integer)):
                number = sess.run(number)
            prefix = f"{prefix}-{int(number):08d}" if self._pads else f"{prefix}-{int(number)}"
        folder = os.path.dirname(prefix) or "."
        if not os.path.isdir(folder):
            raise ShapeError(f"Parent directory of {prefix} doesn't exist, can't save.")
        names = sorted(self._named)
        values = sess.run([self._named[name] for name in names])
        write_checkpoint(prefix, dict(zip(names, values)))
        if write_meta_graph:
            _write_meta(sess.graph, f"{prefix}.{meta_graph_suffix}")
        if write_state:
            self._keep(prefix, folder, latest_filename)
        return prefix

    def _keep(self, prefix: str, folder: str, latest_filename: str | None) -> None:
        """Note a checkpoint as the newest, and remove those that are too many."""
        self._kept = [kept for kept in self._kept if kept[0] != prefix]
        self._kept.append((prefix, time.time()))
        while self._most and len(self._kept) > self._most:
            oldest, when = self._kept.pop(0)
            if when > self._next:
                self._next += self._hours * 3600
                continue
            for ending in _ENDINGS:
                if os.path.exists(oldest + ending):
                    os.remove(oldest + ending)
        paths = self.last_checkpoints
        if self._relative:
            paths = [os.path.relpath(path, folder) for path in paths]
        update_checkpoint_state(folder, paths[-1], paths, latest_filename)

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that were written and are kept, oldest first."""
        return [path for path, _ in self._kept]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Say which checkpoints are kept, oldest first."""
        self._kept = [(path, time.time()) for path in last_checkpoints]

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Say which checkpoints are kept, of those that are there."""
        self.set_last_checkpoints([path for path in checkpoint_paths if checkpoint_exists(path)])

    # --- reading

    def restore(self, sess: Any, save_path: Any) -> None:
        """Give the variables the values of a checkpoint; they need not be initialized.

        Raises:
            ValueError: there is no such checkpoint. NotFoundError: it lacks a variable.
            InvalidArgumentError: an array has another shape or dtype than its variable.
            DataLossError: it is damaged.
        """
        if save_path is None:
            raise ShapeError("Can't load save_path when it is None.")
        prefix = os.fspath(save_path)
        if not checkpoint_exists(prefix):
            raise ShapeError(f"The passed save_path is not a valid checkpoint: {prefix}")
        reader = CheckpointReader(prefix)
        operations, values = [], {}
        for name, v in self._named.items():
            operations.append(v.initializer)
            values[v.initializer.inputs[1]] = self._fitting(reader.get_tensor(name), v, name)
        sess.run(operations, values)

    def _fitting(self, array: np.ndarray, v: Variable, name: str) -> np.ndarray:
        """An array as the value of a variable."""
        if array.dtype != v.dtype.dtype:
            raise errors.InvalidArgumentError(
                v.op,
                v.op,
                f"{name} is {array.dtype} in the checkpoint, {v.dtype.name} in the graph",
            )
        if v.shape.is_compatible_with(array.shape):
            return array
        if self._reshape and v.shape.num_elements() == array.size:
            return array.reshape(v.shape.known())
        raise errors.InvalidArgumentError(
            v.op,
            v.op,
            "Assign requires shapes of both tensors to match. "
            f"lhs shape= {v.shape} rhs shape= {TensorShape(array.shape)}, for {name}",
        )

    # --- graphs

    def export_meta_graph(self, filename: Any = None, **_: Any) -> Any:
        """The graph with its collections as a MetaGraphDef, written into a file if one is named."""
        return export_meta_graph(filename)


def _named(given: Any) -> dict[str, Variable]:
    """Variables by their names in files.

    Raises:
        TypeError: one is no variable. ValueError: two have one name.
    """
    pairs = given.items() if isinstance(given, Mapping) else [(None, v) for v in given]
    found: dict[str, Variable] = {}
    for name, v in pairs:
        if not isinstance(v, Variable):
            raise TraceError(f"Variable to save is not a Variable: {v!r}")
        key = v.op.name if name is None else name
        if key in found and found[key] is not v:
            raise ShapeError(f"At least two variables have the same name: {key}")
        found[key] = v
    return found


def _write_meta(graph: Any, path: str) -> None:
    """Write the graph beside its variables, with a warning where files have no place for it."""
    try:
        export_meta_graph(path, graph=graph)
    except (errors.UnimplementedError, UnsupportedError) as error:
        warnings.warn(f"{path} is not written: {error}", stacklevel=3)
