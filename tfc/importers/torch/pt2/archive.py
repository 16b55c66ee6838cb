"""The parts of a file of torch.export.save: the program's JSON, and the weights as arrays."""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from tfc.errors import ModelFileError, TfcError, UnsupportedError
from tfc.importers.torch.pt2.pickles import read_tensors
from tfc.importers.torch.pt2.tensors import array_in

_MEANT = "which torch.export.save writes"
_RATIO, _SPARE = 64, 1 << 26  # how much larger than the file its parts may be, and bytes besides
_MOST_ENTRIES = 1 << 18
_MOST_TEXT = 1 << 30  # bytes of JSON
# What reading a damaged zip file raises.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    OSError, OverflowError,
)  # fmt: skip


@dataclass(frozen=True)
class Content:
    """What a file has.

    program: its JSON.
    arrays: the weights, buffers and constants by the names that they have in the module.
    """

    program: Any
    arrays: Mapping[str, np.ndarray]


def read_content(source: str | bytes, name: str) -> Content:
    """The content of a file, or of its bytes.

    Raises:
        TfcError: there is no such file.
        ModelFileError: it is no exported program, or damaged.
        UnsupportedError: it is another kind of file of torch, or has native code in it.
    """
    if not isinstance(source, bytes) and not Path(source).is_file():
        raise TfcError(f"there is no file {source}")
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as made:
            size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
            return _Archive(made, name, size).content()
    except TfcError:
        raise
    except RecursionError as error:
        raise ModelFileError(f"{name} nests its program too deep") from error
    except _DAMAGED as error:
        kind = "no archive" if isinstance(error, zipfile.BadZipFile) else f"damaged: {error}"
        raise ModelFileError(f"{name} is no exported program, {_MEANT}: it is {kind}") from error
    except (TypeError, LookupError, AttributeError) as error:
        raise ModelFileError(f"{name} is no exported program, {_MEANT}: {error!r}") from error


def check_kind(names: list[str], name: str) -> None:
    """Check by the names of its parts that a file is an exported program and no other kind.

    Raises:
        UnsupportedError: it is a TorchScript module, pickled objects, or has native code.
    """
    lasts = {PurePosixPath(entry).name for entry in names}
    if "constants.pkl" in lasts:
        raise UnsupportedError(
            f"{name} is a TorchScript module: export the module that it was made of by "
            "torch.export.export(module, args), and save that by torch.export.save"
        )
    if "data.pkl" in lasts:
        raise UnsupportedError(
            f"{name} holds objects that torch.save pickled, and no program: make the module, load "
            "its state_dict, and give it to tfc.from_torch with the arguments of a call"
        )
    if any("aotinductor" in entry for entry in names) or any("custom_obj" in p for p in lasts):
        raise unsafe(name, "native code or objects of custom classes")


def unsafe(name: str, what: str) -> UnsupportedError:
    """The error for what runs when it is read, to be raised."""
    return UnsupportedError(
        f"{name} has {what}, which run code when they are read: if you trust the file, give "
        "tfc.from_torch what torch.export.load returns"
    )


class _Archive:
    """An open zip file, of which no more is read than its size allows."""

    def __init__(self, archive: zipfile.ZipFile, name: str, size: int):
        self.archive, self.name = archive, name
        self.left = _SPARE + _RATIO * size
        self.entries = {entry.filename: entry for entry in archive.infolist()}
        if len(self.entries) > _MOST_ENTRIES:
            raise ModelFileError(f"{name} has more than {_MOST_ENTRIES} entries")

    def content(self) -> Content:
        names = list(self.entries)
        check_kind(names, self.name)
        if "serialized_exported_program.json" in names:  # torch 2.1 to 2.7
            program = self._json("serialized_exported_program.json")
            arrays = {**self._pickled("serialized_state_dict"),
                      **self._pickled("serialized_constants")}  # fmt: skip
            return Content(program, arrays)
        found = {PurePosixPath(n).stem: n for n in names
                 if n.endswith(".json") and PurePosixPath(n).parent.name == "models"}  # fmt: skip
        if not found:
            raise ModelFileError(f"{self.name} is no exported program, {_MEANT}: it has none in it")
        if "model" not in found and len(found) > 1:
            raise UnsupportedError(
                f"{self.name} has several programs ({', '.join(sorted(found))}): save one of them "
                "by torch.export.save"
            )
        model = "model" if "model" in found else next(iter(found))
        root = str(PurePosixPath(found[model]).parent.parent)
        root = "" if root == "." else f"{root}/"
        arrays = {**self._payload(f"{root}data/weights/", f"{model}_weights_config.json", model),
                  **self._payload(f"{root}data/constants/", f"{model}_constants_config.json", model)
                  }  # fmt: skip
        return Content(self._json(found[model]), arrays)

    def _read(self, entry: str) -> bytes:
        """An entry's bytes.

        Raises:
            ModelFileError: there is none, or it is larger than such a file's can be.
        """
        info = self.entries.get(entry)
        if info is None:
            raise ModelFileError(f"{self.name} is damaged: it has no {entry}")
        self.left -= info.file_size
        if self.left < 0:
            raise ModelFileError(f"{self.name} is damaged: its parts cannot be as large as it says")
        return self.archive.read(info)

    def _json(self, entry: str) -> Any:
        text = self._read(entry)
        if len(text) > _MOST_TEXT:
            raise ModelFileError(f"{self.name} has a program of {len(text)} bytes")
        return json.loads(text)

    def _payload(self, folder: str, config: str, model: str) -> dict[str, np.ndarray]:
        """The arrays that a folder has, by their names; those that are one storage share it."""
        if f"{folder}{model}.pt" in self.entries:  # torch 2.8
            return self._tensors(f"{folder}{model}.pt")
        raw: dict[str, bytes] = {}
        found = {}
        for own, payload in self._json(folder + config)["config"].items():
            path = payload["path_name"]
            if payload.get("use_pickle"):
                raise unsafe(self.name, "pickled weights")
            if path not in raw:
                raw[path] = self._read(folder + path)
            found[own] = array_in(raw[path], payload["tensor_meta"], own, self.name)
        return found

    def _pickled(self, stem: str) -> dict[str, np.ndarray]:
        entry = next((n for n in (f"{stem}.pt", f"{stem}.json") if n in self.entries), "")
        return self._tensors(entry) if entry else {}

    def _tensors(self, entry: str) -> dict[str, np.ndarray]:
        content = self._read(entry)
        return read_tensors(content, self.name, self.left) if content else {}
