"""Convolutions by warpgroups on GPUs of sm_90a, whose tiles are copies of pixels, against the
evaluator."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.nn
import tfc.numpy as tnp
from tfc.backends.gpu.convolutions import kernels
from tfc.backends.gpu.products import tiles
from tfc.testing.ptx import Report
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver

random = np.random.default_rng(29)
BF16 = ml_dtypes.bfloat16


@pytest.fixture(autouse=True)
def device(with_warpgroups: InterpretedDriver) -> InterpretedDriver:
    """What all programs run on."""
    return with_warpgroups


def whole(*dims: int, dtype: Any = BF16) -> np.ndarray:
    """Numbers whose products and sums are exact."""
    return random.integers(-3, 4, dims).astype(dtype)


def convolve(
    x: Any, k: Any, strides: Any = 1, padding: Any = "SAME", dilation: Any = 1, groups: int = 1
) -> Any:
    """A convolution of one to three dimensions whose features are neighbours."""
    places = "DHW"[5 - np.ndim(x) :]
    return tfc.nn.conv(
        x, k, strides, padding, rhs_dilation=dilation, data_format=f"N{places}C",
        kernel_format=f"{places}IO", feature_group_count=groups, preferred_element_type=np.float32,
    )  # fmt: skip


def kernel_gradient(x: Any, k: Any, g: Any, *how: Any) -> Any:
    """The gradient of the kernel where that of the results is g, as networks have it: in bf16."""

    def loss(k: Any) -> Any:
        return tnp.sum(convolve(x, k, *how) * g.astype(np.float32))

    return tfc.grad(loss)(k)


def check(device: InterpretedDriver, function: Any, *arguments: Any) -> list[Report]:
    """A function computes by warpgroups what the evaluator does; what its launches did."""
    got = np.asarray(tfc.device_get(tfc.jit(function, backend="gpu")(*arguments)))
    wanted = np.asarray(tfc.jit(function, backend="interpreter")(*arguments))
    np.testing.assert_array_equal(got.astype(np.float64), wanted.astype(np.float64))
    reports = [report for _, report in device.reports]
    assert all(report.bank_conflicts == 0 for report in reports)
    assert not any("mma" in report.instructions for report in reports)
    assert any(report.products for report in reports)
    return reports


# Arrays and kernels; strides, padding, dilation of the kernel; groups.
CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...], int]] = [
    ((2, 9, 7, 64), (3, 3, 64, 64), (), 1),
    ((3, 9, 9, 40), (3, 2, 40, 136), ((2, 1), "SAME"), 1),
    ((1, 300, 32), (5, 32, 72), (3, [(3, 2)], 2), 1),
    ((2, 4, 5, 4, 64), (2, 3, 2, 64, 64), (1, "SAME", (1, 1, 2)), 1),
    ((4, 8, 8, 128), (3, 3, 64, 128), ((1, 2), "VALID"), 2),
]


@pytest.mark.parametrize(("array", "kernel", "how", "groups"), CONVOLUTIONS)
def test_convolutions_of_one_to_three_dimensions(
    array: Any, kernel: Any, how: Any, groups: int, device: InterpretedDriver
):
    def function(x: Any, k: Any) -> Any:
        return convolve(x, k, *how, groups=groups)

    (report,) = check(device, function, whole(*array), whole(*kernel))
    assert report.bulk_stores.transactions == report.bulk_stores.ideal


# The same of f32, whose array has 1024 places or more.
OF_TF32: list[tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...], int]] = [
    ((2, 32, 20, 64), (3, 3, 64, 72), (), 1),
    ((3, 37, 20, 40), (3, 2, 40, 136), ((2, 1), "SAME"), 1),
    ((2, 600, 64), (3, 32, 128), (1, [(2, 0)], 2), 2),
]


@pytest.mark.parametrize(("array", "kernel", "how", "groups"), OF_TF32)
def test_convolutions_of_f32_where_tf32_is_permitted(
    array: Any,
    kernel: Any,
    how: Any,
    groups: int,
    device: InterpretedDriver,
    monkeypatch: pytest.MonkeyPatch,
):
    """The kernel is copied, with features of the array side by side."""
    monkeypatch.setattr(kernels, "_LEAST_PRODUCTS", 1)

    def function(x: Any, k: Any) -> Any:
        return convolve(x, k, *how, groups=groups)

    x, k = whole(*array, dtype=np.float32), whole(*kernel, dtype=np.float32)
    with tfc.default_matmul_precision("tensorfloat32"):
        copied, product = check(device, function, x, k)
    assert copied.loads.bytes == copied.stores.bytes == k.nbytes
    assert {name[-2:] for name in product.products} == {"k8"}
    assert product.bulk_stores.transactions == product.bulk_stores.ideal


def test_gradients_of_images_of_f32_where_tf32_is_permitted(device: InterpretedDriver):
    """The kernel lies turned as its gradient's product has it."""
    x, k = whole(2, 32, 20, 64, dtype=np.float32), whole(3, 3, 64, 64, dtype=np.float32)
    with tfc.default_matmul_precision("tensorfloat32"):
        check(device, lambda g, k: tfc.vjp(lambda x: convolve(x, k), x)[1](g)[0], x, k)


