"""The tiled matrix product: every size, both types, any strides, and nothing touched outside."""

import ctypes
import mmap
import random
import re
from dataclasses import replace

import numpy as np
import pytest

from tfc.backends.cpu.products.matmul import emit_matmul
from tfc.backends.cpu.products.schedule import MatmulSpec
from tfc.backends.llvm.compilation import LoadedCode, compile_ir, lower_to_llvm, to_llvm_ir
from tfc.backends.mlir.provider import ir
from tfc.backends.target import Target
from tfc.errors import InternalError
from tfc.hlo.shape import F32, F64, S8, ElementType

HOST = Target.host()
# The schedules of other machines; LLVM makes their vectors of the host's.
SCHEDULES = {
    "host": HOST,
    "512 bits": replace(HOST, vector_bits=512, vector_registers=32),
    "128 bits": replace(HOST, vector_bits=128, vector_registers=32),
    "few registers": replace(HOST, vector_bits=128, vector_registers=16, has_fma=False),
    "scalar": replace(HOST, vector_bits=0, vector_registers=0),
    # So small that every product is cut into many blocks and both operands are packed.
    "tiny caches": replace(HOST, l1_bytes=512, l2_bytes=1024, l3_bytes=4096),
    "tiny caches, many registers": replace(
        HOST, l1_bytes=512, l2_bytes=1024, l3_bytes=4096, vector_registers=32
    ),
}
SIZES = [1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 23, 24, 25, 31, 32, 33, 40]


def sampled_specs(element_type: ElementType, count: int, seed: int) -> list[MatmulSpec]:
    """Small products of random sizes and forms."""
    choose = random.Random(seed)
    return [
        MatmulSpec.contiguous(
            element_type,
            *(choose.choice(SIZES) for _ in range(3)),
            batch=choose.choice([1, 1, 3]),
            lhs_transposed=choose.random() < 0.5,
            rhs_transposed=choose.random() < 0.5,
        )
        for _ in range(count)
    ]


def load(specs: list[MatmulSpec], schedule: Target) -> LoadedCode:
    """One library with the function `product_N` for each spec."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        for number, spec in enumerate(specs):
            emit_matmul(module, f"product_{number}", spec, schedule)
        return compile_ir(to_llvm_ir(lower_to_llvm(module)), HOST).load()


def at_page_end(size: int, element_type: ElementType) -> np.ndarray:
    """Elements that end where a page begins that can be neither read nor written."""
    bytes_needed = max(size * element_type.bytes, 1)
    pages = -(-bytes_needed // mmap.PAGESIZE)
    memory = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
    raw = np.frombuffer(memory, np.uint8)
    address = raw.ctypes.data
    libc = ctypes.CDLL(None, use_errno=True)
    guard = ctypes.c_void_p(address + pages * mmap.PAGESIZE)
    assert libc.mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    end = pages * mmap.PAGESIZE
    return raw[end - size * element_type.bytes : end].view(element_type.dtype)


def strided(array: np.ndarray, strides: tuple[int, ...], dims: tuple[int, ...]) -> np.ndarray:
    """The array that flat memory holds under element strides."""
    steps = tuple(s * array.itemsize for s in strides)
    return np.lib.stride_tricks.as_strided(array, dims, steps)


def check(code: LoadedCode, number: int, spec: MatmulSpec, schedule: Target) -> None:
    """Run one product between guard pages and compare it with NumPy's in f64."""
    generator = np.random.default_rng(number)
    lhs, rhs = (at_page_end(n, spec.element_type) for n in (spec.lhs_size, spec.rhs_size))
    # Elements that no stride reaches stay NaN: they would show up in the result.
    for operand, strides, dims in (
        (lhs, spec.lhs_strides, (spec.batch, spec.m, spec.k)),
        (rhs, spec.rhs_strides, (spec.batch, spec.k, spec.n)),
    ):
        operand[:] = np.nan
        strided(operand, strides, dims)[:] = generator.standard_normal(dims)
    out = at_page_end(spec.out_size, spec.element_type)
    workspace = at_page_end(spec.workspace_size(schedule), spec.element_type)
    out[:] = workspace[:] = np.nan
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (lhs, rhs, out, workspace)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.address(f"product_{number}"))(*pointers)
    left = strided(lhs, spec.lhs_strides, (spec.batch, spec.m, spec.k)).astype(np.float64)
    right = strided(rhs, spec.rhs_strides, (spec.batch, spec.k, spec.n)).astype(np.float64)
    result = strided(out, spec.out_strides, (spec.batch, spec.m, spec.n))
    tolerance = {F32: 1e-5, F64: 1e-13}[spec.element_type] * max(spec.k, 1) ** 0.5
    np.testing.assert_allclose(result, left @ right, rtol=0, atol=5 * tolerance, err_msg=str(spec))


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("element_type", [F32, F64], ids=str)
def test_small_products_of_every_form(name: str, element_type: ElementType):
    specs = sampled_specs(element_type, 24 if name == "host" else 10, seed=len(name))
    code = load(specs, SCHEDULES[name])
    for number, spec in enumerate(specs):
        check(code, number, spec, SCHEDULES[name])


def test_rows_columns_and_products_with_one_element():
    """m, n or k of one have kernels of their own."""
    sizes = [(1, 300, 70), (1, 7, 500), (300, 1, 70), (9, 1, 515), (1, 1, 333), (37, 41, 1)]
    specs = [
        MatmulSpec.contiguous(F32, *size, lhs_transposed=left, rhs_transposed=right)
        for size in sizes
        for left in (False, True)
        for right in (False, True)
    ]
    code = load(specs, HOST)
    for number, spec in enumerate(specs):
        check(code, number, spec, HOST)


