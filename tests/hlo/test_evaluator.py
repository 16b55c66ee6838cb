"""The evaluator where NumPy and C disagree or are silent; test_xla.py compares it with XLA."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
from tfc.errors import ShapeError
from tfc.hlo import evaluate, parse
from tfc.hlo.ops.elementwise.conversions import convert_array
from tfc.hlo.shape import ELEMENT_TYPES, F16, S8, S32, U8, U32

LOWEST = np.iinfo(np.int32).min


def apply(opcode: str, *arrays: Any, attributes: str = "") -> Any:
    """One op over arrays of the same shape, through the text form."""
    values = [np.asarray(a) for a in arrays]
    names = {np.dtype(t.dtype): t.name for t in ELEMENT_TYPES.values()}
    lines = [
        f"p{i} = {names[v.dtype]}[{','.join(map(str, v.shape))}] parameter({i})"
        for i, v in enumerate(values)
    ]
    inside = ", ".join(f"p{i}" for i in range(len(values)))
    return evaluate(parse("\n".join([*lines, f"r = {opcode}({inside}){attributes}"])), *values)


def test_integer_division_truncates_and_never_traps():
    x = np.array([7, -7, 7, -7, 5, LOWEST, 0], np.int32)
    y = np.array([2, 2, -2, -2, 0, -1, 0], np.int32)
    np.testing.assert_array_equal(apply("divide", x, y), [3, -3, -3, 3, -1, LOWEST, -1])
    np.testing.assert_array_equal(apply("remainder", x, y), [1, -1, 1, -1, 5, 0, 0])


def test_unsigned_division_by_zero_gives_all_bits_set():
    x, y = np.array([7, 0], np.uint8), np.array([0, 0], np.uint8)
    np.testing.assert_array_equal(apply("divide", x, y), [255, 255])
    np.testing.assert_array_equal(apply("remainder", x, y), [7, 0])


def test_shifts_by_the_width_or_more_leave_zero_or_the_sign():
    x, y = np.array([-1, 5, -8, 1], np.int8), np.array([8, 100, -1, 7], np.int8)
    np.testing.assert_array_equal(apply("shift-left", x, y), [0, 0, 0, -128])
    np.testing.assert_array_equal(apply("shift-right-logical", x, y), [0, 0, 0, 0])
    np.testing.assert_array_equal(apply("shift-right-arithmetic", x, y), [-1, 0, -1, 0])


def test_integer_power_wraps_and_inverts():
    x = np.array([2, 3, -1, -1, 1, 2, 0, 3], np.int32)
    y = np.array([10, 64, -3, -2, -5, -1, 0, 40], np.int32)
    expected = [1024, pow(3, 64, 2**32), -1, 1, 1, 0, 1, pow(3, 40, 2**32)]
    wrapped = np.array(expected, np.int64).astype(np.int32)
    np.testing.assert_array_equal(apply("power", x, y), wrapped)


def test_integer_arithmetic_wraps():
    top = np.array([127], np.int8)
    one = np.array([1], np.int8)
    assert apply("add", top, one) == -128
    assert apply("negate", np.array([-128], np.int8)) == -128
    assert apply("abs", np.array([-128], np.int8)) == -128
    assert apply("multiply", np.array([100], np.int8), np.array([3], np.int8)) == 44


def test_bit_counts():
    x = np.array([0, 1, 255, 128], np.uint8)
    np.testing.assert_array_equal(apply("count-leading-zeros", x), [8, 7, 0, 0])
    np.testing.assert_array_equal(apply("popcnt", x), [0, 1, 8, 1])
    assert apply("popcnt", x).dtype == np.uint8


def test_nan_propagates_through_maximum_minimum_and_clamp():
    nan, one = np.float32([np.nan]), np.float32([1])
    for opcode in ("maximum", "minimum"):
        assert np.isnan(apply(opcode, nan, one))
        assert np.isnan(apply(opcode, one, nan))
    assert np.isnan(apply("clamp", one, nan, one))


def test_sign_keeps_zeros_and_nan():
    got = apply("sign", np.float32([-0.0, 0.0, np.nan, -2, np.inf]))
    np.testing.assert_array_equal(got, np.float32([-0.0, 0.0, np.nan, -1, 1]))
    np.testing.assert_array_equal(np.signbit(got[:2]), [True, False])


def test_rounding_of_halves():
    x = np.float32([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.0])
    afz = np.float32([1, -1, 2, 3, -3, 0, 8388609.0])
    np.testing.assert_array_equal(apply("round-nearest-afz", x), afz)
    even = np.float32([0, -0.0, 2, 2, -2, 0, 8388609.0])
    np.testing.assert_array_equal(apply("round-nearest-even", x), even)
    assert np.signbit(apply("round-nearest-even", x)[1])


def test_float_remainder_has_the_sign_of_the_dividend():
    x, y = np.float32([-3, 3, 5.5, np.inf, 1]), np.float32([4, -4, 2, 1, 0])
    np.testing.assert_array_equal(
        apply("remainder", x, y), np.float32([-3, 3, 1.5, np.nan, np.nan])
    )


@pytest.mark.parametrize(
    ("to", "expected"),
    [(S8, [0, 127, -128, 127, -128, 1, -1, 127]), (U8, [0, 255, 0, 255, 0, 1, 0, 200]),
     (S32, [0, 2**31 - 1, LOWEST, 2**31 - 1, LOWEST, 1, -1, 200]),
     (U32, [0, 2**32 - 1, 0, 2**32 - 1, 0, 1, 0, 200])],
    ids=str,
)  # fmt: skip
def test_floats_become_integers_toward_zero_saturating_nan_as_zero(to: Any, expected: list[int]):
    x = np.float32([np.nan, np.inf, -np.inf, 1e20, -1e20, 1.9, -1.9, 200])
    np.testing.assert_array_equal(convert_array(x, to), np.array(expected, to.dtype))


def test_integers_wrap_when_narrowed_and_round_to_even_as_floats():
    assert convert_array(np.array([300], np.int32), S8) == 44
    assert convert_array(np.array([-1], np.int32), U8) == 255
    assert convert_array(np.array([2049], np.int32), F16) == 2048
    assert convert_array(np.array([2051], np.int32), F16) == 2052


def test_anything_but_zero_is_true():
    x = np.float32([0.0, -0.0, np.nan, 1e-45])
    np.testing.assert_array_equal(
        convert_array(x, ELEMENT_TYPES["pred"]), [False, False, True, True]
    )


def test_narrow_floats_round_once():
    """bf16 arithmetic is the exact result rounded, not a chain of roundings through f32."""
    x = np.array([1.0], ml_dtypes.bfloat16)
    tiny = np.array([2.0**-8 + 2.0**-20], np.float32).astype(ml_dtypes.bfloat16)
    assert apply("add", x, tiny)[0] == ml_dtypes.bfloat16(1.0 + float(tiny[0]))
    half = apply("exponential", np.float16([10.0]))
    assert half[0] == np.float16(np.exp(10.0))


def test_logic_on_truth_values_and_bits():
    p, q = np.array([True, True, False]), np.array([True, False, False])
    np.testing.assert_array_equal(apply("xor", p, q), [False, True, False])
    np.testing.assert_array_equal(apply("not", p), [False, False, True])
    assert apply("not", np.array([5], np.int32)) == -6


def test_variadic_reduce_finds_the_largest_and_its_place():
    text = """
    pick { a = f32[] parameter(0)
           i = s32[] parameter(1)
           b = f32[] parameter(2)
           j = s32[] parameter(3)
           left = compare(a, b), direction=GE
           ROOT t = tuple(select(left, a, b), select(left, i, j)) }
    ENTRY e { x = f32[2,3] parameter(0)
              i = s32[2,3] iota(), iota_dimension=1
              low = f32[] constant(-inf)
              zero = s32[] constant(0)
              ROOT r = reduce(x, i, low, zero), dimensions={1}, to_apply=pick }
    """
    value, place = evaluate(parse(text), np.float32([[1, 5, 2], [7, 0, 6]]))
    np.testing.assert_array_equal(value, [5, 7])
    np.testing.assert_array_equal(place, [1, 0])


def test_arguments_are_checked():
    module = parse("x = f32[2] parameter(0)\ny = (s32[], f32[]) parameter(1)\nr = tuple(x, y)")
    with pytest.raises(ShapeError, match="takes 2 arguments, got 1"):
        evaluate(module, [1, 2])
    with pytest.raises(ShapeError, match=r"argument x must be f32\[2\], got float32\[3\]"):
        evaluate(module, np.zeros(3, np.float32), (1, 2))
    with pytest.raises(ShapeError, match=r"argument x must be f32\[2\], got float64\[2\]"):
        evaluate(module, np.zeros(2), (1, 2))
    with pytest.raises(ShapeError, match="argument y must be a tuple of 2 values"):
        evaluate(module, [1, 2], 3)
    values = evaluate(module, [1, 2], (3, 4))
    assert values[1] == (3, 4)


def test_deep_chains_do_not_use_the_stack():
    lines = ["i0 = f32[] parameter(0)", *(f"i{n + 1} = add(i{n}, i0)" for n in range(20000))]
    assert evaluate(parse("\n".join(lines)), 1.0) == 20001


@pytest.mark.parametrize(
    ("start", "expected"), [(2, [2, 3, 4]), (-5, [0, 1, 2]), (4, [3, 4, 5]), (99, [3, 4, 5])]
)
def test_dynamic_slices_clamp_their_start(start: int, expected: list[int]):
    x, at = np.arange(6, dtype=np.int32), np.array(start, np.int32)
    window = apply("dynamic-slice", x, at, attributes=", dynamic_slice_sizes={3}")
    np.testing.assert_array_equal(window, expected)
    updated = apply("dynamic-update-slice", x, -window, at)
    np.testing.assert_array_equal(updated, [-v if v in expected else v for v in range(6)])


def test_a_scalar_is_scattered_into_and_updated_like_any_array():
    text = """
