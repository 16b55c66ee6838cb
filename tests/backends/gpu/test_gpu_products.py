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
from tfc.backends.gpu.products import choice, kernels
from tfc.backends.gpu.products.schedule import Schedule
from tfc.backends.mlir.kernels import Kernel, kernel_of
from tfc.hlo.text.parser import parse
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


@pytest.mark.parametrize("transposed", [TRANSPOSED[0], TRANSPOSED[3]])
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
    for m, n, k in ((1, 1, 1), (3, 65, 7), (33, 20, 130), (66, 72, 36), (100, 3, 16)):
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


@pytest.mark.parametrize(("dims", "together"), [((40, 64), 8), ((37, 72), 8), ((24, 36), 4)])
@pytest.mark.parametrize("is_turned", [False, True])
def test_neighbours_of_results_are_read_and_stored_at_once(
    dims: tuple[int, int], together: int, is_turned: bool, device: Any
):
    a, b = whole_numbers((dims[0], 32), np.float16), whole_numbers((32, dims[1]), np.float16)
    residual = whole_numbers(dims, np.float16)

    def function(a: Any, b: Any, residual: Any) -> Any:
        if is_turned:  # columns of the product lie together
            return tnp.maximum((b.T @ a.T).T, 0) + residual
        return tnp.maximum(a @ b, 0) + residual

    device.reports.clear()
    got = on_gpu(function, a, b, residual)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(got, np.maximum(exact, 0).astype(np.float16) + residual)
    ((_, report),) = device.reports
    assert report.stores.accesses * together == residual.size
    assert report.bank_conflicts == 0
    plain = tfc.jit(lambda a, b: tnp.maximum(a @ b, 0), backend="gpu")
    device.reports.clear()
    plain(a, b)
    ((_, without),) = device.reports
    assert (report.loads.accesses - without.loads.accesses) * together == residual.size


def test_narrow_numbers_stay_narrow_for_each_of_several_products(device: Any):
    weights = whole_numbers((64, 32), BF16)

    def function(x: Any, a: Any, b: Any) -> Any:
        return tnp.concatenate([x @ a, x @ b.T, x @ weights], axis=1)

    x, a, b = (whole_numbers(dims, BF16) for dims in ((16, 64), (64, 24), (24, 64)))
    device.reports.clear()
    got = on_gpu(function, x, a, b)
    wide, right = x.astype(np.float32), np.concatenate([a, b.T, weights], axis=1)
    np.testing.assert_array_equal(got, (wide @ right.astype(np.float32)).astype(BF16))
    products = [r for _, r in device.reports if r.instructions["fma"] or r.instructions["mma"]]
    assert len(products) == 3
    assert all(r.instructions["mma"] for r in products)


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


@pytest.mark.parametrize(
    ("kind", "depth"), [("f16", 16), ("s8", 32), ("f64", 4), ("f32", 0), ("s64", 0)]
)
def test_memory_is_read_in_whole_sectors_and_each_product_is_done_once(
    kind: str, depth: int, device: Any
):
    dtype, sums = KINDS[kind]
    a, b = whole_numbers((64, 128), dtype), whole_numbers((128, 128), dtype)
    device.reports.clear()
    on_gpu(lambda a, b: tnp.matmul(a.astype(sums), b.T.astype(sums)), a, b)
    for _, report in device.reports:  # there are two where blocks share sums
        assert report.bank_conflicts == 0
        assert report.loads.uncoalesced == report.stores.uncoalesced == 0
    first = device.reports[0][1].stores
    assert first.accesses * 16 == first.bytes  # each of 16 bytes
    rows = 8 if kind == "f64" else 16
    wanted = 32 * (64 // rows) * (128 // 8) * (128 // depth) if depth else 0
    assert device.reports[0][1].instructions["mma"] == wanted


@pytest.mark.parametrize(
    "architecture", ["sm_90a", *(pytest.param(a, marks=pytest.mark.slow) for a in ARCHITECTURES)]
)
def test_kernels_of_products_need_no_memory_for_registers(architecture: str):
    a, b = np.zeros((512, 512), BF16), np.zeros((512, 512), BF16)
    compiled = tfc.jit(lambda a, b: a @ b, backend="gpu").lower(a, b).compile()
    assert isinstance(compiled.executable, GpuExecutable)
    ptx = compiled.executable.code(architecture)
    assert complaints(ptx, architecture, ["-warn-spills", "-Werror"]) == ""


def schedules(kind: str) -> list[Schedule]:
    """The schedules that there are for a kind, each shape of tiles in all numbers of stages."""
    element = kernels.spec_of(kernel_of_product(kind))
    assert element is not None
    return [s for s in choice.candidates(element) if s.splits in (1, 3)]


def kernel_of_product(kind: str) -> Kernel:
    """The kernel of a product with many sums."""
    dtype, sums = KINDS[kind]
    x = np.zeros((256, 256), dtype)
    lowered = tfc.jit(lambda x: tnp.matmul(x.astype(sums), x.astype(sums)), backend="gpu").lower(x)
    root = lowered.compile().executable.hlo.entry.root.operands[0]
    return kernel_of(root)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["f16", "s8", "f64", "f32", "s64"])
