"""from_keras: a Keras model as a function."""

from collections.abc import Mapping
from typing import Any

from tfc.importers.keras.operators import KERAS
from tfc.importers.keras.reader import read
from tfc.importers.model import Model, Shapes
from tfc.options import Options
from tfc.runtime.collection import paused_collection
from tfc.tracebacks import api_boundary


@api_boundary
@paused_collection()
def from_keras(
    source: Any,
    shapes: Shapes | None = None,
    fixed: Mapping[str, Any] | None = None,
    backend: str = "cpu",
    options: Options | None = None,
) -> Model:
    """The function that a Keras model is, as it computes when it predicts.

    Neither Keras nor TensorFlow is needed, but h5py, which reads the weights.

    Args:
        source: the path of a `.keras` or `.h5` file with architecture and weights, or its bytes.
        shapes: sizes of inputs whose sizes are open in the file, {"input_1": (1, 224, 224, 3)}, or
            of the open size of all inputs, {"batch": 1}.
        fixed: values of inputs that are decided now, and are no inputs any more.
        backend, options: where and how calls are compiled, as for `tfc.jit`.

    Raises:
        ModelFileError: the file is damaged or inconsistent, or has weights alone.
        UnsupportedError: the model is of a class whose code is not in the file, or h5py is not
            installed.
        ShapeError: `shapes` or `fixed` contradict the file.
        TfcError: the file cannot be read.
    """
    content = read(source)
    return Model(
        content.file, content.graph, KERAS, content.parameters, None, shapes, fixed, backend,
        options,
    )  # fmt: skip
