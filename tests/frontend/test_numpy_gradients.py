"""Gradients of every function of tfc.numpy: against differences of NumPy's values where functions
are smooth, and JAX's conventions where they are not. A public name without a row fails by name.
"""

import math
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from elementwise_ops import GENERATED, points
from numpy_samples import SAMPLES

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError

RNG = np.random.default_rng(11)
ANY = np.array([-2.3, -0.7, 0.4, 1.6, 2.7])
INSIDE, ABOVE_ONE = ANY / 3, np.abs(ANY) + 1.1
POSITIVE = np.abs(ANY)
OTHER = np.array([0.9, -1.7, 0.6, 2.2, -0.8])
MATRIX, SQUARE, CUBE = (RNG.permutation(n).reshape(s) / 7 - 0.9
                        for n, s in ((12, (3, 4)), (9, (3, 3)), (24, (2, 3, 4))))  # fmt: skip
INDICES = np.array([[2, 0], [0, -1]])

Case = tuple[Callable[..., Any], *tuple[Any, ...]]


def of(name: str, *operands: Any, **named: Any) -> Case:
    return (lambda m, *xs: getattr(m, name)(*xs, **named), *operands)


def each(names: str, *operands: Any) -> dict[str, Case]:
    return {name: of(name, *operands) for name in names.split()}


def put(m: Any, name: str, x: Any, *args: Any) -> Any:
    """What tfc makes of an array, or the array that NumPy has written to."""
    made = x.copy() if m is np else x
    found = getattr(m, name)(made, *args)
    return made if m is np else found


def add_at(m: Any, x: Any, y: Any) -> Any:
    if m is np:
        made = x.copy()
        np.add.at(made, (INDICES, INDICES), y[:2])
        return made
    return m.at(x)[INDICES, INDICES].add(y[:2])


