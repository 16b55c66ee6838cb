"""Every function of tfc.numpy on every element type, at nasty values, against NumPy.

NumPy is the rule: what it computes, tfc computes, and what it refuses, tfc refuses, with a
TraceError. A row of the table states where tfc does otherwise on purpose. bfloat16 is computed by
NumPy in float32 and rounded. A public name without a row fails by name.
"""

from types import FunctionType
from typing import Any

import numpy as np
import pytest
from elementwise_ops import GENERATED
from numpy.testing import assert_equal
from numpy_rows import (
    BFLOAT16,
    DTYPES,
    Arrays,
    Row,
    along,
    arrays,
    at_twice,
    calm,
    check,
    erf,
    exponents,
    in_floats,
    made,
    matrices,
    named,
    nasty,
    near,
    not_of_halves,
    ordinary,
    pairs,
    powers,
    rank_two,
    rearranged,
    rows,
    rsqrt,
    shifts,
    sigmoid,
    singles,
    sorted_and_values,
    stacked,
    sums,
    written,
)
from numpy_samples import SAMPLES

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError

INDEXING = {  # test_indexing_functions.py: traced, most need the size of their result
    "append", "argpartition", "argwhere", "bincount", "c_", "choose", "compress", "delete",
    "diag_indices", "diag_indices_from", "digitize", "extract", "fill_diagonal", "flatnonzero",
    "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "indices", "insert", "interp",
    "intersect1d", "isin", "ix_", "lexsort", "mask_indices", "mgrid", "nanargmax", "nanargmin",
    "nonzero", "ogrid", "partition", "piecewise", "place", "r_", "ravel_multi_index", "select",
    "setdiff1d", "setxor1d", "sort_complex", "tril_indices", "tril_indices_from", "trim_zeros",
    "triu_indices", "triu_indices_from", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unravel_index",
}  # fmt: skip

