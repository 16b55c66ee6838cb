"""Every function of tfc.numpy on every element type, at nasty values, against NumPy.

NumPy is the rule: what it computes, tfc computes, and what it refuses, tfc refuses, with a
TraceError. A row of the table states where tfc does otherwise on purpose. bfloat16 is computed by
NumPy in float32 and rounded. A public name without a row fails by name.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from elementwise_ops import GENERATED
from numpy.testing import assert_equal
from numpy_samples import SAMPLES
from special_values import special_values

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError
from tfc.hlo.shape import element_type_of

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(t) for t in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", BFLOAT16,
                                "f4", "f8", "c8", "c16")]  # fmt: skip
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

Arrays = tuple[np.ndarray, ...]


def kind_of(dtype: np.dtype) -> str:
    """b, i, u, f or c; bfloat16 is an f."""
    return element_type_of(dtype).kind[0].replace("p", "b").replace("s", "i")


def nasty(dtype: np.dtype) -> np.ndarray:
    """Zeros of both signs, extremes, halves, infinities, NaN."""
    if dtype.kind != "c":
        return special_values(element_type_of(dtype))
    parts = np.array([0.0, -0.0, 1, -2.5, 0.5, 3, np.inf, -np.inf, np.nan])
    return np.array([complex(x, y) for x in parts for y in parts], dtype)


def ordinary(dtype: np.dtype, *shape: int) -> np.ndarray:
    """Small numbers, some of them equal, in no order."""
    count = math.prod(shape)
    values = (np.arange(count) * 7 % 11 - 3) / 2
    if dtype.kind == "c":
        values = values + 1j * np.roll(values, 3)
    elif kind_of(dtype) == "b":
        values = values > 0
    elif kind_of(dtype) in "iu":
        values = np.abs(values * 2) if kind_of(dtype) == "u" else values * 2
    return values.reshape(shape).astype(dtype)


def with_nan(dtype: np.dtype) -> np.ndarray:
    """Rows of which some have a NaN, or an infinity; for integers the extremes."""
    found = ordinary(dtype, 4, 5)
    if kind_of(dtype) == "b":
        return found
    if kind_of(dtype) in "iu":
        found[1, 2], found[2, 2] = np.iinfo(dtype).max, np.iinfo(dtype).min
        return found
    found[1, 2] = found[1, 4] = np.nan
    found[2, 0], found[3, 3] = np.inf, -np.inf
    if dtype.kind == "c":
        found[0, 1] = complex(1, np.nan)
    return found


def pairs(dtype: np.dtype) -> list[Arrays]:
    """All pairs of nasty values."""
    values = nasty(dtype)
    return [(values[:: 3 if dtype.kind == "c" else 1, None], values[None, :])]


def singles(dtype: np.dtype) -> list[Arrays]:
    """Nasty values in one dimension, none at all, and a scalar."""
    return [(nasty(dtype),), (nasty(dtype)[:0],), (ordinary(dtype, 7)[5],)]


def arrays(dtype: np.dtype) -> list[Arrays]:
    """Matrices, and an array of three dimensions."""
    return [(ordinary(dtype, 4, 5),), (with_nan(dtype),), (ordinary(dtype, 2, 3, 4),)]


def matrices(dtype: np.dtype) -> list[Arrays]:
    """Two square matrices."""
    return [(ordinary(dtype, 3, 3), ordinary(dtype, 4, 3)[1:] + ordinary(dtype, 1, 3))]


@dataclass(frozen=True)
class Row:
    """How a function is called, and where it is not NumPy's.

    call: (module, *operands) -> result, in NumPy as in tfc.
    operands: the operands to try for a dtype.
    reference: what to call instead, where NumPy has no such function.
    refuses, extends: kinds of dtype that only tfc refuses, or only tfc takes.
    own_dtype: kinds of dtype for which the result's dtype is not NumPy's.
    numbers_only: special values of complex numbers are C99's (docs/semantics.md), not NumPy's.
    equal_zeros: which of 0.0 and -0.0 is larger is left open by NumPy.
    """

    call: Callable[..., Any]
    operands: Callable[[np.dtype], list[Arrays]] = singles
    reference: Callable[..., Any] | None = None
    refuses: str = ""
    extends: str = ""
    own_dtype: str = ""
    numbers_only: bool = False
    equal_zeros: bool = False


def named(name: str, **options: Any) -> Row:
    return Row(lambda m, *operands: getattr(m, name)(*operands), **options)


def rows(names: str, **options: Any) -> dict[str, Row]:
    return {name: named(name, **options) for name in names.split()}


def along(name: str, *axes: Any, **options: Any) -> Row:
    """A function along axes, of which it gives several results; also with what else it takes."""
    given = options.pop("given", {})

    def call(m: Any, x: np.ndarray) -> list[Any]:
        return [getattr(m, name)(x, axis=axis, **given) for axis in axes if fits(axis, x.ndim)]

    return Row(call, options.pop("operands", arrays), **options)


def calm(dtype: np.dtype) -> list[Arrays]:
    """Arrays without infinities and extremes, whose sums depend on the order of adding."""
    found = arrays(dtype)
    nan = found[1][0] if kind_of(dtype) in "fc" else found[0][0]
    return [found[0], (np.where(np.isinf(nan), nan.dtype.type(0), nan),), found[2]]


def in_floats(name: str, *args: Any, **named: Any) -> Callable[..., Any]:
    """NumPy's function of integers as floats: its own wraps around in their type."""
    call = getattr(np, name)
    return lambda x: call(x.astype(float) if x.dtype.kind in "iu" else x, *args, **named)


