"""The models in tensorflow_models/: their files, and what TensorFlow computes with them."""

import zipfile
from pathlib import Path

import numpy as np

ARCHIVES = Path(__file__).parent / "tensorflow_models"
NAMES = sorted(path.stem for path in ARCHIVES.glob("*.zip"))


def unpacked(name, folder):
    """Where a model lies, a file or the folder of a SavedModel; its inputs and its outputs."""
    with zipfile.ZipFile(ARCHIVES / f"{name}.zip") as archive:
        archive.extractall(folder)
    values = np.load(folder / "values.npz")
    inputs, outputs = ({k[2:]: values[k] for k in values if k[0] == kind} for kind in "io")
    path = folder / "graph.pb"
    return path if path.exists() else folder, inputs, outputs
