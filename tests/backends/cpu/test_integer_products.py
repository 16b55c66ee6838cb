"""Products of integers wrap around exactly: the CPU against the evaluator, over full ranges."""

import random
from dataclasses import replace

import numpy as np
import pytest

import tfc
from tfc.backends.target import Target
from tfc.compiler import compile_object
from tfc.hlo import Module, builder, evaluate
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import (
    PRED,
    S4,
    S8,
    S16,
    S32,
    S64,
    U4,
    U8,
    U16,
    U32,
    U64,
    ElementType,
    Shape,
)

HOST = Target.host()
TARGETS = {
    "host": HOST,
    "tiny caches": replace(HOST, l1_bytes=512, l2_bytes=1024, l3_bytes=4096),
    "scalar": replace(HOST, vector_bits=0, vector_registers=0),
}
if HOST.architecture == "x86_64":
    TARGETS["pairs only"] = replace(HOST, features=f"{HOST.features},-avx512vnni,-avxvnni")
    TARGETS["few registers"] = replace(HOST, vector_bits=HOST.vector_bits // 2, vector_registers=16)
SIZES = (0, 1, 2, 3, 5, 7, 8, 16, 17, 33)
SIGNED, UNSIGNED = (S4, S8, S16, S32, S64), (U4, U8, U16, U32, U64)


def full_range(shape: Shape, generator: np.random.Generator) -> np.ndarray:
    """Random integers, the smallest and the largest of their type among them."""
    element_type = shape.element_type
    bits = 1 if element_type == PRED else element_type.bits
    low = -(1 << (bits - 1)) if element_type.kind == "signed" else 0
    values = generator.integers(low, low + (1 << bits) - 1, shape.dims, np.int64 if bits < 64 or
                                low else np.uint64, endpoint=True)  # fmt: skip
    extreme = generator.random(shape.dims) < 0.3
    ends = np.where(generator.random(shape.dims) < 0.5, np.array(low, values.dtype), values)
    return np.where(extreme, ends, values).astype(element_type.dtype)


def dot(
    lhs: Shape, rhs: Shape, result: ElementType, *, flipped: tuple[bool, bool] = (False, False)
) -> Module:
    """A module of a dot of matrices, or of batches of them, with operands transposed or not."""
    x, y = builder.parameter(0, lhs), builder.parameter(1, rhs)
    batch = lhs.rank - 2
    several = tuple(range(batch)) or None
    inferred = builder.instruction(
        "dot", [x, y], lhs_batch_dims=several, rhs_batch_dims=several,
        lhs_contracting_dims=(batch + (not flipped[0]),),
        rhs_contracting_dims=(batch + flipped[1],),
    )  # fmt: skip
    root = inferred.with_(shape=inferred.array_shape.with_element_type(result))
    return module_of(root, x, y)


def module_of(root: Instruction, *parameters: Instruction) -> Module:
    return Module("m", Computation.make("main", list(parameters), root))


def check(module: Module, seed: int, target: Target = HOST) -> None:
    """The CPU gives exactly what the evaluator does."""
    generator = np.random.default_rng(seed)
    shapes = [p.array_shape for p in module.entry.parameters]
    arguments = [full_range(shape, generator) for shape in shapes]
    (result,) = tfc.compile(module, target=target)(*arguments)
    np.testing.assert_array_equal(result, evaluate(module, *arguments))


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(14))
def test_dots_of_any_types_and_forms(seed: int, name: str):
    choose = random.Random(seed * 7 + len(name))
    signed = choose.random() < 0.6
    types = (*SIGNED, *UNSIGNED, PRED) if signed else (*UNSIGNED, PRED)
    lhs, rhs = (choose.choice(types) for _ in "xy")
    result = choose.choice(SIGNED if signed else UNSIGNED)
    m, n, k = (choose.choice(SIZES) for _ in "mnk")
    batch = choose.choice(((), (), (2,), (3,)))
    flipped = choose.random() < 0.5, choose.random() < 0.5
    left = Shape(lhs, (*batch, *((k, m) if flipped[0] else (m, k))))
    right = Shape(rhs, (*batch, *((n, k) if flipped[1] else (k, n))))
    check(dot(left, right, result, flipped=flipped), seed, TARGETS[name])


