"""Arguments of tfc.numpy: axes of every kind, Python numbers beside arrays, and what is refused.

What is wrong gives a TfcError of one sentence, never an error from the insides.
"""

import inspect
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import TfcError

X = np.arange(6.0).reshape(2, 3)
AXES = [0, 1, -1, -2, np.int64(1), None, (0, 1), (-1, 0), (), 2, -3, (0, 0), (0, -2), (0, 5), True,
        "a", 1.5, (0.5,)]  # fmt: skip
ONE = np.zeros((1, 1), int)
SQUARE = np.full((2, 2), 0.5)
# How functions are called that take more than an array and an axis.
CALLS = {
    "concatenate": lambda f, axis: f([X, X], axis=axis),
    "stack": lambda f, axis: f([X, X], axis=axis),
    "split": lambda f, axis: f(X, 1, axis=axis),
    **dict.fromkeys(("append", "delete"), lambda f, axis: f(X, 0, axis=axis)),
    **dict.fromkeys(("partition", "argpartition"), lambda f, axis: f(X, 1, axis=axis)),
    "insert": lambda f, axis: f(X, 0, 7.0, axis=axis),
    "compress": lambda f, axis: f([True, False], X, axis=axis),
    "take_along_axis": lambda f, axis: f(X, ONE, axis=axis),
    "put_along_axis": lambda f, axis: put_along(f, axis),  # noqa: PLW0108
    "take": lambda f, axis: f(X, 0, axis=axis),
    "repeat": lambda f, axis: f(X, 2, axis=axis),
    "roll": lambda f, axis: f(X, 1, axis=axis),
    "quantile": lambda f, axis: f(X, 0.5, axis=axis),
    "percentile": lambda f, axis: f(X, 50, axis=axis),
    "cross": lambda f, axis: f(np.eye(3), np.ones((3, 3)), axis=axis),
    "vecdot": lambda f, axis: f(X, X, axis=axis),
    "nanquantile": lambda f, axis: f(X, 0.5, axis=axis),
    "nanpercentile": lambda f, axis: f(X, 50, axis=axis),
    "append": lambda f, axis: f(X, X, axis=axis),
    "array_split": lambda f, axis: f(X, 1, axis=axis),
    **{
        name: (lambda f, axis: f(X[0] + 1, X[1] + 1, 4, axis=axis))
        for name in ("linspace", "logspace", "geomspace")
    },
    "apply_along_axis": lambda f, axis: f(abs, axis, X),
    "one_hot": lambda f, axis: f(np.array([1]), 3, axis=axis),
    "glu": lambda f, axis: f(SQUARE, axis=axis),
    "kl_divergence": lambda f, axis: f(SQUARE, SQUARE, axis=axis),
    "softmax_cross_entropy": lambda f, axis: f(SQUARE, SQUARE, axis=axis),
    "softmax_cross_entropy_with_integer_labels": lambda f, axis: f(SQUARE, [0, 1], axis=axis),
}


def put_along(function: Any, axis: Any) -> Any:
    """The new array, or the one that NumPy has written to."""
    written = X.copy()
    made = function(written, ONE, 7.0, axis=axis)
    return written if made is None else made


def with_axis(module: Any) -> list[str]:
    functions = [(name, getattr(module, name)) for name in module.__all__]
    functions = [(n, f) for n, f in functions if callable(f) and not isinstance(f, type)]
    return [n for n, f in functions if "axis" in inspect.signature(f).parameters]


def outcome(function: Any, name: str, axis: Any, refusals: tuple[type[Exception], ...]) -> Any:
    """The result, or None where it is refused."""
    call = CALLS.get(name, lambda f, axis: f(X, axis=axis))
    try:
        return call(function, axis)
    except refusals as error:
        text = str(error)
    assert "\n" not in text.split("\nat ")[0]
    return None


