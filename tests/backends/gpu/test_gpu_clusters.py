"""What the blocks of a cluster share (sm_90a), and join through shared memory: sums of products and
convolutions, keys of an attention, pieces of a reduction."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.choices import Preference, asking
from tfc.backends.gpu.convolutions import kernels as convolutions
from tfc.backends.gpu.products import choice, kernels, persistent
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.mlir.kernels import kernel_of
from tfc.testing.ptx import Report
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver

random = np.random.default_rng(12)
BF16 = ml_dtypes.bfloat16
KINDS: dict[str, tuple[Any, Any]] = {
    "f32": (np.float32, np.float32), "bf16": (BF16, np.float32), "f64": (np.float64, np.float64),
    "s8": (np.int8, np.int32), "s64": (np.int64, np.int64),
}  # fmt: skip


@pytest.fixture(autouse=True)
def device(with_warpgroups: InterpretedDriver) -> InterpretedDriver:
    """What all programs run on."""
    return with_warpgroups


def whole_numbers(*dims: int, dtype: Any = np.float32) -> np.ndarray:
    """Numbers whose products and sums are exact in each type."""
    low = 0 if np.dtype(dtype).kind == "u" else -3
    return random.integers(low, 4, dims).astype(dtype)


def on_gpu(device: InterpretedDriver, function: Callable[..., Any], *arrays: Any) -> np.ndarray:
    """What a function gives, by one launch without bank conflicts."""
    device.reports.clear()
    got = np.asarray(tfc.device_get(tfc.jit(function, backend="gpu")(*arrays)))
    assert one_report(device).bank_conflicts == 0
    return got


def one_report(device: InterpretedDriver) -> Report:
    """What the one launch did."""
    ((_, report),) = device.reports
    return report


def use(monkeypatch: Any, schedule: Schedule) -> None:
    """Give all products a schedule."""
    for module in (kernels, convolutions):
        monkeypatch.setattr(module, "schedule_for", lambda spec, in_clusters=False: schedule)


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize(("m", "n"), [(64, 64), (20, 50)])
def test_a_cluster_adds_up_what_its_blocks_have(
    m: int, n: int, blocks: int, device: InterpretedDriver, monkeypatch: Any
):
    """Each block reads the sums of all, of its part of the tile, and nothing goes to memory."""
    use(monkeypatch, Schedule(32, 64, 16, 32, splits=blocks, in_cluster=True))
    a, b, bias = whole_numbers(m, 64 * blocks), whole_numbers(64 * blocks, n), whole_numbers(n)
    got = on_gpu(device, lambda a, b, c: tnp.maximum(a @ b + c, 0), a, b, bias)
    np.testing.assert_array_equal(got, np.maximum(a @ b + bias, 0))
    report = one_report(device)
    assert report.stores.bytes == got.nbytes
    assert report.stores.transactions <= report.stores.ideal * 1.2


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_are_exact_in_all_kinds(kind: str, device: InterpretedDriver, monkeypatch: Any):
    dtype, sums = KINDS[kind]
    schedule = Schedule(32, 64, 16, 32, splits=2, in_cluster=True)
    use(monkeypatch, schedule)
    a, b = whole_numbers(3, 40, 72, dtype=dtype), whole_numbers(3, 56, 72, dtype=dtype)
    got = on_gpu(
        device, lambda a, b: tnp.einsum("bik,bjk->bji", a.astype(sums), b.astype(sums)), a, b
    )
    exact = np.float64 if np.dtype(sums).kind == "f" else np.int64
    wanted = np.einsum("bik,bjk->bji", a.astype(exact), b.astype(exact))
    np.testing.assert_array_equal(got, wanted.astype(sums))


def test_convolutions_share_sums_in_clusters(device: InterpretedDriver, monkeypatch: Any):
    use(monkeypatch, Schedule(32, 64, 16, 32, splits=4, in_cluster=True))
    x, k = whole_numbers(2, 5, 6, 16), whole_numbers(3, 3, 16, 24)

    def convolved(x: Any, k: Any) -> Any:
        return tnp.maximum(nn.conv(x, k, padding="SAME"), 0)

    got = on_gpu(device, convolved, x, k)
    np.testing.assert_array_equal(got, np.asarray(tfc.jit(convolved)(x, k)))


def kernel_and_spec(a: np.ndarray, b: np.ndarray) -> tuple[Any, Any]:
    """The kernel of a product, and its spec."""
    lowered = tfc.jit(lambda a, b: a @ b, backend="gpu").lower(a, b)
    kernel = kernel_of(lowered.compile().executable.hlo.entry.root.operands[0])
    return kernel, kernels.spec_of(kernel)


def spec_of(m: int, n: int, k: int) -> Any:
    """The spec of a product of f32."""
    return kernel_and_spec(np.zeros((m, k), np.float32), np.zeros((k, n), np.float32))[1]


def test_few_tiles_with_long_sums_get_clusters():
    schedule = choice.schedule_for(spec_of(128, 768, 768), in_clusters=True)
    assert schedule.in_cluster
    assert schedule.splits in (2, 4, 8)
    assert schedule.steps == 1
    assert not choice.schedule_for(spec_of(2048, 2048, 512), in_clusters=True).in_cluster
    assert not choice.schedule_for(spec_of(128, 768, 768)).in_cluster


@pytest.mark.parametrize(
    ("dims", "form"),
    [((128, 512, 512), "mma.sync"), ((64, 3072, 768), "mma.sync"), ((512, 768, 3072), "wgmma"),
     ((128, 4096, 4096), "wgmma")],
)  # fmt: skip
def test_products_of_few_large_tiles_go_in_small_ones(dims: tuple[int, int, int], form: str):
    m, k, n = dims
    arrays = np.zeros((m, k), BF16), np.zeros((k, n), BF16)

    def code(source: Preference | None) -> str:
        with asking(source):
            lowered = tfc.jit(lambda a, b: a @ b, backend="gpu").lower(*arrays)
            return lowered.compile().executable.code("sm_90a")

    assert form in code(None)
    assert "wgmma" in code(Preference(frozenset([persistent.BY_WARPGROUPS])))
    if persistent.tiles_for(*kernel_and_spec(*arrays)).units <= 64:
        assert "mma.sync" in code(Preference(frozenset([persistent.IN_SMALL_TILES])))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["f32", "bf16", "s8"])
def test_all_schedules_with_clusters_make_the_same_products(
    kind: str, device: InterpretedDriver, monkeypatch: Any
):
    dtype, sums = KINDS[kind]
    x = np.zeros((256, 256), dtype)
    function = tfc.jit(lambda x: tnp.matmul(x.astype(sums), x.astype(sums)), backend="gpu")
    spec = kernels.spec_of(
        kernel_of(function.lower(x).compile().executable.hlo.entry.root.operands[0])
    )
    assert spec is not None
    found = (s for s in choice.candidates(spec, in_clusters=True) if s.cluster == 2)
    for schedule in {(s.rows, s.columns): s for s in found}.values():
        use(monkeypatch, schedule)
        depth = schedule.depth(choice.factor_bytes(spec))
        k = schedule.splits * depth + 5
        a, b = (whole_numbers(*d, dtype=dtype) for d in ((schedule.rows + 1, k), (k, 40)))
        got = on_gpu(device, lambda a, b: tnp.matmul(a.astype(sums), b.astype(sums)), a, b)
        exact = np.float64 if np.dtype(sums).kind == "f" else np.int64
        np.testing.assert_array_equal(got, (a.astype(exact) @ b.astype(exact)).astype(sums))
        ptx = function.lower(x).compile().executable.code("sm_90a")
        assert complaints(ptx, "sm_90a", ["-warn-spills", "-Werror"]) == "", schedule


@pytest.mark.parametrize(
    ("rows", "keys", "causal", "dtype"),
    [(1, 512, False, np.float32), (5, 300, True, np.float32), (40, 512, True, BF16),
     (1, 1024, False, BF16)],
)  # fmt: skip
def test_a_cluster_shares_the_keys_of_an_attention(
    rows: int, keys: int, causal: bool, dtype: Any, device: InterpretedDriver
):
    q, k, v = (random.normal(size=(1, n, 2, 40)).astype(dtype) for n in (rows, keys, keys))

    def attention(q: Any, k: Any, v: Any) -> Any:
        mask = tnp.arange(keys)[None, :] <= tnp.arange(rows)[:, None] + 70 if causal else None
        return nn.dot_product_attention(q, k, v, mask=mask)

    got = on_gpu(device, attention, q, k, v)
    assert one_report(device).stores.bytes == got.nbytes
    wanted = np.asarray(tfc.jit(attention)(*(x.astype(np.float64) for x in (q, k, v))))
    error = np.abs(got.astype(np.float64) - wanted).max() / np.abs(wanted).max()
    assert error < (1e-6 if dtype == np.float32 else 2e-2)
    text = tfc.jit(attention, backend="gpu").lower(q, k, v).compile().executable.code("sm_90a")
    assert "reqnctapercluster" in text
    assert complaints(text, "sm_90a", ["-warn-spills", "-Werror"]) == ""


@pytest.mark.parametrize(
    ("dims", "axis"),
    [((512, 96), 0), ((600, 50), 0), ((3, 20_000), 1), ((700, 40, 3), 0),
     ((2101, 70), 0), ((2, 70_003), 1), ((3900, 16), 0)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, BF16, np.int64])
def test_a_cluster_reduces_a_few_pieces(
    dims: tuple[int, ...], axis: int, dtype: Any, device: InterpretedDriver
):
    x, y = whole_numbers(*dims, dtype=dtype), whole_numbers(*dims, dtype=dtype)

    def sums(x: Any, y: Any) -> Any:
        x, y = (z.astype(sums_of) for z in (x, y))
        return tnp.sum(x * y, axis=axis), tnp.max(x + y, axis=axis)

    sums_of = np.float32 if dtype is BF16 else dtype
    text = tfc.jit(sums, backend="gpu").lower(x, y).compile().executable.code("sm_90a")
    if "reqnctapercluster" in text:  # not where a block of many threads makes a row
        assert complaints(text, "sm_90a", ["-warn-spills", "-Werror"]) == ""
    device.reports.clear()
    got = [np.asarray(r) for r in tfc.device_get(tfc.jit(sums, backend="gpu")(x, y))]
    assert one_report(device).bank_conflicts == 0
    exact = np.int64 if dtype is np.int64 else np.float64
    a, b = x.astype(exact), y.astype(exact)
    np.testing.assert_array_equal(got[0], np.sum(a * b, axis=axis))
    np.testing.assert_array_equal(got[1], np.max(a + b, axis=axis))


@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "result"),
    [
        (128, 256, 1024, BF16, np.float32), (100, 136, 1104, BF16, BF16),
        (70, 64, 2048, np.float16, np.float16), (128, 128, 2048, np.int8, np.int32),
        (64, 72, 3072, np.uint8, np.uint32),
    ],
)  # fmt: skip
def test_warpgroups_of_a_cluster_add_up_shares(
    m: int, n: int, k: int, dtype: Any, result: Any, device: InterpretedDriver
):
    """By one launch, whose sums are in no memory, and results go by boxes."""
    sums = {np.int8: np.int32, np.uint8: np.uint32}.get(dtype, np.float32)
    a, b = (whole_numbers(*d, dtype=dtype) for d in ((m, k), (n, k)))
    bias, low = whole_numbers(n, dtype=sums), 0 if dtype is np.uint8 else -100

    def layer(a: Any, b: Any, bias: Any) -> Any:
        x = tnp.einsum("ik,jk->ij", a.astype(sums), b.astype(sums)) + bias
        return tnp.clip(x, low, 100).astype(result)

    got = on_gpu(device, layer, a, b, bias)
    left, right = a.astype(np.float64), b.astype(np.float64)
    wanted = np.clip(left @ right.T + bias.astype(np.float64), low, 100).astype(result)
    np.testing.assert_array_equal(got, wanted)
    report = one_report(device)
    assert sum(report.products.values()) > 0
    assert report.bulk_stores.bytes == got.nbytes
    text = tfc.jit(layer, backend="gpu").lower(a, b, bias).compile().executable.code("sm_90a")
    assert "reqnctapercluster" in text
    assert complaints(text, "sm_90a", ["-warn-spills", "-Werror"]) == ""


def test_warpgroups_of_a_cluster_store_several_results(device: InterpretedDriver):
    x, w, v = (whole_numbers(*d, dtype=BF16) for d in ((96, 1536), (1536, 128), (128, 24)))

    def layers(x: Any, w: Any, v: Any) -> Any:
        h = tnp.clip(x @ w, -4, 4)
        a = tnp.maximum(h, 0)
        return h, a @ v, x.T @ a

    got = tfc.device_get(tfc.jit(layers, backend="gpu")(x, w, v))
    exact = [z.astype(np.float64) for z in (x, w, v)]
    h = np.clip((exact[0] @ exact[1]).astype(BF16).astype(np.float64), -4, 4)
    a = np.maximum(h, 0)
    np.testing.assert_array_equal(np.asarray(got[0]).astype(np.float64), h)
    for result, wanted in zip(got[1:], (a @ exact[2], exact[0].T @ a)):
        np.testing.assert_array_equal(np.asarray(result), wanted.astype(BF16))


def test_convolutions_by_warpgroups_share_sums_in_clusters(device: InterpretedDriver):
    x, k = whole_numbers(2, 8, 8, 128, dtype=BF16), whole_numbers(3, 3, 128, 64, dtype=BF16)

    def convolved(x: Any, k: Any) -> Any:
        return nn.conv(x, k, padding="SAME", preferred_element_type="float32")

    x[0, 0, 0, 0] = np.inf  # by which zeros beyond edges are not multiplied
    got = on_gpu(device, convolved, x, k)
    np.testing.assert_array_equal(got, np.asarray(tfc.jit(convolved)(x, k)))
    assert sum(one_report(device).products.values()) > 0
