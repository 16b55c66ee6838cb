"""from_onnx: an ONNX model as a function."""

from collections.abc import Mapping
from typing import Any

from tfc.importers.model import Model, Shapes
from tfc.importers.onnx.operators import ONNX
from tfc.importers.onnx.reader import read
from tfc.options import Options
from tfc.runtime.collection import paused_collection
from tfc.tracebacks import api_boundary


@api_boundary
@paused_collection()
def from_onnx(
    source: Any,
    shapes: Shapes | None = None,
    fixed: Mapping[str, Any] | None = None,
    backend: str = "cpu",
    options: Options | None = None,
) -> Model:
    """The function that an ONNX model is.

    Args:
        source: the path of a file, its bytes, or an onnx.ModelProto.
        shapes: sizes of inputs whose sizes are open in the file, {"image": (1, 3, 224, 224)}, or
            of the open sizes by their names, {"batch": 1}.
        fixed: values of inputs that are decided now, {"sr": 16000}, and are no inputs any more.
        backend, options: where and how calls are compiled, as for `tfc.jit`.

    Raises:
        ModelFileError: the file is damaged or inconsistent.
        ShapeError: `shapes` or `fixed` contradict the file.
        TfcError: the file cannot be read.
    """
    content = read(source)
    return Model(
        content.file, content.graph, ONNX, content.parameters, content.functions, shapes, fixed,
        backend, options,
    )  # fmt: skip
