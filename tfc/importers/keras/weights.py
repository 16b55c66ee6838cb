"""The arrays and the attributes of an HDF5 file, read by h5py in a process of its own."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import ml_dtypes
import numpy as np

from tfc.errors import InternalError, ModelFileError, UnsupportedError
from tfc.importers.keras import hdf5
from tfc.runtime.service import Service

SECONDS = 10  # for a file, and one more for each megabyte
MAGIC = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True)
class Archive:
    """What a file has: arrays by path, and for each group the attributes that are text."""

    arrays: Mapping[str, np.ndarray]
    attributes: Mapping[str, Mapping[str, Any]]


SERVICE = Service("HDF5 is read", hdf5.__file__, seconds=lambda: SECONDS)


def read_hdf5(content: bytes, file: str) -> Archive:
    """The content of an HDF5 file.

    Raises:
        UnsupportedError: h5py is not installed.
        ModelFileError: it is damaged, too large for what it is, or refers to other files.
    """
    if find_spec("h5py") is None:
        raise UnsupportedError(
            "the weights of Keras's models need h5py, which is not installed: "
            "pip install 'tfc[keras]'"
        )
    if not content.startswith(MAGIC):
        raise ModelFileError(f"{file} is no HDF5 file")
    answer = SERVICE.ask({}, content)
    if isinstance(answer, int):
        if answer == 1:
            raise InternalError("h5py, which runs in a process of its own, fails on anything")
        raise ModelFileError(
            f"{file} is damaged in a way that ends h5py, or takes too much time "
            f"(exit code {answer})"
        )
    reply, found = answer
    if "refused" in reply:
        raise ModelFileError(f"{file} {reply['refused']}")
    arrays, place = {}, 0
    for entry in reply["arrays"]:
        dtype = _dtype(entry["dtype"], entry["path"], file)
        count = math.prod(entry["shape"])
        array = np.frombuffer(found, dtype, count, place) if count else np.empty(0, dtype)
        array = array.reshape(entry["shape"])
        place += array.nbytes
        arrays[entry["path"]] = array
    return Archive(arrays, reply["attributes"])


def _dtype(name: str, path: str, file: str) -> np.dtype:
    if name == "bfloat16":
        return np.dtype(ml_dtypes.bfloat16)
    if not name:
        raise ModelFileError(f"{file} has an array '{path}' of an unknown type")
    return np.dtype(name)
