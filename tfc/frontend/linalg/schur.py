"""Hessenberg and Schur forms of general matrices, and the eigenvectors that follow from them.

a = Q H Qᴴ, where H has zeros below the first subdiagonal, by Householder's reflections from both
sides; then a = Z T Zᴴ, where T is upper triangular with the eigenvalues on its diagonal, by QR
steps with shifts, in complex numbers, each a chain of rotations of neighbouring rows and columns.
"""

from math import prod
from typing import Any

from tfc.frontend.control.branches import cond
from tfc.frontend.control.loops import fori_loop, while_loop
from tfc.frontend.control.scan import scan
from tfc.frontend.linalg.householder import orthogonal, reflection
from tfc.frontend.linalg.matrices import (
    absolute,
    adjoint,
    along,
    both,
    column,
    component,
    diagonals,
    epsilon,
    identities,
    is_,
    largest,
    like,
    numbers,
    placed,
    product,
    row,
    squared,
    summed,
    tiny,
    upper_triangle,
    where,
)
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.operations import constant, full, operation, pad, reshape, reverse
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import PRED, S64

MOST_STEPS = 30  # QR steps for each eigenvalue; two or three are usual
_UNUSUAL = 10  # after as many steps without an eigenvalue the shift is another


def reduced(a: Tensor) -> tuple[Tensor, Tensor]:
    """(packed, taus): H, and below its subdiagonal the vectors of the reflections, as LAPACK's.

    Reflection k leaves the rows and columns up to k alone; its vector is 1 in row k + 1.
    """
    size, rank = a.shape[-1], a.ndim
    taus = full(0, (*a.shape[:-2], max(size - 1, 0)), a.array_shape.element_type)
    if size < 2 or not a.size:
        return a, taus
    rows, columns = numbers(size, rank, rank - 2), numbers(size, rank, rank - 1)

    def step(number: Tensor, state: Any) -> Any:
        a, taus = state
        line = along(a, -1, number, 1)
        tail = where(is_("GT", rows, number + 1), line, 0)
        vector, tau, head = reflection(along(line, -2, number + 1, 1), tail)
        kept = where(is_("EQ", rows, number + 1), like(head, a), vector)
        vector = where(is_("EQ", rows, number + 1), 1, vector)
        is_right = is_("GT", columns, number)  # what is left of it are the packed vectors
        a = a - vector * (conj(tau) * product(adjoint(vector), where(is_right, a, 0)))
        a = a - (product(where(is_right, a, 0), vector) * tau) * adjoint(vector)
        is_packed = both(is_("EQ", columns, number), is_("GT", rows, number))
        here = is_("EQ", numbers(size - 1, rank - 1, rank - 2), number)
        taus = where(here, reshape(tau, (*tau.shape[:-2], 1)), taus)
        return where(is_packed, kept, a), taus

    return fori_loop(constant(0, S64), size - 1, step, (a, taus))


def hessenberg(a: Tensor) -> tuple[Tensor, Tensor]:
    """(H, Q) with a = Q H Qᴴ."""
    size, rank = a.shape[-1], a.ndim
    if size < 2 or not a.size:
        return a, identities(a, size)
    packed, taus = reduced(a)
    inner = orthogonal(along(along(packed, -2, 1, size - 1), -1, 0, size - 1), taus, size - 1)
    zero = constant(0, a.array_shape.element_type)
    moved = pad(inner, zero, [(0, 0, 0)] * (rank - 2) + [(1, 0, 0)] * 2)
    place = numbers(size, rank, rank - 2) + numbers(size, rank, rank - 1)
    return upper_triangle(packed, -1), where(is_("EQ", place, 0), 1, moved)


