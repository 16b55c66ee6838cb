"""Tensors that torch.save pickled, in files of torch 2.1 to 2.8, without running what is pickled.

An archive within the archive: a pickle of names and tensors, and the storages beside it. Of the
pickle only dictionaries and tensors are made; whatever else it names is refused.
"""

import io
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, UnsupportedError
from tfc.importers.torch.pt2.tensors import DTYPES, strided

# The storages that pickles name, by the numbers of their dtypes.
_STORAGES = {
    "ByteStorage": 1, "CharStorage": 2, "ShortStorage": 3, "IntStorage": 4, "LongStorage": 5,
    "HalfStorage": 6, "FloatStorage": 7, "DoubleStorage": 8, "ComplexFloatStorage": 10,
    "ComplexDoubleStorage": 11, "BoolStorage": 12, "BFloat16Storage": 13,
}  # fmt: skip


def read_tensors(content: bytes, name: str, most: int) -> dict[str, np.ndarray]:
    """The tensors of a dictionary by their names.

    Args:
        name: the file's, for errors.
        most: how many bytes the storages may have in all.

    Raises:
        ModelFileError: it is damaged.
        UnsupportedError: it has other objects than tensors.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        if sum(entry.file_size for entry in entries.values()) > most:
            raise ModelFileError(f"{name} is damaged: its parts cannot be as large as it says")
        start = next((n for n in entries if PurePosixPath(n).name == "data.pkl"), None)
        if start is None:
            raise ModelFileError(f"{name} is damaged: its weights are no file of torch.save")
        folder = start.removesuffix("data.pkl")
        text = archive.read(start)

        def storage(key: str) -> bytes:
            return archive.read(f"{folder}data/{key}")

        try:
            found = _Tensors(io.BytesIO(text), storage, name).load()
        except pickle.UnpicklingError as error:
            raise ModelFileError(f"{name} has a damaged pickle: {error}") from error
    if not isinstance(found, dict):
        raise ModelFileError(f"{name} is damaged: its weights have no names")
    return {str(key): value for key, value in found.items() if isinstance(value, np.ndarray)}


class _Tensors(pickle.Unpickler):
    """Makes tensors and dictionaries of a pickle, and nothing else."""

    def __init__(self, text: io.BytesIO, storage: Callable[[str], bytes], name: str):
        super().__init__(text)
        self._storage, self._name = storage, name
        self._storages: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        """What a name in a pickle stands for.

        Raises:
            UnsupportedError: it is none of those that tensors need.
        """
        if module == "torch" and name in _STORAGES:
            return DTYPES[_STORAGES[name]]
        made: Mapping[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_parameter"): _parameter,
        }
        if (module, name) not in made:
            raise UnsupportedError(
                f"{self._name} has pickled Python objects ({module}.{name}), which run code when "
                "they are read: if you trust the file, give tfc.from_torch what torch.export.load "
                "returns"
            )
        return made[module, name]

    def persistent_load(self, pid: Any) -> Any:
        """The storage that a pickle names: (its kind, its dtype, its key, where it was, its size).

        Raises:
            ModelFileError: it is not as torch.save writes it.
        """
        kind, dtype, key, *_ = pid
        if kind != "storage" or not isinstance(dtype, np.dtype):
            raise ModelFileError(f"{self._name} is damaged: its pickle names {kind}")
        if key not in self._storages:
            self._storages[key] = np.frombuffer(self._storage(str(key)), dtype)
        return self._storages[key]

    def _tensor(self, flat: Any, offset: Any, sizes: Any, strides: Any, *_: Any) -> np.ndarray:
        if not isinstance(flat, np.ndarray):
            raise ModelFileError(f"{self._name} is damaged: a tensor in its pickle has no storage")
        return strided(flat, int(offset), list(sizes), list(strides), "in the pickle", self._name)


def _parameter(data: Any, *_: Any) -> Any:
    """A parameter is its tensor."""
    return data
