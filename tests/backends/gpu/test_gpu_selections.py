"""topk on GPUs: the evaluator's elements, bit for bit, and what finding them asks of memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tfc
from tfc.backends.gpu.sorting import digits, selections
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(23)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a few hundred elements are long: they have several tiles and pieces."""
    monkeypatch.setattr(selections, "_CAPACITIES", ((128, 512),))
    monkeypatch.setattr(selections, "_ROOMS", 1)
    monkeypatch.setattr(digits, "_ITEMS", ((1 << 30, 1),))


def top_k(element: str, dims: tuple[int, ...], k: int, largest: bool = True) -> tfc.hlo.Module:
    size, kept = (",".join(map(str, d)) for d in (dims, (*dims[:-1], k)))
    return parse(
        f"""HloModule m
    ENTRY e {{
      x = {element}[{size}] parameter(0)
      ROOT r = ({element}[{kept}], s32[{kept}]) topk(x), k={k}, largest={str(largest).lower()}
    }}"""
    )


def check(module: tfc.hlo.Module, x: np.ndarray) -> Any:
    """That all bits are the evaluator's; code that sorts nothing whole, spills nothing."""
    executable = tfc.compile(module, backend="gpu")
    assert "sort(" not in executable.as_text("optimized")
    for got, wanted in zip(executable(x), evaluate(module, x), strict=True):
        assert np.asarray(got).dtype == wanted.dtype
        assert np.asarray(got).tobytes() == np.ascontiguousarray(wanted).tobytes()
    assert complaints(executable.as_text("ptx"), "sm_80", ["-warn-spills", "-Werror"]) == ""
    return executable


def drawn(element: str, dims: tuple[int, ...]) -> np.ndarray:
    """Numbers of which many are equal; of floats also NaN of both signs, infinities, both zeros."""
    kind = ELEMENT_TYPES[element]
    if not kind.is_float:
        return random.integers(-9 if kind.kind == "signed" else 0, 99, dims).astype(kind.dtype)
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5])
    numbers = random.normal(size=dims)
    return np.where(random.random(dims) < 0.2, random.choice(special, dims), numbers).astype(
        kind.dtype
    )


SOME = ["bf16", "s64"]
OTHERS = ["f32", "f64", "f16", "u8", "s8", "s32", "u64"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "element", [*SOME, *(pytest.param(e, marks=pytest.mark.slow) for e in OTHERS)]
)
@pytest.mark.parametrize("largest", [True, False], ids=["largest", "smallest"])
def test_elements_of_all_types_are_selected_in_two_steps(device: Any, element: str, largest: bool):
    device.reports.clear()
    check(top_k(element, (2, 1500), 9, largest), drawn(element, (2, 1500)))
    assert len(device.reports) == 2


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "k", [2, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 100, 128))]
)
def test_rows_in_any_order_are_selected_from(k: int):
    x = drawn("f32", (1300,))
    ascending = np.sort(np.abs(x))
    rows = np.stack([x, ascending, ascending[::-1], np.zeros_like(x), np.full_like(x, np.nan)])
    check(top_k("f32", rows.shape, k), rows)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("element", ["f16", "s64"])
def test_more_than_a_block_holds_are_sorted_by_digits(device: Any, element: str):
    device.reports.clear()
    check(top_k(element, (2, 600), 150), drawn(element, (2, 600)))
    assert len(device.reports) == 3 * ELEMENT_TYPES[element].bits // 8


@pytest.mark.parametrize("dims", [(512,), (3, 700), (0, 600), (2, 1, 513)])
def test_rows_that_fit_a_block_take_one_launch(device: Any, dims: tuple[int, ...]):
    device.reports.clear()
    check(top_k("s32", dims, 5), drawn("s32", dims))
    assert len(device.reports) == (0 not in dims)


def test_an_element_is_read_once(device: Any):
    length, k = 3000, 8
    device.reports.clear()
    check(top_k("f32", (2, length), k), drawn("f32", (2, length)))
    ((_, report),) = device.reports
    tiles = -(-length // 768) * 24 * 4  # sectors of the tiles, of which the last is not full
    assert report.loads.transactions <= 2 * (tiles + k)
    assert report.atomics == 0


def test_what_is_selected_from_may_be_computed_and_lie_in_any_order():
    module = parse("""HloModule m
    ENTRY e {
      x = f32[600,3]{1,0} parameter(0)
      t = f32[3,600]{0,1} transpose(x), dimensions={1,0}
      n = f32[3,600]{0,1} negate(t)
      ROOT r = (f32[3,7]{0,1}, s32[3,7]{1,0}) topk(n), k=7, largest=true
    }""")
    x = random.normal(size=(600, 3)).astype(np.float32)
    for got, wanted in zip(tfc.compile(module, backend="gpu")(x), evaluate(module, x), strict=True):
        np.testing.assert_array_equal(np.asarray(got), wanted)
