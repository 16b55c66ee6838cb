"""Products by warpgroups on GPUs of sm_90a: boxes in, sums in registers, boxes out."""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.aot.gpu.compiling import gpu_programs
from tfc.backends.gpu.convolutions import kernels as convolution_kernels
from tfc.backends.gpu.driver import using
from tfc.backends.gpu.products import tiles
from tfc.hlo import parse
from tfc.testing.ptx import Fault, Report
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver

random = np.random.default_rng(3)
BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


@pytest.fixture(autouse=True)
def device(with_warpgroups: InterpretedDriver) -> InterpretedDriver:
    """What all programs run on."""
    return with_warpgroups


def whole_numbers(dims: Sequence[int], dtype: Any) -> np.ndarray:
    """Numbers whose products and sums are exact in each type."""
    low = 0 if np.dtype(dtype).kind == "u" else -3
    return random.integers(low, 4, dims).astype(dtype)


def reports_of(
    device: InterpretedDriver, function: Callable[..., Any], *arguments: Any
) -> tuple[np.ndarray, list[Report]]:
    """What a function gives, and what its launches did."""
    got = np.asarray(tfc.device_get(tfc.jit(function, backend="gpu")(*arguments)))
    return got, [report for _, report in device.reports]


def check(
    device: InterpretedDriver, dtype: Any, sums: Any, m: int, n: int, k: int,
    transposed: tuple[bool, bool], batch: int = 1,
) -> Report:  # fmt: skip
    """A product of whole numbers is exactly NumPy's, by one launch without bank conflicts."""
    a = whole_numbers((batch, k, m) if transposed[0] else (batch, m, k), dtype)
    b = whole_numbers((batch, n, k) if transposed[1] else (batch, k, n), dtype)
    names = f"b{'ki' if transposed[0] else 'ik'},b{'jk' if transposed[1] else 'kj'}->bij"
    got, (report,) = reports_of(
        device, lambda a, b: tnp.einsum(names, a.astype(sums), b.astype(sums)), a, b
    )
    left, right = (x.astype(np.float64) for x in (a, b))
    left = left.swapaxes(1, 2) if transposed[0] else left
    right = right.swapaxes(1, 2) if transposed[1] else right
    np.testing.assert_array_equal(got.astype(np.float64), left @ right)
    assert report.bank_conflicts == 0
    assert report.bulk_stores.bytes == got.nbytes
    return report


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
def test_operands_of_16_bits_are_multiplied_as_they_lie(
    transposed: tuple[bool, bool], device: InterpretedDriver
):
    """Each element is brought once for each tile that needs it, and each product is done once."""
    report = check(device, BF16, np.float32, 128, 256, 128, transposed)
    assert report.products == {"m64n128k16": 2 * 2 * (128 // 16)}
    assert report.bulk_loads.bytes == 2 * (128 * 128 + 128 * 128) * 2
    assert report.bulk_loads.transactions == report.bulk_loads.ideal
    assert report.bulk_stores.transactions == report.bulk_stores.ideal
    assert report.loads.bytes == report.stores.bytes == 0


@pytest.mark.parametrize(
    ("dtype", "sums"),
    [(np.float16, np.float32), (np.int8, np.int32), (np.uint8, np.uint32), (E4M3, np.float32),
     (E5M2, np.float32)],
)  # fmt: skip
def test_other_kinds_are_exact(dtype: Any, sums: Any, device: InterpretedDriver):
    report = check(device, dtype, sums, 128, 128, 160, (False, True))
    depth = 32 // np.dtype(dtype).itemsize
    assert sum(report.products.values()) == 2 * -(-160 * np.dtype(dtype).itemsize // 128) * 4
    assert list(report.products) == [f"m64n128k{depth}"]


@pytest.mark.parametrize(("dtype", "sums"), [(np.int8, np.int32), (E4M3, np.float32)])
def test_operands_of_8_bits_are_laid_out_along_their_sums(
    dtype: Any, sums: Any, device: InterpretedDriver
):
    """The compiler lays out a constant; the other one is copied. Results are bytes, too."""
    a, w = whole_numbers((192, 128), dtype), whole_numbers((192, 272), dtype)

    def function(a: Any) -> Any:
        made = tnp.dot(a.T, tnp.asarray(w), preferred_element_type=sums)
        return tnp.clip(made.astype(np.float32) / 8, -100, 100).astype(dtype)

    got, reports = reports_of(device, function, a)
    wanted = np.asarray(tfc.jit(function, backend="interpreter")(a))
    np.testing.assert_array_equal(got.astype(np.float32), wanted.astype(np.float32))
    assert [bool(report.products) for report in reports] == [False, True]
    product = reports[-1]
    assert product.bank_conflicts == product.stores.bytes == 0
    assert product.bulk_stores.bytes == got.nbytes


@pytest.mark.slow
@pytest.mark.parametrize("transposed", [(False, True), (True, False), (True, True)])
def test_what_reaches_beyond_the_operands_is_zero_and_is_not_stored(
    transposed: tuple[bool, bool], device: InterpretedDriver
):
    report = check(device, np.float16, np.float32, 200, 136, 72, transposed, batch=2)
    # Two tiles each way: rows are brought for each tile across, and columns for each down.
    assert report.bulk_loads.bytes == 2 * 2 * (2 * 200 * 72 + 2 * 136 * 72)


def test_blocks_go_on_to_further_tiles_of_256_columns(
    device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    """Stages and barriers go round and round: 3 tiles of 5 stages each, of which 4 fit."""
    monkeypatch.setattr(tiles, "_MULTIPROCESSORS", 1)
    report = check(device, BF16, np.float32, 300, 256, 320, (False, False))
    assert report.products == {"m64n256k16": 3 * 2 * (320 // 16)}
    assert report.bulk_loads.bytes == (300 + 3 * 256) * 320 * 2


def test_blocks_of_a_cluster_bring_columns_to_each_other(
    device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    """Eight tiles of 256 columns, of which two blocks at a time do those below each other."""
    monkeypatch.setattr(tiles, "_MULTIPROCESSORS", 4)
    report = check(device, BF16, np.float32, 512, 512, 192, (False, False))
    assert report.products == {"m64n256k16": 8 * 2 * (192 // 16)}
    assert report.bulk_loads.bytes == (2 * 512 + 2 * 512) * 192 * 2


@pytest.mark.slow
@pytest.mark.parametrize("transposed", [(False, True), (True, False), (True, True)])
def test_clusters_go_through_edges_batches_and_other_orders(
    transposed: tuple[bool, bool], device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tiles, "_MULTIPROCESSORS", 4)
    report = check(device, BF16, np.float32, 496, 136, 200, transposed, batch=2)
    assert list(report.products) == ["m64n256k16"]
    # Four tiles of rows in two pairs, each of which has the columns once.
    assert report.bulk_loads.bytes == 2 * (496 + 2 * 136) * 200 * 2


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "sums"), [(np.int8, np.int32), (E4M3, np.float32)])
def test_clusters_multiply_8_bits(
    dtype: Any, sums: Any, device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tiles, "_MULTIPROCESSORS", 4)
    check(device, dtype, sums, 256, 256, 288, (False, True))


# What is left out of a kernel of clusters, or changed, and what the interpreter then says.
CLUSTER_GUARDS: list[tuple[str, str, str]] = [
    (r"barrier\.cluster\.arrive\.relaxed;\s*barrier\.cluster\.wait\S*;", "", "may not have begun"),
    (r"barrier\.cluster\.arrive\.release;\s*barrier\.cluster\.wait\S*;", "", "may have ended"),
    (r"barrier\.cluster\.arrive\.release;", "barrier.cluster.arrive.relaxed;", "without .release"),
    (r"mbarrier\.arrive\.shared::cluster[^;]*;", "", "16 of 16 arrivals"),
    (r"(multicast[^;]*), 3;", r"\1, 1;", "bytes are missing"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "replacement", "message"), CLUSTER_GUARDS)
def test_nothing_that_keeps_blocks_together_could_be_left_out(
    pattern: str, replacement: str, message: str, device: InterpretedDriver,
    monkeypatch: pytest.MonkeyPatch, change_code: Callable[[InterpretedDriver, str, str], None],
):  # fmt: skip
    change_code(device, pattern, replacement)
    check_guard(monkeypatch, message, (256, 512))


@pytest.mark.slow
def test_tiles_go_down_some_rows_before_they_go_right(
    device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tiles, "_MULTIPROCESSORS", 3)
    report = check(device, BF16, np.float32, 8 * 128, 264, 64, (False, True))
    assert report.bulk_loads.bytes == (3 * 8 * 128 + 4 * 264) * 64 * 2  # two rows of tiles at once


def test_few_tiles_are_shared_by_several_blocks(
    device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    """16 stages are 6, 6 and 4, whose sums a second step adds up and finishes."""
    share_among(monkeypatch, 3)
    a, b = whole_numbers((128, 1000), BF16), whole_numbers((128, 1000), BF16)
    got, (first, second) = reports_of(
        device, lambda a, b: tnp.einsum("ik,jk->ij", a, b) + BF16(1), a, b
    )
    sums = (a.astype(np.float64) @ b.astype(np.float64).T).astype(BF16)
    np.testing.assert_array_equal(got, (sums.astype(np.float32) + 1).astype(BF16))
    assert first.products == {"m64n128k16": 2 * 16 * 4}
    assert first.bulk_loads.bytes == 2 * 128 * 1000 * 2
    assert first.bulk_stores.bytes == second.loads.bytes == 3 * 128 * 128 * 4


def share_among(monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
    """Let so many blocks run at once, and a second step cost nothing."""
    monkeypatch.setattr(tiles, "_MULTIPROCESSORS", blocks)
    monkeypatch.setattr(tiles, "_SECOND_STEP", 0)


def test_tiles_of_the_last_turn_are_shared(
    device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    """Of seven tiles five blocks do one each, and two shares of each of the two others."""
    share_among(monkeypatch, 5)
    a, b = whole_numbers((7 * 128 - 40, 520), BF16), whole_numbers((100, 520), BF16)
    got, (first, second) = reports_of(
        device, lambda a, b: tnp.einsum("ik,jk->ij", a, b, preferred_element_type="float32"), a, b
    )
    np.testing.assert_array_equal(got, a.astype(np.float64) @ b.astype(np.float64).T)
    assert first.products == {"m64n128k16": 7 * 2 * 9 * 4}
    whole, shares = 5 * 128 * 100 * 4, 2 * 2 * 128 * 128 * 4
    assert first.bulk_stores.bytes == whole + shares
    assert second.stores.bytes == got.nbytes - whole
    assert first.bank_conflicts == 0


@pytest.mark.slow
@pytest.mark.parametrize("transposed", [(False, False), (True, False)])
@pytest.mark.parametrize(("blocks", "dims"), [(4, (1280, 200, 576)), (6, (512, 520, 640))])
def test_clusters_share_their_last_tiles(
    blocks: int, dims: tuple[int, int, int], transposed: tuple[bool, bool],
    device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    share_among(monkeypatch, blocks)
    m, n, k = dims
    a = whole_numbers((k, m) if transposed[0] else (m, k), BF16)
    b = whole_numbers((k, n), BF16)
    bias = whole_numbers((n,), BF16)

    def function(a: Any, b: Any, bias: Any) -> Any:
        left = a.T if transposed[0] else a
        return tnp.maximum(left @ b + bias, BF16(0))

    got, reports = reports_of(device, function, a, b, bias)
    left = (a.T if transposed[0] else a).astype(np.float64)
    sums = (left @ b.astype(np.float64)).astype(BF16).astype(np.float32)
    rounded = (sums + bias.astype(np.float32)).astype(BF16)
    np.testing.assert_array_equal(got, np.maximum(rounded, BF16(0)))
    assert len(reports) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "sums", "blocks"), [(np.int8, np.int32, 4), (E4M3, np.float32, 8)]
)
def test_shares_of_8_bits_and_of_batches(
    dtype: Any, sums: Any, blocks: int, device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    share_among(monkeypatch, blocks)
    a, b = whole_numbers((3, 200, 1088), dtype), whole_numbers((3, 132, 1088), dtype)
    got, reports = reports_of(
        device, lambda a, b: tnp.einsum("bik,bjk->bij", a.astype(sums), b.astype(sums)), a, b
    )
    wanted = a.astype(np.float64) @ b.astype(np.float64).swapaxes(1, 2)
    np.testing.assert_array_equal(got.astype(np.float64), wanted)
    assert len(reports) == 2


def test_shares_are_made_where_the_model_gains_by_them():
    """Whole turns, a nearly empty last one, few deep tiles; but no shares of short sums."""

    def shares(count: int, turns: int, columns: int) -> tuple[int, int, bool]:
        found = tiles._division(count, turns, columns, True)
        return found.whole, found.splits, found.adds_up

    assert shares(512, 64, 256) == (512, 1, False)
    assert shares(288, 64, 256) == (264, 5, False)
    assert shares(264, 64, 256) == (264, 1, False)
    assert shares(140, 4, 128) == (140, 1, False)
    assert shares(24, 45, 128) == (0, 5, True)
    assert shares(1, 4096, 128) == (0, 128, False)


def test_f32_is_multiplied_as_tf32_if_the_algorithm_says_so(device: InterpretedDriver):
    a, b = whole_numbers((64, 40), np.float32), whole_numbers((72, 40), np.float32)
    text = """HloModule m
ENTRY main { a = f32[64,40] parameter(0)
  b = f32[72,40] parameter(1)
  ROOT d = f32[64,72] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}ALGORITHM }"""
    for algorithm, count in ((", algorithm=dot_tf32_tf32_f32", 2 * 2 * 4), ("", 0)):
        device.reports.clear()
        program = tfc.compile(parse(text.replace("ALGORITHM", algorithm)), backend="gpu")
        (got,) = program(a, b)
        np.testing.assert_array_equal(np.asarray(got), a @ b.T)
        ((_, report),) = device.reports
        assert sum(report.products.values()) == count


@pytest.mark.parametrize("is_large", [True, False])
def test_operands_of_tf32_are_laid_out_along_the_sums_where_that_is_sooner(
    is_large: bool, device: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    """By a copy, for warpgroups; a small product is one launch, whose warps read words."""
    monkeypatch.setattr(convolution_kernels, "_LEAST_PRODUCTS", 1 if is_large else 1 << 30)
    a, b = whole_numbers((1024, 36), np.float32), whole_numbers((36, 72), np.float32)
    with tfc.default_matmul_precision("tensorfloat32"):
        got, reports = reports_of(device, tnp.matmul, a, b)
    np.testing.assert_array_equal(got, a @ b)
    assert [sum(r.products.values()) > 0 for r in reports] == [False] * is_large + [is_large]
    assert [r.instructions["mma"] > 0 for r in reports] == [False] * is_large + [not is_large]
    assert all(r.bank_conflicts == 0 for r in reports)


@pytest.mark.parametrize(("precision", "count"), [("bfloat16", 1), ("BF16_BF16_F32_X3", 3)])
def test_f32_is_multiplied_as_bf16_if_the_precision_says_so(
    precision: str, count: int, device: InterpretedDriver
):
    """One launch makes the parts of both operands; whole numbers of 16 bits have two."""
    parts = 2.0 ** (8 if count > 1 else 0)
    a = whole_numbers((64, 72), np.float32) * parts + whole_numbers((64, 72), np.float32)
    b = whole_numbers((72, 80), np.float32)
    got, (first, *products) = reports_of(
        device, lambda a, b: tnp.matmul(a, b, precision=precision), a, b
    )
    np.testing.assert_array_equal(got, a @ b)
    assert first.loads.bytes == a.nbytes + b.nbytes
    assert [{name[-3:] for name in each.products} for each in products] == [{"k16"}] * count


def test_what_follows_is_part_of_the_kernel(device: InterpretedDriver):
    a, b = whole_numbers((128, 64), BF16), whole_numbers((64, 136), BF16)
    bias, residual = whole_numbers((136,), np.float32), whole_numbers((128, 136), np.float32)

    def function(a: Any, b: Any, bias: Any, residual: Any) -> Any:
        sums = tnp.matmul(a.astype(np.float32), b.astype(np.float32))
        return (tnp.maximum(sums + bias, 0) + residual).astype(BF16)

    got, (report,) = reports_of(device, function, a, b, bias, residual)
    sums = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(got, (np.maximum(sums + bias, 0) + residual).astype(BF16))
    assert sum(report.products.values()) > 0
    assert report.bank_conflicts == 0
    assert report.bulk_stores.bytes == got.nbytes


@pytest.mark.slow
def test_what_boxes_do_not_bring_goes_another_way(device: InterpretedDriver):
    """8-bit numbers that lie across the sums, rows of no multiple of 16 bytes, few rows."""
    for dtype, sums, shape, other in (
        (np.int8, np.int32, (128, 64), (64, 128)),
        (BF16, np.float32, (128, 66), (66, 128)),
        (BF16, np.float32, (32, 64), (64, 128)),
    ):
        a, b = whole_numbers(shape, dtype), whole_numbers(other, dtype)
        device.reports.clear()
        got, (report,) = reports_of(
            device, lambda a, b, t=sums: tnp.matmul(a.astype(t), b.astype(t)), a, b
        )
        np.testing.assert_array_equal(got, a.astype(np.float64) @ b.astype(np.float64))
        assert not report.products
        assert report.instructions["mma"] > 0


@pytest.mark.parametrize("signed_first", [False, True])
def test_bytes_with_signs_and_without_go_another_way(signed_first: bool, device: InterpretedDriver):
    """Warpgroups multiply those by an instruction that only newer assemblers know."""
    types = (np.int8, np.uint8) if signed_first else (np.uint8, np.int8)
    a, b = (whole_numbers((64, 128), t) for t in types)
    got, (report,) = reports_of(
        device, lambda a, b: tnp.einsum("ik,jk->ij", a.astype(np.int32), b.astype(np.int32)), a, b
    )
    np.testing.assert_array_equal(got, a.astype(np.int64) @ b.T.astype(np.int64))
    assert not report.products
    assert report.instructions["mma"] > 0


def test_more_than_the_usual_precision_of_8_bit_floats_goes_another_way(device: InterpretedDriver):
    a, b = whole_numbers((64, 32), E4M3), whole_numbers((64, 32), E4M3)

    def function(a: Any, b: Any) -> Any:
        return tnp.matmul(a.astype(np.float32), b.T.astype(np.float32), precision="highest")

    _, reports = reports_of(device, function, a, b)
    assert not any(r.products for r in reports)
    reports_of(device, lambda a, b: tnp.matmul(a.astype(np.float32), b.T.astype(np.float32)), a, b)
    assert any(r.products for _, r in device.reports)


@pytest.mark.parametrize(
    ("dtype", "sums"), [(BF16, np.float32), (np.int8, np.int32), (E4M3, np.float32)]
)
def test_sums_stay_in_registers(dtype: Any, sums: Any):
    """The assembler finds no reason to keep sums in memory, or to do products one by one."""
    a, b = np.zeros((8192, 8192), dtype), np.zeros((8192, 8192), dtype)
    compiled = tfc.jit(
        lambda a, b: tnp.einsum("ik,jk->ij", a.astype(sums), b.astype(sums)), backend="gpu"
    ).lower(a, b).compile()  # fmt: skip
    ptx = compiled.as_text("ptx")
    assert f"m64n{128 if dtype == E4M3 else 256}k" in ptx
    assert complaints(ptx, "sm_90a", ["-warn-spills", "-Werror"]) == ""


@pytest.mark.parametrize("dtype", [BF16, np.float16])
def test_halves_are_rounded_as_ever(dtype: Any, device: InterpretedDriver):
    """Two at once, to nearest even, NaN and infinities and what is too large among them."""
    a = np.zeros((64, 32), dtype)
    b = np.zeros((32, 64), dtype)
    a[:, 0], a[:, 1] = np.linspace(-300, 300, 64), 1
    b[0], b[1] = np.linspace(-300, 300, 64), np.linspace(0, 1, 64)
    a[:3, 2], b[2, 5] = [np.nan, np.inf, -np.inf], 1
    got, _ = reports_of(device, lambda a, b: a @ b, a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = a[:, :2].astype(np.float32) @ b[:2].astype(np.float32)
        sums += a[:, 2:3].astype(np.float32) * b[2:3].astype(np.float32)
        wanted = sums.astype(dtype)
    np.testing.assert_array_equal(got.astype(np.float32), wanted.astype(np.float32))


@pytest.mark.slow
def test_one_program_runs_on_gpus_with_and_without_warpgroups(device: InterpretedDriver):
    a, b = whole_numbers((128, 64), BF16), whole_numbers((64, 128), BF16)
    function = tfc.jit(lambda a, b: tnp.matmul(a.astype(np.float32), b.astype(np.float32)),
                       backend="gpu")  # fmt: skip
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(tfc.device_get(function(a, b)), wanted)
    with using(InterpretedDriver("sm_80")) as older:
        np.testing.assert_array_equal(tfc.device_get(function(a, b)), wanted)
    assert device.reports[0][1].products
    assert older.reports[0][1].instructions["mma"] > 0  # type: ignore[attr-defined]


def test_programs_ahead_of_time_go_by_warpgroups_too():
    a, b = np.zeros((128, 64), BF16), np.zeros((64, 128), BF16)
    compiled = tfc.jit(lambda a, b: a @ b, backend="gpu").lower(a, b).compile()
    older, newer = gpu_programs(compiled.executable.source, ["sm_80", "sm_90a"])
    assert "mma.sync" in older.ptx
    assert [[box[0] for box in p.steps[0]["boxes"]] for p in (older, newer)] == [[], [0, 1, 2]]
    assert newer.steps[0]["boxes"][2][1] == {
        "itemsize": 2, "dims": [128, 128], "strides": [256], "box": [64, 64], "swizzle": 128,
            "pixels": None,
        }  # fmt: skip


# What is left out of the kernel, or changed, and what the interpreter then says.
GUARDS: list[tuple[str, str, str]] = [
    (r"fence\.proxy\.async\.shared::cta;", "", "without fence.proxy.async"),
    (r"fence\.mbarrier_init[^;]*;", "", "no fence"),
    (r"wgmma\.fence\.sync\.aligned;", "", "since the last wgmma.fence"),
    (r"(wgmma\.wait_group\S*) 1;", r"\1 2;", "still reads"),
    (r"wgmma\.wait_group\S* 0;", "", "before wgmma.wait_group"),
    (r"\S*wait_group\.read 1;", "", "an operation under way reads"),
    (r"cp\.async\.bulk\.wait_group 0;", "", "may still read"),
    (r"@!over bra[^;]*;", "", "never written"),
    (r"bar\.sync\s+%r\d+, 128;", "", "without a barrier between"),
    (r"mbarrier\.arrive\.shared[^;]*;", "", "8 of 8 arrivals"),
    (r"(setmaxnreg\.dec\S*) 40;", r"\1 168;", "registers that no warp gives up"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "replacement", "message"), GUARDS)
def test_nothing_that_keeps_order_could_be_left_out(
    pattern: str, replacement: str, message: str, device: InterpretedDriver,
    monkeypatch: pytest.MonkeyPatch, change_code: Callable[[InterpretedDriver, str, str], None],
):  # fmt: skip
    """Tiles follow each other through all stages; the interpreter finds what then goes wrong."""
    change_code(device, pattern, replacement)
    check_guard(monkeypatch, message, (128, 256))


def check_guard(monkeypatch: pytest.MonkeyPatch, message: str, lines: tuple[int, int]) -> None:
    """Check that a product with such rows and columns, whose code is changed, is a fault."""
    monkeypatch.setattr(tiles, "_MULTIPROCESSORS", 2 if lines[0] > 128 else 1)
    a, b = (whole_numbers((count, 576), BF16) for count in lines)
    function = tfc.jit(lambda a, b: tnp.einsum("ik,jk->ij", a, b), backend="gpu")
    with pytest.raises(Fault, match=message):
        function(a, b)


@pytest.mark.parametrize("several", [False, True])
def test_a_block_whose_results_are_one_box_waits_for_the_one_before(
    several: bool, device: InterpretedDriver
):
    """Narrow tiles of bf16: a block's next tile, or next result, goes through the same memory."""
    rows = 133 * 128 if not several else 96
    a, b = whole_numbers((rows, 64), BF16), whole_numbers((64, 64), BF16)

    def layers(a: Any, b: Any) -> Any:
        h = a @ b
        return (h, tnp.maximum(h, 0) @ b) if several else h

    got, _ = reports_of(device, lambda a, b: layers(a, b)[0] if several else layers(a, b), a, b)
    wanted = (a.astype(np.float64) @ b.astype(np.float64)).astype(BF16)
    np.testing.assert_array_equal(got, wanted)
    if several:
        both = tfc.device_get(tfc.jit(layers, backend="gpu")(a, b))
        after = np.maximum(wanted, 0).astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_array_equal(np.asarray(both[1]), after.astype(BF16))