REAL = {"refuses": "c"}  # NumPy has it for complex numbers, tfc has not
# fmt: off
ROWS: dict[str, Row] = {
    **{name: named(name, refuses="" if "complex" in op.domain else "c")
       for name, op in GENERATED.items() if hasattr(np, name)},
    **rows("arctan atan", **REAL),
    **rows("abs absolute ceil floor isfinite isinf isnan log2 log10 "
           "logical_not negative rint sign signbit trunc fix "
           "bitwise_invert bitwise_not invert real imag iscomplexobj"),
    **rows("positive", extends="b"),
    **rows("fabs deg2rad radians rad2deg degrees frexp modf isposinf isneginf", **REAL),
    "spacing": named("spacing", operands=not_of_halves(singles), **REAL),
    "sinc": named("sinc", operands=not_of_halves(singles), numbers_only=True),
    **rows("isreal iscomplex bitwise_count"),
    **rows("i0", **REAL),
    **rows("square exp2 expm1", numbers_only=True),
    **rows("conj conjugate", own_dtype="b"),
    **rows("round around", own_dtype="b"),
    **rows("angle", own_dtype="b"),
    "nan_to_num": named("nan_to_num", operands=lambda dtype: [
        (x[np.isfinite(x)] if dtype == BFLOAT16 else x,) for x, in singles(dtype)]),
    "reciprocal": named("reciprocal", numbers_only=True, reference=lambda x: np.where(
        x == 0, 0, np.reciprocal(np.where(x == 0, 1, x))).astype(np.reciprocal(x).dtype)
        if x.dtype.kind in "iu" else np.reciprocal(x)),
    "round to digits": Row(lambda m, x: [m.round(x, 1), m.round(x / 8, 2)],
                           lambda dtype: [(ordinary(dtype, 9),)], extends="b"),
    "angle in degrees": Row(lambda m, x: m.angle(x, deg=True), own_dtype="b"),
    "sigmoid": named("sigmoid", reference=sigmoid, numbers_only=True),
    "logistic": named("logistic", reference=sigmoid, numbers_only=True),
    "erf": named("erf", reference=erf), "rsqrt": named("rsqrt", reference=rsqrt, numbers_only=True),
    **rows("add subtract divmod floor_divide fmod mod remainder arctan2 atan2 copysign equal "
           "greater greater_equal hypot less less_equal logaddexp logical_and logical_or "
           "logical_xor not_equal bitwise_and bitwise_or bitwise_xor", operands=pairs),
    **rows("heaviside logaddexp2 gcd lcm", operands=pairs),
    "nextafter": named("nextafter", operands=not_of_halves(pairs)),
    "float_power": named("float_power", operands=powers, numbers_only=True),
    "ldexp": named("ldexp", operands=exponents),
    **rows("divide true_divide multiply", operands=pairs, numbers_only=True),
    **rows("maximum minimum fmax fmin", operands=pairs, equal_zeros=True),
    **rows("pow power", operands=powers, numbers_only=True),
    **rows("left_shift right_shift bitwise_left_shift bitwise_right_shift", operands=shifts),
    "isclose": named("isclose", operands=near),
    "where": Row(lambda m, x, y: m.where(x, x, y), pairs),
    "clip": Row(lambda m, x: [m.clip(x, 1, 3), m.clip(x, None, x[::-1]), m.clip(x, x, None)],
                lambda dtype: [(ordinary(dtype, 9),)]),
    "astype": Row(lambda m, x: [m.astype(x, t) for t in (np.float64, np.int64, np.bool_, np.uint8)
                                if x.dtype.kind != "c"],
                  lambda dtype: [(np.abs(ordinary(dtype, 9)),)]),
    "result_type": Row(lambda m, x: [m.zeros(1, m.result_type(x, y)) for y in (
        np.int8, np.uint64, np.float16, np.complex64, 1, 2.5, 1j)], own_dtype="f"),
    **sums("sum all any count_nonzero max min amax amin ptp"), **sums("prod", numbers_only=True),
    **sums("mean var std", operands=calm, numbers_only=True),
    **sums("median nanmedian", operands=calm, **REAL),
    **sums("nansum nanmax nanmin"), **sums("nanprod", numbers_only=True),
    **sums("nanmean nanvar nanstd", operands=calm, numbers_only=True),
    "nancumsum": along("nancumsum", None, 0, -1),
    "nancumprod": along("nancumprod", None, 0, -1, numbers_only=True),
    "quantile": Row(lambda m, x: m.quantile(x, 0.25, axis=0), calm,
                    in_floats("quantile", 0.25, axis=0), extends="b"),
    "percentile": Row(lambda m, x: m.percentile(x, 70.0, axis=-1), calm,
                      in_floats("percentile", 70.0, axis=-1), extends="b"),
    "argmax": along("argmax", None, 0, -1), "argmin": along("argmin", None, 0, -1),
    "cumsum": along("cumsum", None, 0, -1),
    "cumprod": along("cumprod", None, 0, -1, numbers_only=True),
    "sort": Row(lambda m, x: [m.sort(x, axis=axis, stable=True) for axis in (None, 0, -1)], arrays),
    "argsort": Row(lambda m, x: [m.argsort(x, axis=a, stable=True) for a in (None, 0, -1)], arrays),
    "sort of nasty values": Row(lambda m, x: [m.sort(x, stable=True), m.argsort(x, stable=True)],
                                lambda dtype: [(nasty(dtype),)]),
    "searchsorted": named("searchsorted", operands=sorted_and_values),
    **rows("dot matmul inner outer vdot vecdot matvec vecmat kron cross", operands=matrices),
    "einsum_path": Row(lambda m, x, y: len(m.einsum_path("ij,jk", x, y)[0]), matrices),
    "tensordot": Row(lambda m, x, y: [m.tensordot(x, y, 1), m.tensordot(x, y)], matrices),
    "einsum": Row(lambda m, x, y: [m.einsum(s, *t) for s, t in (
        ("ij,jk->ki", (x, y)), ("ii->i", (x,)), ("ij->", (x,)))], matrices),
    "trace": rearranged("trace", operands=rank_two), "trace beside": rearranged(
        "trace", -1, operands=rank_two),
    **{name: rearranged(name, operands=rank_two) for name in ("diag", "diagonal", "fliplr",
                                                              "tril", "triu")},
    "diag of a vector": Row(lambda m, x: [m.diag(x), m.diag(x, -1)]
                            if x.ndim == 1 else m.diag(x, 1), rank_two),
    **{name: rearranged(name) for name in ("atleast_1d", "atleast_2d", "flip", "flipud", "ravel",
        "squeeze", "transpose", "permute_dims", "matrix_transpose", "array", "asarray")},
    "broadcast_to": Row(lambda m, x: m.broadcast_to(x, (2, *x.shape)), arrays),
    "broadcast_arrays": Row(lambda m, x: m.broadcast_arrays(x, x[:1]), arrays),
    "expand_dims": rearranged("expand_dims", (0, -1)), "moveaxis": rearranged("moveaxis", 0, -1),
    "swapaxes": rearranged("swapaxes", 0, -1), "reshape": rearranged("reshape", (2, -1)),
    "repeat": rearranged("repeat", 2, 1), "roll": rearranged("roll", (1, -2), (0, 1)),
    "tile": rearranged("tile", (2, 1)), "take": rearranged("take", [0, -1], 1),
    "take_along_axis": Row(lambda m, x: m.take_along_axis(
        x, np.arange(x.size).reshape(x.shape) * 3 % x.shape[1], 1), arrays),
    "put_along_axis": Row(lambda m, x: written(m, "put_along_axis", x, x[:1].astype("?") + 0, 3, 0),
                          lambda dtype: arrays(dtype)[:2]),
    "put": Row(lambda m, x: written(m, "put", x, [1, -1, 3], [3, 1]), arrays),
    "at": Row(at_twice, arrays),
    "split": Row(lambda m, x: m.split(x, [1, 2], axis=-1), arrays),
    "pad": Row(lambda m, x: m.pad(x, 1, constant_values=1), arrays),
    "meshgrid": Row(lambda m, x: m.meshgrid(x[0, 0], x[0, 0]), lambda t: arrays(t)[2:]),
    "concatenate": stacked("concatenate", axis=-1), "stack": stacked("stack", axis=1),
    "hstack": stacked("hstack"), "vstack": stacked("vstack"),
    **{name: rearranged(name) for name in ("zeros_like", "ones_like")},
    "empty_like": Row(lambda m, x: m.zeros_like(m.empty_like(x)), arrays),
    "full_like": rearranged("full_like", 1), "full": made(lambda m, t: m.full((2, 3), 1, t)),
    "zeros": made(lambda m, t: m.zeros((2, 0, 3), t)), "ones": made(lambda m, t: m.ones(3, t)),
    "eye": made(lambda m, t: m.eye(3, 4, 1, t)), "identity": made(lambda m, t: m.identity(3, t)),
    "tri": made(lambda m, t: m.tri(3, 4, -1, t)),
    "arange": made(lambda m, t: m.arange(1, 7, 2, dtype=t)),
    "linspace": made(lambda m, t: m.linspace(0, 5, 7, dtype=t)),
}
# fmt: on
BINARY = [
    name
    for name, row in ROWS.items()
    if row.operands in (pairs, powers, shifts, near) and name not in ("where", "isclose")
]  # fmt: skip


