"""Running totals by lanes, warps, blocks and pieces: their values, and what they ask of memory."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tfc
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(13)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


def cumulative(
    element: str, dims: Sequence[int], axis: int, reverse: bool, what: str, init: str
) -> tfc.hlo.Module:
    n = dims[axis]
    size = "x".join(str(n if d == axis else 1) for d in range(len(dims)))
    edge = f"0_{n - 1}" if reverse else f"{n - 1}_0"
    pad = "x".join(edge if d == axis else "0_0" for d in range(len(dims)))
    array = f"{element}[{','.join(map(str, dims))}]"
    return parse(
        f"""HloModule m
    f {{ a = {element}[] parameter(0)
        b = {element}[] parameter(1)
        ROOT c = {element}[] {what}(a, b) }}
    ENTRY e {{
      x = {array} parameter(0)
      i = {element}[] constant({init})
      ROOT y = {array} reduce-window(x, i), window={{size={size} pad={pad}}}, to_apply=f
    }}"""
    )


def stepwise(
    element: str, dims: Sequence[int], axis: int, reverse: bool, what: str
) -> tfc.hlo.Module:
    """What each step adds to a running value, and the last value."""
    array = f"{element}[{','.join(map(str, dims))}]"
    inside = f"{element}[{','.join(str(n) for d, n in enumerate(dims) if d != axis)}]"
    return parse(
        f"""HloModule m
    s {{ x = {inside} parameter(0)
        c = {inside} parameter(1)
        n = {inside} add(x, x)
        m = {inside} {what}(c, n)
        d = {inside} subtract(m, c)
        ROOT t = ({inside}, {inside}) tuple(d, m) }}
    ENTRY e {{
      x = {array} parameter(0)
      i = {inside} parameter(1)
      ROOT y = ({array}, {inside}) scan(x, i), dimensions={{{axis}}}, num_carries=1,
        is_reverse={str(reverse).lower()}, is_associative=false, to_apply=s
    }}"""
    )


# Several rows in a warp; a warp each; a block each; in pieces; a thread each; columns in pieces.
PLACES = [((3, 9), 1), ((3, 150), 1), ((2, 1100), 1), ((1, 9000), 1), ((3, 40), 0), ((300, 2), 0)]


@pytest.mark.parametrize(("dims", "axis"), PLACES)
@pytest.mark.parametrize("reverse", [False, True], ids=["onwards", "in reverse"])
def test_running_totals_are_those_of_the_evaluator(dims: Sequence[int], axis: int, reverse: bool):
    module = cumulative("s32", dims, axis, reverse, "add", "3")
    x = random.integers(-9, 9, dims).astype(np.int32)
    (got,) = tfc.compile(module, backend="gpu")(x)
    np.testing.assert_array_equal(np.asarray(got), evaluate(module, x))
    module = stepwise("f32", dims, axis, reverse, "maximum")
    x = random.integers(-99, 99, dims).astype(np.float32)
    start = random.integers(-99, 99, [n for d, n in enumerate(dims) if d != axis])
    start = start.astype(np.float32)
    for got, expected in zip(
        tfc.compile(module, backend="gpu")(x, start), evaluate(module, x, start)
    ):
        np.testing.assert_array_equal(np.asarray(got), expected)


TYPES = [
    ("bf16", "maximum", "-inf"), ("f16", "add", "0"), ("f64", "add", "0"), ("c64", "add", "(0,0)"),
    ("pred", "or", "false"), ("u8", "add", "0"), ("s64", "multiply", "1"), ("u32", "xor", "5"),
]  # fmt: skip


@pytest.mark.parametrize(("element", "what", "init"), TYPES)
def test_totals_of_all_types_go_from_lane_to_lane(element: str, what: str, init: str):
    for dims, axis in [((2, 1100), 1), ((130, 2), 0)]:
        module = cumulative(element, dims, axis, False, what, init)
        x = random.integers(0, 2, dims).astype(ELEMENT_TYPES[element].dtype)
        (got,) = tfc.compile(module, backend="gpu")(x)
        np.testing.assert_array_equal(np.asarray(got), evaluate(module, x))


def test_a_scan_of_float_sums_keeps_the_order_of_its_steps(device: Any):
    module = stepwise("f32", (2, 200), 1, False, "add")
    x, start = (random.standard_normal(s).astype(np.float32) for s in ((2, 200), 2))
    got = tfc.compile(module, backend="gpu")(x, start)
    for found, expected in zip(got, evaluate(module, x, start)):
        np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize(("rows", "length", "launches"), [(64, 256, 1), (1, 16384, 3)])
def test_rows_read_and_write_each_sector_of_memory_once(
    device: Any, rows: int, length: int, launches: int
):
    executable = tfc.compile(cumulative("f32", (rows, length), 1, False, "add", "0"), backend="gpu")
    x = random.standard_normal((rows, length)).astype(np.float32)
    device.reports.clear()
    first, second = (np.asarray(executable(x)[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, np.cumsum(x.astype(np.float64), 1), atol=1e-4)
    reports = [report for _, report in device.reports][:launches]
    assert len(device.reports) == 2 * launches
    assert all(r.bank_conflicts == 0 for r in reports)
    assert all(r.loads.uncoalesced == r.stores.uncoalesced == 0 for r in reports)
    assert reports[-1].stores.transactions == rows * length // 8
    assert reports[0].loads.transactions < rows * length // 8 * 1.02
    assert complaints(executable.as_text("ptx"), "sm_90a", ["-warn-spills", "-Werror"]) == ""


def test_a_combination_of_many_operations_goes_along_rows(device: Any):
    x = random.standard_normal((2, 1100)).astype(np.float32)
    both = parse(
        """HloModule m
    f { a = f32[] parameter(0)
        b = f32[] parameter(1)
        c = f32[] parameter(2)
        d = f32[] parameter(3)
        p = f32[] multiply(a, c)
        q = f32[] multiply(b, c)
        r = f32[] add(q, d)
        s = f32[] maximum(p, p)
        ROOT t = (f32[], f32[]) tuple(s, r) }
    ENTRY e {
      x = f32[2,1100] parameter(0)
      y = f32[2,1100] parameter(1)
      i = f32[] constant(1)
      j = f32[] constant(0)
      ROOT z = (f32[2,1100], f32[2,1100]) reduce-window(x, y, i, j),
        window={size=1x1100 pad=0_0x1099_0}, to_apply=f
    }"""
    )
    x, y = np.clip(x, -0.9, 0.9), x
    executable = tfc.compile(both, backend="gpu")
    for got, expected in zip(executable(x, y), evaluate(both, x, y)):
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-4, atol=1e-5)
    assert complaints(executable.as_text("ptx"), "sm_80", ["-warn-spills", "-Werror"]) == ""


def test_running_maxima_know_nan():
    x = random.standard_normal((2, 70)).astype(np.float32)
    x[1, 40] = np.nan
    got = np.asarray(tfc.jit(lambda x: tfc.nn.cummax(x, axis=1), backend="gpu")(x))
    np.testing.assert_array_equal(got, np.maximum.accumulate(x, axis=1))
