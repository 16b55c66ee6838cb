"""The options of tfc.numpy's statistics, differences, rearrangements and numbers, against NumPy.

Programs are evaluated, not compiled: what operations compile to is tested elsewhere.
"""

import inspect
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy_samples import evaluate, flat

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TfcError, TraceError

RNG = np.random.default_rng(8)
X = RNG.permutation(24).reshape(2, 3, 4) / 5 - 2
HOLED = np.where(RNG.random(X.shape) < 0.3, np.nan, X)
MASK = X > -0.5
WEIGHTS = np.array([1.0, 0.5, 2.0, 0.25])


def assert_numpys(call: Callable[..., Any], *arrays: np.ndarray) -> None:
    """A call that gives the same in NumPy, and of traced arrays in tfc.numpy."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = flat(call(np, *arrays))
    got = evaluate(lambda *xs: call(tnp, *xs), list(arrays))
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        room = 1e-6 if w.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(g, w, rtol=room, atol=room)


# fmt: off
REDUCTIONS = [
    *((name, {"where": MASK}) for name in ("sum", "prod", "mean", "std", "var", "all", "any")),
    *((name, {"where": MASK, "axis": 1, "keepdims": True}) for name in ("sum", "mean", "var")),
    *((name, {"initial": 3.0, "axis": 1}) for name in ("sum", "prod", "max", "min")),
    *((name, {"initial": 0.5, "where": MASK, "axis": (0, 2)}) for name in ("max", "min", "sum")),
    *((name, {"correction": 1, "axis": 0}) for name in ("std", "var")),
    ("var", {"mean": X.mean(axis=1, keepdims=True), "axis": 1}),
    ("sum", {"dtype": np.float32}), ("mean", {"dtype": np.float32, "axis": -1}),
    ("std", {"ddof": 30}), ("mean", {"where": False}),
]
NAN_REDUCTIONS = [
    *((f"nan{name}", {"axis": axis}) for axis in (None, 0, (1, 2))
      for name in ("sum", "prod", "mean", "std", "var", "max", "min", "median")),
    *((f"nan{name}", {"axis": 1, "ddof": 1}) for name in ("std", "var")),
    ("nansum", {"initial": 2.0, "where": MASK}), ("nanmean", {"where": MASK, "axis": 1}),
    ("nancumsum", {"axis": 2}), ("nancumprod", {}),
]
# fmt: on


@pytest.mark.parametrize(("name", "options"), [*REDUCTIONS, *NAN_REDUCTIONS], ids=str)
def test_reductions_take_numpys_options(name: str, options: dict[str, Any]):
    x = HOLED if name.startswith("nan") else X
    assert_numpys(lambda m, x: getattr(m, name)(x, **options), x)
    assert_numpys(lambda m, x: getattr(m, name)(x, **options), np.full((2, 3, 4), x[0, 0, 0]))


def test_extremes_of_what_is_chosen_need_a_value_for_nothing():
    with pytest.raises(ShapeError, match="max with 'where' requires 'initial'"):
        tnp.max(X, where=MASK)
    assert tnp.max(np.zeros((0, 2)), axis=0, initial=3.0).tolist() == [3, 3]
    numbers = np.array([1 + 2j, 3 - 1j])
    assert_numpys(lambda m, z: m.max(z, initial=2.0), numbers)


METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "hazen", "weibull",
           "interpolated_inverted_cdf", "linear", "median_unbiased", "normal_unbiased", "lower",
           "higher", "midpoint", "nearest"]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_by_all_methods(method: str):
    fractions = np.linspace(0, 1, 11)
    for x in (X, np.arange(7), HOLED):
        for name in ("quantile", "nanquantile"):
            assert_numpys(lambda m, x, f=name: getattr(m, f)(x, fractions, method=method), x)
    assert_numpys(lambda m, x: m.quantile(x, 0.3, axis=(0, 2), method=method, keepdims=True), X)
    assert_numpys(lambda m, x: m.nanpercentile(x, [10, 35], axis=1, method=method), HOLED)
    # Fractions that are known when the program runs.
    assert_numpys(lambda m, x, q: m.quantile(x, q, axis=1, method=method), X, fractions)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_elements_count_by_their_weights(name):
    def weighted(x, q, w, **named):
        named = {"method": "inverted_cdf", **named}
        assert_numpys(lambda m, x, w: getattr(m, name)(x, q, weights=w, **named), x, w)

    values = np.arange(60.0).reshape(3, 4, 5) % 7
    counts = np.arange(60).reshape(3, 4, 5) % 3 + (np.arange(5) == 2)
    for q in (0.0, 0.3, [0, 0.25, 1], [[0.1, 0.9]]):
        weighted(values, q, counts, axis=1, keepdims=True)
        weighted(np.where(values == 5, np.nan, values), q, counts, axis=(0, 2))
    weighted(values, 0.4, counts)
    if name == "nanquantile":
        return  # NumPy's takes no weights of the axes alone
    weighted(values, 0.3, np.linspace(0, 1, 15).reshape(5, 3), axis=(2, 0))
    weighted(values.astype(int), [0.2, 0.6], np.array([1, 0, 2, 0.5]), axis=1)
    slope = tfc.grad(lambda x: tnp.quantile(x, 0.5, weights=[1, 5, 1], method="inverted_cdf"))
    np.testing.assert_array_equal(slope(np.array([3.0, 1, 2])), [0, 1, 0])


def test_quantiles_refuse_what_they_have_not():
    with pytest.raises(ShapeError, match="one of the methods inverted_cdf"):
        tnp.quantile(X, 0.5, method="best")
    with pytest.raises(ShapeError, match="takes weights with the method 'inverted_cdf' alone"):
        tnp.quantile(X, 0.5, weights=X)
    weighted = {"weights": np.array([1, -1]), "method": "inverted_cdf"}
    with pytest.raises(ShapeError, match="weights of 0 or more"):
        tnp.quantile(np.ones(2), 0.5, **weighted)
    with pytest.raises(ShapeError, match=r"weights of the shape \[3\]"):
        tnp.quantile(np.ones(3), 0.5, weights=np.ones(2), method="inverted_cdf")
    slope = tfc.grad(tnp.quantile, 1)(np.array([3.0, 1, 2]), 0.2)
    np.testing.assert_allclose(slope, 2.0)


PADDINGS = [
    ("constant", {}), ("constant", {"constant_values": 3}),
    ("constant", {"constant_values": ((1, 2), (3, 4))}), ("edge", {}), ("wrap", {}),
    ("linear_ramp", {}), ("linear_ramp", {"end_values": (1, -2)}),
    *((mode, options) for mode in ("maximum", "mean", "minimum")
      for options in ({}, {"stat_length": 2}, {"stat_length": ((1, 2), (3, 9))})),
    ("median", {}),
    *(pytest.param("median", {"stat_length": length}, marks=pytest.mark.slow)
      for length in (2, ((1, 2), (3, 9)))),
    *((mode, {"reflect_type": kind}) for mode in ("reflect", "symmetric")
      for kind in ("even", "odd")),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "options"), PADDINGS, ids=str)
def test_padding_in_all_modes(mode: str, options: dict[str, Any]):
    for width in (2, (1, 0), ((0, 3), (11, 9))):
        for matrix in (X[0], (X[0] * 5).astype(np.int32), X[0, :1], X[0, :, :2]):
            assert_numpys(lambda m, x, w=width: m.pad(x, w, mode, **options), matrix)


def test_padding_by_a_function_and_by_axis():
    def ends(vector: Any, width: Any, axis: int, named: dict[str, Any]) -> Any:
        high = vector.shape[0] - width[1]
        places = np.arange(vector.shape[0])
        inside = (places >= width[0]) & (places < high)
        return tnp.where(inside, vector, named["value"] + axis)

    def into(vector: np.ndarray, width: Any, axis: int, named: dict[str, Any]) -> None:
        vector[: width[0]] = vector[vector.size - width[1] :] = named["value"] + axis

    got = tnp.pad(X[0], ((1, 2), (2, 1)), ends, value=7)
    np.testing.assert_array_equal(got, np.pad(X[0], ((1, 2), (2, 1)), into, value=7))  # type: ignore
    assert_numpys(lambda m, x: m.pad(x, {-1: (1, 2)}), X)
    assert tnp.pad(X[0], 1, "empty").shape == (5, 6)
    for wrong in ({"stat_length": 1}, {"end_values": 1}):
        with pytest.raises(ShapeError, match="in the mode 'edge' takes no"):
            tnp.pad(X[0], 1, "edge", **wrong)
    with pytest.raises(ShapeError, match="returns the padded vector"):
        tnp.pad(X[0], 1, lambda *_: None)


# fmt: off
CALLS: dict[str, Callable[..., Any]] = {
    "average": lambda m, x: m.average(x, axis=2, weights=WEIGHTS, returned=True, keepdims=True),
    "average of all": lambda m, x: m.average(x, weights=np.abs(X), returned=True),
    "average over two axes": lambda m, x: m.average(x, (2, 0), np.arange(8.0).reshape(4, 2)),
    "average of nothing else": lambda m, x: m.average(x, axis=1, returned=True),
    "cov of columns": lambda m, x: m.cov(x[0], rowvar=False, bias=True),
    "cov of two": lambda m, x: m.cov(x[0], x[1], ddof=0),
    "cov by counts": lambda m, x: m.cov(x[0], fweights=[1, 2, 0, 3]),
    "cov by weights": lambda m, x: m.cov(x[0], fweights=[1, 2, 1, 3], aweights=WEIGHTS, ddof=1),
    "cov of a vector": lambda m, x: m.cov(x[0, 0]),
    "corrcoef of two": lambda m, x: m.corrcoef(x[0], x[1]),
    "diff": lambda m, x: m.diff(x, axis=0, prepend=x[:1], append=2.0),
    "diff too often": lambda m, x: m.diff(x, 5),
    "ediff1d": lambda m, x: m.ediff1d(x, to_end=[1, 2], to_begin=0),
    "gradient of each": lambda m, x: m.gradient(x, 2.0, axis=(0, 2)),
    "gradient by places": lambda m, x: m.gradient(x, np.array([0, 1.0, 3, 4]), axis=2),
    "gradient at the ends": lambda m, x: m.gradient(x, axis=1, edge_order=2),
    "gradient by places to the ends": lambda m, x: m.gradient(
        x, np.array([0, 1.0, 3.5, 4]), axis=2, edge_order=2),
    "trapezoid by places": lambda m, x: m.trapezoid(x, np.array([0, 1.0, 3]), axis=1),
    "trapezoid": lambda m, x: m.trapezoid(x, dx=0.5),
    "unwrap": lambda m, x: m.unwrap(4 * x, discont=4.0, axis=1),
    "unwrap by a period": lambda m, x: m.unwrap(x * 3, period=4),
    "nan_to_num": lambda m, x: m.nan_to_num(m.where(x > 1, np.inf, x), posinf=4.0),
    "clip by older names": lambda m, x: m.clip(x, a_min=0.0, a_max=1.0),
    "repeat by counts": lambda m, x: m.repeat(x, [2, 0, 3], axis=1),
    "meshgrid": lambda m, x: m.meshgrid(x[0, 0], x[0, 1], sparse=True, indexing="ij"),
    "stack": lambda m, x: m.stack([x, x], 1, dtype=np.float32),
    "block": lambda m, x: m.block([[x[0], x[0, :, :1]], [x[0, :1], 7.0]]),
    "rot90": lambda m, x: [m.rot90(x, k, axes=(2, 0)) for k in range(-2, 4)],
    "vander": lambda m, x: m.vander(x[0, 0], 5, increasing=True),
    "vander of none": lambda m, x: m.vander(x[0, 0], 0),
    "array_split": lambda m, x: m.array_split(x, 5, axis=2),
    "resize": lambda m, x: [m.resize(x, (2, 2)), m.resize(x, 50)],
    "atleast": lambda m, x: m.atleast_3d(x[0, 0], x[0], 1.0),
    "diagonal": lambda m, x: m.diagonal(x, 1, 0, 2), "zeros_like": lambda m, x: m.zeros_like(
        x, np.int8, shape=(2, 2)),
    "linspace with its step": lambda m, x: m.linspace(x[0], x[1], 5, False, True, axis=1),
    "linspace of integers": lambda m, x: m.linspace(x[0, 0, 0], 9.0, 4, dtype=np.int32),
    "linspace of one": lambda m, x: m.linspace(x[0], x[1], 1),
    "logspace": lambda m, x: m.logspace(x[0], x[1], 3, base=2.0, axis=-1),
    "geomspace below zero": lambda m, x: m.geomspace(-m.abs(x[0]) - 1, -4.0, 4, endpoint=False),
    "array": lambda m, x: m.array(x[0, 0], ndmin=3), "fromfunction": lambda m, x: m.fromfunction(
        lambda i, j: i + j, (2, 3), dtype=np.int32),
    "isclose": lambda m, x: m.isclose(m.where(x > 1, np.nan, x), x * (1 + 1e-6), equal_nan=True),
    "array_equal": lambda m, x: [m.array_equal(x, x), m.array_equal(x, x[0]),
                                 m.array_equiv(x, x[0]), m.array_equiv(x[:1], x[0])],
    "cumulative_sum": lambda m, x: m.cumulative_sum(x, axis=1, include_initial=True),
    "cumulative_prod": lambda m, x: m.cumulative_prod(x, axis=-1, include_initial=True),
}
# fmt: on


@pytest.mark.parametrize("name", CALLS)
def test_options_are_numpys(name: str):
    assert_numpys(CALLS[name], X)


def test_functions_are_applied_along_axes_and_to_elements():
    for axis in (0, -2, 2):
        assert_numpys(
            lambda m, x, a=axis: m.apply_along_axis(lambda v: m.outer(v, v) + 1.0, a, x), X
        )
    assert_numpys(lambda m, x: m.apply_along_axis(lambda v, w: m.sum(v) * w, 1, x, w=3.0), X)
    assert_numpys(lambda m, x: m.apply_over_axes(m.max, x, (0, -1)), X)
    with pytest.raises(ShapeError, match="as many dimensions as it takes"):
        tnp.apply_over_axes(lambda x, axis: tnp.sum(x), X, 0)

    def pair(x: Any, y: Any, scale: float = 1.0) -> Any:
        return x * y * scale, x + y

    assert_numpys(lambda m, x: m.vectorize(pair)(x, x[0, :, :1]), X)
    assert_numpys(lambda m, x: m.vectorize(m.dot, signature="(n),(n)->()")(x, x[0, :1]), X)
    products = lambda m, x: m.vectorize(m.matmul, signature="(m,n),(n)->(m)")(x, x[0, 0])  # noqa: E731
    assert_numpys(products, X)
    got = tnp.vectorize(pair, excluded={"scale"})(X, 2.0, scale=3.0)
    np.testing.assert_allclose(got[0], X * 6)
    slopes = tfc.grad(lambda x: tnp.sum(tnp.vectorize(lambda v: tnp.sin(v) * v)(x)))(X)
    np.testing.assert_allclose(slopes, np.cos(X) * X + np.sin(X))
    for signature, text in (("n->n", "a signature like"), ("(m,n)->()", "does not fit")):
        with pytest.raises(ShapeError, match=text):
            tnp.vectorize(tnp.sum, signature=signature)(X[0, 0])


def test_windows_are_numpys():
    for size in (0, 1, 2, 9):
        for name in ("bartlett", "blackman", "hamming", "hanning"):
            assert_numpys(lambda m, n=size, f=name: getattr(m, f)(n))
        assert_numpys(lambda m, n=size: m.kaiser(n, 8.6))
        assert_numpys(lambda m, beta, n=size: m.kaiser(n, beta), np.array(14.0))


def test_bits_are_packed_and_unpacked():
    bits = RNG.integers(0, 2, (3, 11)).astype(np.uint8)
    for order in ("big", "little"):
        for axis in (None, 0, 1):
            assert_numpys(lambda m, x, a=axis, o=order: m.packbits(x, a, o), bits)
            for count in (None, 5, 100, -3):
                assert_numpys(
                    lambda m, x, a=axis, o=order, c=count: m.unpackbits(x, a, c, o), bits * 37
                )
    with pytest.raises(ShapeError, match="cannot leave out 900 of"):
        tnp.unpackbits(bits, count=-900)


def test_neighbours_of_bfloat16_are_those_of_ml_dtypes():
    x = np.array([0.0, -0.0, 1, -2.5, 3e38, np.inf, -np.inf, np.nan, 1e-40], ml_dtypes.bfloat16)
    got = tnp.nextafter(x[:, None], x)
    np.testing.assert_array_equal(got.astype(float), np.nextafter(x[:, None], x).astype(float))


def test_parts_of_floats_have_gradients():
    x = np.array([0.3, -5.0, 1e-310])
    for function, slope in (
        (lambda x: tnp.sum(tnp.frexp(x)[0]), np.ldexp(1.0, -np.frexp(x)[1])),
        (lambda x: tnp.sum(tnp.ldexp(x, 4)), np.full(3, 16.0)),
        (lambda x: tnp.sum(tnp.modf(x)[0]), np.ones(3)),
    ):
        np.testing.assert_allclose(tfc.grad(function)(x)[:2], slope[:2])


# --- signatures ---------------------------------------------------------------------------------

LEFT_OUT = {"out", "order", "subok", "like", "casting", "where", "signature", "kwargs", "copy",
            "kind", "ndmax", "einsum_call", "sorter"}  # fmt: skip


def numpys_parameters(name: str) -> list[inspect.Parameter]:
    """What NumPy's function can be given by name, as far as its signature is known."""
    function = getattr(np, name, None)
    if function is None or isinstance(function, (np.ufunc, type)):
        return []
    try:
        listed = list(inspect.signature(function).parameters.values())
    except ValueError:
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p for p in listed if p.kind in kinds and p.name not in LEFT_OUT]