@pytest.mark.parametrize("name", with_axis(tnp))
def test_axes_are_numpys(name: str):
    for axis in AXES:
        want = outcome(getattr(np, name), name, axis, (TypeError, ValueError, IndexError))
        got = outcome(getattr(tnp, name), name, axis, (TfcError,))
        if axis is True:
            assert got is None  # which NumPy takes for 1 in some functions
            continue
        assert (got is None) == (want is None), axis
        if got is not None:
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


@pytest.mark.parametrize("name", with_axis(nn))
def test_axes_of_networks_exist_and_are_integers(name: str):
    for axis in (9, -9, (0, 0), True, "a", 1.5):
        assert outcome(getattr(nn, name), name, axis, (TfcError,)) is None
    for axis in (0, -1):
        assert outcome(getattr(nn, name), name, axis, (TfcError,)) is not None


REFUSED = {
    "reshape": [(X, 2.5), (X, "a"), (X, (4, 2)), (X, (-1, -1)), (X, (-2, 3))],
    "transpose": [(X, (0, 0)), (X, (0,)), (X, 1), (X, "ab")],
    "moveaxis": [(X, 0, 5), (X, (0, 0), (0, 1)), (X, (0, 1), 0)],
    "swapaxes": [(X, 0, 2), (X, 0, None)], "expand_dims": [(X, (0, 0)), (X, 5), (X, "a")],
    "squeeze": [(X, 0)], "matrix_transpose": [(X[0],)], "fliplr": [(X[0],)],
    **{name: [(3,), ([],), ([X, "a"],)] for name in ("concatenate", "stack", "hstack", "vstack")},
    "split": [(X, 0), (X, 4), (X, 1.5), (X, [0.5])], "tile": [(X, 1.5), (X, -1), (X, "a")],
    "broadcast_to": [(X, (3, 3)), (X, (-1, 3)), (3.0, "a")], "repeat": [(X, -1), (X, 1.5)],
    "roll": [(X, 1.5, 0), (X, (1, 2, 3), (0, 1))],
    "pad": [(X, -1), (X, (1, 2, 3)), (X, "a"), (X, 1.5), (X, 1, "best"), (X[:0], 1, "edge")],
    "meshgrid": [([1, "a"],)], "zeros": [(-1,), (1.5,), (2, "foo"), ("a",), (2, object)],
    "full": [(-2, 1), ((2, 3), [1, 2]), (2, 300, np.uint8), (2, None)],
    "full_like": [(np.zeros(2, np.uint8), -1), (X, "a")], "eye": [(-1,), (2.5,)],
    "arange": [("a",), (0, 5, 0), (float("inf"),), (float("nan"),), (3, None, 1, bool)],
    "linspace": [(0, 1, -1), (0, 1, 2.5)], "tril": [(1.0,), (X[0],)], "diag": [(1.0,)],
    "trace": [(X[0],)], "diagonal": [(X[0],), (X, 0, 1, 1)],
    "matmul": [(X, 2.0), (X, X)], "dot": [(X, X)], "inner": [(X, X[:, :2])],
    "tensordot": [(X, X, 1), (X, X, "a"), (X, X, ([0], [5])), (X, X, (0, 0, 0))],
    "einsum": [("ij,jk", X, X), ("i#", X), ("ij->k", X), ("ij->ii", X), ("ij",), (3, X),
               ("ij->i->j", X), ("ij,ij->i", X)],
    "take": [(X, "a"), (X, [0.5]), (X, None)], "searchsorted": [(X, 1), (X[0], 1, "up")],
    "quantile": [(X, "a"), (X, 2), (X, float("nan")), (X, []), (X[:0], 0.5)],
    "percentile": [(X, 101), (X, "a")], "median": [(X[:0], 0)], "max": [(X[:0],), (None,)],
    "round": [(X, "a"), (X, 1.5), (X, 400), (np.arange(3), -1)], "nan_to_num": [(X, True, "a")],
    "isclose": [(X, X, "a")], "clip": [(X, "a", 2), (X, np.zeros(2), None)],
    "where": [(X > 0, "a", 1), (X > 0, np.zeros(2), 1)], "astype": [(X, "foo"), (X, object)],
    "sum": [(X, None, "foo"), ("a",), ([1, [2, 3]],), ([object()],), (None,)],
    "var": [(X, None, None, "a")], "sin": [("a",), (np.datetime64("2020-01-01"),)],
    "array": [([[1], [2, 3]],), ([300], np.uint8), (2**70,), ([1.0, np.nan], int)],
    "add": [(X, None), (np.zeros(2, np.uint8), 300), (np.arange(3), 2**70), (X, np.ones(4))],
    "power": [(np.arange(3), -1)], "result_type": [(), ("foo",)],
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_in_one_sentence(name: str):
    for arguments in REFUSED[name]:
        with pytest.raises(TfcError) as caught:
            getattr(tnp, name)(*arguments)
        assert "\n" not in str(caught.value).split("\nat ")[0]


TAKEN = {
    "zeros": [(np.array([2, 3]),), (np.int64(2),), ((),)], "tile": [(X, np.array([2, 1])), (X, 0)],
    "split": [(X, np.array([1, 2]), 1), (X, [-1], 1)], "repeat": [(X, 0)],
    "diagonal": [(X, 7), (X, -7), (X, 3)], "trace": [(X, 9)], "diag": [(X, -2)],
    "quantile": [(X, [[0.25, 0.5], [0.75, 1]]), (X, [0.5], 1), (X, np.array(0.25))],
    "result_type": [("f4", "i2"), ("f4", X)], "roll": [(X, (1, 2), (0, 0)), (X, 1, ())],
    "array": [([1.5, 2.5], int), ([True, 2.5],)], "moveaxis": [(X, (), ())],
    "linspace": [(0, 1, np.int64(3)), (0, 1, 1)], "transpose": [(X, [-1, 0])],
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_what_numpy_takes_is_taken(name: str):
    for arguments in TAKEN[name]:
        got, want = getattr(tnp, name)(*arguments), getattr(np, name)(*arguments)
        if name == "result_type":
            assert got == want
            continue
        if not isinstance(want, list):
            got, want = [got], [want]
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b, strict=True)


COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


@pytest.mark.parametrize("name", COMPARISONS)
def test_integers_that_share_no_type_are_compared_exactly(name: str):
    signed = np.array([-1, 0, 2**63 - 1, -(2**63), 2**53 + 1])
    unsigned = np.array([0, 2**63, 2**64 - 1, 2**63 - 1, 2**53], np.uint64)
    for x, y in [(signed[:, None], unsigned), (unsigned[:, None], signed),
                 (np.int8([-1, 5])[:, None], unsigned)]:  # fmt: skip
        for run in (lambda f: f, tfc.jit):
            got = run(getattr(tnp, name))(x, y)
            np.testing.assert_array_equal(got, getattr(np, name)(x, y))


@pytest.mark.parametrize("name", COMPARISONS)
def test_integers_are_compared_with_python_numbers_out_of_their_range(name: str):
    for dtype in (np.int8, np.uint8, np.int32, np.uint64):
        x = np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        for number in (-1, 300, 2**62, -(2**40)):
            function = getattr(np, name)
            np.testing.assert_array_equal(getattr(tnp, name)(x, number), function(x, number))
            np.testing.assert_array_equal(getattr(tnp, name)(number, x), function(number, x))


NUMBERS = [True, 2, 3, 2.5, 1j, -1]
ARITHMETIC = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum",
              "power", "less", "hypot", "where", "bitwise_and"]  # fmt: skip


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_python_numbers_meet_arrays_as_in_numpy(name: str, dtype: str):
    x = np.array([1, 0, 2, 3]).astype(dtype)
    for number in NUMBERS:
        for operands in ((x, number), (number, x)):
            arguments = ((x != 0), *operands) if name == "where" else operands
            try:
                with np.errstate(all="ignore"):
                    want = getattr(np, name)(*arguments)
            except (TypeError, OverflowError, ValueError):
                want = None
            try:
                got = getattr(tnp, name)(*arguments)
            except TfcError:
                # NumPy's where lets negative numbers wrap around.
                assert want is None or dtype == "?" or (name == "where" and number == -1)
                continue
            if want is None or (name == "power" and dtype == "?"):
                continue  # tfc computes some that NumPy refuses, such as booleans to a power
            assert got.dtype == want.dtype
            finite = np.isfinite(want)  # C99 and NumPy divide complex numbers by zero differently
            np.testing.assert_allclose(got[finite], want[finite], rtol=8 * 2.0**-10
                                       if want.dtype == np.float16 else 1e-5)  # fmt: skip


