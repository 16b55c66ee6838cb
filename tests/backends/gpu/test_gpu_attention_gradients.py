"""The gradient of attention on the GPU: kernels without an array of all scores."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.gpu.driver import Driver
from tfc.backends.gpu.executable import GpuExecutable
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(23)
F16, F32, BF16 = np.float16, np.float32, ml_dtypes.bfloat16
ERRORS = {np.dtype(F32): 3e-6, np.dtype(F16): 3e-3, np.dtype(BF16): 3e-2}
"""Of the largest element of a result."""


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Driver]:
    """What programs for GPUs run on."""
    with device_for_tests() as driver:
        yield driver


def normal(dtype: Any, *dims: int) -> np.ndarray:
    return random.standard_normal(dims).astype(dtype)


def operands(dtype: Any, batch: int, queries: int, keys: int, heads: tuple[int, int], size: int):
    """A query, a key, a value, and what the result's gradient is."""
    of_keys = (batch, keys, heads[1], size)
    of_queries = (batch, queries, heads[0], size)
    return [normal(dtype, *dims) for dims in (of_queries, of_keys, of_keys, of_queries)]


def gradients(attend: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of q, k and v where that of the result is `d`."""
    return tfc.grad(lambda q, k, v, d: tnp.sum(attend(q, k, v) * d), argnums=(0, 1, 2))


def on_device(device: Any, function: Callable[..., Any], *arguments: Any) -> list[np.ndarray]:
    """The values, after which the device reports the launches of one call."""
    device.reports.clear()
    return [np.asarray(x) for x in tfc.device_get(tfc.jit(function, backend="gpu")(*arguments))]


def assert_near(got: Sequence[np.ndarray], wanted: Sequence[Any]) -> None:
    for a, b in zip(got, wanted, strict=True):
        b = np.asarray(b, F32)
        np.testing.assert_allclose(a.astype(F32), b, 0, ERRORS[a.dtype] * np.abs(b).max())


def check(device: Any, function: Callable[..., Any], *arguments: Any, launches: int = 2) -> Any:
    """The GPU's gradients are the CPU's for operands in f32; what the device reports."""
    got = on_device(device, function, *arguments)
    reports = [report for _, report in device.reports]
    wanted = tfc.jit(function)(*(a.astype(F32) if a.dtype != bool else a for a in arguments))
    assert_near(got, wanted)
    assert len(reports) == launches
    assert all(r.bank_conflicts == 0 for r in reports)
    return reports


def test_gradients_of_attention_are_two_kernels_that_read_operands_tile_by_tile(device: Any):
    arguments = operands(BF16, 1, 32, 32, (1, 1), 16)
    rows, keys = check(device, gradients(nn.dot_product_attention), *arguments)
    each, statistic = arguments[0].nbytes, 32 * 4
    # Of the keys' tiles: k and v for the statistics and for dq.
    assert rows.loads.bytes == 2 * each + 4 * each
    assert rows.stores.bytes == each + 3 * statistic
    assert keys.stores.bytes == 2 * each
    # Two warps, products of 16 x 8 x 16: eight for scores, as many for a gradient whose weights
    # are two parts, half for the other; the rows' statistics take 8 more.
    assert rows.instructions["mma"] == 64 * (8 + 8 + 8)
    assert keys.instructions["mma"] == 64 * (8 + 8 + 4)


def test_tiles_that_a_causal_mask_hides_are_neither_read_nor_multiplied(device: Any):
    arguments = operands(BF16, 1, 128, 128, (1, 1), 16)

    def causal(q: Any, k: Any, v: Any) -> Any:
        return nn.dot_product_attention(q, k, v, is_causal=True)

    rows, keys = check(device, gradients(causal), *arguments)
    # Of two blocks of 64 rows or keys, one goes along all tiles, one along half of them.
    each = arguments[0].nbytes
    assert rows.loads.bytes == 2 * each + 4 * each * 3 // 2
    assert rows.instructions["mma"] == 16 * 64 * (8 + 8 + 8) * 3 // 4
    assert keys.instructions["mma"] == 16 * 64 * (8 + 8 + 4) * 3 // 4


@pytest.mark.slow
def test_a_window_leaves_a_band_of_tiles(device: Any):
    arguments = operands(F32, 1, 128, 128, (1, 1), 8)

    def products(window: int | None) -> list[int]:
        def attend(q: Any, k: Any, v: Any) -> Any:
            return nn.dot_product_attention(q, k, v, local_window_size=window)

        return [r.instructions["fma"] for r in check(device, gradients(attend), *arguments)]

    # Of four tiles of 32 keys, those in the middle see three, those at the ends two.
    for band, whole in zip(products(16), products(None)):
        assert band == pytest.approx(whole * 10 / 16, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("low", [-np.inf, -120.0, -5.0])
@pytest.mark.parametrize("ahead", [0, -3, 30])
def test_tiles_are_left_out_only_where_hidden_weights_are_zero(device: Any, low: float, ahead: int):
    arguments = [normal(F32, 70, 8) for _ in range(4)]

    def attend(q: Any, k: Any, v: Any) -> Any:
        seen = tnp.arange(70)[None, :] <= tnp.arange(70)[:, None] + ahead
        return tnp.matmul(nn.softmax(tnp.where(seen, tnp.matmul(q, k.T), low)), v)

    if low == -np.inf and ahead < 0:
        got = on_device(device, gradients(attend), *arguments)
        for a, b in zip(got, tfc.jit(gradients(attend))(*arguments)):
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    else:
        check(device, gradients(attend), *arguments)
    reads = [r.loads.bytes for _, r in device.reports]
    on_device(device, gradients(lambda q, k, v: nn.softmax(q @ k.T) @ v), *arguments)
    whole = [r.loads.bytes for _, r in device.reports]
    # Rows that see nothing have a weight for each key; a logit that is not far below has one, too.
    assert (reads[1] < whole[1]) is (low < -110 and ahead >= 0)


def of_any_size(largest: int) -> list[np.ndarray]:
    """Operands of f16 with which weights grow along the keys up to a power of two."""
    q, k, v, d = operands(F16, 1, 96, 96, (1, 1), 16)
    growing = np.exp2(np.arange(96) / 8 - 12).astype(F16)[None, :, None, None]
    # What weights are multiplied by lies at the other end of the range.
    balance = F16(2.0 ** -np.clip(largest // 2, -8, 8))
    return [q / balance, k * balance, v * growing, d * F16(2.0**largest)]


@pytest.mark.parametrize("largest", [-10, pytest.param(10, marks=pytest.mark.slow)])
def test_weights_of_f16_that_the_program_leaves_in_f32_may_be_of_any_size(
    device: Any, largest: int
):
    arguments = of_any_size(largest)
    got = on_device(device, gradients(nn.dot_product_attention), *arguments)
    wanted = tfc.jit(gradients(nn.dot_product_attention))(*(a.astype(F32) for a in arguments))
    assert all(report.instructions["mma"] for _, report in device.reports)
    assert all(report.bank_conflicts == 0 for _, report in device.reports)
    line = int(largest > 0)  # dk of the small ones is below what f16 can say
    error = np.abs(got[line].astype(F32) - np.asarray(wanted[line]))
    # A result is rounded to 11 bits; weights before it, so that they lose nothing, to 22.
    assert (error <= 2**-10 * np.abs(wanted[line]).max(axis=-1, keepdims=True) + 2**-24).all()


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "size"), [(BF16, 192), (F16, 256), (F32, 192)])
def test_of_long_heads_keys_and_values_have_kernels_of_their_own(
    device: Any, dtype: Any, size: int
):
    def attend(q: Any, k: Any, v: Any) -> Any:
        return nn.dot_product_attention(q, k, v, is_causal=True)

    check(device, gradients(attend), *operands(dtype, 1, 40, 70, (2, 1), size), launches=3)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "size"), [(F16, 128), (F32, 128), (F16, 256), (F32, 256)])
def test_blocks_share_no_more_than_every_gpu_gives_them(dtype: Any, size: int):
    arguments = [np.zeros((1, 64, 1, size), dtype)] * 4
    compiled = tfc.jit(gradients(nn.dot_product_attention), backend="gpu").lower(*arguments)
    executable: Any = compiled.compile().executable
    figures = [k.figures for k in executable.timed()(*arguments).kernels if k.figures is not None]
    assert 0 < max(f.shared for f in figures) <= 99 << 10


@pytest.mark.slow
def test_training_reads_the_result_of_attention_and_computes_its_weights_again(device: Any):
    def squared(q: Any, k: Any, v: Any) -> Any:
        return nn.dot_product_attention(q, k, v, is_causal=True) ** 2

    q, k, v, d = operands(F32, 1, 9, 33, (2, 1), 8)
    # Attention, the gradient of its result, and both kernels.
    check(device, gradients(squared), q, k, v, d, launches=4)


@pytest.mark.slow
def test_the_gradient_of_a_bias_needs_all_scores_and_stays_in_plain_kernels(device: Any):
    def biased(q: Any, k: Any, v: Any, d: Any, bias: Any) -> Any:
        return tnp.sum(nn.dot_product_attention(q, k, v, bias=bias) * d)

    function = tfc.grad(biased, argnums=(0, 4))
    arguments = (*operands(F32, 1, 5, 7, (1, 1), 4), normal(F32, 1, 1, 5, 7))
    assert_near(on_device(device, function, *arguments), tfc.jit(function)(*arguments))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "size", "heads"),
    [
        (F16, 16, (2, 1)),
        (BF16, 16, (4, 2)),
        (BF16, 40, (1, 1)),
        (F32, 16, (4, 2)),
        (F32, 40, (1, 1)),
    ],
)
def test_gradients_of_odd_lengths_are_those_of_xla(
    device: Any, dtype: Any, size: int, heads: tuple[int, int]
):
    arguments = operands(dtype, 1, 9, 41, heads, size)

    def attend(q: Any, k: Any, v: Any) -> Any:
        return nn.dot_product_attention(q, k, v, is_causal=True)

    def of_jax(q: Any, k: Any, v: Any, d: Any) -> Any:
        return (jax.nn.dot_product_attention(q, k, v, is_causal=True) * d).sum()

    got = on_device(device, gradients(attend), *arguments)
    assert [r.bank_conflicts for _, r in device.reports] == [0, 0]
    wide = [a.astype(F32) for a in arguments]
    assert_near(got, jax.jit(jax.grad(of_jax, argnums=(0, 1, 2)))(*wide))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "form"),
    [(BF16, "bias"), (F32, "mask"), (F16, "both"), (F32, "window"), (BF16, "lengths")],
)
def test_gradients_with_masks(device: Any, dtype: Any, form: str):
    arguments = operands(dtype, 2, 18, 37, (1, 1), 24)
    bias, mask = normal(dtype, 1, 18, 37), random.random((2, 1, 1, 37)) < 0.7
    lengths = np.array([18, 11], np.int32)
    named: dict[str, Any] = {
        "bias": {"bias": bias}, "mask": {"mask": mask}, "both": {"bias": bias, "mask": mask},
        "window": {"is_causal": True, "local_window_size": 5},
        "lengths": {"key_value_seq_lengths": lengths},
    }[form]  # fmt: skip
    check(device, gradients(lambda *a: nn.dot_product_attention(*a, **named)), *arguments)


@pytest.mark.slow
def test_gradients_of_a_program_of_jax_are_two_kernels(device: Any):
    arguments = operands(F32, 2, 21, 40, (4, 2), 16)

    def loss(q: Any, k: Any, v: Any, d: Any) -> Any:
        return (jax.nn.dot_product_attention(q, k, v, is_causal=True) * d).sum()

    gradient = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))
    text = str(gradient.lower(*arguments).compiler_ir("stablehlo"))
    device.reports.clear()
    got = tfc.device_get(tfc.from_stablehlo(text, backend="gpu")(*arguments))
    assert_near([np.asarray(x) for x in got], gradient(*arguments))
    assert len(device.reports) == 2


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        pytest.param(d, s, marks=pytest.mark.slow)
        for d, s in [(F16, 128), (BF16, 128), (F32, 128), (F16, 256), (BF16, 192), (F32, 192)]
    ],
)
def test_no_register_goes_to_memory_and_memory_grows_with_the_length(dtype: Any, size: int):
    def attend(q: Any, k: Any, v: Any) -> Any:
        return nn.dot_product_attention(q, k, v, is_causal=True)

    arguments = [np.zeros((2, 512, 4, size), dtype)] * 4
    compiled = tfc.jit(gradients(attend), backend="gpu").lower(*arguments).compile()
    statistics = 3 * 4 * (2 * 4 * 512)  # three numbers of four bytes for each row
    assert compiled.memory_analysis().temporary_bytes <= statistics
    assert isinstance(compiled.executable, GpuExecutable)
    for architecture in ARCHITECTURES:
        ptx = compiled.executable.code(architecture)
        assert complaints(ptx, architecture, ["-warn-spills", "-Werror"]) == ""


@pytest.mark.slow
def test_the_gradient_of_the_values_alone_reads_statistics_of_a_kernel_of_their_own(device: Any):
    def loss(q: Any, k: Any, v: Any, d: Any) -> Any:
        return tnp.sum(nn.dot_product_attention(q, k, v) * d)

    check(device, tfc.grad(loss, argnums=(2,)), *operands(F32, 1, 9, 33, (1, 1), 8))