def test_every_public_function_has_a_row():
    functions = {n for n in tnp.__all__ if isinstance(getattr(tnp, n), FunctionType)}
    assert functions - set(ROWS) - INDEXING - {sample.name for sample in SAMPLES} == set()


@pytest.mark.parametrize("name", ROWS)
def test_values_and_dtypes_are_numpys(name: str):
    row = ROWS[name]
    run = lambda row, *operands: row.call(tnp, *operands)  # noqa: E731
    assert [w for dtype in DTYPES for w in check(name, row, dtype, run)] == []


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64], ids=str)
def test_logarithms_of_powers_of_two_are_exact(dtype: Any):
    exponents = np.arange(-14, 16).astype(dtype)
    for run in (lambda f: f, tfc.jit):
        assert_equal(run(tnp.exp2)(exponents), np.exp2(exponents.astype(np.float64)).astype(dtype))
        assert_equal(run(tnp.log2)(np.exp2(exponents.astype(np.float64)).astype(dtype)), exponents)
    slope = tfc.grad(lambda x: tnp.sum(tnp.log2(x)))(np.array([0.5, 8.0, 9.0]))
    np.testing.assert_allclose(slope, 1 / (np.array([0.5, 8.0, 9.0]) * np.log(2)), rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_compiled_values_are_numpys(dtype: np.dtype):
    """All functions of a dtype as one program, since compiling takes longer than running."""
    calls = [(name, number, operands) for name, row in ROWS.items()
             for number, operands in enumerate(row.operands(dtype))
             if name != "iscomplexobj" and is_taken(row, *operands)]  # fmt: skip

    def program(given: list[Arrays]) -> list[Any]:
        return [ROWS[name].call(tnp, *xs) for (name, *_), xs in zip(calls, given)]

    results = tfc.jit(program)([operands for *_, operands in calls])
    found = {(name, number): r for (name, number, _), r in zip(calls, results)}
    wrong = []
    for name, row in ROWS.items():
        made = iter([found[key] for key in found if key[0] == name])
        if any(key[0] == name for key in found):
            wrong += check(name, row, dtype, lambda *_, made=made: next(made))
    assert wrong == []


def is_taken(row: Row, *operands: np.ndarray) -> bool:
    try:
        row.call(tnp, *operands)
    except TraceError:
        return False
    return True