# fmt: off
SMOOTH: dict[str, Case] = {
    **{name: of(name, points(op)) for name, op in GENERATED.items()},
    **each("abs absolute arctan atan exp2 negative positive square nan_to_num conj conjugate real",
           ANY),
    **each("log2 log10 reciprocal", POSITIVE),
    "rsqrt": (lambda m, x: 1 / np.sqrt(x) if m is np else m.rsqrt(x), POSITIVE),
    "sigmoid": (lambda m, x: 1 / (1 + np.exp(-x)) if m is np else m.sigmoid(x), ANY),
    "logistic": (lambda m, x: 1 / (1 + np.exp(-x)) if m is np else m.logistic(x), ANY),
    "erf": (lambda m, x: np.vectorize(math.erf)(x) if m is np else m.erf(x), ANY),
    **each("add subtract multiply divide true_divide mod remainder fmod arctan2 atan2 hypot "
           "maximum minimum fmax fmin logaddexp", ANY, OTHER),
    **each("pow power", POSITIVE, OTHER),
    "copysign": (lambda m, x: m.copysign(x, OTHER), ANY),
    "divmod": (lambda m, x, y: m.divmod(x, y)[1], ANY, OTHER),
    "clip": of("clip", ANY, np.full(5, -1.0), np.array(2.0)),
    "where": (lambda m, x, y: m.where(OTHER > 0, x, y), ANY, OTHER),
    "astype": (lambda m, x: m.astype(x, np.float64) * 2, ANY),
    **{name: (lambda m, x, name=name: [getattr(m, name)(x), getattr(m, name)(x, axis=(0, -1)),
                                       getattr(m, name)(x, axis=1, keepdims=True)], CUBE)
       for name in ("sum", "prod", "mean", "var", "std", "max", "min", "amax", "amin", "ptp",
                    "median")},
    "quantile": (lambda m, x: m.quantile(x, 0.3, axis=1), MATRIX),
    "percentile": (lambda m, x: m.percentile(x, [10.0, 80.0], axis=0), MATRIX),
    **{name: (lambda m, x, name=name: [getattr(m, name)(x), getattr(m, name)(x, axis=1)], MATRIX)
       for name in ("cumsum", "cumprod")},
    "sort": of("sort", MATRIX, axis=0),
    **each("dot matmul", SQUARE, MATRIX), **each("inner outer", SQUARE, SQUARE + 1),
    **each("vecdot matvec kron cross", SQUARE, SQUARE + 1),
    "vecmat": of("vecmat", SQUARE, SQUARE + 1),
    "vdot": of("vdot", ANY, OTHER), "tensordot": of("tensordot", SQUARE, MATRIX, axes=1),
    "einsum": (lambda m, x, y: m.einsum("ij,jk,ii->k", x, y, x), SQUARE, MATRIX),
    **each("trace diag diagonal tril triu fliplr", SQUARE),
    **each("flip flipud ravel transpose permute_dims matrix_transpose array asarray atleast_1d "
           "atleast_2d squeeze", MATRIX),
    "broadcast_to": (lambda m, x: m.broadcast_to(x, (2, 3, 4)), MATRIX),
    "broadcast_arrays": (lambda m, x, y: m.broadcast_arrays(x, y[:4]), MATRIX, ANY),
    "expand_dims": of("expand_dims", MATRIX, axis=1), "moveaxis": (
        lambda m, x: m.moveaxis(x, 0, -1), CUBE),
    "swapaxes": (lambda m, x: m.swapaxes(x, 0, 2), CUBE),
    "reshape": (lambda m, x: m.reshape(x, (2, 6)), MATRIX),
    "repeat": (lambda m, x: m.repeat(x, 2, axis=1), MATRIX),
    "roll": (lambda m, x: m.roll(x, (1, 2), axis=(0, 1)), MATRIX),
    "tile": (lambda m, x: m.tile(x, (2, 1)), MATRIX),
    "take": (lambda m, x: m.take(x, INDICES, axis=1), MATRIX),
    "take_along_axis": (lambda m, x: m.take_along_axis(x, INDICES[[0, 1, 0]], 1), MATRIX),
    "put_along_axis": (lambda m, x, y: put(m, "put_along_axis", x, INDICES[:1], y[0], 1),
                       MATRIX[:1], OTHER),
    "put": (lambda m, x, y: put(m, "put", x, INDICES[0], y), MATRIX, OTHER),
    "at": (add_at, MATRIX, OTHER),
    "choose": (lambda m, x, y: m.choose([0, 1, 1, 0, 1], [x, y]), ANY, OTHER),
    "select": (lambda m, x, y: m.select([OTHER > 1, OTHER < 0], [x, y], x * y), ANY, OTHER),
    "piecewise": (lambda m, x: m.piecewise(x, [x < 0, x > 2], [abs, lambda v: v * v, m.exp]), ANY),
    "place": (lambda m, x, y: put(m, "place", x, OTHER > 0, y), ANY, OTHER),
    "fill_diagonal": (lambda m, x, y: put(m, "fill_diagonal", x, y), SQUARE, OTHER),
    "append": of("append", MATRIX, OTHER), "insert": (
        lambda m, x, y: m.insert(x, [0, 2], y[:2], 1), MATRIX, OTHER),
    "delete": (lambda m, x: m.delete(x, [0, -1], 1), MATRIX),
    "interp": of("interp", INSIDE * 0.9, np.sort(OTHER), ANY), "partition": (
        lambda m, x: m.partition(x, 2), ANY),
    "sort_complex": (lambda m, x: m.real(m.sort_complex(x)), MATRIX),
    "compress": (lambda m, x: m.compress(OTHER[:4] > 0, x, 1), MATRIX),
    "extract": (lambda m, x: m.extract(MATRIX > 0, x), MATRIX),
    "unique": (lambda m, x: m.unique(x, **({} if m is np else {"size": 12})), MATRIX),
    "histogram_bin_edges": (lambda m, x: m.histogram_bin_edges(x, 3), ANY),
    "split": (lambda m, x: m.split(x, 2, axis=1), MATRIX),
    "pad": (lambda m, x: m.pad(x, 1), MATRIX), "meshgrid": of("meshgrid", ANY, OTHER),
    **{name: (lambda m, x, y, name=name: getattr(m, name)([x, y, x]), SQUARE, SQUARE + 1)
       for name in ("concatenate", "stack", "hstack", "vstack")},
    "full": (lambda m, x: m.full((2, 5), x), ANY), "full_like": (
        lambda m, x: m.full_like(MATRIX, x[0]), ANY),
    "linspace": (lambda m, x: m.linspace(x[0], x[1], 4), ANY),
}
# fmt: on
# Constant between the points where they jump, so that nothing flows back.
FLAT = {
    "angle",
    "around",
    "ceil",
    "fix",
    "floor",
    "floor_divide",
    "imag",
    "ones_like",
    "rint",
    "round",
    "sign",
    "trunc",
    "zeros_like",
    "empty_like",
}  # fmt: skip
# What gives no floats, or takes none.
NO_FLOATS = {
    "argpartition", "argwhere", "bincount", "c_", "diag_indices", "diag_indices_from", "digitize",
    "flatnonzero", "histogram", "histogram2d", "histogramdd", "indices", "isin", "ix_", "lexsort",
    "mask_indices", "mgrid", "nanargmax", "nanargmin", "nonzero", "ogrid", "r_",
    "ravel_multi_index", "tril_indices", "tril_indices_from", "trim_zeros", "triu_indices",
    "triu_indices_from", "unravel_index",
    # Made of sort as unique is.
    "intersect1d", "setdiff1d", "setxor1d", "union1d", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
    "all", "any", "arange", "argmax", "argmin", "argsort", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "count_nonzero", "einsum_path", "equal", "eye", "greater", "greater_equal", "identity",
    "invert", "isclose", "iscomplexobj", "isfinite", "isinf", "isnan", "left_shift", "less",
    "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "ones",
    "result_type", "right_shift", "searchsorted", "signbit", "tri", "zeros",
}  # fmt: skip


