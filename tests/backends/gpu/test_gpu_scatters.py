"""Scatters of many updates: sorted by place, combined in the evaluator's order, bit for bit."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tfc
from tfc.backends.gpu.sorting import digits, scatters
from tfc.hlo import evaluate, parse
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(19)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


@pytest.fixture
def sorts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few updates there are, they are sorted; by several blocks."""
    monkeypatch.setattr(scatters, "_LAUNCH", 0)
    monkeypatch.setattr(digits, "_ITEMS", ((1 << 30, 1),))


WHAT = {
    "add": "add(a, b)", "maximum": "maximum(a, b)", "replace": "copy(b)", "and": "and(a, b)",
    "multiply": "multiply(b, a)", "difference": "subtract(b, a)",
}  # fmt: skip


def scatter(
    element: str, table: str, indices: str, updates: str, numbers: str, what: str = "add"
) -> tfc.hlo.Module:
    return parse(
        f"""HloModule m
    f {{ a = {element}[] parameter(0)
        b = {element}[] parameter(1)
        ROOT c = {element}[] {WHAT[what]} }}
    ENTRY e {{
      x = {element}[{table}] parameter(0)
      i = {indices} parameter(1)
      u = {element}[{updates}] parameter(2)
      ROOT y = {element}[{table}] scatter(x, i, u), to_apply=f, {numbers}
    }}"""
    )


def numbers(window: str, inserted: str, operand: str, vector: int, more: str = "") -> str:
    return (
        f"update_window_dims={{{window}}}, inserted_window_dims={{{inserted}}}, "
        f"scatter_dims_to_operand_dims={{{operand}}}, index_vector_dim={vector}{more}"
    )


SCALARS = numbers("", "0", "0", 1)
ROWS = numbers("1", "0", "0", 1)


def drawn(module: tfc.hlo.Module, low: int = -2, beyond: int = 3) -> list[np.ndarray]:
    """Random arguments: numbers whose sums depend on their order, indices also out of bounds."""
    shapes = [p.array_shape for p in module.entry.parameters]
    found = []
    for place, shape in enumerate(shapes):
        kind, dtype = shape.element_type, shape.element_type.dtype
        if place == 1:
            high = max(shapes[0].dims) + beyond
            made = random.integers(low if kind.kind == "signed" else 0, high, shape.dims)
        elif kind.is_complex:
            made = random.normal(size=shape.dims) + 1j * random.normal(size=shape.dims)
        elif kind.is_float:
            most = 4 if kind.bits > 8 else 0  # a narrow sum is to be no NaN, whose sign is free
            made = random.normal(size=shape.dims) * 10.0 ** random.integers(-3, most, shape.dims)
        else:
            made = random.integers(0, 120 if kind.bits > 1 else 2, shape.dims)
        found.append(made.astype(dtype))
    return found


def check(module: tfc.hlo.Module, arrays: Sequence[np.ndarray]) -> Any:
    """That all bits are those of the evaluator, and code that `ptxas` takes and nothing spills."""
    executable = tfc.compile(module, backend="gpu")
    (got,) = executable(*arrays)
    wanted = np.asarray(evaluate(module, *arrays))
    assert np.asarray(got).dtype == wanted.dtype
    assert np.asarray(got).tobytes() == wanted.tobytes()
    assert complaints(executable.as_text("ptx"), "sm_80", ["-warn-spills", "-Werror"]) == ""
    return executable


OF_TYPES = [
    ("f32", "add"), ("f64", "add"), ("f16", "add"), ("bf16", "multiply"), ("c64", "add"),
    ("s8", "add"), ("u16", "maximum"), ("pred", "and"), ("f32", "maximum"), ("s64", "difference"),
    ("f32", "replace"), ("f8e4m3fn", "add"),
]  # fmt: skip


@pytest.mark.parametrize(("element", "what"), OF_TYPES)
@pytest.mark.usefixtures("sorts")
def test_updates_of_scalars_are_combined_in_their_order(element: str, what: str):
    module = scatter(element, "20", "s32[300,1]", "300", SCALARS, what)
    check(module, drawn(module))


