"""How samples of operators are stated: a name, inputs, attributes. Knows neither framework."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = {
    "h": np.dtype(np.float16), "b": BF16, "f": np.dtype(np.float32), "d": np.dtype(np.float64),
    "c": np.dtype(np.complex64), "z": np.dtype(np.complex128), "?": np.dtype(np.bool_),
    "i1": np.dtype(np.int8), "i2": np.dtype(np.int16), "i4": np.dtype(np.int32),
    "i8": np.dtype(np.int64), "u1": np.dtype(np.uint8), "u2": np.dtype(np.uint16),
    "u4": np.dtype(np.uint32), "u8": np.dtype(np.uint64),
}  # fmt: skip
FLOATS = ("h", "b", "f", "d")
COMPLEX = ("c", "z")
SIGNED = ("i1", "i2", "i4", "i8")
INTEGERS = (*SIGNED, "u1", "u2", "u4", "u8")
NUMBERS = (*FLOATS, *COMPLEX, *INTEGERS)
MOVED = ("h", "b", "f", "d", "c", "i1", "i4", "i8", "u2", "?")  # where elements are only moved


@dataclass(frozen=True)
class Known:
    """An input that is a constant of the graph."""

    array: np.ndarray


@dataclass(frozen=True)
class Scalars:
    """An attribute that is a function of scalars.

    function: made of Python's operators, so that it is of either framework.
    dtypes: of its arguments.
    """

    function: Callable[..., Any]
    dtypes: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """An operation.

    inputs: an array, a Known, or a list of them where the operator takes several, by place.
    variables: the values of the variables that it takes before its inputs, for operators that
        write these; their values afterwards are the results.
    on_xla: TensorFlow has it in compiled code alone.
    counted: how many of its results say something; None for all.
    """

    operator: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    variables: tuple[np.ndarray, ...] = ()
    on_xla: bool = False
    counted: int | None = None


def of(operator: str, *inputs: Any, **attributes: Any) -> Sample:
    """A sample of an operator."""
    return Sample(operator, inputs, attributes)


def first_of(sample: Sample, count: int = 1) -> Sample:
    """A sample of which the first results alone say something."""
    return replace(sample, counted=count)


def known(values: Any, dtype: str = "i4") -> Known:
    """A constant."""
    return Known(np.asarray(values, DTYPES[dtype]))


def some(shape: Any, dtype: str = "f", seed: int = 0, low: float = -4, high: float = 4) -> Any:
    """Numbers with few digits, which compress well: eighths between the bounds, or integers."""
    state = np.random.RandomState(seed + 1)
    kind = DTYPES[dtype]
    if dtype == "?":
        return state.randint(0, 2, shape).astype(kind)
    if dtype in INTEGERS:
        least = 0 if dtype[0] == "u" and low < 0 else low
        return state.randint(int(least), int(high) + 1, shape).astype(kind)
    real = state.randint(int(low * 8), int(high * 8) + 1, shape) / 8
    if dtype in COMPLEX:
        real = real + 1j * state.randint(int(low * 8), int(high * 8) + 1, shape) / 8
    return np.asarray(real).astype(kind)


def edges(dtype: str, low: float = -np.inf, high: float = np.inf) -> np.ndarray:
    """Special values of a dtype within bounds, and nan; ordinary ones of complex numbers."""
    kind = DTYPES[dtype]
    if dtype == "?":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(kind)
        numbers = [info.min, info.min + 1, 0, 1, 2, 3, 7, 100, info.max - 1, info.max]
        if dtype[0] == "i":
            numbers += [-1, -2, -3, -7, -100]
        return np.array([n for n in numbers if low <= n <= high], kind)
    if dtype in COMPLEX:
        return some(8, dtype, 5, max(low, -3), min(high, 3))
    info = ml_dtypes.finfo(kind)
    numbers = [
        *(-np.inf, float(info.min), -1e4, -30.0, -3.5, -2.5, -1.5, -1.0, -0.5, -1e-3, -0.0),
        *(0.0, 1e-3, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 6.0, 30.0, 1e4),
        *(float(info.max), np.inf, np.nan),
    ]
    with np.errstate(over="ignore"):
        return np.array([n for n in numbers if not (n < low or n > high)]).astype(kind)


def pairs(dtype: str, low: float = -np.inf, high: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of special values: each with some of the others."""
    values = edges(dtype, low, high)
    count = len(values)
    x = np.concatenate([values, values, values])
    y = np.concatenate([values, np.roll(values, 1), np.roll(values, count // 2)])
    return x, y
