"""The table that ONNX's operators are entered in."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from tfc.importers.table import Table
from tfc.importers.values import Text

ONNX = Table("ONNX", ignored=("consumed_inputs", "doc_string"))
operator = ONNX.operator
MICROSOFT = "com.microsoft"
ML = "ai.onnx.ml"


def of_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """A row that arranges elements as one that arranges text, too."""

    @wraps(function)
    def called(x: Any, *inputs: Any, **attributes: Any) -> Any:
        if isinstance(x, Text):
            return Text(function(x.places, *inputs, **attributes), x.labels)
        return function(x, *inputs, **attributes)

    return called
