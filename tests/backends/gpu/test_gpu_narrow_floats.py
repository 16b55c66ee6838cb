"""GPUs convert f16 and bf16 by instructions: the values of the evaluator, in few instructions."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tfc
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(31)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


def converted(source: str, target: str, size: int) -> tfc.hlo.Module:
    return parse(
        f"""HloModule m
    ENTRY e {{ x = {source}[{size}] parameter(0)
      ROOT y = {target}[{size}] convert(x) }}"""
    )


def compare(module: tfc.hlo.Module, x: np.ndarray) -> Any:
    executable = tfc.compile(module, backend="gpu")
    got, expected = np.asarray(executable(x)[0]), evaluate(module, x)
    is_nan = np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), is_nan)
    bits = f"u{expected.dtype.itemsize}"
    np.testing.assert_array_equal(got.view(bits)[~is_nan], expected.view(bits)[~is_nan])
    return executable


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_every_pattern_becomes_its_f32(name: str):
    module = converted(name, "f32", 1 << 16)
    x = np.arange(1 << 16).astype(np.uint16).view(ELEMENT_TYPES[name].dtype)
    compare(module, x)


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_rounding_is_to_nearest_even_and_once(name: str, source: str):
    """Ties, their neighbours, subnormal numbers and what overflows are among the numbers."""
    halves = np.arange(1 << 16).astype(np.uint16)
    module = converted(source, name, 1 << 16)
    with np.errstate(all="ignore"):
        exact = halves.view(ELEMENT_TYPES[name].dtype).astype(np.float64)
        following = (halves + np.uint16(1)).view(ELEMENT_TYPES[name].dtype).astype(np.float64)
        middle = ((exact + following) / 2).astype(np.float32)
        nudged = np.nextafter(middle, random.choice([-np.inf, np.inf], middle.shape), dtype="f4")
        if source == "f64":  # so near a tie that an f32 in between would lose it
            nudged = np.nextafter(middle.astype("f8"), random.choice([-np.inf, np.inf], 1 << 16))
        for x in (middle, nudged):
            compare(module, x.astype(ELEMENT_TYPES[source].dtype))


@pytest.mark.parametrize(("name", "most"), [("f16", 4), ("bf16", 11)])
def test_halves_are_computed_in_few_instructions(device: Any, name: str, most: int):
    module = parse(
        f"""HloModule m
    ENTRY e {{ x = {name}[4096] parameter(0)
      y = {name}[4096] multiply(x, x)
      ROOT z = {name}[4096] add(y, x) }}"""
    )
    x = random.standard_normal(4096).astype(ELEMENT_TYPES[name].dtype)
    device.reports.clear()
    compare(module, x)
    ((_, report),) = device.reports
    assert report.total <= most * x.size
