"""Depthwise convolutions on the GPU, whose threads have strips of results, and the evaluator."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.nn
import tfc.numpy as tnp
from tfc.backends.gpu.convolutions import depthwise
from tfc.backends.gpu.driver import Driver
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(31)
BF16 = ml_dtypes.bfloat16


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Driver]:
    """What programs for GPUs run on."""
    with device_for_tests() as driver:
        yield driver


@pytest.fixture(autouse=True)
def few_threads_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strips are as long as they are for large arrays."""
    monkeypatch.setattr(depthwise, "_LEAST_THREADS", 1)


def whole(*dims: int, dtype: Any = np.float32) -> np.ndarray:
    """Numbers whose products and sums are exact."""
    return random.integers(-3, 4, dims).astype(dtype)


def convolve(x: Any, k: Any, strides: Any = 1, padding: Any = "SAME", dilation: Any = 1) -> Any:
    """A depthwise convolution of one to three dimensions whose features are neighbours."""
    places = "DHW"[5 - np.ndim(x) :]
    return tfc.nn.conv(
        x, k, strides, padding, rhs_dilation=dilation, data_format=f"N{places}C",
        kernel_format=f"{places}IO", feature_group_count=x.shape[-1],
    )  # fmt: skip


def check(function: Any, *arguments: Any) -> None:
    """A function computes on the GPU what the evaluator does."""
    got = np.asarray(tfc.device_get(tfc.jit(function, backend="gpu")(*arguments)))
    wanted = np.asarray(tfc.jit(function, backend="interpreter")(*arguments))
    np.testing.assert_array_equal(got.astype(np.float64), wanted.astype(np.float64))


def test_a_strip_reads_what_its_windows_share_once(device: Any):
    """Of a line of 14, two strips of seven and half as many pairs of features: each reads 9 pairs
    of each of three lines, and nine of the kernel."""
    x, k = whole(1, 16, 16, 64), whole(3, 3, 1, 64)
    device.reports.clear()
    check(lambda x, k: convolve(x, k, padding="VALID"), x, k)
    ((_, report),) = device.reports
    threads = 14 * 2 * 32
    assert report.loads.accesses == threads * (3 * 9 + 9)
    assert report.loads.uncoalesced == report.stores.uncoalesced == 0
    assert report.stores.accesses == threads * 7
    assert report.instructions["fma"] <= threads * 7 * 9 * 2


@pytest.mark.parametrize(
    ("array", "kernel", "how", "dtype"),
    [
        ((2, 9, 10, 6), (3, 3), (), BF16),
        ((1, 12, 11, 5), (2, 4), ((1, 2), "SAME"), np.float32),
        ((2, 30, 8), (4,), (1, [(3, 0)]), np.float16),
        ((1, 4, 5, 9, 2), (2, 1, 3), (1, [(1, 0), (-1, 0), (2, -1)], (1, 1, 2)), np.float64),
    ],
)
def test_windows_of_one_to_three_dimensions(array: Any, kernel: Any, how: Any, dtype: Any):
    x, k = whole(*array, dtype=dtype), whole(*kernel, 1, array[-1], dtype=dtype)
    check(lambda x, k: convolve(x, k, *how), x, k)


def test_padding_takes_no_part_where_the_kernel_is_infinite():
    x, k = whole(1, 8, 9, 4), whole(3, 3, 1, 4)
    k[0, :, 0, 1], k[1, 2, 0, 2], k[2, 0, 0, 3] = np.inf, np.nan, -np.inf
    check(convolve, x, k)
    assert np.isfinite(tfc.jit(convolve, backend="interpreter")(x, k)).any((0, 1, 2)).all()


def test_what_is_around_it_is_part_of_the_kernel(device: Any):
    x, k, scale = whole(2, 8, 8, 32, dtype=BF16), whole(5, 5, 1, 32, dtype=BF16), whole(32)

    def block(x: Any, k: Any, scale: Any) -> Any:
        return (tnp.maximum(convolve(x, k).astype(np.float32) * scale, 0)).astype(BF16) + x

    device.reports.clear()
    check(block, x, k, scale)
    assert len(device.reports) == 1


def test_gradients_of_arrays_are_depthwise_too(device: Any):
    x, k = whole(1, 12, 14, 8), whole(3, 3, 1, 8)
    device.reports.clear()
    check(lambda g, k: tfc.vjp(lambda x: convolve(x, k), x)[1](g)[0], x, k)
    *_, (_, report) = device.reports
    # Less than one read for each product: what windows share is read once.
    assert report.loads.accesses < report.instructions["fma"] / 2


@pytest.mark.slow
@pytest.mark.parametrize("number", range(16))
def test_depthwise_convolutions_with_any_window(number: int):
    rng = np.random.default_rng(number)
    rank = int(rng.integers(1, 4))
    taps, dilation, strides = (
        tuple(int(n) for n in rng.integers(1, most, rank)) for most in (6, 4, 4)
    )
    padding = [(int(low), int(high)) for low, high in rng.integers(-2, 5, (rank, 2))]
    spans = [(t - 1) * d + 1 for t, d in zip(taps, dilation)]
    sizes = [max(1, span - sum(p)) + int(rng.integers(2, 9)) for span, p in zip(spans, padding)]
    features = int(rng.choice([2, 3, 8, 10]))
    dtype = (np.float32, BF16, np.float16, np.float64)[rng.integers(4)]
    x, k = whole(2, *sizes, features, dtype=dtype), whole(*taps, 1, features, dtype=dtype)
    check(lambda x, k: convolve(x, k, strides, padding, dilation), x, k)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_of_networks_need_no_memory_for_registers(architecture: str):
    for dtype in (np.float32, BF16):
        for size in (3, 5, 7, 31):
            x, k = np.zeros((8, 56, 56, 96), dtype), np.zeros((size, size, 1, 96), dtype)
            text = tfc.jit(convolve, backend="gpu").lower(x, k).compile().as_text("ptx")
            assert complaints(text, architecture, ["-warn-spills", "-Werror"]) == ""