def schur(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(T, Z, found) of complex matrices: found is False for those whose steps did not end."""
    size, batch = a.shape[-1], a.shape[:-2]
    start, turned = hessenberg(a)
    if size < 2 or not a.size:
        return start, turned, full(True, batch, PRED)
    flat = [reshape(t, (prod(batch), size, size)) for t in (start, turned)]
    _, (t, z, found) = scan(lambda carry, x: (carry, _schur_of_one(*x)), (), tuple(flat))
    return reshape(t, a.shape), reshape(z, a.shape), reshape(found, batch)


def _schur_of_one(h: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The Schur form of one Hessenberg matrix, from the last eigenvalue to the first.

    last: the row of the eigenvalue that is looked for; steps: those since the one before it.
    """
    size = h.shape[-1]

    def is_open(state: Any) -> Tensor:
        _, _, last, steps = state
        return both(is_("GT", last, 0), is_("LT", steps, MOST_STEPS))

    def step(state: Any) -> Any:
        h, z, last, steps = state
        h = _without_negligible(h)
        first = _first_of_block(h, last)
        is_found = is_("EQ", first, last)

        def turn(h: Tensor, z: Tensor) -> Any:
            return _qr_step(h, z, first, last, _shift(h, last, steps))

        h, z = cond(is_found, lambda h, z: (h, z), turn, h, z)
        return h, z, where(is_found, last - 1, last), where(is_found, 0, steps + 1)

    start = (h, z, constant(size - 1, S64), constant(0, S64))
    h, z, last, _ = while_loop(is_open, step, start)
    return upper_triangle(h), z, is_("LE", last, 0)


def _without_negligible(h: Tensor) -> Tensor:
    """The subdiagonal's elements that rounding could have made are zeros."""
    size = h.shape[-1]
    rows, columns = numbers(size, 2, 0), numbers(size, 2, 1)
    around = absolute(diagonals(h))
    limit = epsilon(h) * (column(around) + row(around))
    # Where both neighbours are zero, the whole matrix says what is small.
    limit = where(is_("EQ", limit, 0), epsilon(h) * largest(absolute(h), [0, 1], keep=True), limit)
    limit = where(is_("LT", limit, tiny(h)), tiny(h), limit)
    is_small = both(is_("EQ", rows, columns + 1), is_("LE", absolute(h), limit))
    return where(is_small, 0, h)


def _first_of_block(h: Tensor, last: Tensor) -> Tensor:
    """The first row of the block that ends in `last` and has no zero on its subdiagonal."""
    size = h.shape[-1]
    rows, columns = numbers(size, 2, 0), numbers(size, 2, 1)
    is_cut = both(is_("EQ", rows, columns + 1), is_("EQ", absolute(h), 0))
    is_cut = both(is_cut, is_("LE", rows, last))
    return largest(where(is_cut, rows, 0), [0, 1])


def _element(h: Tensor, i: Any, j: Any) -> Tensor:
    return reshape(along(along(h, -2, i, 1), -1, j, 1), ())


def _shift(h: Tensor, last: Tensor, steps: Tensor) -> Tensor:
    """The eigenvalue of the last two rows and columns that is nearer to the last element."""
    a, b = _element(h, last - 1, last - 1), _element(h, last - 1, last)
    c, d = _element(h, last, last - 1), _element(h, last, last)
    half = (a - d) * 0.5
    root = operation("sqrt", half * half + b * c)
    is_away = is_("LT", operation("real", conj(half) * root), 0)
    below = half + where(is_away, -root, root)
    is_none = is_("EQ", absolute(below), 0)
    usual = d - where(is_none, 0, b * c / where(is_none, 1, below))
    is_stuck = is_("EQ", operation("remainder", steps + 1, full(_UNUSUAL, (), S64)), 0)
    return where(is_stuck, d + like(absolute(c), d), usual)


def _rotation(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The unitary [[c, s], [-conj(s), c]], c real, that takes (x, y) to (r, 0)."""
    scale = absolute(x) + absolute(y)
    is_none = is_("EQ", scale, 0)
    safe = like(where(is_none, 1, scale), x)
    x, y = x / safe, y / safe
    length = operation("sqrt", squared(x) + squared(y))
    length = where(is_none, 1, length)
    size = absolute(x)
    is_zero = is_("EQ", size, 0)
    phase = where(is_zero, 1, x / like(where(is_zero, 1, size), x))
    cosine = like(where(is_none, 1, size / length), x)
    return cosine, where(is_none, 0, phase * conj(y) / like(length, x))


def _qr_step(h: Tensor, z: Tensor, first: Tensor, last: Tensor, shift: Tensor) -> Any:
    """One step on the rows and columns from `first` to `last`; what sticks out is chased down."""
    first = _start(h, first, last, shift)

    def step(number: Tensor, state: Any) -> Any:
        h, z = state
        is_start = is_("EQ", number, first)
        before = where(is_start, number, number - 1)
        x, y = _element(h, number, before), _element(h, number + 1, before)
        cosine, sine = _rotation(where(is_start, x - shift, x), y)
        h = placed(h, _turned(along(h, -2, number, 2), cosine, sine), -2, number)
        columns = adjoint(_turned(adjoint(along(h, -1, number, 2)), cosine, sine))
        turned = adjoint(_turned(adjoint(along(z, -1, number, 2)), cosine, sine))
        return placed(h, columns, -1, number), placed(z, turned, -1, number)

    h, z = fori_loop(first, last, step, (h, z))
    return upper_triangle(h, -1), z


def _start(h: Tensor, first: Tensor, last: Tensor, shift: Tensor) -> Tensor:
    """The last row where a step may begin: before it, two small elements hide the shift.

    Of the elements that a step from there would leave below the subdiagonal, rounding is larger.
    """
    size = h.shape[-1]
    values = diagonals(h)
    inside = diagonals(along(along(h, -2, 1, size - 1), -1, 0, size - 1))
    zero = constant(0, h.array_shape.element_type)
    before, after = (absolute(pad(inside, zero, [ends])) for ends in ((1, 0, 0), (0, 1, 0)))
    apart, sizes = absolute(values - shift), absolute(values)
    around = sizes + pad(along(sizes, -1, 1, size - 1), constant(0, component(h)), [(0, 1, 0)])
    is_hidden = is_("LE", before * after, epsilon(h) * apart * around)
    places = numbers(size, 1, 0)
    allowed = both(is_("GT", places, first), is_("LT", places, last))
    return largest(where(both(is_hidden, allowed), places, first), [0])


def _turned(pair: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Two rows, rotated."""
    upper, lower = along(pair, -2, 0, 1), along(pair, -2, 1, 1)
    turned = placed(pair, upper * cosine + lower * sine, -2, 0)
    return placed(turned, lower * cosine - upper * conj(sine), -2, 1)


def triangle_vectors(t: Tensor) -> Tensor:
    """The eigenvectors of upper triangular matrices as columns, whose last element is 1."""
    size, rank = t.shape[-1], t.ndim
    if not t.size:
        return t
    values = diagonals(t)
    columns = numbers(size, rank, rank - 1)
    least = epsilon(t) * largest(absolute(t), [-2, -1], keep=True)
    least = where(is_("LT", least, tiny(t)), tiny(t), least)

    def step(number: Tensor, x: Tensor) -> Tensor:
        place = size - 1 - number
        line = along(t, -2, place, 1)
        own = along(line, -1, place, 1)
        apart = own - row(values)
        # Of equal eigenvalues, one is taken for another that is as near as rounding lets it be.
        apart = where(is_("LT", absolute(apart), least), like(least, t), apart)
        found = -product(where(is_("GT", columns, place), line, 0), x) / apart
        found = where(is_("GT", columns, place), found, along(x, -2, place, 1))
        return placed(x, found, -2, place)

    return fori_loop(constant(0, S64), size, step, identities(t, size))


def eigenvectors(t: Tensor, z: Tensor, left: bool = False) -> Tensor:
    """The eigenvectors of z t zᴴ as columns of length 1, whose largest element is real.

    Args:
        left: those u with uᴴ a = w uᴴ instead.
    """
    last = (t.ndim - 2, t.ndim - 1)
    # Turned upside down, the adjoint of an upper triangle is one again.
    found = (
        reverse(triangle_vectors(reverse(adjoint(t), last)), last) if left else triangle_vectors(t)
    )
    vectors = product(z, found)
    sizes = squared(vectors)
    scale = operation("sqrt", summed(sizes, -2, keep=True))
    rows = numbers(t.shape[-1], t.ndim, t.ndim - 2)
    is_largest = is_("EQ", sizes, largest(sizes, [-2], keep=True))
    is_first = both(
        is_largest,
        is_(
            "EQ",
            largest(where(is_largest, -rows + t.shape[-1], 0), [-2], keep=True),
            -rows + t.shape[-1],
        ),
    )
    pivot = summed(where(is_first, vectors, 0), -2, keep=True)
    size = absolute(pivot)
    is_none = is_("EQ", size, 0)
    phase = conj(pivot) / like(where(is_none, 1, size), vectors)
    made = vectors * phase / like(where(is_("EQ", scale, 0), 1, scale), vectors)
    return where(is_first, like(operation("real", made), made), made)