FUNCTIONS = [n for n in tnp.__all__ if isinstance(getattr(tnp, n), FunctionType)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_options_have_numpys_names(name: str):
    own = inspect.signature(getattr(tnp, name)).parameters
    optional = [p.name for p in numpys_parameters(name) if p.default is not p.empty]
    assert [n for n in optional if n not in own] == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: tnp.sin(X, out=X), lambda: tnp.add(X, X, out=X), lambda: tnp.sum(X, out=X),
        lambda: tnp.max(X, 0, X), lambda: tnp.cumsum(X, 0, None, X), lambda: tnp.dot(X, X, out=X),
        lambda: tnp.concatenate([X, X], out=X), lambda: tnp.clip(X, 0, 1, X),
        lambda: tnp.median(X, 0, X), lambda: tnp.nansum(X, out=X),
    ],
)  # fmt: skip
def test_out_is_refused_in_a_sentence(call: Callable[[], Any]):
    with pytest.raises(TfcError, match="has no argument 'out': use the result") as caught:
        call()
    assert "\n" not in str(caught.value)


def test_other_arguments_of_numpys_are_refused_with_advice():
    with pytest.raises(TraceError, match=r"sin has no argument 'where': choose with tfc.numpy.whe"):
        tnp.sin(X, where=MASK)
    with pytest.raises(TraceError, match="zeros has no argument 'order': leave it out"):
        tnp.zeros(3, order="F")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        tnp.sin(X, colour=1)


def test_tensors_have_the_methods_of_arrays():
    names = ("nbytes real imag flat T mT device conj conjugate sort argsort take searchsorted copy "
             "diagonal view to_device ndim size shape dtype itemsize")  # fmt: skip
    assert [n for n in names.split() if not hasattr(tfc.Tensor, n)] == []
    assert_numpys(lambda m, x: x.view(np.int64), X)
    assert_numpys(lambda m, x: [x.real + x.imag, x.conj(), x.copy(), x[0].diagonal()], X)
    assert_numpys(lambda m, x: [np.shape(x)[0] * x, np.size(x) * x, np.ndim(x) * x], X)
    with pytest.raises(ShapeError, match="elements as large as those of float64, got float32"):
        tnp.sum(tfc.jit(lambda x: x.view(np.float32))(X))
