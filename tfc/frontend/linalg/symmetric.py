"""Eigenvalues and eigenvectors of symmetric and Hermitian matrices, by Jacobi's method."""

from tfc.frontend.linalg.matrices import (
    adjoint,
    column,
    corner,
    diagonals,
    epsilon,
    filled,
    identities,
    is_,
    is_any,
    like,
    numbers,
    real,
    row,
    scale_of,
    squared,
    summed,
    take_columns,
    take_rows,
    where,
)
from tfc.frontend.linalg.rotations import angles, halves, moved_on, rotated, sweep_until
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.sorting import argsort
from tfc.frontend.operations import reshape, slice_along
from tfc.frontend.tensor import Tensor


def eigenvalues(a: Tensor) -> Tensor:
    """The eigenvalues of matrices that are their own adjoints, in ascending order."""
    return _decomposed(a, with_vectors=False)[0]


def eigenvectors(a: Tensor) -> tuple[Tensor, Tensor]:
    """(w, v) with a v = v diag(w): eigenvalues in ascending order, eigenvectors as columns."""
    return _decomposed(a, with_vectors=True)


def _decomposed(a: Tensor, with_vectors: bool) -> tuple[Tensor, Tensor]:
    size = a.shape[-1]
    if not a.size or size == 1:
        return real(diagonals(a)), identities(a, size)
    scale = scale_of(a)
    even = size + size % 2  # the last row then meets a row of zeros, which turns nothing
    start = filled(a * like(scale, a), even, even)
    limit = summed(summed(squared(start), -1), -1) * epsilon(a) ** 2
    state = (start, identities(a, even)) if with_vectors else (start,)
    found, *turned = sweep_until(
        even,
        lambda state: is_any(is_("GT", _outside_diagonal(state[0]), limit)),
        lambda state: _round(*state),
        state,
    )
    values = real(corner_diagonal(found, size)) / reshape(scale, (*a.shape[:-2], 1))
    order = argsort(values, axis=-1)
    vectors = adjoint(corner(turned[0], size, size)) if with_vectors else a
    values = reshape(take_rows(column(values), order), values.shape)
    return values, take_columns(vectors, order) if with_vectors else a


def corner_diagonal(a: Tensor, size: int) -> Tensor:
    """The first elements of the diagonals."""
    return diagonals(corner(a, size, size))


def _outside_diagonal(a: Tensor) -> Tensor:
    """The sum of the squares of all elements that are not on the diagonal."""
    rank, size = a.ndim, a.shape[-1]
    on = is_("EQ", numbers(size, rank, rank - 2), numbers(size, rank, rank - 1))
    return summed(summed(where(on, 0, squared(a)), -1), -1)


def _every(a: Tensor, start: int, count: int, stride: int) -> Tensor:
    """Some elements of each matrix, counted row by row."""
    flat = reshape(a, (*a.shape[:-2], a.shape[-2] * a.shape[-1]))
    return slice_along(flat, flat.ndim - 1, start, start + (count - 1) * stride + 1, stride)


def _round(a: Tensor, turned: Tensor | None = None) -> tuple[Tensor, ...]:
    """Rotate row i of the upper half with that of the lower, and move all to their next places."""
    size, rank = a.shape[-1], a.ndim
    half = size // 2
    first = real(_every(a, 0, half, size + 1))
    second = real(_every(a, half * (size + 1), half, size + 1))
    sine, share, gain = angles(first, second, _every(a, half, half, size + 1))
    sides = rotated(*halves(a, -2), column(sine), column(share))
    (tt, tb), (bt, bb) = (
        rotated(*halves(side, -1), row(conj(sine)), row(conj(share))) for side in sides
    )
    # What the rotations are for is stated, so that rounding does not undo it.
    on = is_("EQ", numbers(half, rank, rank - 2), numbers(half, rank, rank - 1))
    tt, bb = where(on, like(row(first - gain), a), tt), where(on, like(row(second + gain), a), bb)
    upper, lower = moved_on(tt, where(on, 0, tb), -1), moved_on(where(on, 0, bt), bb, -1)
    moved = moved_on(upper, lower, -2)
    if turned is None:
        return (moved,)
    rows = rotated(*halves(turned, -2), column(sine), column(share))
    return moved, moved_on(*rows, -2)
