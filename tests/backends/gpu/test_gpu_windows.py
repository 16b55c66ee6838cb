"""Windows over images: features by 16 bytes, and the values of the evaluator."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from random_gpu_programs import wrong_programs

import tfc
from tfc.backends.gpu.movement import neighbours
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.fuzz import TYPE_SETS
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(43)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


def pooled(element: str, what: str, dims: str, window: str, layout: str = "") -> tfc.hlo.Module:
    init = {"maximum": "-inf", "minimum": "100", "add": "0"}[what]
    return parse(f"""HloModule m
    f {{ a = {element}[] parameter(0)
      b = {element}[] parameter(1)
      ROOT c = {element}[] {what}(a, b) }}
    ENTRY e {{ x = {element}[{dims}]{layout} parameter(0)
      i = {element}[] constant({init})
      ROOT y = reduce-window(x, i), window={{{window}}}, to_apply=f }}""")


def drawn(module: tfc.hlo.Module, number: int = 0) -> np.ndarray:
    shape = module.entry.parameters[number].array_shape
    return random.integers(-9, 9, shape.dims).astype(shape.element_type.dtype)


SAME = "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0"
# The element type, what is computed, the image, the window, how many neighbours a thread has.
# fmt: off
POOLS = [
    ("f32", "maximum", "2,8,8,32", SAME, 4),
    ("f16", "maximum", "2,8,8,32", SAME, 8),
    ("bf16", "maximum", "2,12,12,24", SAME, 8),
    ("s8", "minimum", "2,12,12,16", "size=1x2x2x1 stride=1x1x1x1", 16),
    ("f32", "add", "2,12,12,30", SAME, 2),
    ("f32", "add", "2,12,12,31", SAME, 1),
    ("f32", "maximum", "2,8,8,32", "size=1x2x2x1 lhs_dilate=1x2x3x1 rhs_dilate=1x2x1x1", 4),
    ("f32", "maximum", "2,8,8,32", "size=1x1x1x3 pad=0_0x0_0x0_0x1_1", 1),
    ("c64", "add", "2,8,8,16", SAME, 1),
    # Windows along the only dimension: neighbours are on padding together, or made one by one.
    ("f32", "add", "2048", "size=3 pad=2_2 rhs_dilate=2", 2),
    ("f32", "add", "2046", "size=3 pad=1_1 rhs_dilate=2", 1),
    ("s8", "minimum", "4096", "size=3 pad=16_16 rhs_dilate=16", 16),
    ("s8", "minimum", "4096", "size=3 pad=8_8 rhs_dilate=16", 8),
]
# fmt: on


@pytest.mark.parametrize(("element", "what", "dims", "window", "count"), POOLS)
def test_a_thread_makes_features_that_lie_together(
    device: Any, element: str, what: str, dims: str, window: str, count: int
):
    module = pooled(element, what, dims, window)
    x = drawn(module)
    device.reports.clear()
    got = np.asarray(tfc.compile(module, backend="gpu")(x)[0])
    np.testing.assert_array_equal(got, evaluate(module, x))
    ((_, report),) = device.reports
    parts = 2 if element == "c64" else 1  # of a number
    assert report.stores.accesses == parts * got.size // count
    if (
        x.shape[-1] % 16 == 0 and parts == 1
    ):  # else sectors have features of two places, and are read for each
        assert report.loads.transactions <= 1.2 * report.loads.ideal


def test_windows_over_a_fused_pad_and_in_another_layout_have_their_values():
    for layout in ("", "{1,3,2,0}"):
        module = parse(f"""HloModule m
        f {{ a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT c = f32[] maximum(a, b) }}
        ENTRY e {{ x = f32[2,8,8,30]{layout} parameter(0)
          i = f32[] constant(-5)
          z = f32[2,8,8,32] pad(x, i), padding=0_0x0_0x0_0x1_1
          n = f32[2,8,8,32] negate(z)
          ROOT y = f32[2,4,4,32] reduce-window(n, i), window={{size=1x2x2x1 stride=1x2x2x1}},
            to_apply=f }}""")
        x = drawn(module)
        (got,) = tfc.compile(module, backend="gpu")(x)
        np.testing.assert_array_equal(np.asarray(got), evaluate(module, x))


def test_windows_of_pairs_of_arrays_keep_them_together():
    """The largest element and where it is."""
    module = parse("""HloModule m
    f { v = f32[] parameter(0)
      i = s32[] parameter(1)
      w = f32[] parameter(2)
      j = s32[] parameter(3)
      p = pred[] compare(v, w), direction=GE
      a = f32[] select(p, v, w)
      b = s32[] select(p, i, j)
      ROOT t = (f32[], s32[]) tuple(a, b) }
    ENTRY e { x = f32[2,8,8,32] parameter(0)
      n = s32[2,8,8,32] iota(), iota_dimension=1
      i = f32[] constant(-inf)
      j = s32[] constant(-1)
      ROOT y = (f32[2,4,4,32], s32[2,4,4,32]) reduce-window(x, n, i, j),
        window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_0x0_1x0_0}, to_apply=f }""")
    x = drawn(module)
    for got, expected in zip(tfc.compile(module, backend="gpu")(x), evaluate(module, x)):
        np.testing.assert_array_equal(np.asarray(got), expected)


@pytest.mark.parametrize(("element", "features", "count"), [("f32", 16, 4), ("f16", 24, 8),
                                                            ("f32", 15, 1)])  # fmt: skip
def test_the_gradient_of_a_pool_is_made_of_features_together(
    device: Any, element: str, features: int, count: int
):
    module = parse(
        f"""HloModule m
    ge {{ a = {element}[] parameter(0)
      b = {element}[] parameter(1)
      ROOT c = pred[] compare(a, b), direction=GE }}
    add {{ a = {element}[] parameter(0)
      b = {element}[] parameter(1)
      ROOT c = {element}[] add(a, b) }}
    ENTRY e {{ x = {element}[2,8,8,{features}] parameter(0)
      g = {element}[2,4,4,{features}] parameter(1)
      i = {element}[] constant(0)
      ROOT y = {element}[2,8,8,{features}] select-and-scatter(x, g, i), window={{{SAME}}},
        select=ge, scatter=add }}""".replace("pad=0_0x1_1x1_1x0_0", "pad=0_0x1_0x0_1x0_0")
    )
    x, g = drawn(module), drawn(module, 1)
    x = (x % 7).astype(ELEMENT_TYPES[element].dtype)  # many are equal: the first is chosen
    device.reports.clear()
    (got,) = tfc.compile(module, backend="gpu")(x, g)
    np.testing.assert_array_equal(np.asarray(got), evaluate(module, x, g))
    ((_, report),) = device.reports
    assert report.stores.accesses == x.size // count


@pytest.mark.slow
@pytest.mark.parametrize("types", TYPE_SETS, ids="-".join)
def test_random_programs_of_windows(monkeypatch: pytest.MonkeyPatch, types: Any):
    """Threads have neighbours, however small arrays are."""
    monkeypatch.setattr(neighbours, "_LEAST", 2)
    assert wrong_programs(types, ["reduce-window", "select-and-scatter"], 60, 3) == []
