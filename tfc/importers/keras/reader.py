"""A `.keras` or `.h5` file as a Graph and the parameters of the model."""

import io
import json
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfc.errors import ModelFileError, TfcError
from tfc.importers.graph import Graph, Node, Port
from tfc.importers.keras.architecture import Architecture
from tfc.importers.keras.binding import Parameters, bind_groups, bind_paths
from tfc.importers.keras.hdf5 import RATIO, SPARE
from tfc.importers.keras.layer import Layer
from tfc.importers.keras.table import Form, Slot
from tfc.importers.keras.weights import MAGIC, Archive, read_hdf5

ZIP = b"PK\x03\x04"
_CONFIG, _METADATA, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
_MOST_ENTRIES = 1 << 16
_MOST_TEXT = 1 << 28  # bytes of a config


@dataclass(frozen=True)
class Content:
    """What a file has: its graph, and its parameters by name."""

    file: str
    graph: Graph
    parameters: Parameters


def read(source: Any) -> Content:
    """The content of a Keras model.

    Args:
        source: a path, or the bytes of a file.

    Raises:
        ModelFileError: it is damaged or inconsistent, or has weights without a model.
        UnsupportedError: its architecture is code that is not in the file, or h5py is missing.
        TfcError: the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        file, content = "the Keras model", bytes(source)
    else:
        file = os.fspath(source)
        try:
            content = Path(source).read_bytes()
        except OSError as error:
            raise TfcError(f"cannot read {file}: {error.strerror}") from error
    try:
        if content.startswith(ZIP):
            return _from_zip(content, file)
        if content.startswith(MAGIC):
            return _from_hdf5(read_hdf5(content, file), file)
    except TfcError:
        raise
    except RecursionError as error:
        raise ModelFileError(f"{file} nests its config too deep") from error
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        raise ModelFileError(f"{file} has a config that is not as Keras's: {reason}") from error
    raise ModelFileError(f"{file} is no Keras model: neither a .keras file nor an HDF5 file")


def _from_zip(content: bytes, file: str) -> Content:
    entries = _entries(content, file)
    if _CONFIG not in entries:
        raise ModelFileError(f"{file} is a zip file without a {_CONFIG}: no .keras file")
    config = _json(entries[_CONFIG], file)
    metadata = _json(entries[_METADATA], file) if _METADATA in entries else {}
    version = metadata.get("keras_version") if isinstance(metadata, dict) else None
    architecture = Architecture(file, _is_old(version or "3"))
    model = architecture.model(config)
    if _WEIGHTS not in entries:
        raise ModelFileError(f"{file} has no {_WEIGHTS}: models in several files are not supported")
    archive = read_hdf5(entries[_WEIGHTS], f"{_WEIGHTS} of {file}")
    return _content(architecture, model, bind_paths(model, archive, file))


def _entries(content: bytes, file: str) -> dict[str, bytes]:
    """The files in a zip file that a model consists of.

    Raises:
        ModelFileError: it is damaged, or grows beyond all proportion.
    """
    found, left = {}, SPARE + RATIO * len(content)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            listed = archive.infolist()
            if len(listed) > _MOST_ENTRIES:
                raise ModelFileError(f"{file} has more than {_MOST_ENTRIES} entries")
            for entry in listed:
                if entry.filename not in (_CONFIG, _METADATA, _WEIGHTS):
                    continue  # nothing is ever written by the names that are in the file
                left -= entry.file_size
                if left < 0 or entry.filename in found:
                    raise ModelFileError(f"{file} is no .keras file: its entries cannot be true")
                found[entry.filename] = archive.read(entry)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
            ValueError, OSError, OverflowError) as error:  # fmt: skip
        if isinstance(error, TfcError):
            raise
        raise ModelFileError(f"{file} is damaged: {error}") from error
    return found


def _from_hdf5(archive: Archive, file: str) -> Content:
    attributes = archive.attributes.get("", {})
    text = attributes.get("model_config")
    if text is None:
        raise ModelFileError(
            f"{file} has weights without a model: build the model in Keras, load them with "
            "load_weights, and save it with model.save('model.keras')"
        )
    weights = archive.attributes.get("model_weights", {})
    version = attributes.get("keras_version") or weights.get("keras_version") or "2"
    architecture = Architecture(file, _is_old(version))
    model = architecture.model(_json(text, file))
    return _content(architecture, model, bind_groups(model, archive, file))


def _content(architecture: Architecture, model: Layer, parameters: Parameters) -> Content:
    """The model with its weights, whose outputs are named after the layers that give them."""
    architecture.arrays = parameters
    architecture.finish(model)
    graph = model.graph
    assert graph is not None  # finish made it
    taken = {port.name for port in graph.inputs}
    nodes, outputs = [], []
    for port in graph.outputs:
        layer = port.name.partition(":")[0]
        name, number = layer, 0
        while name in taken:
            number += 1
            name = f"{layer}_{number}"
        taken.add(name)
        form = Form((Slot(0),), {}, 1)
        attributes = {"layer": Layer("Output", layer, {}, False), "form": form}
        nodes.append(Node("", "Output", 1, name, (port.name,), (name,), attributes))
        outputs.append(Port(name))
    named = Graph(
        graph.name, graph.inputs, tuple(outputs), (*graph.nodes, *nodes), graph.constants,
        graph.weights,
    )  # fmt: skip
    return Content(architecture.file, named, parameters)


def _is_old(version: Any) -> bool:
    return str(version).partition(".")[0] in ("0", "1", "2")


def _json(text: str | bytes, file: str) -> Any:
    """A config.

    Raises:
        ModelFileError: it is no JSON, or nested without end.
    """
    try:
        if len(text) > _MOST_TEXT:
            raise ModelFileError(f"{file} has a config of {len(text)} bytes")
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if isinstance(error, TfcError):
            raise
        raise ModelFileError(f"{file} has a damaged config: {error}") from error
