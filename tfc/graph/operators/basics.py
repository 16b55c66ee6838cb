"""Operators of graphs themselves: constants, placeholders, what passes values on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.graph.operators.inference import same, stated
from tfc.graph.operators.registry import Attributes, Spec, operator
from tfc.graph.types.shapes import TensorShape


def _stated(_: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [stated(attributes)]


def _with_default(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """The shape that is stated, as what is fed may differ from the default."""
    return [(inputs[0].dtype, TensorShape(attributes.get("shape", inputs[0].shape)))]


@operator("Const")
def constant(*, value: np.ndarray) -> np.ndarray:
    """The constant itself."""
    return value


@operator("Placeholder", "PlaceholderV2", infer=_stated, effect="read")
def placeholder() -> None:
    """Nothing: sessions say which placeholder was not fed."""
    raise TraceError("a placeholder has no value unless it is fed")


@operator("PlaceholderWithDefault", infer=_with_default, effect="read")
def placeholder_with_default(x: Any) -> Any:
    """What is fed, or else the default."""
    return x


@operator("Identity", "Snapshot", infer=same)
def identity(x: Any) -> Any:
    """The value itself."""
    return x


@operator("NoOp", "ControlTrigger", infer=lambda *_: [], effect="read")
def no_operation() -> None:
    """Nothing; what it runs after is what it is for."""