def test_all_schedules_make_the_same_products(kind: str, monkeypatch: Any):
    tiles = {(s.rows, s.columns, s.pieces): s for s in schedules(kind)}
    for schedule in tiles.values():
        monkeypatch.setattr(kernels, "schedule_for", lambda spec, schedule=schedule, **_: schedule)
        check(kind, schedule.rows + 1, 40, 3 * schedule.depth(1) + 5, (False, True))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kind", ["f16", "s8", "f64", "f32", "s64"])
def test_all_schedules_keep_their_sums_in_registers(kind: str, architecture: str, monkeypatch: Any):
    dtype, sums = KINDS[kind]
    x = np.zeros((256, 256), dtype)
    tiles = {(s.rows, s.columns, s.warp_columns): s for s in schedules(kind)}
    for schedule in tiles.values():
        monkeypatch.setattr(kernels, "schedule_for", lambda spec, schedule=schedule, **_: schedule)
        function = tfc.jit(lambda x: tnp.matmul(x.astype(sums), x.astype(sums)), backend="gpu")
        executable = function.lower(x).compile().executable
        assert isinstance(executable, GpuExecutable)
        ptx = executable.code(architecture)
        assert complaints(ptx, architecture, ["-warn-spills", "-Werror"]) == "", schedule


def test_large_products_get_large_tiles_and_few_tiles_share_their_sums():
    def chosen(m: int, n: int, k: int) -> Schedule:
        a, b = np.zeros((m, k), np.float16), np.zeros((k, n), np.float16)
        lowered = tfc.jit(lambda a, b: a @ b, backend="gpu").lower(a, b)
        spec = kernels.spec_of(kernel_of(lowered.compile().executable.hlo.entry.root.operands[0]))
        assert spec is not None
        return kernels.schedule_for(spec)

    large, deep, small = chosen(2048, 2048, 512), chosen(64, 64, 8192), chosen(50, 50, 50)
    assert large.rows * large.columns >= 128 * 128
    assert (large.splits, small.splits) == (1, 1)
    assert deep.splits > 4


def test_shares_of_sums_are_added_up_in_their_order(monkeypatch: Any, device: Any):
    schedule = Schedule(32, 64, 16, 32, splits=3)
    monkeypatch.setattr(kernels, "schedule_for", lambda spec, **_: schedule)
    a, b = whole_numbers((20, 200), np.float32), whole_numbers((200, 40), np.float32)
    device.reports.clear()
    np.testing.assert_array_equal(on_gpu(lambda a, b: tnp.maximum(a @ b, 0), a, b),
                                  np.maximum(a @ b, 0))  # fmt: skip
    assert len(device.reports) == 2


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_a_matrix_times_few_vectors_reads_the_matrix_once(kind: str, transposed: bool, device: Any):
    dtype, sums = KINDS[kind]
    a, b = whole_numbers((128, 128), dtype), whole_numbers((3, 128), dtype)

    def function(a: Any, b: Any) -> Any:
        matrix = a.transpose(1, 0) if transposed else a
        return tnp.matmul(b.astype(sums), matrix.astype(sums))

    device.reports.clear()
    got = on_gpu(function, a, b)
    exact = np.int64 if np.dtype(sums).kind == "i" else np.float64
    wanted = b.astype(exact) @ (a.T if transposed else a).astype(exact)
    np.testing.assert_array_equal(got, wanted.astype(sums))
    ((_, report),) = device.reports
    assert report.instructions["mma"] == 0
    assert report.bank_conflicts == 0
    # The vectors are read by each line's warp; or, for 32 lines at once, each element by itself.
    vectors = 128 * b.nbytes // 32 if transposed else 128 // 32 * b.size
    assert report.loads.transactions == a.nbytes // 32 + vectors


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_few_vectors_of_all_kinds(kind: str):
    for m, n, k in ((1, 70, 65), (3, 33, 130), (41, 1, 100), (2, 2, 300)):
        for transposed in TRANSPOSED:
            check(kind, m, n, k, transposed, batch=2)


