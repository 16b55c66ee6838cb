"""Attention on the GPU: one kernel without an array of all scores, against the CPU and XLA."""

from collections.abc import Callable, Iterator
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

random = np.random.default_rng(17)
F16, F32, BF16 = np.float16, np.float32, ml_dtypes.bfloat16
ERRORS = {np.dtype(F32): 3e-6, np.dtype(F16): 2e-3, np.dtype(BF16): 2e-2}


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Driver]:
    """What programs for GPUs run on."""
    with device_for_tests() as driver:
        yield driver


def normal(dtype: Any, *dims: int) -> np.ndarray:
    return random.standard_normal(dims).astype(dtype)


def operands(dtype: Any, batch: int, queries: int, keys: int, heads: tuple[int, int], size: int):
    """A query, a key and a value, the last two with heads of their own."""
    of_keys = (batch, keys, heads[1], size)
    return [normal(dtype, batch, queries, heads[0], size), *(normal(dtype, *of_keys),) * 2]


def check(device: Any, function: Callable[..., Any], *arguments: Any, launches: int = 1) -> Any:
    """The GPU's values are the CPU's for operands in f32, NaN for NaN; what the device reports."""
    device.reports.clear()
    got = np.asarray(tfc.device_get(tfc.jit(function, backend="gpu")(*arguments)))
    reports = [report for _, report in device.reports]
    wide = [a if a.dtype == bool else a.astype(F32) for a in arguments]
    wanted = np.asarray(tfc.jit(function)(*wide))
    error = ERRORS[got.dtype]
    np.testing.assert_allclose(got.astype(F32), wanted, rtol=error, atol=error)
    assert len(reports) == launches
    return reports


def test_attention_is_one_kernel_and_reads_each_operand_once(device: Any):
    q, k, v = operands(BF16, 1, 64, 128, (1, 1), 64)
    (report,) = check(device, nn.dot_product_attention, q, k, v)
    assert report.bank_conflicts == 0
    assert report.loads.uncoalesced == report.stores.uncoalesced == 0
    assert report.loads.bytes == q.nbytes + k.nbytes + v.nbytes
    assert report.instructions["mma"] == 32 * 2 * (64 // 16) * (128 // 8) * (64 // 16)


def test_keys_hidden_by_a_causal_mask_are_not_read(device: Any):
    q, k, v = operands(F16, 1, 128, 128, (1, 1), 16)
    (report,) = check(
        device, lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True), q, k, v
    )
    assert report.loads.bytes == q.nbytes + (k.nbytes + v.nbytes) * 3 // 2


def test_keys_in_a_part_of_a_cache_are_copied_from_there(device: Any):
    q, cache = normal(BF16, 1, 64, 1, 64), normal(BF16, 3, 2, 1, 64, 1, 64)

    def attend(q: Any, cache: Any) -> Any:
        return nn.dot_product_attention(q, cache[1, 0], cache[1, 1])

    (report,) = check(device, attend, q, cache)
    assert report.loads.bytes == q.nbytes + cache.nbytes // 3
    assert report.loads.bytes == report.loads.accesses * 16


def test_rows_that_see_nothing_are_what_the_program_says(device: Any):
    q, k, v = operands(F32, 1, 20, 40, (1, 1), 8)
    seen = random.random((20, 40)) < 0.5
    seen[[0, 3]] = False

    def causal(q: Any, k: Any, v: Any, seen: Any) -> Any:
        return nn.dot_product_attention(q, k, v, mask=seen, is_causal=True)

    def plain(q: Any, k: Any, v: Any, seen: Any) -> Any:
        logits = tnp.where(seen, tnp.matmul(q, k.T), -np.inf)
        return tnp.matmul(nn.softmax(logits), v)

    check(device, causal, q, k, v, seen)
    check(device, plain, q[0, :, 0], k[0, :, 0], v[0, :, 0], seen)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F16, BF16, F32])
@pytest.mark.parametrize(
    ("size", "is_causal"), [(16, True), (40, True), (128, False), (256, False)]
)
def test_attention_of_odd_lengths(device: Any, dtype: Any, size: int, is_causal: bool):
    q, k, v = operands(dtype, 1, 9, 71, (2, 1), size)
    (report,) = check(
        device, lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=is_causal), q, k, v
    )
    assert report.bank_conflicts == 0


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("form", ["bias", "mask", "both", "window", "lengths"])
def test_attention_with_masks(device: Any, dtype: Any, form: str):
    q, k, v = operands(dtype, 2, 18, 37, (2, 2), 24)
    bias, mask = normal(dtype, 2, 18, 37), random.random((2, 1, 1, 37)) < 0.7
    lengths = np.array([18, 11], np.int32)
    named: dict[str, Any] = {
        "bias": {"bias": bias}, "mask": {"mask": mask}, "both": {"bias": bias, "mask": mask},
        "window": {"is_causal": True, "local_window_size": 5},
        "lengths": {"key_value_seq_lengths": lengths},
    }[form]  # fmt: skip
    check(device, lambda q, k, v: nn.dot_product_attention(q, k, v, **named), q, k, v)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F16, F32])
def test_attention_by_heads_first_and_of_programs_that_round_scores(device: Any, dtype: Any):
    q, k, v = (normal(dtype, 2, 2, n, 32) for n in (17, 40, 40))

    def attend(q: Any, k: Any, v: Any) -> Any:
        logits = tnp.matmul(q, k.transpose(0, 1, 3, 2)) * 0.25
        return tnp.matmul(nn.softmax(logits), v)

    check(device, attend, q, k, v)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [BF16, F32])
def test_few_queries_share_keys_among_blocks_in_a_fixed_order(device: Any, dtype: Any):
    q, k, v = operands(dtype, 1, 1, 1050, (4, 2), 32)
    reports = check(device, nn.dot_product_attention, q, k, v, launches=2)
    assert all(r.bank_conflicts == 0 for r in reports)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [BF16, F32])
def test_attention_of_jax_is_one_kernel(device: Any, dtype: Any):
    q, k, v = operands(dtype, 2, 21, 40, (4, 2), 16)

    def attend(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.dot_product_attention(q, k, v, is_causal=True)

    text = str(jax.jit(attend).lower(q, k, v).compiler_ir("stablehlo"))
    function = tfc.from_stablehlo(text, backend="gpu")
    device.reports.clear()
    got = np.asarray(tfc.device_get(function(q, k, v))).astype(F32)
    error = ERRORS[np.dtype(dtype)]
    wanted = np.asarray(attend(q, k, v)).astype(F32)
    np.testing.assert_allclose(got, wanted, rtol=error, atol=error)
    assert len(device.reports) == 1


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        (BF16, 128),
        *(pytest.param(d, s, marks=pytest.mark.slow) for d in (F16, F32) for s in (32, 64, 256)),
    ],
)
def test_no_register_of_attention_goes_to_memory_and_there_is_no_array_of_scores(
    dtype: Any, size: int
):
    def attend(q: Any, k: Any, v: Any) -> Any:
        return nn.dot_product_attention(q, k, v, is_causal=True)

    arguments = [np.zeros((8, 512, 4, size), dtype)] * 3
    compiled = tfc.jit(attend, backend="gpu").lower(*arguments).compile()
    assert isinstance(compiled.executable, GpuExecutable)
    assert compiled.memory_analysis().temporary_bytes == 0
    for architecture in ARCHITECTURES:
        ptx = compiled.executable.code(architecture)
        assert complaints(ptx, architecture, ["-warn-spills", "-Werror"]) == ""
