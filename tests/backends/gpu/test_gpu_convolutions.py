"""Convolutions on the GPU as products of matrices that are nowhere in memory, against the
evaluator."""

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.nn
import tfc.numpy as tnp
from tfc.backends.gpu.driver import Driver
from tfc.backends.gpu.executable import GpuExecutable
from tfc.hlo.attributes.window import Window, WindowDimension, print_window
from tfc.hlo.text.parser import parse
from tfc.testing.fuzz import outcome_of_program
from tfc.testing.generators.values import arguments_for
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(17)
BF16 = ml_dtypes.bfloat16


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Driver]:
    """What programs for GPUs run on."""
    with device_for_tests() as driver:
        yield driver


def random_dimension(rng: np.random.Generator) -> tuple[WindowDimension, int]:
    """A window along one dimension, and the size of the array there."""
    while True:
        d = WindowDimension(
            *(int(rng.integers(low, high)) for low, high in ((1, 4), (1, 4), (-1, 3), (-1, 3))),
            base_dilation=int(rng.choice([1, 1, 2, 3])),
            window_dilation=int(rng.choice([1, 1, 2, 3])),
            reversal=bool(rng.integers(2)),
        )
        size = int(rng.integers(1, 8))
        if d.count(size):
            return d, size


def random_convolution(rng: np.random.Generator, element_type: str) -> str:
    """A module with a convolution of any window, groups and order of dimensions."""
    spatial = int(rng.integers(1, 4))
    dimensions, sizes = zip(*(random_dimension(rng) for _ in range(spatial)))
    groups, batch_groups = ((1, 1), (1, 1), (2, 1), (3, 1), (1, 2))[rng.integers(5)]
    inputs, outputs = int(rng.choice([1, 2, 3, 8, 16])), int(rng.choice([3, 8, 20]))
    batch = int(rng.integers(1, 4)) * batch_groups
    window = Window(dimensions)
    arrays = {
        "bf": {"b": batch, "f": inputs * groups, **{str(n): s for n, s in enumerate(sizes)}},
        "oi": {
            "o": outputs * groups * batch_groups, "i": inputs,
            **{str(n): d.size for n, d in enumerate(dimensions)},
        },
        "out": {
            "b": batch // batch_groups, "f": outputs * groups * batch_groups,
            **{str(n): c for n, c in enumerate(window.counts(sizes))},
        },
    }  # fmt: skip
    labels = ["".join(rng.permutation(list(a))) for a in arrays.values()]
    x, k, y = (
        f"{t}[{','.join(str(a[c]) for c in label)}]"
        for t, a, label in zip(types_of(element_type), arrays.values(), labels)
    )
    counts = f"feature_group_count={groups}, batch_group_count={batch_groups}"
    counts += ", algorithm=dot_tf32_tf32_f32" if element_type == "tf32" else ""
    return f"""HloModule m
ENTRY e {{
  x = {x} parameter(0)
  k = {k} parameter(1)
  ROOT y = {y} convolution(x, k), window={print_window(window)},
    dim_labels={labels[0]}_{labels[1]}->{labels[2]}, {counts}
}}"""


def types_of(element_type: str) -> tuple[str, str, str]:
    """The types of array, kernel and result."""
    stored = "f32" if element_type == "tf32" else element_type
    return stored, stored, {"s8": "s32", "u8": "s32"}.get(stored, stored)


def check(text: str, kind: str) -> None:
    """A program computes what the reference does."""
    module = parse(text)
    outcome = outcome_of_program(module, arguments_for(module, random, kind), "gpu")
    found = outcome.wrong or outcome.refused
    assert not found, f"{found}\n{text}"


@pytest.mark.parametrize(("element_type", "number"), [("f16", 1), ("f32", 2)])
def test_convolutions_with_any_window_and_groups_are_right(element_type: str, number: int):
    check(random_convolution(np.random.default_rng(number), element_type), "whole")


@pytest.mark.slow
@pytest.mark.parametrize(
    "element_type", ["f16", "bf16", "f32", "tf32", "f64", "s8", "s32", "f8e4m3fn"]
)
def test_convolutions_of_all_types_with_any_window_and_groups_are_right(element_type: str):
    rng = np.random.default_rng(sum(map(ord, element_type)))
    for kind in ("whole",) if element_type == "tf32" else ("whole", "normal", "special"):
        for _ in range(12 if element_type == "tf32" else 4):
            check(random_convolution(rng, element_type), kind)


