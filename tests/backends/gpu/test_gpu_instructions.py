"""Functions of narrow floats by the GPU's instructions: for every number there is.

The interpreter's instructions are off by as much as a GPU's may be.
"""

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
from tfc.hlo import parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(37)
Function = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


def run(opcode: str, *operands: np.ndarray) -> tuple[np.ndarray, str]:
    """What a program of one instruction gives, and its PTX."""
    name, size = tfc_name(operands[0]), operands[0].size
    inputs = "\n".join(f"x{n} = {name}[{size}] parameter({n})" for n in range(len(operands)))
    names = ", ".join(f"x{n}" for n in range(len(operands)))
    text = f"HloModule m\nENTRY e {{ {inputs}\n ROOT y = {name}[{size}] {opcode}({names}) }}"
    executable = tfc.compile(parse(text), backend="gpu")
    return np.asarray(executable(*operands)[0]), executable.as_text("ptx")


def tfc_name(x: np.ndarray) -> str:
    return next(name for name, t in ELEMENT_TYPES.items() if t.dtype == x.dtype)


def spacing(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Units in the last place of numbers of a type, in float64."""
    form = ml_dtypes.finfo(dtype)
    exponent = np.maximum(np.frexp(np.abs(values))[1] - 1, int(form.minexp))
    return np.ldexp(1.0, exponent - int(form.nmant))


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


FUNCTIONS: list[tuple[str, Function]] = [
    ("exponential", np.exp), ("logistic", logistic), ("tanh", np.tanh),
]  # fmt: skip


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize(("opcode", "function"), FUNCTIONS)
def test_every_number_gives_the_nearest_or_nearly_so(opcode: str, function: Function, name: str):
    dtype = ELEMENT_TYPES[name].dtype
    x = np.arange(1 << 16).astype(np.uint16).view(dtype)
    got, ptx = run(opcode, x)
    assert "ex2.approx" in ptx
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.float64))
        rounded = exact.astype(dtype).astype(np.float64)
        error = np.abs(got.astype(np.float64) - exact) / spacing(exact, dtype)
    special = ~np.isfinite(rounded)
    np.testing.assert_array_equal(got.astype(np.float64)[special], rounded[special])
    # Half a unit, and what the instructions add to it.
    assert error[~special].max() < 0.52


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Any two numbers, and two of the same size, whose quotients lie close to ties."""
    count, bits = 40_000, np.uint16
    x, y = (random.integers(0, 1 << 16, count).astype(bits).view(dtype) for _ in range(2))
    near = (random.random((2, count)) + 1).astype(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3.0, 2.0**-14], dtype)
    first, second = (a.ravel() for a in np.meshgrid(special, special))
    return np.concatenate([x, near[0], first]), np.concatenate([y, near[1], second])


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("opcode", ["divide", "add", "subtract", "multiply"])
def test_arithmetic_has_the_bits_of_the_operation(opcode: str, name: str):
    dtype = ELEMENT_TYPES[name].dtype
    x, y = pairs(dtype)
    got, ptx = run(opcode, x, y)
    assert "div.rn" not in ptx
    with np.errstate(all="ignore"):
        wanted = getattr(np, opcode)(x.astype(np.float32), y.astype(np.float32)).astype(dtype)
    is_nan = np.isnan(wanted.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), is_nan)
    same = got.view(np.uint16) == wanted.view(np.uint16)
    if name == "bf16":  # whose subnormal numbers f32 has rounded before: one unit
        tiny = np.abs(wanted.astype(np.float32)) < 2.0**-126
        off = np.abs(got.view(np.int16).astype(int) - wanted.view(np.int16))
        same |= tiny & (off <= 1)
    assert (same | is_nan).all()


@pytest.mark.slow
def test_every_quotient_of_f16_numbers_of_one_size_is_the_nearest():
    steps = np.arange(1 << 10) / 1024 + 1
    for first in np.split(steps, 4):
        x, y = (a.ravel().astype(np.float16) for a in np.meshgrid(first, steps))
        got, _ = run("divide", x, y)
        np.testing.assert_array_equal(got, (x.astype("f8") / y.astype("f8")).astype(np.float16))


def test_the_exponential_of_f32_is_within_two_units():
    x = np.concatenate([
        random.uniform(-104, 89, 100_000), random.standard_normal(50_000), np.linspace(-1, 1, 9),
        [np.inf, -np.inf, np.nan, 0.0, -0.0, 88.72, 88.73, -87.4, -103.9, -104.1, 1e30, -1e30],
    ]).astype(np.float32)  # fmt: skip
    got, ptx = run("exponential", x)
    assert "ex2.approx" in ptx
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.float64))
        rounded = exact.astype(np.float32)
        error = np.abs(got.astype(np.float64) - exact) / spacing(exact, np.float32)
    special = ~np.isfinite(rounded) | (rounded == 0)
    np.testing.assert_array_equal(got[special], rounded[special])
    assert error[~special].max() < 2


@pytest.mark.parametrize(
    ("opcode", "function"),
    [("tanh", np.tanh), ("logistic", logistic), ("log", np.log), ("log-plus-one", np.log1p)],
)
def test_functions_of_f32_that_divide_are_within_two_units(opcode: str, function: Function):
    x = np.concatenate([
        random.uniform(-30, 30, 100_000), random.standard_normal(50_000) * 0.1,
        [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-30, -1e-42, 100.0, -100.0],
    ]).astype(np.float32)  # fmt: skip
    got, ptx = run(opcode, x)
    assert "div.rn" not in ptx
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.float64))
        error = np.abs(got.astype(np.float64) - exact) / spacing(exact, np.float32)
    special = ~np.isfinite(exact)
    np.testing.assert_array_equal(got[special], exact[special].astype(np.float32))
    assert error[~special].max() < 2
