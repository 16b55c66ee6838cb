"""Convolution of sequences, and polynomials: arrays of coefficients, the highest power first.

The length of a result cannot depend on values, so leading zeros stay, where NumPy drops them.
"""

from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.control.scan import scan
from tfc.frontend.linalg.least_squares import lstsq
from tfc.frontend.linalg.matrices import along, column, meet_floats, placed, row, squared, summed
from tfc.frontend.linalg.systems import inv
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.convolutions import conv
from tfc.frontend.numpy.manipulation import concatenate
from tfc.frontend.numpy.products import outer
from tfc.frontend.operations import constant, operation, reshape
from tfc.frontend.promotion import as_inexact, as_tensor, cast, expand, promote, result_type
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.frontend.trace import refusal

_MODES = ("full", "same", "valid")
_LONG = 16  # polynomials with more coefficients are evaluated by a loop


def _sequences(name: str, a: ArrayLike, v: ArrayLike, mode: str) -> list[Tensor]:
    both = promote(a, v)
    both = [ops.reshape(t, (1,)) if not t.ndim else t for t in both]
    if any(t.ndim != 1 or not t.size for t in both):
        shapes = " and ".join(str(list(t.shape)) for t in both)
        raise ShapeError(f"{name} requires sequences that are not empty, got {shapes}")
    if mode not in _MODES:
        raise ShapeError(f"{name} requires the mode full, same or valid, got {mode!r}")
    return both