def test_every_public_function_is_in_one_of_the_tables():
    functions = {n for n in tnp.__all__ if isinstance(getattr(tnp, n), FunctionType)}
    tables = (set(SMOOTH), FLAT, NO_FLOATS)
    assert sum(map(len, tables)) == len(set().union(*tables))
    assert functions - set().union(*tables) - {sample.name for sample in SAMPLES} == set()


def weighted(m: Any, results: Any) -> Any:
    """One number in which every element of the results has a weight of its own."""
    listed = results if isinstance(results, (list, tuple)) else [results]
    return sum(m.sum(r * np.cos(1.0 + np.arange(r.size)).reshape(r.shape)) for r in listed)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_differences_of_numpys_values(name: str):
    call, *operands = SMOOTH[name]
    numbers = tuple(range(len(operands)))
    got = tfc.grad(lambda *xs: weighted(tnp, call(tnp, *xs)), numbers)(*operands)
    for number, (gradient, operand) in enumerate(zip(got, operands)):
        expected = np.zeros_like(operand)
        for at in np.ndindex(operand.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = [np.array(x) for x in operands]
                moved[number][at] += step
                sides.append(weighted(np, call(np, *moved)))
            expected[at] = (sides[0] - sides[1]) / 2e-6
        np.testing.assert_allclose(gradient, expected, rtol=2e-7, atol=2e-8)


@pytest.mark.parametrize("name", sorted(FLAT))
def test_nothing_flows_back_from_what_is_constant_in_pieces(name: str):
    values = np.array([-2.5, -1, -0.0, 0, 0.5, 1.2, np.inf, np.nan])
    function = getattr(tnp, name)
    operands = [values, values[::-1].copy()] if name == "floor_divide" else [values]
    for number in range(len(operands)):
        got = tfc.grad(lambda *xs: tnp.sum(function(*xs)), number)(*operands)
        np.testing.assert_array_equal(got, np.zeros(values.size))


VALUES = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, 2.5, -3.5, 0.3])
KINKS = {
    "unary": "abs cbrt log1p nan_to_num negative positive reciprocal sign sqrt square tan tanh",
    "binary": "copysign divide hypot logaddexp maximum minimum multiply power remainder mod fmod",
}  # fmt: skip


@pytest.mark.parametrize("name", KINKS["unary"].split())
def test_at_special_points_gradients_are_jaxs(name: str):
    with jax.enable_x64(True):
        expected = jax.grad(lambda x: jnp.sum(getattr(jnp, name)(x)))(VALUES)
    got = tfc.grad(lambda x: tnp.sum(getattr(tnp, name)(x)))(VALUES)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("name", KINKS["binary"].split())
