"""Keras files that are written here, with h5py and zipfile alone."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import h5py
import numpy as np

Weights = Mapping[str, Sequence[tuple[str, np.ndarray]]]


def old_file(config: Any, weights: Weights, version: str = "2.2.4", **attributes: Any) -> bytes:
    """An .h5 file: for each layer, the names of its weights with their values."""
    made = io.BytesIO()
    with h5py.File(made, "w") as file:
        file.attrs["model_config"] = json.dumps(config).encode()
        file.attrs["keras_version"] = version.encode()
        for name, value in attributes.items():
            file.attrs[name] = value
        root = file.create_group("model_weights")
        root.attrs["layer_names"] = [name.encode() for name in weights]
        for layer, arrays in weights.items():
            group = root.create_group(layer)
            names = [f"{layer}/{name}:0" for name, _ in arrays]
            group.attrs["weight_names"] = [name.encode() for name in names]
            for name, (_, array) in zip(names, arrays):
                group[name] = array
    return made.getvalue()


def chain(*layers: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """The config of a Sequential of layers, as Keras 2 wrote it."""
    entries = [{"class_name": kind, "config": {"name": f"{kind.lower()}_{n}", **config}}
               for n, (kind, config) in enumerate(layers)]  # fmt: skip
    return {"class_name": "Sequential", "config": {"name": "chain", "layers": entries}}


def zipped(**files: bytes | str) -> bytes:
    """A zip file; "__" in a name is a dot."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return made.getvalue()