def test_what_is_computed_on_the_way_is_read_in_whole_sectors(device: Any):
    a, b = whole_numbers((32, 64), np.float32), whole_numbers((64, 64), BF16)
    device.reports.clear()
    got = on_gpu(lambda a, b: tnp.maximum(a, 0) @ b.T.astype(np.float32), a, b)
    np.testing.assert_array_equal(got, np.maximum(a, 0) @ b.T.astype(np.float32))
    ((_, report),) = device.reports
    assert report.loads.uncoalesced == report.bank_conflicts == 0


@pytest.mark.parametrize("along", [(True, True), (True, False), (False, False)])
def test_tf32_is_taken_where_the_algorithm_asks_for_it(along: tuple[bool, bool], device: Any):
    left, summed = ("40,36", 1) if along[0] else ("36,40", 0)
    right, paired = ("24,36", 1) if along[1] else ("36,24", 0)
    module = parse(f"""HloModule product
ENTRY main {{
  a = f32[{left}]{{1,0}} parameter(0)
  b = f32[{right}]{{1,0}} parameter(1)
  ROOT d = f32[40,24]{{1,0}} dot(a, b), lhs_contracting_dims={{{summed}}},
    rhs_contracting_dims={{{paired}}}, algorithm=dot_tf32_tf32_f32
}}""")
    a, b = whole_numbers((40, 36), np.float32), whole_numbers((24, 36), np.float32)
    device.reports.clear()
    given = (x if is_along else x.T.copy() for x, is_along in zip((a, b), along))
    (got,) = tfc.compile(module, backend="gpu")(*given)
    np.testing.assert_array_equal(np.asarray(got), a @ b.T)
    ((_, report),) = device.reports
    assert report.instructions["mma"] > 0
    assert report.bank_conflicts == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_contractions_of_any_dimensions_are_what_numpy_says(seed: int):
    drawn = np.random.default_rng(seed)
    letters = [str(x) for x in drawn.permutation(list("abcdef"))]
    size = {x: int(drawn.choice([1, 2, 3, 5, 8, 16, 17])) for x in letters}
    batch, summed = letters[:seed % 2], letters[1:2 + seed % 3]  # fmt: skip
    left, right = letters[4:5], letters[5:]
    indices = [drawn.permutation(x) for x in
               (batch + summed + left, batch + summed + right, batch + left + right)]  # fmt: skip
    text = "{},{}->{}".format(*("".join(x) for x in indices))
    dtype, sums = KINDS[str(drawn.choice(list(KINDS)))]
    a, b = (whole_numbers(tuple(size[str(x)] for x in i), dtype) for i in indices[:2])
    got = on_gpu(lambda a, b: tnp.einsum(text, a.astype(sums), b.astype(sums)) * 2, a, b)
    exact = np.float64 if np.dtype(sums).kind == "f" else np.int64
    wanted = np.einsum(text, a.astype(exact), b.astype(exact)) * 2
    np.testing.assert_array_equal(got, wanted.astype(sums))


@pytest.mark.parametrize(
    ("rows", "kind", "architecture"),
    [(1, np.float32, "sm_80"), (40, np.float32, "sm_80"), (40, BF16, "sm_80"),
     (128, BF16, "sm_90a")],
)  # fmt: skip
@pytest.mark.usefixtures("by_warpgroups")
def test_a_product_reads_a_loops_array_where_it_lies(rows: int, kind: Any, architecture: str):
    """A step of a recurrent network: no kernel takes out its part of the input."""
    w, xs = whole_numbers((64, 128), kind), whole_numbers((3, rows, 128), kind)

    def steps(w: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            return tnp.clip(h[:, :64] @ w + x, -2, 2), None

        return tfc.scan(step, tnp.zeros_like(xs[0]), xs)[0]

    executable = tfc.jit(steps, backend="gpu").lower(w, xs).compile().executable
    assert isinstance(executable, GpuExecutable)
    text = executable.code(architecture)
    assert "entry dynamic_slice" not in text
    assert ("wgmma" in text) == (architecture == "sm_90a")
    with using(InterpretedDriver(architecture)):
        (got,) = executable(w, xs)
    h = np.zeros((rows, 128))
    for x in xs.astype(np.float64):
        h = np.clip(h[:, :64] @ w.astype(np.float64) + x, -2, 2)
    np.testing.assert_array_equal(np.asarray(got).astype(np.float64), h)
