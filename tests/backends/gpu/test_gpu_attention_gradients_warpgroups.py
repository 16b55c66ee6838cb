"""The gradient of attention on GPUs of sm_90a: columns pass by as boxes."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.gpu.attention import warpgroup_gradients
from tfc.testing.ptx import Fault, Report
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver

random = np.random.default_rng(29)
F16, BF16 = np.float16, ml_dtypes.bfloat16


@pytest.fixture(autouse=True)
def device(
    with_warpgroups: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
) -> InterpretedDriver:
    """What all programs run on, where also few lines go by warpgroups."""
    monkeypatch.setattr(warpgroup_gradients, "_LEAST", 1)
    return with_warpgroups


def operands(
    batch: int, rows: int, keys: int, heads: tuple[int, int], size: int, dtype: Any = BF16
) -> list[np.ndarray]:
    """A query, a key, a value, and what the result's gradient is."""
    of_rows, of_keys = (batch, rows, heads[0], size), (batch, keys, heads[1], size)
    return [random.standard_normal(d).astype(dtype) for d in (of_rows, of_keys, of_keys, of_rows)]


def gradients(attend: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of q, k and v where that of the result is `d`."""
    return tfc.grad(lambda q, k, v, d: tnp.sum(attend(q, k, v) * d), argnums=(0, 1, 2))


def causal(q: Any, k: Any, v: Any) -> Any:
    return nn.dot_product_attention(q, k, v, is_causal=True)


def check(
    device: InterpretedDriver, attend: Callable[..., Any], *arguments: np.ndarray, launches: int = 2
) -> list[Report]:
    """Kernels of warpgroups give the CPU's gradients for operands in f32; their reports."""
    function = gradients(attend)
    device.reports.clear()
    got = tfc.device_get(tfc.jit(function, backend="gpu")(*arguments))
    reports = [report for _, report in device.reports]
    for a, b in zip(got, tfc.jit(function)(*(a.astype(np.float32) for a in arguments))):
        a, b = np.asarray(a).astype(np.float32), np.asarray(b)
        error = 3e-3 if arguments[0].dtype == F16 else 3e-2
        np.testing.assert_allclose(a, b, 0, error * np.abs(b).max())
    assert len(reports) == launches
    for report in reports:
        assert report.products
        assert report.instructions["mma"] == report.bank_conflicts == 0
    return reports


def test_columns_pass_by_for_statistics_and_for_results(device: InterpretedDriver):
    arguments = operands(1, 128, 128, (1, 1), 64)
    rows, keys = check(device, nn.dot_product_attention, *arguments)
    each = arguments[0].nbytes
    assert rows.bulk_loads.bytes == 2 * each + 2 * 2 * each
    assert keys.bulk_loads.bytes == 4 * each
    assert rows.loads.bytes == 0
    # Two warpgroups, two stages of 64 columns, four steps: four products for scores; of dq, and of
    # dk, two parts; one of dv.
    assert rows.products == {"m64n64k16": 2 * 2 * 4 * (4 + 2)}
    assert keys.products == {"m64n64k16": 2 * 2 * 4 * (2 + 3)}
    assert rows.bulk_loads.transactions == rows.bulk_loads.ideal


def test_columns_that_a_causal_mask_hides_are_neither_brought_nor_multiplied(
    device: InterpretedDriver,
):
    arguments = operands(1, 256, 256, (1, 1), 64)
    rows, keys = check(device, causal, *arguments)
    each = arguments[0].nbytes
    # Of the four quarters of the scores one is hidden.
    assert rows.products == {"m64n64k16": 3 * 2 * 2 * 4 * (4 + 2)}
    assert keys.products == {"m64n64k16": 3 * 2 * 2 * 4 * (2 + 3)}
    assert rows.bulk_loads.bytes == 2 * each + 4 * each * 3 // 2


@pytest.mark.slow
@pytest.mark.parametrize("size", [16, 64, 80, 128])
@pytest.mark.parametrize("attend", [nn.dot_product_attention, causal])
def test_odd_lengths_and_heads_that_share_keys(
    size: int, attend: Callable[..., Any], device: InterpretedDriver
):
    # Without a mask rows are counted head by head, so that those of a block must be of one.
    dtype = F16 if size in (16, 128) else BF16
    check(device, attend, *operands(2, 150 if attend is causal else 128, 100, (4, 2), size, dtype))


@pytest.mark.slow
def test_weights_of_f16_that_grow_along_the_columns_are_multiplied_in_two_parts(
    device: InterpretedDriver,
):
    q, k, v, d = operands(1, 128, 256, (1, 1), 64, F16)
    growing = np.exp2(np.arange(256) / 12 - 12).astype(F16)[None, :, None, None]
    reports = check(device, nn.dot_product_attention, q, k, v * growing, d)
    assert reports[0].products == {"m64n64k16": 2 * 4 * 4 * (4 + 2)}


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "size"), [(BF16, 192), (F16, 256)])
def test_of_long_heads_keys_and_values_have_kernels_of_their_own(
    device: InterpretedDriver, dtype: Any, size: int
):
    check(device, causal, *operands(1, 140, 150, (1, 1), size, dtype), launches=3)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["mask", "window", "lengths"])
def test_scores_are_whatever_the_program_makes_of_them(form: str, device: InterpretedDriver):
    named: dict[str, Any] = {
        "mask": {"mask": random.random((2, 1, 1, 137)) < 0.7},
        "window": {"is_causal": True, "local_window_size": 5},
        "lengths": {"key_value_seq_lengths": np.array([137, 60], np.int32)},
    }[form]
    check(
        device, lambda *x: nn.dot_product_attention(*x, **named), *operands(2, 140, 137, (2, 2), 64)
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [64, 96, 128, 256])
@pytest.mark.parametrize("attend", [nn.dot_product_attention, causal])
@pytest.mark.parametrize("dtype", [F16, BF16])
def test_no_register_is_spilled_and_warpgroups_share_them_out(
    size: int, attend: Callable[..., Any], dtype: Any
):
    q = np.zeros((4, 1024, 16, size), dtype)
    ptx = tfc.jit(gradients(attend), backend="gpu").lower(q, q, q, q).compile().as_text("ptx")
    assert ptx.count("setmaxnreg.inc") == (3 if size > 128 else 2)
    assert complaints(ptx, "sm_90a", ["-warn-spills", "-Werror"]) == ""


# What is left out of the kernels, and what the interpreter then says.
GUARDS: list[tuple[str, str]] = [
    (r"fence\.mbarrier_init[^;]*;", "no fence"),
    (r"wgmma\.fence\.sync\.aligned;", "since the last wgmma.fence"),
    (r"wgmma\.wait_group\S* 0;", "before wgmma.wait_group"),
    (r"@!over bra[^;]*;", "never written"),
    (r"bar\.sync\s+%r\d+, 256;", "without a barrier between"),
    (r"mbarrier\.arrive\.shared::cta[^;]*;", "arrivals"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "message"), GUARDS)
def test_nothing_that_keeps_threads_together_could_be_left_out(
    pattern: str, message: str, device: InterpretedDriver,
    change_code: Callable[[InterpretedDriver, str, str], None],
):  # fmt: skip
    change_code(device, pattern, "")
    with pytest.raises(Fault, match=message):
        tfc.jit(gradients(causal), backend="gpu")(*operands(2, 256, 700, (1, 1), 64))