@pytest.mark.parametrize("dtype", [BF16, np.float32])
def test_kernels_with_features_of_the_array_side_by_side_are_read_as_they_lie(
    dtype: Any, device: InterpretedDriver
):
    x, k = whole(1, 12, 10, 64, dtype=dtype), whole(3, 1, 80, 64, dtype=dtype)

    def function(x: Any, k: Any) -> Any:
        return convolve(x, k.swapaxes(2, 3))

    with tfc.default_matmul_precision("tensorfloat32"):
        (report,) = check(device, function, x, k)
    assert report.bulk_loads.transactions == report.bulk_loads.ideal


# Arrays and kernels; strides, padding, dilation of the kernel.
GRADIENTS: list[tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]]] = [
    ((3, 7, 6, 64), (3, 3, 64, 64), ()),
    ((2, 11, 10, 128), (3, 2, 128, 72), (2, "SAME")),
    ((3, 90, 192), (3, 192, 64), (2, [(0, -1)], 3)),
]


@pytest.mark.parametrize(("array", "kernel", "how"), GRADIENTS)
def test_gradients_of_kernels(array: Any, kernel: Any, how: Any, device: InterpretedDriver):
    x, k = whole(*array), whole(*kernel)
    g = whole(*np.shape(tfc.jit(lambda x, k: convolve(x, k, *how))(x, k)))
    check(device, lambda x, k, g: kernel_gradient(x, k, g, *how), x, k, g)