def normal(*dims: int, dtype: Any = BF16) -> np.ndarray:
    """Random numbers."""
    return random.standard_normal(dims).astype(dtype)


def convolve(x: Any, k: Any, strides: int = 1, groups: int = 1) -> Any:
    """A convolution in which features are neighbours, with as many results as it has elements."""
    return tfc.nn.conv(
        x, k, strides, "SAME", data_format="NHWC", kernel_format="HWIO", feature_group_count=groups
    )


def test_memory_is_read_in_whole_sectors_and_what_follows_is_part_of_the_kernel(device: Any):
    x, k = normal(2, 8, 8, 32), normal(3, 3, 32, 64)
    bias, residual = normal(64), normal(2, 8, 8, 64)

    def block(x: Any, k: Any, bias: Any, residual: Any) -> Any:
        return tnp.maximum(convolve(x, k) + bias + residual, 0)

    device.reports.clear()
    got = tfc.device_get(tfc.jit(block, backend="gpu")(x, k, bias, residual))
    wanted = tfc.jit(block, backend="interpreter")(x, k, bias, residual)
    np.testing.assert_allclose(
        got.astype(np.float32), np.asarray(wanted, np.float32), rtol=2e-2, atol=2e-2
    )
    ((_, report),) = device.reports
    assert report.instructions["mma"] > 0
    assert report.bank_conflicts == 0
    assert report.loads.uncoalesced == report.stores.uncoalesced == 0


def test_the_gradient_of_strides_multiplies_with_no_gap(device: Any):
    x, k = normal(4, 8, 8, 64), normal(2, 2, 64, 64)

    def dilated(g: Any, k: Any) -> Any:
        return tfc.nn.conv_transpose(g, k, 2, "VALID", data_format="NHWC", kernel_format="HWIO")

    device.reports.clear()
    tfc.jit(dilated, backend="gpu")(x, k)
    products = [r.instructions["mma"] for _, r in device.reports if r.instructions.get("mma")]
    # Each of the four phases meets one place of the window.
    assert products == [32 * (256 // 16) * (64 // 8) * (64 // 16)] * 4


@pytest.mark.parametrize("inputs", [1, 8])
def test_a_result_with_one_feature_has_all_of_its_products(inputs: int):
    x, k = np.arange(50 * inputs) % 7 - 3, np.arange(9 * inputs) % 5 - 2
    x, k = x.reshape(2, 5, 5, inputs), k.reshape(3, 3, inputs, 1)
    got = tfc.device_get(tfc.jit(convolve, backend="gpu")(x.astype(np.float32), k.astype("f")))
    around = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), (1, 2))
    np.testing.assert_array_equal(got, np.einsum("bijfhw,hwfo->bijo", windows, k))


def test_padding_takes_no_part_where_the_kernel_is_infinite():
    x, k = np.ones((1, 5, 5, 8), np.float32), np.ones((3, 3, 8, 8), np.float32)
    k[0, 0] = np.inf
    got = tfc.device_get(tfc.jit(convolve, backend="gpu")(x, k))
    wanted = np.full((1, 5, 5, 8), np.inf, np.float32)
    wanted[:, 0, 1:-1] = wanted[:, 1:-1, 0] = 48
    wanted[:, 0, 0] = wanted[:, 0, -1] = wanted[:, -1, 0] = 32
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("features", [36, 34])
def test_kernels_lie_either_way(features: int, device: Any):
    """A kernel whose features of the array are neighbours is read in whole pieces, if these fit."""
    text = f"""HloModule m
ENTRY e {{
  x = f32[2,7,6,{features}] parameter(0)
  k = f32[3,3,{features},40]{{2,3,1,0}} parameter(1)
  ROOT y = f32[2,7,6,40] convolution(x, k), window={{size=3x3 pad=1_1x1_1}},
    dim_labels=b01f_01io->b01f, algorithm=dot_tf32_tf32_f32
}}"""
    check(text, "whole")
    device.reports.clear()
    x, k = normal(2, 7, 6, features, dtype=np.float32), normal(3, 3, features, 40, dtype=np.float32)
    tfc.compile(parse(text), backend="gpu")(x, k)
    *_, (_, report) = device.reports
    assert report.instructions["mma"] > 0
    assert report.bank_conflicts == 0


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_of_convolutions_and_gradients_need_no_memory_for_registers(architecture: str):
    x, k = np.zeros((8, 56, 56, 64), BF16), np.zeros((3, 3, 64, 64), BF16)

    def loss(x: Any, k: Any) -> Any:
        return tnp.sum(convolve(x, k, 2).astype(np.float32) ** 2)

    lowered = tfc.jit(tfc.value_and_grad(loss, argnums=(0, 1)), backend="gpu").lower(x, k)
    executable = lowered.compile().executable
    assert isinstance(executable, GpuExecutable)
    text = executable.code(architecture)
    assert complaints(text, architecture, ["-warn-spills", "-Werror"]) == ""


