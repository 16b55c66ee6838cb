"""sort and topk: order, stability, shapes; the CPU against the evaluator, both against XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from spec_helpers import floats, ints, refused, value_of
from xla_bridge import run_hlo_text

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.hlo import builder, evaluate, parse
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.shape import BF16, F16, F32, F64, S8, S32, U8, ElementType, Shape

SPECIAL = np.array([1, np.nan, -0.0, 0.0, np.inf, -np.inf, 0.0, -0.0, 1, -2.5, np.nan], np.float32)
RNG = np.random.default_rng(3)


def compared(direction: str, *types: ElementType) -> Computation:
    """The comparator that compares the first operand's elements alone."""
    sides = [builder.parameter(i, Shape(t)) for i, t in enumerate(t for t in types for _ in "lr")]
    return Computation.make("before", sides, builder.compare(direction, sides[0], sides[1]))


def sort(*operands: Instruction, dimension: int = 0, direction: str = "LT") -> Instruction:
    types = [o.array_shape.element_type for o in operands]
    return builder.instruction(
        "sort", operands, dimensions=(dimension,), is_stable=True,
        to_apply=compared(direction, *types),
    )  # fmt: skip


def both(text: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """What a text's program gives, the same on the CPU and by the evaluator."""
    module = parse(text)
    expected = evaluate(module, *arrays)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    for got, want in zip(tfc.compile(module)(*arrays), expected, strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype
    return expected


def sort_text(dims: str, dimension: int, types: str = "f32 s32", layout: str = "") -> str:
    """A sort by the first of several operands."""
    names = types.split()
    sides = [
        f"  side{i} = {t}[] parameter({i})" for i, t in enumerate(t for t in names for _ in "lr")
    ]
    operands = [f"  x{i} = {t}[{dims}]{layout} parameter({i})" for i, t in enumerate(names)]
    return "\n".join([
        "HloModule m", "before {", *sides,
        "  ROOT b = pred[] compare(side0, side1), direction=LT", "}",
        "ENTRY e {", *operands, f"  ROOT r = sort({', '.join(f'x{i}' for i in range(len(names)))}),"
        f" dimensions={{{dimension}}}, is_stable=true, to_apply=before", "}",
    ])  # fmt: skip


def test_spec_1_40_sort_sorts_the_elements_of_a_vector_ascending():
    np.testing.assert_array_equal(value_of(sort(ints([3, 1, 2]))), [1, 2, 3])


def test_sort_requires_one_dimension_of_operands_that_agree():
    with refused(r"one dimension within 0\.\.0, got \[1\]"):
        sort(ints([1, 2]), dimension=1)
    with refused(r"one dimension within 0\.\.-1, got \[0\]"):
        sort(ints(1))
    with refused(r"operands of the same dimensions, got s32\[2\] and s32\[3\]"):
        sort(ints([1, 2]), ints([1, 2, 3]))
    with refused("at least one operand, got 0"):
        builder.instruction("sort", [], dimensions=(0,), to_apply=compared("LT", S32))


def test_sort_requires_a_comparator_of_two_scalars_of_each_operand():
    with refused(r"to_apply of parameters f32\[\] and f32\[\], got s32\[\] and s32\[\]"):
        builder.instruction("sort", [floats([1])], dimensions=(0,), to_apply=compared("LT", S32))
    adds = builder.scalar_computation("add", F32)
    with refused(r"to_apply of result pred\[\], got f32\[\]"):
        builder.instruction("sort", [floats([1])], dimensions=(0,), to_apply=adds)


@pytest.mark.parametrize("dimension", [0, 1, 2])
@pytest.mark.parametrize("dims", [(3, 50, 4), (1, 17, 2), (16, 1, 33)], ids=str)
def test_xla_orders_equal_keys_alike(dims: tuple[int, ...], dimension: int):
    text = sort_text(",".join(map(str, dims)), dimension)
    key = RNG.integers(0, 5, dims).astype(np.float32)
    number = np.arange(key.size, dtype=np.int32).reshape(dims)
    for got, want in zip(run_hlo_text(text, key, number), both(text, key, number)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 31, 32, 33, 65, 100])
def test_rows_of_any_length(size: int):
    key = RNG.integers(0, max(size // 3, 1), (2, size)).astype(np.int16)
    number = np.arange(2 * size, dtype=np.int64).reshape(2, size)
    values, numbers = both(sort_text(f"2,{size}", 1, "s16 s64"), key, number)
    order = np.argsort(key, axis=1, kind="stable")
    np.testing.assert_array_equal(values, np.take_along_axis(key, order, 1))
    np.testing.assert_array_equal(numbers, np.take_along_axis(number, order, 1))


@pytest.mark.parametrize("layout", ["{0,1}", "{1,0}"])
def test_any_layout(layout: str):
    both(sort_text("19,20", 0, "f64 pred", layout), RNG.normal(size=(19, 20)),
         RNG.random((19, 20)) < 0.5)  # fmt: skip


def test_elements_of_all_widths_move_together():
    dims = (40,)
    arrays = [RNG.integers(0, 4, dims).astype(np.uint8), RNG.normal(size=dims).astype(BF16.dtype),
              RNG.normal(size=dims), RNG.normal(size=dims).astype(np.float16),
              (RNG.normal(size=dims) + 1j).astype(np.complex64)]  # fmt: skip
    both(sort_text("40", 0, "u8 bf16 f64 f16 c64"), *arrays)


@pytest.mark.parametrize("direction", ["LT", "GE", "NE"])
def test_a_comparator_that_contradicts_itself_loses_no_element(direction: str):
    """`<` on NaN is no order, and `>=` puts equal elements before each other."""
    keys = RNG.choice(SPECIAL, (3, 400))
    numbers = np.broadcast_to(np.arange(400, dtype=np.int32), keys.shape)
    text = sort_text("3,400", 1).replace("direction=LT", f"direction={direction}")
    module = parse(text)
    for values, order in (tfc.compile(module)(keys, numbers), evaluate(module, keys, numbers)):
        np.testing.assert_array_equal(np.sort(order, axis=1), numbers)
        np.testing.assert_array_equal(values, np.take_along_axis(keys, order, 1))


def test_a_constant_comparator_keeps_the_order():
    text = sort_text("50", 0, "s32").replace(
        "compare(side0, side1), direction=LT", "constant(false)"
    )
    x = RNG.integers(0, 9, 50).astype(np.int32)
    np.testing.assert_array_equal(both(text, x)[0], x)


def test_many_elements():
    x = RNG.normal(size=100_000).astype(np.float32)
    number = np.arange(x.size, dtype=np.int32)
    values, order = tfc.compile(parse(sort_text("100000", 0)))(x, number)
    np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(values, np.sort(x))


def topk(x: np.ndarray, k: int, largest: bool = True) -> Module:
    parameter = builder.parameter(0, builder.constant(x).shape)
    root = builder.instruction("topk", [parameter], k=k, largest=largest)
    return Module("m", Computation.make("e", [parameter], root))


def test_topk_requires_as_many_elements_as_it_takes():
    for bad in (-1, 4):
        with refused(rf"a k within 0\.\.3, got {bad}"):
            topk(np.zeros(3), bad)
    with refused("an operand of rank 1 or more"):
        topk(np.zeros(()), 0)
    with refused("operands of type float or pred or signed or unsigned, got c64"):
        topk(np.zeros(3, np.complex64), 1)


@pytest.mark.parametrize("largest", [True, False])
def test_xla_takes_the_same_elements_of_special_floats(largest: bool):
    """NaN of both signs, zeros of both signs, ties: values by their bits, and positions."""
    x = np.concatenate([SPECIAL, -SPECIAL, SPECIAL]).reshape(3, -1)
    for k in (0, 1, 4, 11):
        module = topk(x, k, largest)
        for results in (evaluate(module, x), tfc.compile(module)(x)):
            for got, want in zip(results, run_hlo_text(str(module), x), strict=True):
                np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))


@pytest.mark.parametrize("element_type", [BF16, F16, F64, S8, U8, S32], ids=str)
def test_topk_of_every_type(element_type: ElementType):
    x = RNG.normal(size=(2, 50)) * 3
    x = (np.abs(x) if element_type is U8 else x).astype(element_type.dtype)
    module = topk(x, 7)
    expected = run_hlo_text(str(module), x)
    for results in (evaluate(module, x), tfc.compile(module)(x)):
        for got, want in zip(results, expected):
            np.testing.assert_array_equal(got, want)


def test_jax_programs_with_top_k_run():
    text = jax.jit(lambda x: jax.lax.top_k(x, 3)).lower(SPECIAL).as_text("hlo")
    for got, want in zip(tfc.compile(parse(text))(SPECIAL), jax.lax.top_k(SPECIAL, 3)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_sort_and_argsort_are_numpys(backend: str):
    x = RNG.choice(SPECIAL, (4, 30))
    for axis in (0, 1, -1, None):
        run = tfc.jit(lambda v: (tnp.sort(v, axis), tnp.argsort(v, axis)), backend=backend)  # noqa: B023
        values, order = run(x)
        np.testing.assert_array_equal(values, np.sort(x, axis))
        np.testing.assert_array_equal(order, np.argsort(x, axis, kind="stable"))
    descending = tnp.argsort(x, descending=True)
    np.testing.assert_array_equal(descending, jnp.argsort(x, descending=True, stable=True))
    np.testing.assert_array_equal(tnp.sort(x, descending=True), jnp.sort(x, descending=True))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_is_numpys(side):
    a, v = np.sort(RNG.choice(SPECIAL, 12)), RNG.choice(SPECIAL, (3, 5))
    np.testing.assert_array_equal(tnp.searchsorted(a, v, side), np.searchsorted(a, v, side))
    with refused("the side 'left' or 'right', got 'up'"):
        tnp.searchsorted(a, v, "up")


def test_quantiles_are_numpys():
    x = RNG.normal(size=(4, 5, 6))
    x[0, 0, 0] = np.nan
    for axis in (None, 0, (0, 2), -1):
        for keep in (False, True):
            got = tnp.median(x, axis, keepdims=keep)
            np.testing.assert_allclose(got, np.median(x, axis, keepdims=keep))
        np.testing.assert_allclose(
            tnp.percentile(x, [0, 12.5, 100], axis), np.percentile(x, [0, 12.5, 100], axis)
        )
    np.testing.assert_allclose(tnp.median(np.array([3, 1, 2, 4])), 2.5)
    with refused(r"fractions within 0\.\.1, got 1.5"):
        tnp.quantile(x, 1.5)
    with refused("median of no elements"):
        tnp.median(np.zeros((0, 2)), 0)


def test_gradients_are_jaxs():
    x, weight = RNG.normal(size=(3, 20)), RNG.normal(size=(3, 20))

    def ours(v):
        largest, _ = nn.top_k(v * v, 4)
        return tnp.sum(tnp.sort(v * v) * weight) + tnp.sum(largest) ** 2 + tnp.sum(tnp.median(v, 1))

    def theirs(v):
        largest, _ = jax.lax.top_k(v * v, 4)
        return jnp.sum(jnp.sort(v * v) * weight) + jnp.sum(largest) ** 2 + jnp.median(v, 1).sum()

    with jax.enable_x64(True):
        np.testing.assert_allclose(tfc.jit(tfc.grad(ours))(x), jax.grad(theirs)(x))
        twice = jax.grad(lambda v: jnp.sum(jax.grad(theirs)(v) ** 2))(x)
    np.testing.assert_allclose(
        tfc.jit(tfc.grad(lambda v: tnp.sum(tfc.grad(ours)(v) ** 2)))(x), twice
    )
