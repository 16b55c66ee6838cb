"""Operators that check or show what a run computes: effects of it, which compiled code has not."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, UnsupportedError
from tfc.graph.operators.inference import same
from tfc.graph.operators.registry import Attributes, Spec, operator


@operator("Assert", types="-", infer=lambda *_: [], effect="write", on_host=True)
def check(condition: Any, *data: Any, summarize: int = 3) -> None:
    """End the run with an error that shows data, unless the condition is true.

    Raises:
        ShapeError: it is not.
    """
    if not np.all(np.asarray(condition)):
        shown = " ".join(f"[{_shown(x, summarize)}]" for x in data)
        raise ShapeError(f"assertion failed: {shown}")


def _shown(value: Any, count: int) -> str:
    flat = np.asarray(value).ravel()
    shown = flat if count < 0 else flat[:count]
    more = "..." if len(shown) < flat.size else ""
    return " ".join(str(x) for x in shown) + more


@operator("Print", infer=same, effect="write", on_host=True)
def show(input: Any, *data: Any, message: str = "", first_n: int = -1, summarize: int = 3) -> Any:
    """The first input; a message and data are written to the standard error stream.

    Raises:
        UnsupportedError: only the first runs are to show them, as no count is kept.
    """
    if first_n >= 0:
        raise UnsupportedError("Print shows its data in each run: leave first_n out")
    text = message.decode() if isinstance(message, bytes) else message
    shown = "".join(f"[{_shown(x, summarize)}]" for x in data)
    print(f"{text}{shown}", file=sys.stderr)
    return np.asarray(input)


@operator("CheckNumerics", infer=same, effect="write", on_host=True)
def check_numerics(tensor: Any, *, message: str = "") -> Any:
    """The tensor, which holds numbers only.

    Raises:
        ShapeError: it holds NaN or an infinity.
    """
    array = np.asarray(tensor)
    wrong = "NaN" if np.isnan(array).any() else "Inf" if np.isinf(array).any() else ""
    if wrong:
        raise ShapeError(f"{message} : Tensor had {wrong} values")
    return array


def _ensured(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[0].dtype, inputs[0].shape.merge_with(attributes["shape"]))]


@operator("EnsureShape", infer=_ensured)
def ensure_shape(input: Any, *, shape: Any) -> Any:
    """The tensor, which has a shape.

    Raises:
        ShapeError: it has another.
    """
    if not shape.is_compatible_with(input.shape):
        raise ShapeError(f"a tensor of shape {tuple(input.shape)} is not of shape {shape}")
    return input
