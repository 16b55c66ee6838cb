"""Which checkpoints a folder has: the file `checkpoint`, a text message beside them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph import errors
from tfc.graph.files.checkpoints import CheckpointReader
from tfc.graph.files.messages import message, parsed_text, write


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
    """What the file `checkpoint` of a folder says, its paths whole; None if there is none.

    model_checkpoint_path: the newest. all_model_checkpoint_paths: all, oldest first.
    """
    path = Path(checkpoint_dir) / (latest_filename or "checkpoint")
    if not path.is_file():
        return None
    try:
        found = parsed_text("CheckpointState", path.read_text(errors="replace"), str(path))
    except errors.OpError:
        return None
    found.model_checkpoint_path = os.path.join(checkpoint_dir, found.model_checkpoint_path)
    listed = [os.path.join(checkpoint_dir, x) for x in found.all_model_checkpoint_paths]
    found.ClearField("all_model_checkpoint_paths")
    found.all_model_checkpoint_paths.extend(listed)
    return found


def update_checkpoint_state(
    save_dir: Any,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
) -> None:
    """Write the file `checkpoint` of a folder; paths within the folder are relative to it."""
    listed = list(all_model_checkpoint_paths or [])
    if model_checkpoint_path not in listed:
        listed.append(model_checkpoint_path)
    made = message(
        "CheckpointState",
        model_checkpoint_path=_relative(model_checkpoint_path, save_dir),
        all_model_checkpoint_paths=[_relative(x, save_dir) for x in listed],
    )
    write(made, Path(save_dir) / (latest_filename or "checkpoint"), as_text=True)


def _relative(path: str, folder: Any) -> str:
    return path if os.path.isabs(path) else os.path.relpath(path, folder)


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The prefix of the newest checkpoint of a folder; None if there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Whether there is a checkpoint of a prefix."""
    return Path(f"{checkpoint_prefix}.index").is_file()


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader of a checkpoint, or of the newest one of a folder.

    Raises:
        ValueError: the folder has none. NotFoundError, DataLossError: the files are not right.
    """
    prefix = str(ckpt_dir_or_file)
    if os.path.isdir(prefix):
        found = latest_checkpoint(prefix)
        if found is None:
            raise ShapeError(f"Couldn't find 'checkpoint' file or checkpoints in {prefix}")
        prefix = found
    return CheckpointReader(prefix)


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """The names and shapes in a checkpoint, by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: Any, name: str) -> np.ndarray:
    """An array of a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))
