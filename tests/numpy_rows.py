"""How functions of tfc.numpy are compared with NumPy's: a row says what to call, and on what.

NumPy is the rule: what it computes, tfc computes, and what it refuses, tfc refuses, with a
TraceError. A row states where tfc does otherwise on purpose. bfloat16 is computed by NumPy in
float32 and rounded.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from special_values import special_values

from tfc.errors import TraceError
from tfc.hlo.shape import element_type_of

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(t) for t in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", BFLOAT16,
                                "f4", "f8", "c8", "c16")]  # fmt: skip
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