def _slid(a: Tensor, v: Tensor, mode: str, precision: Any = None, dtype: Any = None) -> Tensor:
    """Sums of products of v with what is under it as it slides along a, which is not shorter."""
    if a.dtype == np.bool_:
        counts = _slid(cast(a, np.int64), cast(v, np.int64), mode, precision)
        return cast(counts, dtype or np.bool_)
    size = v.size
    left, right = {"full": (size - 1, size - 1), "valid": (0, 0),
                   "same": (size // 2, size - size // 2 - 1)}[mode]  # fmt: skip
    array, kernel = reshape(a, (1, a.size, 1)), reshape(v, (size, 1, 1))
    found = conv(
        array, kernel, padding=[(left, right)], precision=precision, preferred_element_type=dtype
    )
    return cast(reshape(found, (found.size,)), dtype or a.dtype)


@traceable
def convolve(
    a: ArrayLike, v: ArrayLike, mode: str = "full", *, precision: Any = None,
    preferred_element_type: Any = None,
) -> Tensor:  # fmt: skip
    """The convolution of two sequences: Σ a[m] v[n - m] for each n.

    Args:
        mode: "full" for all n where they overlap, "same" for as many as the longer one has,
            "valid" for those where they overlap wholly.
        precision: as `matmul` takes it.
        preferred_element_type: the dtype of the sums and of the result; the operands' if left out.

    Raises:
        ShapeError: an operand is no sequence or is empty, or there is no such mode.
    """
    left, right = _sequences("convolve", a, v, mode)
    left, right = (right, left) if right.size > left.size else (left, right)
    return _slid(left, ops.reverse(right, [0]), mode, precision, preferred_element_type)


@traceable
def correlate(
    a: ArrayLike, v: ArrayLike, mode: str = "valid", *, precision: Any = None,
    preferred_element_type: Any = None,
) -> Tensor:  # fmt: skip
    """The cross-correlation of two sequences: Σ a[n + k] conj(v[n]) for each k.

    Args:
        mode, precision, preferred_element_type: as in `convolve`.

    Raises:
        ShapeError: an operand is no sequence or is empty, or there is no such mode.
    """
    left, right = _sequences("correlate", a, v, mode)
    if right.size > left.size:
        slid = _slid(right, conj(left), mode, precision, preferred_element_type)
        return conj(ops.reverse(slid, [0]))
    return _slid(left, conj(right), mode, precision, preferred_element_type)


def _coefficients(name: str, *polynomials: ArrayLike) -> list[Tensor]:
    tensors = [ops.reshape(t, (1,)) if not t.ndim else t for t in promote(*polynomials)]
    if any(t.ndim != 1 for t in tensors):
        raise ShapeError(f"{name} requires sequences of coefficients")
    return tensors


@traceable
def polyval(p: ArrayLike, x: ArrayLike) -> Tensor:
    """The values of a polynomial at x, by Horner's rule.

    Raises:
        ShapeError: p is no sequence.
    """
    coefficients, points = promote(p, x)
    if coefficients.ndim != 1:
        raise ShapeError(
            f"polyval requires a sequence of coefficients, got {list(coefficients.shape)}"
        )
    start = points * ops.full_like(0, points)
    if coefficients.size > _LONG:
        return scan(lambda y, c: (y * points + c, None), start, coefficients)[0]
    for number in range(coefficients.size):
        start = start * points + coefficients[number]
    return start


def _same_length(name: str, a1: ArrayLike, a2: ArrayLike) -> list[Tensor]:
    both = _coefficients(name, a1, a2)
    size = max(t.size for t in both)
    zero = ops.constant(0, both[0].array_shape.element_type)
    return [ops.pad(t, zero, [(size - t.size, 0, 0)]) for t in both]


@traceable
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The sum of two polynomials.

    Raises:
        ShapeError: one is no sequence.
    """
    left, right = _same_length("polyadd", a1, a2)
    return left + right


@traceable
def polysub(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The difference of two polynomials.

    Raises:
        ShapeError: one is no sequence.
    """
    left, right = _same_length("polysub", a1, a2)
    return left - right


@traceable
def polymul(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The product of two polynomials.

    Raises:
        ShapeError: one is no sequence, or is empty.
    """
    left, right = _coefficients("polymul", a1, a2)
    return convolve(left, right)


@traceable
def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[Tensor, Tensor]:
    """(quotient, remainder), which has as many coefficients as v but one, and at least one.

    Raises:
        ShapeError: one is no sequence, or is empty.
    """
    number, divisor = _coefficients("polydiv", as_inexact(u), as_inexact(v))
    if not number.size or not divisor.size:
        raise ShapeError("polydiv requires sequences of coefficients that are not empty")
    steps, size = number.size - divisor.size + 1, divisor.size
    if steps < 1:
        return ops.full(0, (1,), number.array_shape.element_type), number

    def step(rest: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
        digit = along(rest, 0, place, 1) / divisor[:1]
        return placed(rest, along(rest, 0, place, size) - digit * divisor, 0, place), digit[0]

    rest, quotient = scan(step, number, np.arange(steps))
    kept = max(size - 1, 1)
    return quotient, ops.slice_along(rest, 0, number.size - kept, number.size)


@traceable
def polyder(p: ArrayLike, m: int = 1) -> Tensor:
    """The m-th derivative of a polynomial; [] of a constant, as in NumPy.

    Raises:
        ShapeError: p is no sequence, or m is negative.
    """
    (found,) = _coefficients("polyder", p)
    order = whole(m, "the order of a derivative")
    if order < 0:
        raise ShapeError(f"polyder requires an order of 0 or more, got {order}")
    for _ in range(min(order, found.size)):
        kept = ops.slice_along(found, 0, 0, found.size - 1)
        found = kept * constant(np.arange(kept.size, 0, -1))
    return found


@traceable
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Tensor:
    """The m-th antiderivative of a polynomial.

    Args:
        k: the constants of integration, the last one that of the result; zeros if left out, one
            number stands for all.

    Raises:
        ShapeError: p is no sequence, m is negative, or k has another number of constants.
    """
    order = whole(m, "the order of an antiderivative")
    if order < 0:
        raise ShapeError(f"polyint requires an order of 0 or more, got {order}")
    (given,) = _coefficients("polyint", p)
    constants = as_tensor(0 if k is None else k)
    dtype = result_type(given, constants, np.int64, np.float64)
    found, constants = (cast(given, dtype), cast(constants, dtype)) if order else (given, constants)
    if constants.size not in (1, order):
        raise ShapeError(f"polyint requires one constant of integration or {order}")
    constants = expand(reshape(constants, (constants.size,)), (max(order, 1),))
    for number in range(order):
        divisors = constant(np.arange(found.size, 0, -1), found.array_shape.element_type)
        found = concatenate([found / divisors, constants[number : number + 1]])
    return found


@traceable
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial of degree `deg` whose values at x have the least squared distance from y.

    Args:
        y: a vector, or a matrix with a column for each polynomial to fit.
        rcond: see `tfc.linalg.lstsq`; len(x) epsilons if left out.
        full: also give (residuals, rank, singular values, rcond).
        w: weights of the distances, before they are squared.
        cov: also give the covariances of the coefficients; "unscaled" for weights that are one
            over the deviations.

    Raises:
        ShapeError: the operands do not fit, or deg is negative.
        TraceError: the floats are narrower than f32.
    """
    places, values = meet_floats("polyfit", x, y)
    count = whole(deg, "the degree of a polynomial") + 1
    if count < 1 or places.ndim != 1 or not places.size or values.ndim not in (1, 2):
        raise ShapeError("polyfit requires a degree of 0 or more, and vectors that are not empty")
    if values.shape[0] != places.size:
        raise ShapeError(f"polyfit requires as many values as places, got {list(values.shape)}")
    limit = places.size * float(np.finfo(places.dtype).eps) if rcond is None else rcond
    powers = _powers(places, count)
    if w is not None:
        weights = cast(as_inexact(w), places.dtype)
        if weights.shape != places.shape:
            raise ShapeError(f"polyfit requires a weight for each place, got {list(weights.shape)}")
        powers = powers * column(weights)
        values = values * (column(weights) if values.ndim == 2 else weights)
    scale = cast(operation("sqrt", summed(squared(powers), 0)), places.dtype)
    powers = powers / row(scale)
    found, residuals, rank, lengths = lstsq(powers, values, limit)
    found = found / (column(scale) if found.ndim == 2 else scale)
    if full:
        return found, residuals, rank, lengths, limit
    return (found, _covariances(powers, scale, residuals, values, cov)) if cov else found


def _powers(x: Tensor, count: int) -> Tensor:
    """The powers of x from the highest to 0, as columns."""
    columns = [ops.full_like(1, x)]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    return ops.concatenate([column(c) for c in reversed(columns)], 1)


def _covariances(
    powers: Tensor, scale: Tensor, residuals: Tensor, values: Tensor, cov: bool | str
) -> Tensor:
    rows, count = powers.shape
    base = inv(ops.transpose(powers, (1, 0)) @ powers) / outer(scale, scale)
    if cov == "unscaled":
        return base if values.ndim == 1 else column(base)
    if rows <= count:
        raise ShapeError("polyfit requires more places than coefficients for covariances")
    factor = residuals / ops.full_like(rows - count, residuals)
    return base * factor[0] if values.ndim == 1 else column(base) * factor


@traceable
def poly(seq_of_zeros: ArrayLike) -> Tensor:
    """The polynomial with these roots; of a square matrix its characteristic polynomial.

    Raises:
        ShapeError: the argument is neither.
        TraceError: the matrix is traced, so that its eigenvalues are not known.
    """
    if np.ndim(seq_of_zeros) == 2 and not isinstance(seq_of_zeros, Tensor):
        return as_tensor(np.poly(np.asarray(seq_of_zeros)))
    zeros = as_inexact(seq_of_zeros)
    if zeros.ndim == 2:
        raise refusal(
            "poly of a matrix needs its eigenvalues, which are not known while tracing; give the "
            "roots, or call it outside of jit"
        )
    if zeros.ndim > 1:
        raise ShapeError(f"poly requires a sequence of roots, got {list(zeros.shape)}")
    one = ops.full(1, (1,) if zeros.size else (), zeros.array_shape.element_type)
    found = one
    for number in range(zeros.size if zeros.ndim else 1):
        root = zeros[number : number + 1] if zeros.ndim else reshape(zeros, (1,))
        found = convolve(found, concatenate([one, -root]))
    return found


@traceable
def roots(p: ArrayLike) -> Any:
    """The roots of a polynomial, by NumPy: leading zeros are dropped, so their number is not known.

    Raises:
        ShapeError: p is no sequence.
        TraceError: p is traced.
    """
    if isinstance(p, Tensor):
        raise refusal(
            "roots of a polynomial are eigenvalues of a general matrix, and their number depends "
            "on values, which are not known while tracing; call it outside of jit"
        )
    if np.ndim(p) > 1:
        raise ShapeError(f"roots requires a sequence of coefficients, got {list(np.shape(p))}")
    return np.roots(np.atleast_1d(np.asarray(p)))
