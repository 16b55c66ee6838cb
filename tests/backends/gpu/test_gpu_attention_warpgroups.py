"""Attention on GPUs of sm_90a: boxes in any order of dimensions, weights that stay in registers."""

from collections.abc import Callable
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.gpu.attention import warpgroup_tiles
from tfc.backends.gpu.attention.boxes import digits_of, placed
from tfc.hlo.index_maps import delinearize, variable
from tfc.testing.ptx import Fault, Report
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver

random = np.random.default_rng(5)
F16, BF16 = np.float16, ml_dtypes.bfloat16
ERRORS = {np.dtype(F16): 2e-3, np.dtype(BF16): 2e-2}


@pytest.fixture(autouse=True)
def device(
    with_warpgroups: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
) -> InterpretedDriver:
    """What all programs run on, where also few rows go by warpgroups."""
    monkeypatch.setattr(warpgroup_tiles, "_LEAST", 1)
    return with_warpgroups


def operands(
    dtype: Any, batch: int, rows: int, keys: int, heads: tuple[int, int], size: int
) -> tuple[np.ndarray, ...]:
    dims = [(batch, n, h, size) for n, h in ((rows, heads[0]), (keys, heads[1]), (keys, heads[1]))]
    return tuple(random.standard_normal(d).astype(dtype) for d in dims)


def check(device: InterpretedDriver, function: Callable[..., Any], *arguments: Any) -> Report:
    """One kernel of warpgroups gives the CPU's values for operands in f32; its report."""
    device.reports.clear()
    got = np.asarray(tfc.device_get(tfc.jit(function, backend="gpu")(*arguments)))
    ((_, report),) = device.reports
    assert report.products
    assert all(name.startswith("m64") for name in report.products)
    narrow = (np.dtype(F16), np.dtype(BF16))
    wide = [a.astype(np.float32) if a.dtype in narrow else a for a in arguments]
    wanted = np.asarray(tfc.jit(function)(*wide))
    error = ERRORS[got.dtype]
    np.testing.assert_allclose(got.astype(np.float32), wanted, rtol=error, atol=error)
    assert report.bank_conflicts == 0
    return report


def causal(q: Any, k: Any, v: Any) -> Any:
    return nn.dot_product_attention(q, k, v, is_causal=True)