def fits(axis: Any, rank: int) -> bool:
    return all(-rank <= a < rank for a in (axis if isinstance(axis, tuple) else (axis or 0,)))


def sums(names: str, **options: Any) -> dict[str, Row]:
    axes = (None, 0, -1, (0, 1), (-1, 0), (), (2, 0))
    made = {name: along(name, *axes, **options) for name in names.split()}
    return made | {
        f"{name}, keepdims": along(name, *axes, given={"keepdims": True}, **options)
        for name in names.split()
    }


def sigmoid(x: np.ndarray) -> np.ndarray:
    found = 1 / (1 + np.exp(-x.astype(np.result_type(x, np.float64))))
    return found.astype(np.result_type(x, np.float16))


def erf(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        raise TypeError("math.erf takes real numbers")
    found = np.vectorize(math.erf, otypes=[np.float64])(x)
    return found.astype(np.result_type(x, np.float16))


def rsqrt(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


def shifts(dtype: np.dtype) -> list[Arrays]:
    amounts = np.arange(8 * dtype.itemsize + 2).astype(dtype)
    return [(nasty(dtype)[:, None], amounts[None, :])]


def powers(dtype: np.dtype) -> list[Arrays]:
    """Exponents of integers are not negative: NumPy refuses those when it sees the values."""
    (x, y), = pairs(dtype)  # fmt: skip
    if dtype.kind == "c":
        return [(x[np.isfinite(x)][:, None], y[:, np.isfinite(y[0])])]
    return [(x, np.abs(y[:, y[0] >= 0]) if kind_of(dtype) == "i" else y)]


def exponents(dtype: np.dtype) -> list[Arrays]:
    """Powers of two that lead to zero, to numbers that are not normal, to infinity."""
    return [(nasty(dtype)[:, None], np.array([-2000, -1074, -140, -24, -1, 0, 5, 128, 1024, 9999]))]


def not_of_halves(operands: Callable[[np.dtype], list[Arrays]]) -> Callable[..., list[Arrays]]:
    """Operands that are not computed in 16 bits, in which NumPy's functions differ from its own."""
    return lambda dtype: (
        operands(dtype) if dtype not in (np.bool_, np.int8, np.uint8, np.float16, BFLOAT16) else []
    )


def sorted_and_values(dtype: np.dtype) -> list[Arrays]:
    return [(np.sort(ordinary(dtype, 9)), ordinary(dtype, 4, 5))]


def near(dtype: np.dtype) -> list[Arrays]:
    x, = pairs(dtype)  # fmt: skip
    return [x, (x[0], x[0])]


def rearranged(name: str, *args: Any, **options: Any) -> Row:
    """A function that moves elements, with these arguments after the array."""
    operands = options.pop("operands", arrays)
    return Row(lambda m, x: getattr(m, name)(x, *args), operands, **options)


def rank_two(dtype: np.dtype) -> list[Arrays]:
    return arrays(dtype)[:2]


def made(call: Callable[[Any, np.dtype], Any], **options: Any) -> Row:
    """A function that makes an array of a dtype."""
    return Row(lambda m, x: call(m, x.dtype), lambda dtype: [(ordinary(dtype, 2),)], **options)


def stacked(name: str, **given: Any) -> Row:
    return Row(lambda m, x, y: getattr(m, name)([x, y], **given), matrices)


def written(m: Any, name: str, x: np.ndarray, *args: Any) -> Any:
    """What tfc makes of an array, or the array that NumPy has written to."""
    made = x.copy() if m is np else x
    found = getattr(m, name)(made, *args)
    return made if m is np else found


def at_twice(m: Any, x: np.ndarray) -> Any:
    """x[[0, 1, 0]] += 2."""
    if m is np:
        made = x.copy()
        np.add.at(made, [0, 1, 0], x.dtype.type(2))
        return made
    return m.at(x)[np.array([0, 1, 0])].add(x.dtype.type(2))


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


def by_numpy(call: Callable[..., Any], dtype: np.dtype, *operands: np.ndarray) -> list[np.ndarray]:
    """NumPy's results; of bfloat16 in float32, rounded."""
    if dtype == BFLOAT16:
        operands = tuple(o.astype(np.float32) if o.dtype == dtype else o for o in operands)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = flat(call(*operands))
        if dtype == BFLOAT16:
            results = [r.astype(dtype) if r.dtype == np.float32 else r for r in results]
    return results


def flat(results: Any) -> list[np.ndarray]:
    return [np.asarray(r) for r in (results if isinstance(results, (list, tuple)) else [results])]


def difference(got: np.ndarray, want: np.ndarray, row: Row, own_dtype: bool) -> str | None:
    """What is wrong with a result: its shape, its dtype, or the first wrong value."""
    if got.shape != want.shape:
        return f"has the shape {got.shape}, not {want.shape}"
    if got.dtype != want.dtype and not own_dtype:
        return f"is {got.dtype}, not {want.dtype}"
    if want.dtype.kind in "biu":
        wrong = got != want
    else:
        loose = row.numbers_only and want.dtype.kind == "c"
        wrong = ~same_numbers(got, want, row.equal_zeros or loose)
        wrong &= np.isfinite(want) | (not loose)
    at = np.flatnonzero(wrong)[:3]
    if len(at):
        return f"is {got.ravel()[at]}, not {want.ravel()[at]}, at {at}"
    return None


def same_numbers(got: np.ndarray, want: np.ndarray, equal_zeros: bool) -> np.ndarray:
    """Within a few units in the last place of the magnitude; NaN, infinities and zeros alike."""
    component = got.real.dtype if got.dtype.kind == "c" else got.dtype
    eps = float(ml_dtypes.finfo(component).eps) if kind_of(component) == "f" else 0.0
    got, want = got.astype(np.complex128), want.astype(np.complex128)
    with np.errstate(all="ignore"):
        size = np.abs(want)
        found = np.ones(got.shape, bool)
        for a, b in ((got.real, want.real), (got.imag, want.imag)):
            # C99 leaves the sign of a zero or an infinity open where the other part is NaN.
            loose = np.isnan(want) & ~np.isnan(b) & (abs(a) == abs(b))
            same_sign = equal_zeros | (np.signbit(a) == np.signbit(b))
            alike = ((a == b) & same_sign) | loose
            room = 8 * eps * np.where(np.isfinite(size), size, np.where(np.isfinite(b), abs(b), 0))
            found &= alike | (np.isnan(a) & np.isnan(b)) | ((abs(a - b) <= room) & (room > 0))
    return found


def check(name: str, row: Row, dtype: np.dtype, run: Callable[..., Any]) -> list[str]:
    """What is wrong with a function on a dtype, in sentences. `run` calls it in tfc."""
    kind, wrong = kind_of(dtype), []
    for operands in row.operands(dtype):
        try:
            want = by_numpy(row.reference or (lambda *o: row.call(np, *o)), dtype, *operands)
        except (TypeError, ValueError) as error:
            want = error
        refusing = kind in row.refuses or (isinstance(want, Exception) and kind not in row.extends)
        try:
            got = flat(run(row, *operands))
        except TraceError:
            wrong += [] if refusing else [f"{name} of {dtype} is refused"]
            continue
        if refusing:
            wrong.append(f"{name} of {dtype} is not refused")
        elif not isinstance(want, Exception):
            found = [difference(g, w, row, kind in row.own_dtype) for g, w in zip(got, want)]
            wrong += [f"{name} of {dtype} {f}" for f in found if f] or (
                [f"{name} of {dtype} gives {len(got)} results"] if len(got) != len(want) else []
            )
    return wrong


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


@pytest.mark.parametrize(
    "dtype",
    [pytest.param(t, marks=[] if t == np.float32 else [pytest.mark.slow]) for t in DTYPES],
    ids=str,
)
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
