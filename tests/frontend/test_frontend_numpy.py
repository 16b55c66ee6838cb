"""tfc.numpy against NumPy: values, dtypes, promotion, shapes, and what is refused."""

import warnings
from functools import partial

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TraceError

RNG = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.5, np.inf, -np.inf, np.nan, 7.0])


def reference(function, *args, **named):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **named)


def traced(function, *args):
    """Through jit on the reference backend, so that every argument is a parameter."""
    return tfc.jit(function, backend="interpreter")(*args)


def assert_same(got, expected, ulps=4):
    """Same dtype and shape; floats within a few units in the last place, zeros with their sign."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
        return
    wide = expected.astype(np.float64)
    eps = float(ml_dtypes.finfo(expected.dtype).eps)
    np.testing.assert_allclose(got.astype(np.float64), wide, rtol=ulps * eps, atol=ulps * eps)
    zeros = (wide == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got)[zeros], np.signbit(expected)[zeros])


def inputs(dtype):
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return np.array([True, False, True, True])
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -9
        return RNG.integers(low, 10, 12).astype(dtype)
    return SPECIAL.astype(dtype)


FLOATING = [
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "cos", "cosh", "exp",
    "exp2", "expm1", "log", "log10", "log1p", "log2", "rint", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip
UNARY = [
    "absolute", "ceil", "floor", "trunc", "negative", "positive", "sign", "square", "isnan",
    "isinf", "isfinite",
]  # fmt: skip


@pytest.mark.parametrize("name", [*FLOATING, *UNARY, "logical_not", "signbit", "nan_to_num"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.int8, np.bool_])
def test_unary_functions_are_numpys(name, dtype):
    if dtype == np.bool_ and name in ("negative", "positive", "sign", "nan_to_num"):
        return  # refused by NumPy, or not the same dtype
    if name in ("signbit", "isnan", "isinf") and dtype == np.bool_:
        return
    x = inputs(dtype)
    expected = reference(getattr(np, name), x)
    assert_same(traced(getattr(tnp, name), x), expected, ulps=8)


ARITHMETIC = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "maximum",
    "minimum", "fmax", "fmin", "arctan2", "hypot", "copysign", "logaddexp",
]  # fmt: skip
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGICAL = ["logical_and", "logical_or", "logical_xor"]


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS, *LOGICAL])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8, np.uint8])
def test_binary_functions_are_numpys_on_all_pairs_of_special_values(name, dtype):
    values = inputs(dtype)
    x, y = values[:, None], values[None, :]
    got, expected = traced(getattr(tnp, name), x, y), reference(getattr(np, name), x, y)
    if name in ("maximum", "minimum", "fmax", "fmin"):  # which of -0.0 and 0.0 is left open
        got, expected = got + got.dtype.type(0), expected + expected.dtype.type(0)
    assert_same(got, expected, ulps=8)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_floored_division_is_exact(name, dtype):
    x = (RNG.standard_normal(500) * 50).astype(dtype)
    y = (RNG.standard_normal(500) * 5).astype(dtype)
    got, expected = traced(getattr(tnp, name), x, y), reference(getattr(np, name), x, y)
    np.testing.assert_array_equal(got, expected)


def test_operators_floor_where_hlo_truncates():
    def f(x, y):
        return x // y, x % y, divmod(x, y)

    for x, y in [(-3, 4), (3, -4), (-4, 2), (7, 2)]:
        q, r, both = traced(f, np.int32(x), np.int32(y))
        assert (q, r, both) == (x // y, x % y, divmod(x, y))
    assert traced(lambda x: x // 0, np.int32(5)) == 0


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.bool_])
def test_bitwise_functions_are_numpys(dtype):
    x = inputs(dtype)
    y = x[::-1].copy()
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        assert_same(traced(getattr(tnp, name), x, y), getattr(np, name)(x, y))
    assert_same(traced(tnp.invert, x), np.invert(x))
    if dtype != np.bool_:
        shift = np.abs(y) % 8
        assert_same(traced(lambda a, b: a << b, x, shift), x << shift)
        assert_same(traced(lambda a, b: a >> b, x, shift), x >> shift)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, 0.5, -1, -1.5, 2.0])
def test_powers_are_numpys(exponent):
    x = np.abs(RNG.standard_normal(8)) + 0.1
    for dtype in (np.float32, np.float64):
        a = x.astype(dtype)
        assert_same(traced(lambda v: v**exponent, a), a**exponent, ulps=4)
    if isinstance(exponent, int) and exponent >= 0:
        whole = np.arange(-4, 5)
        assert_same(traced(lambda v: v**exponent, whole), whole**exponent)


def test_an_integer_to_a_negative_power_is_refused():
    with pytest.raises(TraceError, match="negative power -1"):
        traced(lambda x: x**-1, np.arange(3))


DTYPES = [np.bool_, np.int8, np.uint8, np.int16, np.uint32, np.int32, np.int64, np.float16,
          np.float32, np.float64]  # fmt: skip


@pytest.mark.parametrize("left", DTYPES)
def test_promotion_is_numpys(left):
    x = np.ones(2, left)
    for right in DTYPES:
        y = np.ones(2, right)
        assert tnp.result_type(x, y) == np.result_type(x, y)
        assert traced(lambda a, b: a / b, x, y).dtype == (x / y).dtype
        if not (left == right == np.bool_):
            assert traced(lambda a, b: a + b, x, y).dtype == (x + y).dtype


@pytest.mark.parametrize("number", [True, 2, 2.5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_python_numbers_are_weak(number, dtype):
    x = np.ones(2, dtype)
    expected = (x * number).dtype
    assert traced(lambda a: a * number, x).dtype == expected
    assert traced(lambda a: number * a, x).dtype == expected
    assert traced(lambda a, n: a * n, x, number).dtype == expected  # as an argument of jit too
    assert traced(lambda a, n: a * (n + 1) / 1, x, number).dtype == (x * (number + 1) / 1).dtype


def test_functions_of_python_numbers_are_no_longer_weak():
    x = np.ones(2, np.float32)
    assert traced(lambda a, n: a * tnp.sqrt(n), x, 2.0).dtype == (x * np.sqrt(2.0)).dtype


def test_bfloat16_meets_others_by_one_rule():
    x = np.ones(2, ml_dtypes.bfloat16)
    for other, expected in [
        (np.int32, "bfloat16"),
        (np.float16, "float32"),
        (np.float32, "float32"),
    ]:
        assert traced(lambda a, b: a + b, x, np.ones(2, other)).dtype.name == expected
    assert traced(lambda a: a * 2.5 + 1, x).dtype == ml_dtypes.bfloat16


def test_a_python_integer_must_fit():
    with pytest.raises(ShapeError, match="300 does not fit into uint8"):
        traced(lambda x: x + 300, np.ones(2, np.uint8))


REDUCTIONS = [
    "sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin", "ptp",
    "count_nonzero",
]  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, np.int32, np.uint8, np.bool_]
)
def test_reductions_are_numpys(name, dtype):
    if dtype == np.bool_ and name == "ptp":
        return  # refused by NumPy
    x = (RNG.standard_normal((3, 4, 2)) * 2).astype(dtype)
    ours, theirs = getattr(tnp, name), getattr(np, name)
    axes = [None, 0, -1] if name.startswith("arg") else [None, 0, -1, (0, 2), (1, -1, 0)]
    for axis in axes:
        for keepdims in (False, True):
            expected = reference(theirs, x, axis=axis, keepdims=keepdims)
            got = traced(partial(ours, axis=axis, keepdims=keepdims), x)
            assert_same(got, expected, ulps=32)


def test_sum_takes_a_dtype_and_var_a_ddof():
    x = RNG.standard_normal((4, 3)).astype(np.float32)
    assert_same(traced(lambda a: a.sum(0, dtype=np.float64), x), x.sum(0, dtype=np.float64), 16)
    assert_same(traced(lambda a: a.var(0, ddof=1), x), x.var(0, ddof=1), ulps=16)
    assert_same(traced(lambda a: a.astype(int).sum(), x), x.astype(int).sum())


def test_argmax_takes_the_first_of_equals_and_the_first_nan():
    for row in ([1, 3, 3, 2], [np.nan, 1, np.nan], [1, np.nan, 5], [-np.inf, -np.inf]):
        x = np.array(row)
        assert traced(tnp.argmax, x) == np.argmax(x)
        assert traced(tnp.argmin, -x) == np.argmin(-x)


def test_reductions_of_no_elements():
    empty = np.ones((0, 3), np.float32)
    assert_same(traced(tnp.sum, empty), empty.sum())
    assert_same(traced(lambda a: tnp.max(a, axis=1), empty), empty.max(axis=1))
    for name in ("max", "min", "argmax"):
        with pytest.raises(ShapeError, match="of no elements"):
            traced(partial(getattr(tnp, name), axis=0), empty)


MATRICES = [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)),
            ((3, 4), (2, 4, 5)), ((2, 3, 4), (2, 4, 5)), ((6, 1, 3, 4), (2, 4, 5)),
            ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((1, 3, 4), (5, 4, 2))]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), MATRICES)
def test_matmul_is_numpys(left, right):
    x, y = RNG.integers(-4, 5, left), RNG.integers(-4, 5, right)
    for dtype in (np.float32, np.int64):
        a, b = x.astype(dtype), y.astype(dtype)
        assert_same(traced(lambda a, b: a @ b, a, b), a @ b)
        if len(left) <= 2 and len(right) <= 2:
            assert_same(traced(tnp.dot, a, b), np.dot(a, b))


EINSUMS = [("ij,jk->ik", (2, 3), (3, 4)), ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
           ("ii->i", (3, 3)),
           ("ii", (3, 3)), ("ij->ji", (2, 3)), ("ij,ij->", (2, 3), (2, 3)), ("i,j", (2,), (3,)),
           ("...ij,...jk->...ik", (2, 1, 2, 3), (5, 3, 4)),
           ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
           ("ij->", (2, 3)), ("bqhd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 4, 5)), ("ba", (2, 3)),
           ("i...->...", (3, 2)), ("iij,j->i", (3, 3, 2), (2,)),
           ("ij,k->j", (2, 3), (4,))]  # fmt: skip


@pytest.mark.parametrize(("subscripts", "shapes"), [(e[0], e[1:]) for e in EINSUMS])
def test_einsum_is_numpys(subscripts, shapes):
    operands = [RNG.integers(-4, 5, s).astype(np.float64) for s in shapes]
    got = traced(lambda *xs: tnp.einsum(subscripts, *xs), *operands)
    assert_same(got, np.einsum(subscripts, *operands))


def test_a_matmul_needs_no_repeated_operand():
    x, y = np.ones((2, 3, 4), np.float32), np.ones((4, 5), np.float32)
    text = tfc.jit(tnp.matmul).lower(x, y).as_text()
    assert "broadcast" not in text
    assert "transpose" not in text


def test_other_products_are_numpys():
    x, y = RNG.integers(0, 5, (3, 4)), RNG.integers(0, 5, (4, 3))
    assert_same(traced(tnp.outer, x, y), np.outer(x, y))
    assert_same(traced(tnp.vdot, x, y), np.vdot(x, y))
    assert_same(traced(tnp.inner, x, x), np.inner(x, x))
    assert_same(traced(lambda a, b: tnp.tensordot(a, b, 1), x, y), np.tensordot(x, y, 1))
    axes = ([0, 1], [1, 0])
    assert_same(traced(lambda a, b: tnp.tensordot(a, b, axes), x, y), np.tensordot(x, y, axes))
    assert_same(traced(tnp.trace, x), np.trace(x))


X = np.arange(24.0).reshape(2, 3, 4)
REARRANGEMENTS = [
    lambda m, x: m.reshape(x, (4, -1)), lambda m, x: x.reshape(6, -1), lambda m, x: m.ravel(x),
    lambda m, x: x.T, lambda m, x: m.transpose(x, (1, 0, 2)), lambda m, x: x.transpose(2, 0, 1),
    lambda m, x: m.swapaxes(x, 0, -1), lambda m, x: m.moveaxis(x, 0, -1),
    lambda m, x: m.moveaxis(x, (0, 1), (2, 0)), lambda m, x: m.expand_dims(x, (0, -1)),
    lambda m, x: m.squeeze(m.expand_dims(x, 1)), lambda m, x: m.squeeze(x[:, None], axis=1),
    lambda m, x: m.concatenate([x, x], axis=-1), lambda m, x: m.concatenate([x, x], axis=None),
    lambda m, x: m.stack([x, x + 1], axis=1), lambda m, x: m.vstack([x[0], x[1]]),
    lambda m, x: m.hstack([x[0], x[1]]), lambda m, x: m.split(x, 2, axis=2),
    lambda m, x: m.split(x, [1, 3], axis=-1), lambda m, x: m.tile(x, (2, 1)),
    lambda m, x: m.tile(x[0, 0], (2, 3)), lambda m, x: m.repeat(x, 2, axis=1),
    lambda m, x: m.repeat(x, 3), lambda m, x: m.flip(x), lambda m, x: m.flip(x, (0, 2)),
    lambda m, x: m.roll(x, 2), lambda m, x: m.roll(x, -1, axis=1), lambda m, x: m.flipud(x),
    lambda m, x: m.pad(x, 1), lambda m, x: m.pad(x, ((0, 1), (2, 0), (1, 1)), constant_values=7),
    lambda m, x: m.broadcast_to(x, (5, 2, 3, 4)), lambda m, x: m.broadcast_to(x[:, :1], (2, 3, 4)),
    lambda m, x: m.tril(x), lambda m, x: m.triu(x, 1), lambda m, x: m.diag(x[0, 0], 1),
    lambda m, x: m.diag(x[0], -1), lambda m, x: m.diagonal(x[1], 1), lambda m, x: m.fliplr(x),
    lambda m, x: m.clip(x, 3, 7.5), lambda m, x: m.where(x > 5, x, -1),
    lambda m, x: m.round(x / 7, 2),
    lambda m, x: m.meshgrid(x[0, 0], x[0, :, 0]), lambda m, x: m.broadcast_arrays(x, x[0, 0]),
    lambda m, x: m.zeros_like(x), lambda m, x: m.full_like(x, 3, dtype=np.int32),
    lambda m, x: m.isclose(x, x + 1e-9), lambda m, x: m.atleast_2d(x[0, 0]),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REARRANGEMENTS)))
def test_rearranging_functions_are_numpys(number):
    function = REARRANGEMENTS[number]
    got, expected = traced(lambda x: function(tnp, x), X), function(np, X)
    if isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected):
            assert_same(a, b)
    else:
        assert_same(got, expected)


KEYS = [0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2), Ellipsis,
        (0, 1), (slice(None), 1), (..., 0), (0, ..., slice(3, 0, -2)), None, (None, 0, None),
        (slice(5, 1), 0), (slice(-2, None), slice(None, -1)), (..., slice(-1, -9, -3)), (1, 2, 3),
        np.int64(1), (slice(None), slice(2, 1), slice(0, 100, 3))]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_basic_indexing_is_numpys(key):
    assert_same(traced(lambda x: x[key], X), X[key])


def _index(x, key):
    return x[key]


@pytest.mark.parametrize("position", [0, 3, -1, -5])
def test_a_traced_integer_indexes_as_a_number_does(position):
    x = RNG.normal(size=(5, 2, 5)).astype(np.float32)
    for key in (lambda i: i, lambda i: (slice(1, 3), 1, i), lambda i: (i, None, ..., i)):
        got = traced(lambda a, i, key=key: a[key(i)], x, np.int16(position))
        np.testing.assert_array_equal(got, x[key(position)])


def test_a_traced_integer_beyond_the_bounds_takes_the_nearest_element():
    x = np.arange(5, dtype=np.float32)
    assert [traced(lambda a, i: a[i], x, np.int32(i)) for i in (7, -9)] == [4, 0]


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_take_is_numpys(axis, backend):
    x = RNG.normal(size=(4, 3, 5)).astype(np.float32)
    for places in (np.int32(2), np.array([0, -1, 2]), np.array([[1], [-3]], np.int8)):
        got = tfc.jit(lambda a, i: tnp.take(a, i, axis), backend=backend)(x, places)
        np.testing.assert_array_equal(got, np.take(x, places, axis))


def test_take_refuses_what_is_no_index_and_what_has_no_elements():
    for x, places, axis, message in [(X, 1.5, 0, "must be an integer"), (X, 1, 3, "axis 3 is out"),
                                     (np.zeros((2, 0)), 0, 1, "size 0")]:  # fmt: skip
        with pytest.raises(ShapeError, match=message):
            traced(lambda a, i, axis=axis: tnp.take(a, i, axis), x, np.asarray(places))


def test_a_loop_indexes_by_its_counter_on_the_cpu():
    x = RNG.normal(size=(6, 3)).astype(np.float32)
    total = tfc.jit(lambda a: tfc.fori_loop(0, 6, lambda i, s: s + i * a[i], tnp.zeros(3, "f4")))
    np.testing.assert_allclose(total(x), np.arange(6) @ x, rtol=1e-5)


def test_what_indexing_refuses():
    for key, message in [(9, "index 9 is out of bounds"), ((0, 0, 0, 0), "too many"),
                         ((..., ...), "one Ellipsis"), ("a", "integer or a slice")]:  # fmt: skip
        with pytest.raises(ShapeError, match=message):
            traced(partial(_index, key=key), X)
    with pytest.raises(ShapeError, match="must be an integer, got f32"):
        traced(lambda x: x[x[0, 0, 0]], X.astype(np.float32))
    with pytest.raises(ShapeError, match="a mask must have the sizes"):
        traced(partial(_index, key=np.array([True, False, True])), X)


CREATIONS = [
    lambda m: m.zeros(3), lambda m: m.ones((2, 3), np.int32), lambda m: m.full((2,), 7),
    lambda m: m.arange(5), lambda m: m.arange(2, 11, 3), lambda m: m.arange(5, 0, -2),
    lambda m: m.arange(0.0, 1.0, 0.1), lambda m: m.arange(3, dtype=np.float32),
    lambda m: m.linspace(0, 1, 7), lambda m: m.linspace(2.0, 3.0, 5, endpoint=False),
    lambda m: m.eye(3), lambda m: m.eye(2, 4, 1, dtype=np.int8), lambda m: m.identity(2),
    lambda m: m.tri(3, 4, -1), lambda m: m.array([[1, 2], [3, 4]]), lambda m: m.asarray(3.5),
    lambda m: m.arange(0),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CREATIONS)))
def test_creation_functions_are_numpys(number):
    function = CREATIONS[number]
    assert_same(traced(lambda: function(tnp)), function(np))
    assert_same(function(tnp), function(np))


def test_functions_work_at_once_outside_a_trace():
    x = np.array([1.0, 4.0])
    got = tnp.sqrt(x)
    assert isinstance(got, np.ndarray)
    assert_same(got, np.sqrt(x))
    assert_same(tnp.concatenate([[1.0], x]), np.concatenate([[1.0], x]))
    assert_same(tnp.sum([1, 2, 3]), np.sum([1, 2, 3]))


def test_numpys_own_functions_build_the_graph_when_given_tensors():
    def f(x):
        return np.concatenate([np.exp(x), np.ones(1)]) @ np.arange(3.0) + np.float64(2) * np.sum(x)

    x = np.array([0.5, 1.5])
    assert_same(traced(f, x), f(x))
    assert_same(traced(lambda v: np.arange(2.0) - v, x), np.arange(2.0) - x)
    with pytest.raises(TraceError, match=r"no function like numpy\.real_if_close"):
        traced(np.real_if_close, x)


def test_arrays_of_lists_with_tensors():
    assert_same(
        traced(lambda x: tnp.array([[x, 1.0], [2.0, x]]), 3.0), np.array([[3, 1], [2, 3.0]])
    )
    with pytest.raises(TraceError, match=r"use tfc\.numpy\.array"):
        traced(lambda x: tnp.sum([x, 1.0]), 3.0)


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ShapeError, match=r"equal or one, got \[3\] and \[4\]"):
        traced(lambda x, y: x + y, np.ones(3), np.ones(4))
    with pytest.raises(ShapeError, match="equal size, got 3 and 4"):
        traced(lambda x, y: x @ y, np.ones((2, 3)), np.ones((4, 2)))
    with pytest.raises(ShapeError, match="reshape"):
        traced(lambda x: x.reshape(13, 2, -1), X)