def test_a_narrow_float_meets_a_complex_number_in_complex64():
    x = np.ones(2, ml_dtypes.bfloat16)
    assert (tnp.add(x, 1j)).dtype == tnp.add(x.astype(np.float16), 1j).dtype == np.complex64


def test_as_many_classes_as_are_asked_for_whatever_the_type_of_the_indices():
    got = nn.one_hot(np.array([1, 255], np.uint8), 300)
    np.testing.assert_array_equal(np.argwhere(got), [[0, 1], [1, 255]])
    np.testing.assert_array_equal(nn.one_hot(np.array([True, False]), 2), [[0, 1], [1, 0]])


NETWORKS = [
    lambda: nn.relu(1j), lambda: nn.softplus(1j), lambda: nn.one_hot(np.array([1j]), 3),
    lambda: nn.one_hot(np.array([1]), 2.5), lambda: nn.one_hot(np.array([1]), -3),
    lambda: nn.top_k(X, 5), lambda: nn.top_k(X, 1.5), lambda: nn.top_k(1.0, 1),
    lambda: nn.top_k(X * 1j, 1), lambda: nn.softmax(1.0), lambda: nn.cummax(X * 1j),
    lambda: nn.batch_norm_training(X * 1j, np.ones(3), np.ones(3)),
    lambda: nn.batch_norm_training(X, np.ones(3), np.ones(3), "a"),
    lambda: nn.max_pool(np.ones((1, 4, 1)) * 1j, 2), lambda: nn.max_pool(np.ones((1, 4, 1)), "a"),
    lambda: nn.max_pool(np.ones((1, 4, 1)), 1.5), lambda: nn.avg_pool(X[None], 2, padding=[1]),
    lambda: nn.avg_pool(X[None], 2, padding=3), lambda: nn.avg_pool(X[None], 2, None, [(1.5, 0)]),
    lambda: nn.conv(np.ones((1, 4, 1)), np.ones((2, 1, 1)), preferred_element_type="foo"),
    lambda: nn.conv(np.ones((1, 4, 1)), np.ones((2, 1, 1)), "a"),
    lambda: nn.conv(np.ones((1, 4, 1)), np.ones((2, 1, 1)), feature_group_count=0),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(NETWORKS)))
def test_functions_of_networks_refuse_in_one_sentence(number: int):
    with pytest.raises(TfcError) as caught:
        NETWORKS[number]()
    assert "\n" not in str(caught.value).split("\nat ")[0]


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_integers_of_four_bits_have_a_largest_and_a_smallest_one(dtype: Any):
    x = np.array([3, 1, 7, 2]).astype(dtype)
    assert (int(tnp.max(x)), int(tnp.min(x))) == (7, 1)
    assert (int(tnp.argmax(x)), int(tnp.argmin(x))) == (2, 1)
    np.testing.assert_array_equal(nn.max_pool(x[None, :, None], 2).reshape(-1), [3, 7])


@pytest.mark.parametrize(("dtype", "number"), [(ml_dtypes.int4, 8), (ml_dtypes.uint4, -1)])
def test_python_numbers_beyond_four_bits_are_refused(dtype: Any, number: int):
    with pytest.raises(TfcError, match=f"{number} does not fit into"):
        tnp.add(np.ones(2, dtype), number)
