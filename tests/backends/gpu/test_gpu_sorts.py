"""Sorts: their values, and what they ask of memory."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tfc
from tfc.backends.gpu.sorting import digits, keyed_tiles, networks
from tfc.backends.mlir.kernels import kernel_of
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(17)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


def sort(
    elements: Sequence[str], dims: Sequence[int], axis: int, key: int = 0, by: str = "value"
) -> tfc.hlo.Module:
    """A sort by one of its operands, compared in some way."""
    size = ",".join(map(str, dims))
    sides = "\n".join(
        f"p{2 * n + side} = {e}[] parameter({2 * n + side})"
        for n, e in enumerate(elements)
        for side in (0, 1)
    )
    arrays = "\n".join(f"a{n} = {e}[{size}] parameter({n})" for n, e in enumerate(elements))
    result = ", ".join(f"{e}[{size}]" for e in elements)
    left, right, kind = f"p{2 * key}", f"p{2 * key + 1}", elements[key]
    compared = {
        "value": f"ROOT c = pred[] compare({left}, {right}), direction=LT",
        "difference": f"""d = {kind}[] subtract({left}, {right})
        z = {kind}[] constant(0)
        ROOT c = pred[] compare(d, z), direction=LT""",
        "contradiction": f"ROOT c = pred[] compare({left}, {right}), direction=NE",
        "circle": f"""d = {kind}[] subtract({right}, {left})
        t = {kind}[] constant(3)
        e = {kind}[] add(d, t)
        r = {kind}[] remainder(e, t)
        o = {kind}[] constant(1)
        ROOT c = pred[] compare(r, o), direction=EQ""",  # 0 < 1 < 2 < 0
    }[by]
    return parse(
        f"""HloModule m
    f {{ {sides}
        {compared} }}
    ENTRY e {{
      {arrays}
      ROOT y = {f"({result})" if len(elements) > 1 else result} sort(
        {", ".join(f"a{n}" for n in range(len(elements)))}), dimensions={{{axis}}},
        is_stable=true, to_apply=f
    }}"""
    )


def drawn(elements: Sequence[str], dims: Sequence[int]) -> list[np.ndarray]:
    return [random.integers(0, 50, dims).astype(ELEMENT_TYPES[e].dtype) for e in elements]


def check(module: tfc.hlo.Module, arrays: Sequence[np.ndarray]) -> Any:
    executable = tfc.compile(module, backend="gpu")
    expected = evaluate(module, *arrays)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for got, wanted in zip(executable(*arrays), expected):
        np.testing.assert_array_equal(np.asarray(got), wanted)
    return executable


# Rows whose elements are one word with their number, two words, two parts, or the key alone; as
# wide as a thread, a few lanes, a warp and a block, and of odd lengths.
KEYED = [
    (["bf16"], (70, 3), 1, 0), (["f16", "pred"], (20, 50), 1, 0), (["u8", "f32"], (2, 700), 1, 0),
    (["f32"], (5, 17), 1, 0), (["f32", "s8", "f64"], (3, 128), 1, 0),
    (["c64", "s32"], (700, 2), 0, 1), (["f64"], (9, 33), 1, 0),
    pytest.param(["s64", "u16"], (2, 1100), 1, 0, marks=pytest.mark.slow),
    (["s16"], (3, 4), 0, 0),
    (["s32"], (3, 50), 1, 0), (["u64"], (1, 2049), 1, 0), (["s8"], (40, 31), 1, 0),
    (["pred", "bf16"], (90, 2), 0, 1), (["u32"], (6, 2), 1, 0),
]  # fmt: skip


@pytest.mark.parametrize(("elements", "dims", "axis", "key"), KEYED)
def test_rows_by_keys_that_fit_a_block_are_sorted_stably_in_one_launch(
    device: Any, elements: Sequence[str], dims: Sequence[int], axis: int, key: int
):
    device.reports.clear()
    executable = check(sort(elements, dims, axis, key), drawn(elements, dims))
    ((_, report),) = device.reports
    assert report.atomics == 0
    assert complaints(executable.as_text("ptx"), "sm_80", ["-warn-spills", "-Werror"]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("length", [2, 16, 64, 200, 512, 513, 1024, 3000, 4096])
@pytest.mark.parametrize("elements", [["f16"], ["f32"], ["f64"], ["s32"], ["s64"], ["s32", "u8"]])
def test_rows_by_keys_of_every_width_are_sorted_stably(elements: Sequence[str], length: int):
    check(sort(elements, (3, length), 1), drawn(elements, (3, length)))


def test_descending_keys_of_one_integer_are_sorted():
    x = random.integers(-100, 100, (3, 70)).astype(np.int32)
    module = sort(["s32"], (3, 70), 1)
    down = parse(str(module).replace("direction=LT", "direction=GT"))
    np.testing.assert_array_equal(np.asarray(check(down, [x])(x)[0]), -np.sort(-x, 1))


def test_keys_know_nan_zeros_and_the_order_of_equals():
    x = random.choice(np.array([np.nan, -np.inf, -0.0, 0.0, 1.5, -2], np.float32), (2, 300))
    got = np.asarray(tfc.jit(lambda x: tfc.numpy.argsort(x, stable=True), backend="gpu")(x))
    np.testing.assert_array_equal(got, np.argsort(x, kind="stable"))


def test_integers_alone_are_sorted_without_conflicts_nor_numbers(device: Any):
    device.reports.clear()
    check(sort(["s32"], (2, 1024), 1), drawn(["s32"], (2, 1024)))
    ((_, report),) = device.reports
    assert report.bank_conflicts == 0
    assert report.total < 2 * 1024 * 160  # 113 instructions of 55 comparisons, and the rest


@pytest.mark.parametrize(("elements", "dims"), [(["f32"], (4, 512)), (["f32"], (64, 8)),
                                                (["s32", "f16"], (1, 2048))])  # fmt: skip
def test_a_row_of_neighbours_is_read_and_written_once(
    device: Any, elements: Sequence[str], dims: Sequence[int]
):
    device.reports.clear()
    check(sort(elements, dims, 1), drawn(elements, dims))
    ((_, report),) = device.reports
    size = sum(ELEMENT_TYPES[e].bytes for e in elements) * dims[0] * dims[1]
    assert report.loads.transactions == report.stores.transactions == size // 32


ROWS = [
    (["s32"], (3, 50), 1, 0), (["f32", "s8"], (1, 300), 1, 0), (["f64", "u8"], (8, 7), 0, 0),
    (["c64", "u16"], (2, 130), 1, 1), (["pred", "bf16"], (90, 2), 0, 1),
    (["s64", "s64"], (1, 200), 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("elements", "dims", "axis", "key"), ROWS)
def test_rows_by_any_comparator_that_fit_a_block_are_sorted_stably_in_one_launch(
    device: Any, elements: Sequence[str], dims: Sequence[int], axis: int, key: int
):
    device.reports.clear()
    executable = check(sort(elements, dims, axis, key, "difference"), drawn(elements, dims))
    ((_, report),) = device.reports
    assert report.bank_conflicts == 0
    assert complaints(executable.as_text("ptx"), "sm_80", ["-warn-spills", "-Werror"]) == ""


@pytest.mark.parametrize("length", [65, 129, 300, 512])
def test_rows_of_several_tiles_are_merged_in_two_launches_for_each_doubling(
    device: Any, monkeypatch: pytest.MonkeyPatch, length: int
):
    monkeypatch.setattr(networks, "_MOST", 64)
    elements, dims = ["s32", "u8"], (2, length)
    device.reports.clear()
    executable = check(sort(elements, dims, 1, by="difference"), drawn(elements, dims))
    assert len(device.reports) == {65: 3, 129: 5, 300: 7, 512: 7}[length]
    assert all(report.bank_conflicts == 0 for _, report in device.reports)
    assert complaints(executable.as_text("ptx"), "sm_80", ["-warn-spills", "-Werror"]) == ""


MERGED = [(["f64", "pred"], (300, 2), 0, 0), (["c64", "bf16", "f16"], (2, 200), 1, 2),
          (["s64"], (1, 400), 1, 0)]  # fmt: skip


@pytest.mark.parametrize(("elements", "dims", "axis", "key"), MERGED)
def test_elements_of_all_types_are_merged_stably(
    monkeypatch: pytest.MonkeyPatch,
    elements: Sequence[str],
    dims: Sequence[int],
    axis: int,
    key: int,
):
    monkeypatch.setattr(networks, "_MOST", 64)
    check(sort(elements, dims, axis, key, "difference"), drawn(elements, dims))


def test_merging_reads_and_writes_each_element_once_a_level(
    device: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(networks, "_MOST", 256)
    device.reports.clear()
    check(sort(["f32"], (1, 2048), 1, by="difference"), drawn(["f32"], (1, 2048)))
    for _, report in device.reports[2::2]:
        # Parts begin within sectors, and each tile reads where it begins.
        assert report.loads.transactions <= 2048 // 8 + 8 * (2 * 256 // 32 + 4 * 8)
        assert report.stores.transactions == 2048 // 8


@pytest.mark.parametrize("by", ["contradiction", "circle"])
def test_a_comparator_that_contradicts_itself_loses_no_element(
    monkeypatch: pytest.MonkeyPatch, by: str
):
    monkeypatch.setattr(networks, "_MOST", 64)
    executable = tfc.compile(sort(["s32"], (1, 777), 1, by=by), backend="gpu")
    for _ in range(3):
        x = random.integers(0, 3, (1, 777)).astype(np.int32)
        (got,) = executable(x)
        np.testing.assert_array_equal(np.sort(np.asarray(got)), np.sort(x))


LONG = [
    (["s32"], (2, 300), 1, 0), (["u8"], (1, 300), 1, 0), (["u16", "f64"], (1, 400), 1, 0),
    (["c64", "s16", "u8"], (300, 2), 0, 1), (["pred", "bf16"], (2, 300), 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("elements", "dims", "axis", "key"), LONG)
def test_long_rows_are_sorted_by_digits_of_their_keys(
    device: Any,
    monkeypatch: pytest.MonkeyPatch,
    elements: Sequence[str],
    dims: Sequence[int],
    axis: int,
    key: int,
):
    monkeypatch.setattr(networks, "_MOST", 64)
    monkeypatch.setattr(keyed_tiles, "_MOST", 64)
    monkeypatch.setattr(digits, "_ITEMS", ((1 << 30, 1),))
    device.reports.clear()
    executable = check(sort(elements, dims, axis, key), drawn(elements, dims))
    passes = max(ELEMENT_TYPES[elements[key]].bits, 8) // 8
    assert len(device.reports) == 3 * passes
    assert all(report.atomics == 0 for _, report in device.reports)
    assert complaints(executable.as_text("ptx"), "sm_80", ["-warn-spills", "-Werror"]) == ""


def test_digits_know_nan_zeros_and_the_order_of_equals(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(networks, "_MOST", 64)
    monkeypatch.setattr(keyed_tiles, "_MOST", 64)
    monkeypatch.setattr(digits, "_ITEMS", ((1 << 30, 1),))
    x = random.choice(np.array([np.nan, -np.inf, -0.0, 0.0, 1.5, -2], np.float32), 200)
    got = np.asarray(tfc.jit(lambda x: tfc.numpy.argsort(x, stable=True), backend="gpu")(x))
    np.testing.assert_array_equal(got, np.argsort(x, kind="stable"))


@pytest.mark.slow
@pytest.mark.parametrize(("element", "items"), [("s32", 16), ("f64", 16)])
def test_a_tile_by_digits_reads_and_writes_neighbours_together(
    device: Any, monkeypatch: pytest.MonkeyPatch, element: str, items: int
):
    monkeypatch.setattr(keyed_tiles, "_MOST", 64)
    length = 256 * items
    device.reports.clear()
    executable = check(sort([element], (1, length), 1), drawn([element], (1, length)))
    size = ELEMENT_TYPES[element].bytes
    for number, (_, report) in enumerate(device.reports):
        if number % 3 == 0:
            assert report.loads.transactions == length * size // 32
            assert report.stores.transactions == 256 * 4 // 32
    assert complaints(executable.as_text("ptx"), "sm_90a", ["-warn-spills", "-Werror"]) == ""


@pytest.mark.parametrize(("rows", "takes"), [(1 << 31, True), ((1 << 32) + 5, False)])
def test_rows_whose_numbers_have_more_than_32_bits_are_not_sorted_by_their_keys(
    rows: int, takes: bool
):
    module = sort(["u8"], (rows, 2), 1)
    found = keyed_tiles.keyed_tiles_of(kernel_of(module.entry.root))
    assert (found is not None) == takes
    if not takes:  # addresses are made of a block's number in 64 bits
        text = tfc.compile(module, backend="gpu").as_text("ptx")
        (block,) = re.findall(r"mov\.u32\s+(%r\d+), %ctaid\.x;", text)
        assert set(re.findall(rf"(\S+)\s+%\w+, {block}\b", text)) <= {"mul.wide.u32", "cvt.u64.u32"}
