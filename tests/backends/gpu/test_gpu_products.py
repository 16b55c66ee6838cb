"""Matrix products on the GPU: tiles in shared memory, against NumPy."""

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.driver import Driver, using
from tfc.backends.gpu.executable import GpuExecutable
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints
from tfc.testing.ptx.driver import InterpretedDriver, device_for_tests

random = np.random.default_rng(11)
BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Driver]:
    """What programs for GPUs run on."""
    with device_for_tests() as driver:
        yield driver


def whole_numbers(dims: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Numbers whose products and sums are exact in each type."""
    low = 0 if np.dtype(dtype).kind == "u" else -3
    return random.integers(low, 4, dims).astype(dtype)


def on_gpu(function: Callable[..., Any], *arguments: Any) -> np.ndarray:
    """What a function gives on the GPU, on the host."""
    return np.asarray(tfc.device_get(tfc.jit(function, backend="gpu")(*arguments)))


def check(kind: str, m: int, n: int, k: int, transposed: tuple[bool, bool], batch: int = 1) -> None:
    """A product of whole numbers is exactly NumPy's."""
    dtype, sums = KINDS[kind]
    a = whole_numbers((batch, k, m) if transposed[0] else (batch, m, k), dtype)
    b = whole_numbers((batch, n, k) if transposed[1] else (batch, k, n), dtype)

    def function(a: Any, b: Any) -> Any:
        left = a.transpose(0, 2, 1) if transposed[0] else a
        right = b.transpose(0, 2, 1) if transposed[1] else b
        return tnp.matmul(left.astype(sums), right.astype(sums))

    exact = np.float64 if np.dtype(sums).kind == "f" else np.int64
    left, right = (x.astype(exact) for x in (a, b))
    left, right = (x.swapaxes(1, 2) if t else x for x, t in zip((left, right), transposed))
    np.testing.assert_array_equal(on_gpu(function, a, b), (left @ right).astype(sums))


KINDS: dict[str, tuple[Any, Any]] = {
    "f16": (np.float16, np.float32), "bf16": (BF16, np.float32), "f32": (np.float32, np.float32),
    "f64": (np.float64, np.float64), "s8": (np.int8, np.int32), "u8": (np.uint8, np.uint32),
    "s32": (np.int32, np.int32), "s64": (np.int64, np.int64), "e4m3": (E4M3, np.float32),
    "e5m2": (E5M2, np.float32), "s16": (np.int16, np.int32),
}  # fmt: skip
TRANSPOSED = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize("transposed", TRANSPOSED)
@pytest.mark.parametrize("kind", ["f16", "f32"])
def test_products_of_odd_sizes_are_exact(kind: str, transposed: tuple[bool, bool]):
    check(kind, 37, 70, 45, transposed)


@pytest.mark.parametrize("kind", ["s8", "f64", "e4m3"])
def test_products_of_other_kinds_are_exact(kind: str):
    check(kind, 17, 40, 48, (False, True))


@pytest.mark.slow
@pytest.mark.parametrize("transposed", TRANSPOSED)
@pytest.mark.parametrize("kind", KINDS)
def test_products_of_all_kinds_sizes_and_transpositions_are_exact(
    kind: str, transposed: tuple[bool, bool]
):
    for m, n, k in ((1, 1, 1), (3, 65, 7), (64, 64, 64), (33, 20, 130), (66, 72, 36), (100, 3, 16)):
        check(kind, m, n, k, transposed)
    check(kind, 20, 18, 24, transposed, batch=3)


def test_bias_activation_and_conversion_are_part_of_the_kernel(device: Any):
    a, b = whole_numbers((40, 32), BF16), whole_numbers((32, 72), BF16)
    bias, residual = whole_numbers((72,), BF16), whole_numbers((40, 72), BF16)

    def function(a: Any, b: Any, bias: Any, residual: Any) -> Any:
        return tnp.maximum(a @ b + bias, 0) + residual

    device.reports.clear()
    got = on_gpu(function, a, b, bias, residual)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    wanted = np.maximum(exact.astype(BF16) + bias, 0) + residual
    np.testing.assert_array_equal(got, wanted)
    ((_, report),) = device.reports
    assert report.instructions["mma"] > 0


def test_what_an_operand_is_computed_from_is_part_of_the_kernel(device: Any):
    a, b = random.standard_normal((20, 48)), random.standard_normal((40, 48))
    a, b = a.astype(np.float32), b.astype(np.float32)
    device.reports.clear()
    got = on_gpu(lambda a, b: tnp.tanh(a) @ (b * 2).T, a, b)
    np.testing.assert_allclose(got, np.tanh(a) @ (b * 2).T, rtol=1e-5, atol=1e-5)
    assert len(device.reports) == 1


def test_a_part_of_an_array_is_multiplied_wherever_it_begins():
    x, y = whole_numbers((4 + 64 * 64,), BF16), whole_numbers((64, 64), BF16)

    def function(x: Any, y: Any) -> Any:
        return tnp.reshape(x[4:], (64, 64)).astype(np.float32) @ y.astype(np.float32)

    wanted = x[4:].reshape(64, 64).astype(np.float32) @ y.astype(np.float32)
    np.testing.assert_array_equal(on_gpu(function, x, y), wanted)
    with using(InterpretedDriver("sm_90a")):
        np.testing.assert_array_equal(on_gpu(function, x, y), wanted)


def test_an_array_of_another_library_is_multiplied_wherever_it_begins():
    x, y = whole_numbers((2 + 8 * 8,), np.float32), whole_numbers((8, 8), np.float32)

    class Library:
        """An array without its first two elements."""

        def __init__(self, array: tfc.DeviceArray):
            self.array = array  # which must live as long

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            about = self.array.__cuda_array_interface__
            address, is_constant = about["data"]
            return about | {"data": (address + 8, is_constant), "shape": (8, 8)}

    function = tfc.jit(lambda x, y: x @ y, backend="gpu")
    got = np.asarray(function(Library(tfc.device_put(x)), y))
    np.testing.assert_array_equal(got, x[2:].reshape(8, 8) @ y)


def test_a_result_that_is_transposed_is_stored_in_its_own_order(device: Any):
    a, b = whole_numbers((64, 32), np.float32), whole_numbers((32, 64), np.float32)
    device.reports.clear()
    np.testing.assert_array_equal(on_gpu(lambda a, b: (a @ b).T, a, b), (a @ b).T)
    ((_, report),) = device.reports
    assert report.stores.uncoalesced == 0
    assert report.bank_conflicts == 0


@pytest.mark.parametrize(("kind", "depth"), [("f16", 16), ("s8", 32), ("f64", 4), ("f32", 0)])
def test_memory_is_read_in_whole_sectors_and_each_product_is_done_once(
    kind: str, depth: int, device: Any
):
    dtype, sums = KINDS[kind]
    a, b = whole_numbers((64, 128), dtype), whole_numbers((128, 128), dtype)
    device.reports.clear()
    on_gpu(lambda a, b: tnp.matmul(a.astype(sums), b.T.astype(sums)), a, b)
    ((_, report),) = device.reports
    assert report.bank_conflicts == 0
    assert report.loads.uncoalesced == report.stores.uncoalesced == 0
    rows = 8 if kind == "f64" else 16
    wanted = 32 * (64 // rows) * (128 // 8) * (128 // depth) if depth else 0
    assert report.instructions["mma"] == wanted


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_of_products_need_no_memory_for_registers(architecture: str):
    a, b = np.zeros((512, 512), BF16), np.zeros((512, 512), BF16)
    compiled = tfc.jit(lambda a, b: a @ b, backend="gpu").lower(a, b).compile()
    assert isinstance(compiled.executable, GpuExecutable)
    ptx = compiled.executable.code(architecture)
    assert complaints(ptx, architecture, ["-warn-spills", "-Werror"]) == ""