def on(backend: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives on a backend, on the host."""
    return tfc.device_get(tfc.jit(function, backend=backend)(*arguments))


def residual_block(x: Any, k: Any, h: Any, scale: Any) -> Any:
    """Two convolutions, the second one added to what the first has read."""
    first = tnp.maximum(convolve(x, k) * scale, 0)
    return tnp.maximum(convolve(first, h) * scale + x, 0)


def inverted_block(x: Any, wide: Any, each: Any, narrow: Any) -> Any:
    """More features, a convolution of each by itself, and as few features as before."""
    first = tnp.clip(convolve(x, wide), 0, 6)
    second = tnp.clip(convolve(first, each, groups=each.shape[-1]), 0, 6)
    return convolve(second, narrow) + x


RESIDUAL = [(2, 6, 6, 16), (3, 3, 16, 16), (3, 3, 16, 16), (16,)]
INVERTED = [(2, 6, 6, 8), (1, 1, 8, 24), (3, 3, 1, 24), (1, 1, 24, 8)]


@pytest.mark.parametrize(
    ("block", "dims", "launches"), [(residual_block, RESIDUAL, 2), (inverted_block, INVERTED, 3)]
)
def test_a_block_of_a_network_is_one_launch_a_convolution(
    block: Any, dims: Any, launches: int, device: Any
):
    arguments = [normal(*d) for d in dims]
    device.reports.clear()
    got = on("gpu", block, *arguments)
    assert len(device.reports) == launches
    wanted = on("interpreter", block, *arguments).astype(np.float32)
    assert np.abs(got.astype(np.float32) - wanted).max() <= 2e-2 * np.abs(wanted).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "dims"), [(residual_block, RESIDUAL), (inverted_block, INVERTED)]
)
def test_gradients_of_blocks_of_networks_are_right(block: Any, dims: Any):
    arguments = [normal(*d, dtype=np.float32) for d in dims]

    def loss(*arguments: Any) -> Any:
        return tnp.sum(block(*arguments) ** 2)

    gradient = tfc.grad(loss, argnums=tuple(range(len(dims))))
    got, wanted = (on(b, gradient, *arguments) for b in ("gpu", "interpreter"))
    for g, w in zip(got, wanted):
        np.testing.assert_allclose(g, w, rtol=1e-3, atol=1e-3 * np.abs(np.asarray(w)).max())


def test_gradients_read_their_arrays_where_they_lie(device: Any):
    x, k, g = normal(8, 8, 8, 16), normal(3, 3, 16, 16), normal(8, 8, 8, 16)

    def gradient(x: Any, k: Any, g: Any) -> Any:
        return tfc.grad(lambda k: tnp.sum(convolve(x, k) * g))(k)

    device.reports.clear()
    tfc.jit(gradient, backend="gpu")(x, k, g)
    first, *rest = [r for _, r in device.reports]
    assert first.instructions["mma"] > 0
    assert first.loads.uncoalesced == first.bank_conflicts == 0
    assert len(rest) <= 1  # which adds up shares of sums


def test_threads_share_the_long_sums_of_a_depthwise_gradient(device: Any):
    x, k = normal(2, 8, 8, 32, dtype=np.float32), normal(3, 3, 1, 32, dtype=np.float32)

    def gradient(x: Any, k: Any) -> Any:
        return tfc.grad(lambda k: tnp.sum(convolve(x, k, groups=32)))(k)

    device.reports.clear()
    got = tfc.device_get(tfc.jit(gradient, backend="gpu")(x, k))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for i, j in np.ndindex(3, 3):
        wanted = padded[:, i : i + 8, j : j + 8].sum((0, 1, 2))
        np.testing.assert_allclose(got[i, j, 0], wanted, rtol=1e-4, atol=1e-4)
    *_, (_, shares), (_, total) = device.reports
    # Sixteen places of batch and height, each with the nine places of the kernel.
    assert shares.stores.accesses == 16 * 9 * 32
    assert total.stores.accesses == 9 * 32
    assert shares.loads.uncoalesced == total.loads.uncoalesced == 0
