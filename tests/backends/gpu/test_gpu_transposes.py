"""What is read along another dimension than what is stored goes through shared memory."""

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from random_gpu_programs import wrong_programs

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.movement import transposes
from tfc.hlo import parse
from tfc.testing.fuzz import TYPE_SETS
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver, device_for_tests

random = np.random.default_rng(13)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[InterpretedDriver]:
    with device_for_tests() as driver:
        yield driver


def run(device: Any, function: Callable[..., Any], *arguments: np.ndarray) -> tuple[Any, Any]:
    """What a function gives on the GPU, and the report of its one kernel."""
    device.reports.clear()
    jitted = tfc.jit(function, backend="gpu")
    found = tfc.device_get(jitted(*arguments))
    ((_, report),) = device.reports
    assert complaints(jitted.lower(*arguments).compile().as_text("ptx"), "sm_80") == ""
    return found, report


@pytest.mark.parametrize("dtype", [np.int8, ml_dtypes.bfloat16, np.float32, np.float64])
def test_each_sector_is_read_and_written_once_without_bank_conflicts(device: Any, dtype: Any):
    x = random.integers(-5, 5, (96, 160)).astype(dtype)
    found, report = run(device, lambda x: x.T + x.dtype.type(1), x)
    np.testing.assert_array_equal(found.astype(np.float32), x.T.astype(np.float32) + 1)
    assert report.loads.transactions == report.stores.transactions == x.nbytes // 32
    assert report.bank_conflicts == 0


SHAPES = [((3, 64, 32), (0, 2, 1)), ((32, 2, 64), (2, 1, 0)), ((4, 32, 3, 32), (0, 3, 2, 1)),
          ((2, 16, 8, 8), (0, 2, 3, 1)), ((3, 50, 70), (2, 0, 1)), ((45, 77), (1, 0))]  # fmt: skip


@pytest.mark.parametrize(("shape", "order"), SHAPES)
def test_any_two_dimensions_change_places(device: Any, shape: Any, order: Any):
    x = random.standard_normal(shape).astype(np.float32)
    found, report = run(device, lambda x: tnp.transpose(x, order) * 2, x)
    np.testing.assert_array_equal(found, x.transpose(order) * 2)
    assert report.barriers
    if x.size % 1024 == 0:
        assert report.loads.transactions == report.stores.transactions == x.size // 8


def test_what_is_computed_with_a_transpose_reads_the_rest_as_it_lies(device: Any):
    a, b = (random.standard_normal(s).astype(np.float32) for s in ((96, 64), (64, 96)))
    found, report = run(device, lambda a, b: tnp.exp(a.T) * b + 1, a, b)
    np.testing.assert_allclose(found, np.exp(a.T) * b + 1, rtol=1e-5, atol=1e-6)
    assert report.loads.transactions == 2 * a.size // 8


@pytest.mark.parametrize(("matrices", "is_tiled"), [((1 << 31) - 1, True), (1 << 31, False)])
def test_more_small_matrices_than_blocks_are_turned_without_tiles(matrices: int, is_tiled: bool):
    module = parse(f"""HloModule m
    ENTRY e {{ x = u8[{matrices},2,2] parameter(0)
      ROOT y = u8[{matrices},2,2] transpose(x), dimensions={{0,2,1}} }}""")
    program = tfc.compile(module, backend="gpu").program
    (launch,) = program.steps
    assert (launch.blocks[0] == matrices) == is_tiled
    assert launch.blocks[0] < 1 << 31


@pytest.mark.slow
@pytest.mark.parametrize("types", TYPE_SETS, ids="-".join)
def test_random_programs_of_transposes(monkeypatch: pytest.MonkeyPatch, types: Any):
    """Everything that is read across goes through tiles, however small it is."""
    monkeypatch.setattr(transposes, "_LEAST", 2)
    opcodes = ["transpose", "add", "reverse", "slice", "broadcast", "concatenate", "pad"]
    assert wrong_programs(types, opcodes, 15, 6) == []