def test_the_largest_products_of_pairs_wrap():
    # Two products of -2^15 and -2^15 add up to 2^31, which is -2^31 in s32.
    module = dot(Shape(S16, (5, 6)), Shape(S16, (6, 9)), S32)
    least = [np.full(p.array_shape.dims, -(1 << 15), np.int16) for p in module.entry.parameters]
    (result,) = tfc.compile(module)(*least)
    np.testing.assert_array_equal(result, evaluate(module, *least))
    assert (result == np.int32(6 * (1 << 30) - (1 << 33))).all()


@pytest.mark.parametrize("element_type", [S8, S16, S32, U8])
@pytest.mark.parametrize("dims", [(1, 300, 257), (300, 1, 257), (257, 300, 1), (3, 513, 70)])
def test_products_with_vectors(dims: tuple[int, int, int], element_type: ElementType):
    m, k, n = dims
    result = U32 if element_type == U8 else S32
    check(dot(Shape(element_type, (m, k)), Shape(element_type, (k, n)), result), sum(dims))


def test_an_epilogue_follows_integer_sums():
    x, y = (builder.parameter(n, Shape(S8, (40, 40))) for n in range(2))
    bias = builder.parameter(2, Shape(S32, (40,)))
    product = builder.instruction(
        "dot", [x, y], shape=Shape(S32, (40, 40)),
        lhs_contracting_dims=(1,), rhs_contracting_dims=(0,),
    )  # fmt: skip
    biased = builder.binary("add", product, builder.broadcast(bias, (40, 40), [1]))
    check(module_of(builder.convert(biased, S8), x, y, bias), 3)


def product_of(lhs: ElementType, rhs: ElementType) -> Module:
    """A product of matrices of 96 rows and columns, in 32 bits."""
    result = U32 if lhs.kind == rhs.kind == "unsigned" else S32
    return dot(Shape(lhs, (96, 96)), Shape(rhs, (96, 96)), result)


@pytest.mark.parametrize("processor", ["znver4", "alderlake", "x86-64-v3"])
@pytest.mark.parametrize(("lhs", "rhs"), [(S8, S8), (U8, U8), (U8, S8), (S8, U8), (S16, S16)])
def test_x86_multiplies_several_narrow_integers_at_once(
    lhs: ElementType, rhs: ElementType, processor: str
):
    target = Target.parse(f"x86_64-linux-gnu,{processor}")
    assembly = tfc.compile(product_of(lhs, rhs), target=target).as_text("asm")
    in_bytes = S8 in (lhs, rhs) and processor != "x86-64-v3"
    assert ("vpdpbusd" in assembly) == in_bytes
    assert in_bytes or "vpmaddwd" in assembly or "vpdpwssd" in assembly


@pytest.mark.parametrize(("element_type", "encoding"), [(S8, 0x4E809400), (U8, 0x6E809400)])
def test_aarch64_multiplies_four_bytes_at_once(element_type: ElementType, encoding: int):
    # sdot and udot, of vectors of 16 bytes; registers are the other bits.
    module = product_of(element_type, element_type)
    made = compile_object(module, "product", Target.parse("aarch64-linux-gnu,neoverse-v1"))
    words = np.frombuffer(made.code[: len(made.code) // 4 * 4], "<u4")
    assert ((words & 0xFFE0FC00) == encoding).sum() >= 48


@pytest.mark.parametrize("target", ["x86_64-linux-gnu,znver4", "x86_64-linux-gnu,alderlake"])
def test_the_sums_of_bytes_stay_in_registers(target: str):
    compiled = tfc.compile(product_of(S8, S8), target=Target.parse(target))
    lines = compiled.as_text("asm").splitlines()
    products = [n for n, line in enumerate(lines) if "vpdpbusd" in line]
    inner = lines[products[0] : products[-1]]
    to_stack = [line for line in inner if "mm" in line and "(%rsp)" in line]
    assert not to_stack, to_stack