def test_at_pairs_of_special_points_gradients_are_jaxs(name: str):
    x, y = (a.reshape(-1) for a in np.meshgrid(VALUES, VALUES))
    for number in (0, 1):
        with jax.enable_x64(True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = getattr(jnp, name)
            expected = np.array(jax.grad(lambda *v: jnp.sum(function(*v)), number)(x, y))  # noqa: B023
        got = tfc.grad(lambda *v: tnp.sum(getattr(tnp, name)(*v)), number)(x, y)
        if name in ("mod", "remainder", "fmod"):  # by zero they are NaN
            got, expected = got[y != 0], expected[y != 0]
        if name == "hypot":  # newer JAX: NaN at 0, 0
            got, expected = (np.where((x == 0) & (y == 0), 0, v) for v in (got, expected))
        if name == "power":  # JAX: NaN by the base at 0 ** 0, and by the exponent below 0 at 0
            odd = (x == 0) & (y <= 0)
            assert not got[(x == 0) & (y == 0)].any()
            got, expected = got[~odd], expected[~odd]
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-14)


ROWS = [np.array(r, float) for r in ([1, 3, 3, 2], [0, 2, 0], [0, 2, 3], [5, 5, 5, 5], [1, 2, 3])]
REDUCED = {
    "max": lambda m, x: m.max(x), "min": lambda m, x: m.min(x), "prod": lambda m, x: m.prod(x),
    "median": lambda m, x: m.median(x), "ptp": lambda m, x: m.ptp(x), "sort": lambda m, x: m.sum(
        m.sort(x) * m.arange(x.size)), "cumprod": lambda m, x: m.sum(m.cumprod(x) ** 2),
    "clip": lambda m, x: m.sum(m.clip(x, 2.0, 3.0)), "std": lambda m, x: m.std(x),
    "norm": lambda m, x: m.sqrt(m.sum(x * x)), "power": lambda m, x: m.sum(x**3 + x**1.5),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCED)
def test_gradients_of_ties_and_zeros_are_jaxs(name: str):
    for row in ROWS:
        with jax.enable_x64(True):
            expected = jax.grad(lambda x: REDUCED[name](jnp, x))(row)
        got = tfc.grad(lambda x: REDUCED[name](tnp, x))(row)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_the_gradient_of_a_remainder_is_right_where_the_quotient_rounds_up():
    # 1 / 0.1 is 10.0 in floating point, but 0.1 is more than a tenth: it goes 9 times into 1.
    assert tfc.grad(lambda y: 1.0 % y)(0.1) == -9
    assert tfc.grad(lambda y: tnp.fmod(-1.0, y))(0.1) == 9
    assert tfc.grad(lambda x: x % 2.0)(4.0) == 1


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_extremes_and_statistics_have_gradients(dtype):
    z = (RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4))).astype(dtype)
    functions = {
        "max": lambda m, v: m.real(m.sum(m.max(v, axis=1) ** 2)),
        "var": lambda m, v: m.sum(m.var(v, axis=0)),
        "mean": lambda m, v: m.imag(m.mean(v) ** 2),
        "vdot": lambda m, v: m.real(m.vdot(v, v * (1 + 2j))),
        "sort": lambda m, v: m.real(m.sum(m.sort(v, axis=0)[0] ** 2)),
    }
    for name, function in functions.items():
        got = tfc.grad(lambda v: function(tnp, v))(z)  # noqa: B023
        for direction in (1e-3, 1e-3j):
            wide = z.astype(np.complex128)
            for at in [(0, 0), (2, 1)]:
                step = np.zeros(z.shape, complex)
                step[at] = direction
                slope = (function(np, wide + step) - function(np, wide - step)) / 2e-3
                part = got[at].real if direction == 1e-3 else -got[at].imag
                np.testing.assert_allclose(part, slope, rtol=1e-4, atol=1e-4, err_msg=name)


def test_gradients_of_what_gives_integers_are_refused():
    for name in ("argmax", "isnan", "count_nonzero", "equal"):
        operands = (ANY, OTHER) if name == "equal" else (ANY,)
        with pytest.raises(TraceError, match="requires a function whose result is a float scalar"):
            tfc.grad(getattr(tnp, name))(*operands)