SHAPES = {
    "rows of a table": ("9,5", "s64[130]", "130,5", ROWS),
    "columns of a table": ("5,9", "s32[130]", "5,130", numbers("0", "1", "1", 1)),
    "windows that overlap": ("30", "s32[40,1]", "40,7", numbers("1", "", "0", 1)),
    "windows of parts of rows": ("9,8,3", "u8[50,2]", "50,2,3", numbers("1,2", "0", "1,0", 1)),
    "two components": ("7,9", "s32[2,4,30]", "4,30", numbers("", "0,1", "1,0", 0)),
    "a batch of tables": (
        "3,11,2", "s16[90,3,1]", "90,3,2",
        numbers("2", "1", "1", 2, ", input_batching_dims={0}, scatter_indices_batching_dims={1}"),
    ),
    "more than 256 places": ("700", "u32[300,1]", "300", SCALARS),
    "one place only": ("4,1", "s32[200,1]", "200,1", ROWS),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("sorts")
def test_windows_of_any_kind_go_where_the_evaluator_has_them(shape: str):
    module = scatter("f32", *SHAPES[shape])
    check(module, drawn(module))


@pytest.mark.usefixtures("sorts")
@pytest.mark.parametrize("index", ["all", "none", "beyond"])
def test_updates_that_meet_at_one_place_or_at_none(index: str):
    module = scatter("f32", "6,2", "s32[280,1]", "280,2", ROWS)
    table, indices, updates = drawn(module)
    indices[:] = {"all": 3, "none": -1, "beyond": 2**31 - 1}[index]
    check(module, [table, indices, updates])


@pytest.mark.usefixtures("sorts")
def test_several_arrays_are_combined_together():
    module = parse(
        """HloModule m
    f { a = f32[] parameter(0)
        b = s32[] parameter(1)
        c = f32[] parameter(2)
        d = s32[] parameter(3)
        l = pred[] compare(c, a), direction=GT
        v = f32[] select(l, c, a)
        p = s32[] select(l, d, b)
        ROOT t = (f32[], s32[]) tuple(v, p) }
    ENTRY e {
      x = f32[12] parameter(0)
      y = s32[12] parameter(1)
      i = s32[260,1] parameter(2)
      u = f32[260] parameter(3)
      n = s32[260] iota(), iota_dimension=0
      ROOT s = (f32[12], s32[12]) scatter(x, y, i, u, n), to_apply=f, """
        + SCALARS
        + "}"
    )
    x, y = np.zeros(12, np.float32), np.full(12, -1, np.int32)
    i = random.integers(0, 13, (260, 1)).astype(np.int32)
    u = random.integers(0, 9, 260).astype(np.float32)
    results = tfc.compile(module, backend="gpu")(x, y, i, u)
    for got, wanted in zip(results, evaluate(module, x, y, i, u), strict=True):
        np.testing.assert_array_equal(np.asarray(got), wanted)


def launches(device: Any, module: tfc.hlo.Module) -> int:
    device.reports.clear()
    check(module, drawn(module))
    return len(device.reports)


def test_how_many_updates_there_are_decides_whether_they_are_sorted(device: Any):
    few = scatter("f32", "200,3", "s32[20,1]", "20,3", ROWS)
    many = scatter("f32", "200,3", "s32[100,1]", "100,3", ROWS)
    # The operand is put in place by a launch of its own.
    assert launches(device, few) == 2
    assert launches(device, many) == 2 + 3
    one_place = scatter("f32", "1,3", "s32[20,1]", "20,3", ROWS)
    assert launches(device, one_place) == 2


@pytest.mark.parametrize("element", ["f32", "s32"])
def test_indices_that_differ_and_exact_integers_are_not_sorted(device: Any, element: str):
    unique = ", unique_indices=true" if element == "f32" else ""
    module = scatter(element, "400,2", "s32[100,1]", "100,2", ROWS + unique)
    table, _, updates = drawn(module)
    device.reports.clear()
    check(module, [table, random.permutation(400)[:100, None].astype(np.int32), updates])
    assert len(device.reports) == 2


@pytest.mark.usefixtures("sorts")
@pytest.mark.parametrize(("table", "count"), [("6,2", 0), ("0,2", 40), ("6,0", 40)])
def test_no_updates_leave_the_operand_and_those_of_nothing_have_no_place(table: str, count: int):
    columns = table.split(",")[1]
    module = scatter("f32", table, f"s32[{count},1]", f"{count},{columns}", ROWS)
    check(module, drawn(module))