add { a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  r = f32[] reverse(x), dimensions={}
  i = s32[0] iota(), iota_dimension=0
  s = f32[] scatter(r, i, y), update_window_dims={}, inserted_window_dims={},
    scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=add
  u = f32[] dynamic-update-slice(r, y)
  ROOT t = (f32[], f32[]) tuple(s, u)
}"""
    assert evaluate(parse(text), np.float32(2), np.float32(3)) == (5, 3)


@pytest.mark.parametrize("text", [
    "ROOT y = {t}[2,2] dot(x, k), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
    "ROOT y = {t}[2,2] convolution(x, k), dim_labels=bf_io->bf",
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["f32", "f64", "c64"])
def test_sums_of_products_of_zero_and_infinity_are_nan(text: str, dtype: str):
    """Libraries for matrices leave out what has a factor of zero; arithmetic does not."""
    module = parse(f"""ENTRY e {{
      x = {dtype}[2,1] parameter(0)
      k = {dtype}[1,2] parameter(1)
      {text.format(t=dtype)} }}""")
    x, k = np.array([[0], [1]]), np.array([[np.inf, 1]])
    numpy_type = ELEMENT_TYPES[dtype].dtype
    y = evaluate(module, x.astype(numpy_type), k.astype(numpy_type))
    np.testing.assert_array_equal(np.isnan(y.real), [[True, False], [False, False]])
    np.testing.assert_array_equal(
        tfc.compile(module)(x.astype(numpy_type), k.astype(numpy_type)), [y]
    )