def test_pixels_are_brought_once_for_each_place_of_the_kernel(device: InterpretedDriver):
    """And what follows is part of the kernel, of which each result is stored once."""
    x, k, bias = whole(2, 8, 8, 64), whole(3, 3, 64, 128), whole(128)

    def function(x: Any, k: Any, bias: Any) -> Any:
        return tnp.maximum(convolve(x, k).astype(BF16) + bias, 0)

    (report,) = check(device, function, x, k, bias)
    assert report.products == {"m64n128k16": 2 * 9 * (64 // 16)}
    inside = (3 * 8 - 2) ** 2  # places and rows that meet each other, times those of columns
    assert report.bulk_loads.bytes == 2 * inside * 64 * 2 + k.nbytes
    assert report.bulk_loads.transactions == report.bulk_loads.ideal
    assert report.bulk_stores.bytes == 2 * 8 * 8 * 128 * 2
    assert report.stores.bytes == 0


@pytest.mark.parametrize(("multiprocessors", "images", "kernels"), [(1, 3, 3), (4, 4, 2)])
def test_blocks_go_on_to_further_tiles_and_share_kernels(
    multiprocessors: int,
    images: int,
    kernels: int,
    device: InterpretedDriver,
    monkeypatch: pytest.MonkeyPatch,
):
    """One after the other, or two below each other at a time, to which the kernel comes once."""
    monkeypatch.setattr(tiles, "_MULTIPROCESSORS", multiprocessors)
    x, k = whole(images, 8, 15, 64), whole(3, 3, 64, 136)
    (report,) = check(device, convolve, x, k)
    bytes_of_array = report.bulk_loads.bytes - k.nbytes * kernels
    assert bytes_of_array == images * (3 * 8 - 2) * (3 * 15 - 2) * 64 * 2


def infinite(*dims: int) -> np.ndarray:
    """Whole numbers, but for infinities in some places of the kernel, and one NaN."""
    kernel = whole(*dims)
    kernel[-1, -1, :, ::3] = np.inf
    kernel[0, 0, 5, 7] = np.nan
    return kernel


@pytest.mark.parametrize("shares", [False, True])
def test_padding_takes_no_part_where_the_kernel_is_infinite(
    shares: bool, device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    if shares:
        monkeypatch.setattr(tiles, "_SECOND_STEP", 0)
    inputs = 128 if shares else 64
    x, k = whole(2, 6, 6, inputs), infinite(2, 2, inputs, 72)
    reports = check(device, convolve, x, k)
    assert len(reports) == 1 + shares
    got = tfc.jit(convolve, backend="interpreter")(x, k)
    assert np.isnan(got).any()
    assert np.isfinite(got[:, -1, :, ::3]).all()


def test_padding_takes_no_part_in_gradients_of_kernels(device: InterpretedDriver):
    x, k, g = whole(2, 5, 6, 64), whole(3, 1, 64, 64), whole(2, 5, 6, 64)
    g[0, 0, 0, 3] = np.inf
    check(device, kernel_gradient, x, k, g)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_convolutions_and_gradients_with_any_window(number: int, device: InterpretedDriver):
    rng = np.random.default_rng(number)
    rank = int(rng.integers(1, 4))
    most = {1: 40, 2: 9, 3: 5}[rank]
    taps, dilation = (tuple(int(n) for n in rng.integers(1, 4, rank)) for _ in range(2))
    strides = tuple(int(n) for n in rng.integers(1, 3, rank))
    padding = [(int(low), int(high)) for low, high in rng.integers(-1, 3, (rank, 2))]
    spans = [(t - 1) * d + 1 for t, d in zip(taps, dilation)]
    sizes = [span + 2 + int(rng.integers(most)) for span in spans]
    inputs, outputs = int(rng.choice([64, 128])), int(rng.choice([64, 72, 128]))
    counts = [(size + sum(p) - span) // s + 1
              for size, p, span, s in zip(sizes, padding, spans, strides)]  # fmt: skip
    images = -(-64 // int(np.prod(counts)))
    x, k = whole(images, *sizes, inputs, dtype=np.float16), whole(*taps, inputs, outputs)
    k, g = k.astype(np.float16), whole(images, *counts, outputs, dtype=np.float16)
    how = strides, padding, dilation
    check(device, lambda x, k: convolve(x, k, *how), x, k)
    device.reports.clear()
    if np.prod(taps) > 1:
        check(device, lambda x, k, g: kernel_gradient(x, k, g, *how), x, k, g)


@pytest.mark.slow
def test_convolutions_and_gradients_of_networks_need_no_memory_for_registers():
    x, k = np.zeros((32, 28, 28, 256), BF16), np.zeros((3, 3, 256, 256), BF16)

    def both(x: Any, k: Any, g: Any) -> Any:
        return tnp.maximum(convolve(x, k).astype(BF16), 0), kernel_gradient(x, k, g)

    text = tfc.jit(both, backend="gpu").lower(x, k, x).compile().as_text("ptx")
    assert text.count(".im2col") == 3
    assert complaints(text, "sm_90a", ["-warn-spills", "-Werror"]) == ""
