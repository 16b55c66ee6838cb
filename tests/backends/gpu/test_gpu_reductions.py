"""Reductions by teams of threads: their values, and what they ask of memory."""

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from random_gpu_programs import wrong_programs

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.rows import reductions
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.fuzz import TYPE_SETS
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver, device_for_tests

random = np.random.default_rng(11)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[InterpretedDriver]:
    with device_for_tests() as driver:
        yield driver


def reduced(shape: Sequence[int], dims: Sequence[int], element: str, what: str) -> tfc.hlo.Module:
    kept = [n for d, n in enumerate(shape) if d not in dims]
    start = {"add": 0, "maximum": "-inf"}[what]
    return parse(
        f"""HloModule m
    f {{ a = {element}[] parameter(0)
        b = {element}[] parameter(1)
        ROOT c = {element}[] {what}(a, b) }}
    ENTRY e {{
      x = {element}{list(shape)} parameter(0)
      i = {element}[] constant({start})
      ROOT y = {element}{kept} reduce(x, i), dimensions={{{",".join(map(str, dims))}}}, to_apply=f
    }}""".replace(" ]", "]")
        .replace(", ", ",")
        .replace(",to_apply", ", to_apply")
    )


CASES = [
    ((64, 512), (1,), 2048 * 2, 64), ((64, 512), (0,), 4096, 64), ((3, 5000), (1,), 1875, 3),
    ((300, 4), (1,), 150, 38), ((20, 30, 40), (1,), 3000, 100), ((33, 100, 3), (0, 1), None, 1),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "dims", "read", "written"), CASES)
def test_sums_read_each_sector_of_memory_once(
    device: Any, shape: Sequence[int], dims: Sequence[int], read: int | None, written: int
):
    module = reduced(shape, dims, "f32", "add")
    x = random.standard_normal(shape).astype(np.float32)
    device.reports.clear()
    executable = tfc.compile(module, backend="gpu")
    (result,) = executable(x)
    np.testing.assert_allclose(np.asarray(result), x.sum(tuple(dims)), rtol=1e-5, atol=1e-4)
    (name, report), *second = device.reports
    assert report.bank_conflicts == 0
    assert report.loads.transactions == report.loads.ideal
    assert read in (None, report.loads.transactions)
    if not second:
        assert report.stores.transactions == written
    assert complaints(executable.as_text("ptx"), "sm_90a") == "", name


@pytest.mark.parametrize(("name", "size"), [("f32", 16), ("f16", 16), ("bf16", 16), ("s8", 8)])
def test_rows_are_read_in_pieces_of_so_many_bytes(device: Any, name: str, size: int):
    x = random.integers(-9, 9, (16, 2048)).astype(ELEMENT_TYPES[name].dtype)
    module = reduced(x.shape, (1,), name, "add")
    device.reports.clear()
    (found,) = tfc.device_get(tfc.compile(module, backend="gpu")(x))
    # Whole numbers: the sum of f32 is exact, and rounded once; that of s8 wraps.
    np.testing.assert_array_equal(found, x.astype(np.int32).sum(1).astype(x.dtype))
    ((_, report),) = device.reports
    assert report.loads.bytes == x.nbytes
    assert report.loads.accesses * size == x.nbytes
    assert report.loads.transactions == report.loads.ideal


@pytest.mark.parametrize("size", [40000, 131072 + 77])
def test_one_sum_of_many_numbers_takes_two_launches(device: Any, size: int):
    x = random.standard_normal(size).astype(np.float32)
    device.reports.clear()
    (result,) = tfc.compile(reduced((size,), (0,), "f32", "add"), backend="gpu")(x)
    np.testing.assert_allclose(np.asarray(result), x.astype(np.float64).sum(), atol=1e-3)
    assert len(device.reports) == 2
    assert device.reports[0][1].loads.transactions == -(-size // 8)


@pytest.mark.parametrize("element", ["bf16", "f16", "f64", "s8", "u64", "pred", "c64"])
@pytest.mark.parametrize(("shape", "dims"), [((5, 700), (1,)), ((70, 33), (0,))])
def test_all_types_go_from_lane_to_lane(element: str, shape: Sequence[int], dims: Sequence[int]):
    text = str(reduced(shape, dims, element, "add"))
    module = parse(text.replace("add(", "or(") if element == "pred" else text)
    kind = ELEMENT_TYPES[element]
    values = random.integers(0, 2, shape) if element == "pred" else random.integers(0, 7, shape)
    x = values.astype(kind.dtype)
    (result,) = tfc.compile(module, backend="gpu")(x)
    np.testing.assert_array_equal(np.asarray(result), evaluate(module, x))


def test_maxima_know_nan_and_zeros(device: Any):
    x = random.standard_normal((8, 1000)).astype(ml_dtypes.bfloat16)
    x[1, 700], x[2] = np.nan, -0.0
    x[2, 999] = 0.0
    module = reduced(x.shape, (1,), "bf16", "maximum")
    (result,) = tfc.compile(module, backend="gpu")(x)
    got, expected = (np.asarray(v).astype(np.float32) for v in (result, evaluate(module, x)))
    np.testing.assert_array_equal(got, expected)
    assert not np.signbit(got[2])


def test_places_of_maxima_and_several_results_come_from_one_pass(device: Any):
    x = random.integers(-50, 50, (40, 300)).astype(np.float32)

    def function(x: Any) -> Any:
        return tnp.argmax(x, 1), tnp.max(x, 1), tnp.sum(x * x, 1)

    found = tfc.device_get(tfc.jit(function, backend="gpu")(x))
    for got, expected in zip(found, (x.argmax(1), x.max(1), (x * x).sum(1))):
        np.testing.assert_array_equal(got, expected)


def test_several_results_of_a_long_row_are_made_by_several_blocks(device: Any):
    x = random.integers(-50, 50, (2, 40_000)).astype(np.float32)
    executable = tfc.jit(lambda x: (tnp.sum(x, 1), tnp.max(x, 1)), backend="gpu").lower(x).compile()
    device.reports.clear()
    found = tfc.device_get(executable(x))
    np.testing.assert_array_equal(found[0], x.sum(1))
    np.testing.assert_array_equal(found[1], x.max(1))
    ((_, pieces), _) = device.reports
    assert pieces.stores.bytes > 2 * found[0].nbytes  # totals of pieces


@pytest.mark.slow
@pytest.mark.parametrize("few", [False, True], ids=["one step", "in pieces"])
@pytest.mark.parametrize("types", TYPE_SETS, ids="-".join)
def test_random_programs_of_reductions(
    monkeypatch: pytest.MonkeyPatch, types: Sequence[str], few: bool
):
    """Everything that is a reduction goes to teams, however small it is."""
    monkeypatch.setattr(reductions, "_LEAST", 2)
    if few:
        for name in ("_PIECE", "_TURNS", "_ALIGNED"):
            monkeypatch.setattr(reductions, name, 2 if name == "_PIECE" else 1)
    assert wrong_programs(types, ["reduce", "add"], 12, 6) == []