def test_products_larger_than_a_cache_block():
    sizes = [(131, 260, 1030), (257, 65, 514), (64, 1100, 40)]
    specs = [MatmulSpec.contiguous(F32, *size) for size in sizes]
    specs.append(MatmulSpec.contiguous(F32, 100, 90, 600, lhs_transposed=True, rhs_transposed=True))
    code = load(specs, HOST)
    for number, spec in enumerate(specs):
        check(code, number, spec, HOST)


def test_a_product_over_nothing_is_zero_and_one_without_elements_does_nothing():
    specs = [MatmulSpec.contiguous(F32, *size) for size in ((3, 5, 0), (0, 5, 3), (3, 0, 5))]
    code = load(specs, HOST)
    for number, spec in enumerate(specs):
        check(code, number, spec, HOST)


def test_rows_and_columns_apart_in_memory():
    """Operands that are parts of larger arrays, and a result whose rows are apart."""
    spec = MatmulSpec(F32, 2, 7, 18, 9, (200, 20, 2), (500, 1, 25), (300, 40, 1), 400, 1000, 600)
    code = load([spec], HOST)
    check(code, 0, spec, HOST)


def test_elements_of_the_result_between_its_rows_are_left_alone():
    spec = MatmulSpec(F32, 1, 5, 6, 4, (0, 4, 1), (0, 6, 1), (0, 10, 1), 20, 24, 50)
    code = load([spec], HOST)
    lhs, rhs, out = np.ones(20, "f4"), np.ones(24, "f4"), np.full(50, 7, np.float32)
    workspace = np.zeros(spec.workspace_size(HOST) + 16, np.float32)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (lhs, rhs, out, workspace)]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.address("product_0"))(*pointers)
    rows = out.reshape(5, 10)
    np.testing.assert_array_equal(rows[:, :6], 4)
    np.testing.assert_array_equal(rows[:, 6:], 7)


@pytest.mark.parametrize("name", ["host", "tiny caches"])
def test_products_with_few_vectors(name: str):
    """A matrix too large for the cache is read once; the vectors may have to be gathered."""
    specs = [
        MatmulSpec.contiguous(F32, *size, lhs_transposed=left, rhs_transposed=right)
        for size in ((3, 37, 70), (37, 2, 70))
        for left in (False, True)
        for right in (False, True)
    ]
    code = load(specs, SCHEDULES[name])
    for number, spec in enumerate(specs):
        check(code, number, spec, SCHEDULES[name])


def test_a_batch_with_one_right_operand_counts_as_rows():
    dense = MatmulSpec.contiguous(F32, 5, 9, 7, batch=4)
    shared = replace(dense, rhs_strides=(0, 9, 1), rhs_size=63)
    apart = replace(shared, out_strides=(50, 9, 1), out_size=200)
    assert (shared.flattened().batch, shared.flattened().m) == (1, 20)
    assert apart.flattened() is apart
    code = load([shared, apart], HOST)
    check(code, 0, shared, HOST)
    check(code, 1, apart, HOST)


def assembly_of(spec: MatmulSpec, target: Target) -> str:
    """The assembly of one product."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        function = emit_matmul(module, "product", spec, target)
        function.attributes["sym_visibility"] = ir.StringAttr.get("public")
        return compile_ir(to_llvm_ir(lower_to_llvm(module)), target).assembly


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        ("aarch64-linux-gnu", "fmla"),
        ("wasm32-unknown-unknown,generic,+simd128", "f32x4.mul"),
        ("x86_64-linux-gnu", "mulps"),
        ("riscv64-linux-gnu", "fmadd.s"),
    ],
)
def test_products_need_no_library_on_any_target(target: str, instruction: str):
    assembly = assembly_of(MatmulSpec.contiguous(F32, 70, 70, 70), Target.parse(target))
    assert instruction in assembly
    called = re.findall(r"^\s+(?:call|callq|bl)\s+(\S+)", assembly, re.MULTILINE)
    assert all(name.startswith("tiles.") for name in called)  # parts of itself


def test_the_tile_stays_in_registers():
    target = Target.parse("x86_64-linux-gnu,x86-64-v3")
    lines = assembly_of(MatmulSpec.contiguous(F32, 600, 640, 512), target).split("\n")
    products = [number for number, line in enumerate(lines) if "vfmadd231ps" in line]
    # Two steps of depth, each of which multiplies 6 elements by 2 vectors.
    loop = lines[products[0] : products[2 * 12 - 1]]
    assert any("vbroadcastss" in line for line in loop)
    assert not any("rsp" in line or line.startswith(".L") for line in loop)


@pytest.mark.parametrize(
    "change",
    [
        {"element_type": S8},
        {"out_strides": (16, 4, 2)},
        {"lhs_size": 15},
        {"rhs_strides": (16, -4, 1)},
    ],
)
def test_products_that_make_no_sense_are_refused(change: dict):
    with pytest.raises(InternalError):
        replace(MatmulSpec.contiguous(F32, 4, 4, 4), **change)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("element_type", [F32, F64], ids=str)
def test_many_small_products(name: str, element_type: ElementType):
    specs = sampled_specs(element_type, 60, seed=0)
    code = load(specs, SCHEDULES[name])
    for number, spec in enumerate(specs):
        check(code, number, spec, SCHEDULES[name])