def test_each_tile_is_brought_once_and_multiplied_once(device: InterpretedDriver):
    q, k, v = operands(BF16, 1, 128, 256, (1, 1), 64)
    report = check(device, nn.dot_product_attention, q, k, v)
    assert report.products == {
        "m64n128k16": 2 * 2 * (64 // 16),  # scores: warpgroups, tiles of keys, steps
        "m64n64k16": 2 * 2 * (128 // 16),
    }
    assert report.bulk_loads.bytes == q.nbytes + k.nbytes + v.nbytes
    assert report.bulk_stores.bytes == q.nbytes
    assert report.bulk_loads.transactions == report.bulk_loads.ideal
    assert report.loads.bytes == report.stores.bytes == 0


def test_what_a_causal_mask_hides_is_neither_brought_nor_multiplied(
    device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    """Of two rows of tiles by two the upper right one; one block does both rows, the last first."""
    monkeypatch.setattr(warpgroup_tiles, "_MULTIPROCESSORS", 1)
    q, k, v = operands(F16, 1, 256, 256, (1, 1), 64)
    report = check(device, causal, q, k, v)
    assert report.products["m64n128k16"] == 2 * 3 * (64 // 16)
    assert report.bulk_loads.bytes == q.nbytes + (k.nbytes + v.nbytes) * 3 // 2


def test_rows_that_see_nothing_are_what_the_program_says(device: InterpretedDriver):
    """A mask by places and another by values: rows without any key have them all, alike."""
    q, k, v = operands(F16, 1, 130, 200, (1, 1), 64)
    seen = random.random((130, 200)) < 0.5
    seen[[0, 3, 129]] = False

    def function(q: Any, k: Any, v: Any, seen: Any) -> Any:
        return nn.dot_product_attention(q, k, v, mask=seen, is_causal=True)

    check(device, function, q, k, v, seen)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("size", [16, 64, 80, 128])
@pytest.mark.parametrize("is_causal", [False, True])
def test_odd_lengths_and_heads_that_share_keys(
    dtype: Any, size: int, is_causal: bool, device: InterpretedDriver
):
    q, k, v = operands(dtype, 2, 200, 150, (4, 2), size)
    check(device, lambda *x: nn.dot_product_attention(*x, is_causal=is_causal), q, k, v)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("dims", [(2, 136, 130), (1, 300, 520)])
def test_blocks_go_on_to_further_rows(
    blocks: int, dims: tuple[int, int, int], device: InterpretedDriver,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    """Stages, and the barriers of units, go round and round."""
    monkeypatch.setattr(warpgroup_tiles, "_MULTIPROCESSORS", blocks)
    check(device, causal, *operands(BF16, *dims, (2, 2), 64))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["bias", "mask", "window", "lengths"])
def test_logits_are_whatever_the_program_makes_of_scores(form: str, device: InterpretedDriver):
    q, k, v = operands(BF16, 2, 140, 137, (2, 2), 64)
    named: dict[str, Any] = {
        "bias": {"bias": random.standard_normal((2, 140, 137)).astype(np.float32)},
        "mask": {"mask": random.random((2, 1, 1, 137)) < 0.7},
        "window": {"is_causal": True, "local_window_size": 5},
        "lengths": {"key_value_seq_lengths": np.array([137, 60], np.int32)},
    }[form]
    check(device, lambda *x: nn.dot_product_attention(*x, **named), q, k, v)


@pytest.mark.slow
def test_heads_may_come_first_and_results_lie_otherwise(device: InterpretedDriver):
    q, k, v = (random.standard_normal((2, 3, n, 64)).astype(F16) for n in (130, 140, 140))

    def attend(q: Any, k: Any, v: Any) -> Any:
        logits = tnp.matmul(q.astype(np.float32), k.astype(np.float32).transpose(0, 1, 3, 2))
        weights = nn.softmax(logits * 0.125).astype(q.dtype).astype(np.float32)
        return tnp.matmul(weights, v.astype(np.float32)).astype(q.dtype).transpose(2, 0, 1, 3)

    check(device, attend, q, k, v)


@pytest.mark.slow
@pytest.mark.parametrize("outer", [False, True])
def test_keys_may_be_repeated_for_heads_next_to_each_other_or_far_apart(
    outer: bool, device: InterpretedDriver
):
    q = random.standard_normal((4, 130, 64)).astype(BF16)
    k, v = (random.standard_normal((2, 140, 64)).astype(BF16) for _ in range(2))

    def repeated(x: Any) -> Any:
        shape, place = ((2, 2, 140, 64), 0 if outer else 1)
        return tnp.broadcast_to(tnp.expand_dims(x, place), shape).reshape(4, 140, 64)

    def attend(q: Any, k: Any, v: Any) -> Any:
        logits = tnp.einsum("hrd,hjd->hrj", q.astype(np.float32), repeated(k).astype(np.float32))
        weights = nn.softmax(logits * 0.125).astype(q.dtype).astype(np.float32)
        return tnp.einsum("hrj,hjd->hrd", weights, repeated(v).astype(np.float32)).astype(q.dtype)

    report = check(device, attend, q, k, v)
    assert report.bulk_loads.bytes == q.nbytes + 4 * (k.nbytes + v.nbytes)


def test_keys_in_a_part_of_a_cache_are_brought_from_there(device: InterpretedDriver):
    q = random.standard_normal((1, 128, 2, 64)).astype(F16)
    cache = random.standard_normal((3, 2, 1, 128, 2, 64)).astype(F16)

    def attend(q: Any, cache: Any) -> Any:
        return nn.dot_product_attention(q, cache[1, 0], cache[1, 1])

    report = check(device, attend, q, cache)
    assert report.bulk_loads.bytes == q.nbytes + cache.nbytes // 3


@pytest.mark.slow
def test_logits_may_be_large(device: InterpretedDriver):
    """The difference to the largest is as exact as in f32, however large both are."""
    q, k, v = operands(F16, 1, 128, 128, (1, 1), 16)
    q, k = np.full_like(q, 60), (k.astype(np.float32) * 0.02 + 60).astype(F16)
    check(device, lambda *x: nn.dot_product_attention(*x, scale=1.0), q, k, v)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("size", [64, 96, 128])
@pytest.mark.parametrize("is_causal", [False, True])
def test_no_register_is_spilled(dtype: Any, size: int, is_causal: bool):
    q = np.zeros((4, 2048, 16, size), dtype)
    function = tfc.jit(lambda *x: nn.dot_product_attention(*x, is_causal=is_causal), backend="gpu")
    ptx = function.lower(q, q, q).compile().as_text("ptx")
    assert "wgmma" in ptx
    assert complaints(ptx, "sm_90a", ["-warn-spills", "-Werror"]) == ""


# What is left out of a kernel, and what the interpreter then says.
GUARDS: list[tuple[str, str]] = [
    (r"fence\.proxy\.async\.shared::cta;", "without fence.proxy.async"),
    (r"fence\.mbarrier_init[^;]*;", "no fence"),
    (r"wgmma\.fence\.sync\.aligned;", "since the last wgmma.fence"),
    (r"wgmma\.wait_group\S* 0;", "before wgmma.wait_group"),
    (r"cp\.async\.bulk\.wait_group\.read 0;", "under way still reads"),
    (r"@!over bra[^;]*;", "never written"),
    (r"bar\.sync\s+%r\d+, 128;", "without a barrier between"),
    (r"mbarrier\.arrive\.shared::cta[^;]*;", "arrivals"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "message"), GUARDS)
def test_nothing_that_keeps_threads_together_could_be_left_out(
    pattern: str, message: str, device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch,
    change_code: Callable[[InterpretedDriver, str, str], None],
):  # fmt: skip
    monkeypatch.setattr(warpgroup_tiles, "_MULTIPROCESSORS", 1)
    change_code(device, pattern, "")
    with pytest.raises(Fault, match=message):
        tfc.jit(causal, backend="gpu")(*operands(BF16, 2, 256, 600, (1, 1), 64))


# --- Boxes ----------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_digits_say_where_a_variable_is(sizes: list[int], shuffle: Any):
    """Of dimensions in any order, some of which change nothing."""
    order = list(range(len(sizes)))
    shuffle.shuffle(order)
    strides, step = [0] * len(sizes), 7
    for d in order:
        strides[d], step = step * shuffle.randint(0, 1), step * sizes[d]
    x = np.arange(prod(sizes))
    places = delinearize(variable("x", prod(sizes)), sizes)
    values = np.zeros_like(x)
    rest = x
    for size, stride in zip(reversed(sizes), reversed(strides)):
        values += rest % size * stride
        rest = rest // size
    assert len(places) == len(sizes)
    digits = digits_of(values)
    assert digits is not None
    total = sum(((x // d.divisor) % d.size * d.stride for d in digits), start=np.zeros_like(x))
    np.testing.assert_array_equal(total, values)


def test_what_is_no_sum_of_digits_is_not_taken_for_one():
    assert digits_of(np.array([0, 1, 3, 5])) is None
    assert digits_of(np.array([1, 2])) is None


def test_boxes_take_lines_of_several_dimensions_only_where_these_are_whole():
    """Rows of a pair of matrices that are 4 heads of each place, and 3 places of each head."""
    row, batch, column = variable("r", 400), variable("b", 2), variable("d", 64)
    sizes = {"d": 64, "r": 400, "b": 2}
    inner = batch * 400 * 64 + row * 64 + column
    assert placed(inner, sizes, "d", "r", 128, 2).boxes.box == (64, 128, 1)  # type: ignore[union-attr]
    by_heads = (row % 4) * 64 + (row // 4) * 64 * 8 + batch * 4 * 64 + column
    found = placed(by_heads, sizes, "d", "r", 128, 2)
    assert found is not None
    assert (found.boxes.dims, found.boxes.box) == ((64, 4, 100, 2), (64, 4, 32, 1))
    by_threes = (row % 100) * 64 + (row // 100) * 64 * 100 * 2 + batch * 6400 + column
    assert placed(by_threes, sizes, "d", "r", 128, 2) is None  # 128 rows are of two heads
    assert placed(inner + row * 3, sizes, "d", "r", 128, 2) is None  # 134 bytes apart
    assert placed(column * 2 + row * 128, sizes, "d", "r", 128, 2) is None
