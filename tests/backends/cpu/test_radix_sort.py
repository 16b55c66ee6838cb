"""Sorts by the digits of keys and selections: the CPU against the evaluator, to the bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.cpu.sorting.sorts import RowSort
from tfc.hlo import builder, evaluate, parse
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.shape import ELEMENT_TYPES, F32, PRED, S32, ElementType, Shape
from tfc.passes.analysis.sort_keys import sort_keys

RNG = np.random.default_rng(8)
REAL = [t for t in ELEMENT_TYPES.values() if not t.is_complex]
WITH_NAN = ["bf16", "f8e4m3", "f8e4m3fn", "f16", "f32", "f64"]


def elements(element_type: ElementType, dims: tuple[int, ...], nan: bool = True) -> np.ndarray:
    """Elements of random bits, a third of them of a few values that occur often."""
    size = int(np.prod(dims))
    dtype = element_type.dtype
    if element_type is PRED or element_type.bits == 4:
        return RNG.integers(0, 2 if element_type is PRED else 8, dims).astype(dtype)
    bits = RNG.integers(0, 256, (size, dtype.itemsize), np.uint8).view(dtype).reshape(size)
    with np.errstate(all="ignore"):
        often = np.array([-1, -0.0, 0.0, 1, 2]).astype(dtype)
        if element_type.is_float:
            special = [np.inf, -np.inf, *([np.nan, -np.nan] if nan else [])]
            often = np.concatenate([often, np.array(special).astype(dtype)])
        if not nan:
            bits, often = (np.where(np.isnan(a), dtype.type(1), a) for a in (bits, often))
    return np.where(RNG.random(size) < 1 / 3, RNG.choice(often, size), bits).reshape(dims)


def same_bits(got: np.ndarray, want: np.ndarray) -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    one, other = (np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in (got, want))
    np.testing.assert_array_equal(one, other)


def check(module: Module, *arrays: np.ndarray) -> None:
    """The CPU's results are the evaluator's."""
    expected = evaluate(module, *arrays)
    results = tfc.compile(module)(*arrays)
    for got, want in zip(results, expected if isinstance(expected, tuple) else [expected]):
        same_bits(got, want)


def sort_module(
    direction: str, dims: str, dimension: int, types: str, layout: str = "", before: str = ""
) -> Module:
    """A sort of arrays of some types by the first one, or by what text `before` says."""
    names = types.split()
    sides = [f"  p{i} = {t}[] parameter({i})" for i, t in enumerate(t for t in names for _ in "lr")]
    arrays = [f"  x{i} = {t}[{dims}]{layout} parameter({i})" for i, t in enumerate(names)]
    listed = ", ".join(f"x{i}" for i in range(len(names)))
    before = before or f"  ROOT b = pred[] compare(p0, p1), direction={direction}"
    return parse("\n".join([
        "HloModule m", "before {", *sides, before, "}", "ENTRY e {", *arrays,
        f"  ROOT r = sort({listed}), dimensions={{{dimension}}}, to_apply=before", "}",
    ]))  # fmt: skip


def the_sort(module: Module) -> Instruction:
    (sort,) = (x for c in module.computations for x in c.instructions if x.opcode == "sort")
    return sort


def goes_by_digits(module: Module) -> bool:
    sort = the_sort(module)
    shapes = [o.array_shape for o in sort.operands]
    types = tuple(s.element_type for s in shapes)
    row_sort = RowSort(types, sort["to_apply"], shapes[0].dims[sort["dimensions"][0]])
    return row_sort.radix is not None


@pytest.mark.parametrize("element_type", REAL, ids=str)
def test_all_types_in_all_orders(element_type: ElementType):
    for direction in ["GT", "LT, type=TOTALORDER"] if element_type.is_float else ["GT"]:
        # A comparator that gives NaN no place may leave anything anywhere.
        key = elements(element_type, (401,), nan="TOTAL" in direction)
        module = sort_module(direction, "401", 0, f"{element_type} s32")
        assert goes_by_digits(module)
        check(module, key, np.arange(401, dtype=np.int32))


@pytest.mark.parametrize("name", WITH_NAN)
def test_numpys_and_jaxs_orders_put_nan_last(name: str):
    key = elements(ELEMENT_TYPES[name], (2, 300))
    for descending in (False, True):
        run = tfc.jit(lambda v: (tnp.sort(v, descending=descending), tnp.argsort(v)))  # noqa: B023
        check(run.lower(key).hlo, key)
    if name == "f8e4m3":
        return  # StableHLO's text does not have it
    with jax.enable_x64(True):
        text = jax.jit(lambda v: (jnp.sort(v), jnp.argsort(v))).lower(key).as_text("hlo")
        check(parse(text), key)


@pytest.mark.parametrize("name", ["bf16", "f32", "f64"])
def test_rows_of_which_some_have_zeros_of_both_signs_or_nan(name: str):
    """Floats go by their bits where these give the order, which each row decides by itself."""
    dtype = ELEMENT_TYPES[name].dtype
    rows = (np.arange(3 * 400).reshape(3, 400) * 7 % 401 - 200).astype(dtype)
    rows[1, ::7], rows[1, 1::7] = dtype.type(-0.0), dtype.type(0.0)
    number = np.broadcast_to(np.arange(400, dtype=np.int32), rows.shape)
    for direction in ("LT", "GT"):
        check(sort_module(direction, "3,400", 1, f"{name} s32"), rows, number)
    rows[2, ::9], rows[2, 1::9] = np.nan, -np.nan
    check(tfc.jit(lambda v: (tnp.sort(v), tnp.argsort(v))).lower(rows).hlo, rows)


@pytest.mark.parametrize("types", ["f32", "s32 u8", "f64", "s64 f32", "u16"])
def test_wide_digits_of_long_rows(types: str):
    first, *others = types.split()
    key = elements(ELEMENT_TYPES[first], (2, 9000), nan=False)
    module = sort_module("LT", "2,9000", 1, types)
    row_sort = RowSort((ELEMENT_TYPES[first],), the_sort(module)["to_apply"], 9000)
    assert row_sort.radix is not None
    digits = row_sort.radix.digits
    assert digits == {"u16": 2, "f32": 3, "s32": 3, "f64": 6, "s64": 6}[first]
    check(module, key, *(elements(ELEMENT_TYPES[t], (2, 9000)) for t in others))


@pytest.mark.parametrize("size", [96, 255, 257])
@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_rows_along_any_dimension_in_any_layout(size: int, dimension: int):
    dims = [2, 3]
    dims.insert(dimension, size)
    sizes = ",".join(map(str, dims))
    key = RNG.integers(-3, 3, dims).astype(np.int32)
    number = np.arange(key.size, dtype=np.int64).reshape(dims)
    for layout in ("{2,1,0}", "{0,1,2}") if size == 257 else ("",):
        module = sort_module("LT", sizes, dimension, "s32 s64", layout)
        assert goes_by_digits(module)
        check(module, key, number)


def test_payloads_of_all_widths_move_with_the_key():
    arrays = [elements(ELEMENT_TYPES[t], (500,)) for t in ("s16", "u8", "bf16", "f64", "pred")]
    complexes = elements(F32, (1000,)).view(np.complex64)
    check(sort_module("GT", "500", 0, "s16 u8 bf16 f64 pred c64"), *arrays, complexes)


def test_floats_without_a_place_for_nan():
    """`<` with one number and any NaN is consistent: nothing moves. With more, nothing is lost."""
    module = sort_module("LT", "2,300", 1, "f32 s32")
    number = np.broadcast_to(np.arange(300, dtype=np.int32), (2, 300))
    one = np.where(RNG.random((2, 300)) < 0.5, np.nan, 1).astype(np.float32)
    values, order = tfc.compile(module)(one, number)
    same_bits(values, one)
    np.testing.assert_array_equal(order, number)
    some = elements(F32, (2, 300))
    values, order = tfc.compile(module)(some, number)
    np.testing.assert_array_equal(np.sort(order, 1), number)
    same_bits(values, np.take_along_axis(some, order, 1))


def test_jaxs_floats_with_one_zero_and_one_nan_are_keys_of_the_plain_ones():
    """JAX makes floats canonical before it compares bits: only rows that need it pay for it."""
    text = jax.jit(jnp.sort).lower(np.zeros(400, np.float32)).as_text("hlo")
    (key,) = sort_keys(the_sort(parse(text))["to_apply"])
    assert key.value.opcode == "parameter"
    assert not key.total
    other_zero = text.replace("constant(0)", "constant(-0)")
    negative_nan = text.replace("constant(nan)", "constant(-nan)")
    for changed in (other_zero, negative_nan):
        assert changed != text
        module = parse(changed)
        (key,) = sort_keys(the_sort(module)["to_apply"])
        assert key.value.opcode == "select"
        assert key.total
        check(module, elements(F32, (400,)))


def test_jaxs_sorts_by_several_keys():
    keys = {
        "s8 then f32": (elements(ELEMENT_TYPES["s8"], (700,)), elements(F32, (700,))),
        "f32 then s8": (elements(F32, (700,)), elements(ELEMENT_TYPES["s8"], (700,))),
        "bf16, u8, pred": tuple(elements(ELEMENT_TYPES[t], (700,)) for t in ("bf16", "u8", "pred")),
    }
    number = np.arange(700, dtype=np.int32)
    for arrays in keys.values():
        count = len(arrays)
        lowered = jax.jit(lambda *a: jax.lax.sort(a, num_keys=count)).lower(*arrays, number)  # noqa: B023
        module = parse(lowered.as_text("hlo"))
        assert len(sort_keys(the_sort(module)["to_apply"])) == count
        check(module, *arrays, number)


def test_jax_sorts_complex_numbers_by_two_keys():
    x = elements(F32, (2000,)).view(np.complex64)
    module = parse(jax.jit(jnp.sort).lower(x).as_text("hlo"))
    assert len(sort_keys(the_sort(module)["to_apply"])) == 2
    check(module, x)


def test_keys_are_what_is_computed_from_elements():
    before = """  a = s32[] and(p0, p2)
  b = s32[] and(p1, p3)
  ROOT r = pred[] compare(a, b), direction=GT"""
    module = sort_module("", "400", 0, "s32 s32", before=before)
    assert goes_by_digits(module)
    check(module, *(elements(S32, (400,)) for _ in range(2)))


# What gives no number to an element by itself, or not the same bits each time.
OTHERS = {
    "none before another": "  ROOT r = pred[] compare(p0, p1), direction=NE",
    "or equal": "  ROOT r = pred[] compare(p0, p1), direction=GE",
    "keys of two operands": "  ROOT r = pred[] compare(p0, p3), direction=LT",
    "both sides in one key": """  s = s32[] subtract(p0, p1)
  z = s32[] constant(0)
  ROOT r = pred[] compare(s, z), direction=LT""",
    "two expressions": """  s = s32[] negate(p0)
  ROOT r = pred[] compare(s, p1), direction=LT""",
    "sums of floats": """  a = f32[] convert(p0)
  b = f32[] convert(p1)
  c = f32[] add(a, a)
  d = f32[] add(b, b)
  ROOT r = pred[] compare(c, d), direction=LT, type=TOTALORDER""",
    "either key": """  a = pred[] compare(p0, p1), direction=LT
  b = pred[] compare(p2, p3), direction=LT
  ROOT r = pred[] or(a, b)""",
    "equality of another key": """  a = pred[] compare(p0, p1), direction=LT
  b = pred[] compare(p2, p3), direction=LT
  e = pred[] compare(p2, p3), direction=EQ
  n = pred[] and(e, b)
  ROOT r = pred[] or(a, n)""",
}


@pytest.mark.parametrize("before", OTHERS.values(), ids=OTHERS)
def test_other_comparators_are_merged_by(before: str):
    module = sort_module("", "300", 0, "s32 s32", before=before)
    assert not goes_by_digits(module)
    arrays = [RNG.integers(-9, 9, 300).astype(np.int32) for _ in range(2)]
    values, others = tfc.compile(module)(*arrays)
    pairs = [sorted(zip(*(a.tolist() for a in p))) for p in (arrays, (values, others))]
    assert pairs[0] == pairs[1]


def test_keys_of_more_than_64_bits_are_merged_by():
    arrays = [RNG.integers(0, 3, 300), RNG.integers(0, 3, 300)]
    with jax.enable_x64(True):
        lowered = jax.jit(lambda *a: jax.lax.sort(a, num_keys=2)).lower(*arrays)
    module = parse(lowered.as_text("hlo"))
    assert not goes_by_digits(module)
    check(module, *arrays)


def test_short_rows_are_merged():
    assert not goes_by_digits(sort_module("LT", "40,95", 1, "f32"))
    assert goes_by_digits(sort_module("LT", "95,96", 1, "f32"))


def top_k(element_type: ElementType, dims: tuple[int, ...], k: int, largest: bool) -> Module:
    x = builder.parameter(0, Shape(element_type, dims))
    return module_of(builder.instruction("topk", [x], k=k, largest=largest))


def module_of(root: Instruction) -> Module:
    return Module("m", Computation.make("e", [root.operands[0]], root))


def selects(module: Module) -> bool:
    """Whether the CPU computes a topk without a sort of all elements."""
    text = tfc.compile(module).as_text("optimized")
    assert ("topk(" in text) != ("sort(" in text)
    return "topk(" in text


@pytest.mark.parametrize("element_type", REAL, ids=str)
def test_selections_of_all_types(element_type: ElementType):
    x = elements(element_type, (2, 1500))
    module = top_k(element_type, x.shape, 40, largest=False)
    assert selects(module)  # the narrowest floats by the integers in their order
    check(module, x)


@pytest.mark.parametrize("k", [1, 128, 129, 300, 700, 2600])
def test_selections_of_few_and_of_many(k: int):
    x = elements(F32, (2600,))
    ascending = np.sort(np.abs(x))
    rows = np.stack([x, ascending, ascending[::-1], np.zeros_like(x)])
    module = top_k(F32, rows.shape, k, largest=True)
    assert selects(module) == (k <= 2600 // 4)
    check(module, rows)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 527, 529, 1025])
def test_selections_from_rows_of_any_length(size: int):
    module = top_k(S32, (2, size), min(size, 10), largest=False)
    check(module, RNG.integers(-50, 50, (2, size), np.int32))


def test_selections_are_xlas():
    x = elements(F32, (3, 4, 2000))
    x[0, 0, :] = np.nan
    x[0, 1, ::2] = -0.0
    for got, want in zip(tfc.jit(lambda v: nn.top_k(v, 50))(x), jax.lax.top_k(x, 50)):
        same_bits(np.asarray(got), np.asarray(want))


def test_selections_from_what_is_computed_and_in_any_layout():
    module = parse("""HloModule m
ENTRY e {
  x = f32[2000,3]{1,0} parameter(0)
  t = f32[3,2000]{0,1} transpose(x), dimensions={1,0}
  n = f32[3,2000]{0,1} negate(t)
  ROOT r = (f32[3,7]{0,1}, s32[3,7]{1,0}) topk(n), k=7, largest=true
}""")
    assert selects(module)
    check(module, RNG.normal(size=(2000, 3)).astype(np.float32))
