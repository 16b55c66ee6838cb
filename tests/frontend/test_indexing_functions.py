"""Functions that gather, search, count and sort, in traced functions: NumPy's."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import OutOfBoundsError, ShapeError, TfcError, TraceError

RNG = np.random.default_rng(8)
DTYPES = ["?", "u1", "i8", "f4", "c16"]
NAN = np.array([3.0, np.nan, 1, -np.inf, np.nan, 3, 7, 1, -0.0, 0.0, np.inf])


def numbers(dtype: str, *dims: int) -> np.ndarray:
    """Small numbers, many of them equal, some of floats NaN."""
    values = RNG.integers(0 if dtype[0] in "?u" else -4, 6, dims).astype(float)
    if dtype[0] in "fc":
        values[RNG.random(dims) < 0.1] = np.nan
    if dtype[0] == "c":
        return (values + 1j * RNG.integers(-2, 3, dims)).astype(dtype)
    return values.astype(dtype)


def finite(dtype: str, *dims: int) -> np.ndarray:
    return np.nan_to_num(numbers(dtype, *dims))


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, (list, tuple)):
        return [part for item in result for part in flat(item)]
    return [np.asarray(result)]


def same(call: Any, *operands: Any, exact: bool = True) -> None:
    """A function (module, *arrays) gives in compiled code what NumPy gives."""
    want = flat(call(np, *operands))
    got = flat(tfc.jit(lambda *xs: call(tnp, *xs))(*operands))
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        if exact:
            np.testing.assert_array_equal(g, w)
        else:
            np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-6)


def sized(size: int, **more: Any) -> Any:
    """What NumPy does without and tfc needs in a traced function."""
    return lambda m: {} if m is np else {"size": size, **more}


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_of_what_is_not_zero(dtype: str):
    x = numbers(dtype, 4, 5)
    given = sized(np.count_nonzero(x))
    same(lambda m, x: [*m.nonzero(x, **given(m)), m.argwhere(x, **given(m)),
                       m.flatnonzero(x, **given(m)), *m.where(x, **given(m))], x)  # fmt: skip


def test_places_beyond_those_there_are_have_the_fill_value():
    x = np.array([[0, 1], [2, 0]])
    got = tfc.jit(lambda x: [tnp.nonzero(x, size=4), tnp.nonzero(x, size=3, fill_value=(-1, -2))])(
        x
    )
    more = tfc.jit(lambda x: [tnp.argwhere(x, size=3, fill_value=9), tnp.flatnonzero(x, size=1)])(x)
    np.testing.assert_array_equal(got[0], [[0, 1, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_array_equal(got[1], [[0, 1, -1], [1, 0, -2]])
    np.testing.assert_array_equal(more[0], [[0, 1], [1, 0], [9, 9]])
    np.testing.assert_array_equal(more[1], [1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_different_values(dtype: str):
    x = numbers(dtype, 5, 6)
    kinds = {"return_index": True, "return_inverse": True, "return_counts": True}
    given = sized(len(np.unique(x)))
    same(lambda m, x: m.unique(x, **kinds, **given(m)), x)
    other = sized(len(np.unique(x, equal_nan=False)))
    same(lambda m, x: m.unique(x, **kinds, equal_nan=False, **other(m)), x)
    x = finite(dtype, 5, 6)
    given = sized(len(np.unique(x)))
    same(lambda m, x: [*m.unique_all(x, **given(m)), *m.unique_counts(x, **given(m)),
                       m.sort(m.unique_values(x, **given(m)))], x)  # fmt: skip
    same(lambda m, x: list(m.unique_inverse(x, **given(m))), x)
    x = numbers(dtype, 9)
    given = sized(len(np.unique(x, equal_nan=False)))
    same(lambda m, x: m.sort(m.unique_values(x, **given(m))), x)


def test_sets_of_more_room_than_values_are_filled_as_in_jax():
    """The expected arrays are what jax.numpy 0.10 gives."""
    x, y = np.array([5, 1, 3, 3, 9]), np.array([3, 9, 4, 4])

    def run(m: Any, x: Any, y: Any, fill: Any) -> Any:
        given = {} if fill is None else {"fill_value": fill}
        return [
            m.union1d(x, y, size=8, **given), m.setdiff1d(x, y, size=4, **given),
            m.setxor1d(x, y, size=6, **given), m.intersect1d(x, y, size=4, **given),
            *m.intersect1d(x, y, return_indices=True, size=4, **given)[1:],
            *m.unique(x[:4], True, True, True, size=5, **given), m.unique(x, size=2, **given),
        ]  # fmt: skip

    places = [[2, 4, 5, 5], [0, 1, 4, 4]]
    for fill, want in [
        (None, [[1, 3, 4, 5, 9, 1, 1, 1], [1, 5, 0, 0], [1, 4, 5, 1, 1, 1], [3, 9, 3, 3], *places,
                [1, 3, 5, 1, 1], [1, 2, 0, 1, 1], [2, 0, 1, 1], [1, 2, 1, 0, 0], [1, 3]]),
        (-1, [[1, 3, 4, 5, 9, -1, -1, -1], [1, 5, -1, -1], [1, 4, 5, -1, -1, -1], [3, 9, -1, -1],
              *places, [1, 3, 5, -1, -1], [1, 2, 0, 1, 1], [2, 0, 1, 1], [1, 2, 1, 0, 0], [1, 3]]),
    ]:  # fmt: skip
        got = tfc.jit(lambda x, y: run(tnp, x, y, fill))(x, y)  # noqa: B023
        assert [g.tolist() for g in got] == want


@pytest.mark.parametrize("dtype", DTYPES)
def test_sets(dtype: str):
    x, y = finite(dtype, 9), finite(dtype, 3, 7)
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        given = sized(getattr(np, name)(x, y).size)
        same(lambda m, x, y: getattr(m, name)(x, y, **given(m)), x, y)  # noqa: B023
    given = sized(np.intersect1d(x, y).size)
    same(lambda m, x, y: m.intersect1d(x, y, return_indices=True, **given(m)), x, y)
    x, y = numbers(dtype, 4, 3), numbers(dtype, 40)
    same(lambda m, x, y: [m.isin(x, y), m.isin(y, x, invert=True), m.isin(x, y[:3])], x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 7, 16, 17, 100])
def test_places_in_ascending_vectors(dtype: str, size: int):
    a, v = np.sort(numbers(dtype, size)), numbers(dtype, 3, 20)
    order = np.argsort(numbers(dtype, size), kind="stable")
    same(lambda m, a, v, i: [m.searchsorted(a, v, side) for side in ("left", "right")]
         + [m.searchsorted(a, v[0, 0]), m.searchsorted(a, v[:0])], a, v, order)  # fmt: skip
    given = a[np.argsort(order)]
    same(lambda m, a, v, i: m.searchsorted(a, v, "left", i), given, v, order)


def test_intervals_between_bounds():
    x = np.concatenate([RNG.normal(size=50) * 3, np.arange(-4.0, 5), [np.nan, np.inf]])
    for bins in (np.arange(-3.0, 4), np.arange(-3.0, 4)[::-1], np.array([0.0]), np.ones(3),
                 np.linspace(-3, 3, 40)):  # fmt: skip
        same(lambda m, x, b: [m.digitize(x, b), m.digitize(x, b, right=True)], x, bins)


def test_values_between_points():
    x = np.concatenate([RNG.uniform(-1, 7, 60), np.arange(7.0), [np.nan, np.inf, -np.inf]])
    xp, fp = np.array([0.0, 1, 1, 2.5, 6]), np.array([1.0, -2, 5, 0, 3])
    same(lambda m, x, xp, fp: [m.interp(x, xp, fp), m.interp(x, xp, fp, left=-9, right=9),
                               m.interp(x, xp, fp * 1j), m.interp(x, xp[:1], fp[:1]),
                               m.interp(x[:60], xp[::-1] * 0.7 + m.arange(5.0), fp, period=4.5)],
         x, xp, fp, exact=False)  # fmt: skip
    many = np.arange(40)
    same(lambda m, *xs: m.interp(*xs), x.astype("f4"), many, many**2, exact=False)


def test_bounds_of_a_given_range_are_numpys_in_grids_of_any_type():
    x = np.ones(5, np.float16)
    for bins, span in ((3, ((0, 2), (0, 2))), (3, None)):
        got = tfc.jit(lambda x, b=bins, s=span: tnp.histogram2d(x, x, b, s))(x)
        for mine, numpys in zip(got, np.histogram2d(x, x, bins, span), strict=True):
            np.testing.assert_array_equal(mine, numpys, strict=True)


def test_counts_and_histograms():
    x, w = RNG.integers(0, 9, 50), RNG.normal(size=50)
    length = lambda m: {} if m is np else {"length": 9}  # noqa: E731
    x[0] = 8
    same(lambda m, x: m.bincount(x, **length(m)), x)
    same(lambda m, x, w: m.bincount(x, w, minlength=12, **length(m)), x, w, exact=False)
    v = RNG.normal(size=200)
    same(lambda m, v: [*m.histogram(v), *m.histogram(v, 7, (-1, 2)), *m.histogram(v, density=True),
                       *m.histogram(v, np.array([-2.0, -1, 0, 4])), m.histogram_bin_edges(v, 5),
                       *m.histogram(v[:0]), *m.histogram(v * 0 + 2), *m.histogram(v, weights=v)],
         v, exact=False)  # fmt: skip
    same(lambda m, x: m.histogram(x, 8), np.arange(9, dtype="i4"), exact=False)
    same(lambda m, v: [*m.histogram2d(v[:100], v[100:], 4), *m.histogramdd(v.reshape(50, 4), 3),
                       *m.histogramdd([v, v * v, v], (2, np.array([0.0, 1, 2]), 3), density=True),
                       *m.histogram2d(v, v, [3, np.array([0.0, 1])], weights=v)],
         v, exact=False)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_orders(dtype: str):
    x = numbers(dtype, 4, 9)
    same(lambda m, x: [m.sort(m.partition(x, 3)), m.partition(x, 3)[..., 3],
                       m.partition(x, (1, -1), axis=None)[1], m.partition(x, 2, axis=0)[2],
                       m.sort_complex(x)], x)  # fmt: skip
    same(lambda m, x: [m.sort(x, 0, "stable"), m.argsort(x, kind="stable", axis=0)], x)
    same(lambda m, x: m.take_along_axis(x, m.argpartition(x, 4), -1)[..., 4], x)
    same(lambda m, x: [m.lexsort(x), m.lexsort((x[0], x[1] != x[0], x[2])),
                       m.lexsort((x, x[::-1]), axis=0)], finite(dtype, 3, 9))  # fmt: skip


def test_extremes_of_what_is_not_nan():
    x = np.stack([NAN, NAN[::-1], np.arange(11.0)])
    same(lambda m, x: [m.nanargmax(x), m.nanargmin(x, axis=1), m.nanargmax(x, 0, keepdims=True)], x)
    got = tfc.jit(lambda x: tnp.nanargmax(x, 1))(np.array([[np.nan, np.nan], [1, np.nan]]))
    np.testing.assert_array_equal(got, [-1, 0])
    with pytest.raises(ShapeError, match="All-NaN"):
        tnp.nanargmax(np.array([np.nan]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_choices(dtype: str):
    x, y, i = numbers(dtype, 4, 5), numbers(dtype, 5), RNG.integers(0, 3, (4, 1))
    same(lambda m, x, y, i: [m.choose(i, [x, y, x * x]), m.choose(i[:, 0], x[:, :4])], x, y, i)
    same(lambda m, x, i: [m.choose(i + 2, [x, x * x, x], mode="wrap"),
                          m.choose(i * 2 - 1, [x, x * x, x], mode="clip")], x, i)  # fmt: skip
    many = numbers(dtype, 40, 3)
    same(lambda m, i, x: m.choose(i, x), RNG.integers(0, 40, 3), many)
    same(lambda m, x, y: [m.select([x == y, x != 0], [x, y]), m.select([x != x], [x], y)], x, y)
    same(lambda m, x, y: [m.piecewise(x, [x == y], [lambda v: v * v]), m.piecewise(
        x, [x == 1, x == y], [2, lambda v: v * v, 1])], x, y)  # fmt: skip
    mask, kept = np.array([True, False, True, True]), sized(int(np.sum(x == x[0])))
    same(lambda m, x, c: [m.compress(c, x, 0, **sized(3)(m)), m.compress(c, x, **sized(3)(m)),
                          m.extract(x == x[0], x, **kept(m))], x, mask)  # fmt: skip


def test_values_in_turn_where_a_mask_holds():
    x = np.arange(12.0).reshape(3, 4)

    def run(m: Any, x: Any, v: Any) -> Any:
        made = x.copy() if m is np else x
        found = m.place(made, x % 3 == 1, v)
        return made if m is np else found

    same(run, x, np.array([7.0, 8.0, 9.0]))
    got = tfc.jit(lambda c, x: tnp.compress(c, x, 0, size=3, fill_value=9))(x[:, 0] > 3, x)
    np.testing.assert_array_equal(got, [x[1], x[2], [9] * 4])


def test_indices_and_numbers_of_elements():
    flat_places, dims = RNG.integers(0, 60, (5, 2)), (3, 4, 5)
    same(
        lambda m, i: [*m.unravel_index(i, dims), *m.unravel_index(i, dims, order="F")], flat_places
    )
    pairs = np.stack([RNG.integers(-5, 9, 6), RNG.integers(-5, 9, 6)])
    for mode in ("wrap", "clip", ("wrap", "clip")):
        same(lambda m, i: [m.ravel_multi_index((i[0], i[1]), (3, 4), mode=mode),  # noqa: B023
                           m.ravel_multi_index((i[0], i[1]), (3, 4), mode, order="F")], pairs)  # noqa: B023  # fmt: skip
    same(lambda m, x: [m.indices((2, 3)), *m.indices((2, 3), dtype="f4", sparse=True),
                       *m.ix_(x, x)], np.arange(3))  # fmt: skip
    same(lambda m, x: [x[m.diag_indices(3)], x[m.diag_indices_from(x)], x[m.tril_indices(3, -1)],
                       x[m.triu_indices_from(x, 1)], x[m.tril_indices_from(x)],
                       x[m.ix_([0, 2], [1])], x[np.mask_indices(3, np.triu, 1)],
                       x[m.triu_indices(3, 0, 2)], m.mgrid[0:3, 0:2:4j], *m.ogrid[:2, :3]],
         RNG.normal(size=(3, 3)))  # fmt: skip
    same(lambda m, x: [m.r_[x, 0, 1:3], m.c_[x, x * 2], m.r_[1:3:5j], m.c_[x[:, None], x]],
         np.arange(3.0))  # fmt: skip


@pytest.mark.parametrize("obj", [0, -2, slice(1, None, 2), [0, 2], [-1], np.arange(4) != 1,
                                 np.array([1, 1])], ids=str)  # fmt: skip
def test_elements_put_in_and_left_out(obj: Any):
    x = numbers("f8", 4, 4)
    same(lambda m, x: [m.delete(x, obj, 0), m.delete(x, obj, 1), m.delete(x[0], obj),
                       m.insert(x, obj, 7, 0), m.insert(x[0], obj, x[0, 0])], x)  # fmt: skip
    if not isinstance(obj, int):
        count = np.insert(np.arange(4), obj, 0).size - 4
        same(lambda m, x: m.insert(x, obj, x[:, :count], 1), x)
    else:
        same(lambda m, x: [m.insert(x, obj, x[0], 1), m.insert(x, obj, x[:2], 0)], x)


def test_further_edits():
    x = numbers("f8", 3, 4)
    same(lambda m, x: [m.append(x, x[0]), m.append(x, x[:1], 0), m.append(x, 1)], x)
    got = tfc.jit(lambda x, i: [tnp.delete(x, i, 1), tnp.delete(x, i - 3, 0)])(x, 1)
    for g, w in zip(got, (np.delete(x, 1, 1), np.delete(x, -2, 0))):
        np.testing.assert_array_equal(g, w)
    np.testing.assert_array_equal(tnp.trim_zeros(np.array([0, 1, 0])), [1])


@pytest.mark.parametrize("dims", [(3, 3), (5, 2), (2, 5), (3, 3, 3), (9, 2)])
@pytest.mark.parametrize("wrap", [False, True])
def test_diagonals_filled(dims: tuple[int, ...], wrap: bool):
    def run(m: Any, x: Any, v: Any) -> Any:
        if m is np:
            made = x.copy()
            np.fill_diagonal(made, v, wrap)
            return made
        return m.fill_diagonal(x, v, wrap, inplace=False)

    same(run, finite("f8", *dims), np.array([7.0, 8.0]))


def test_modes_of_taking():
    x, i = np.arange(12.0).reshape(3, 4), np.array([[5, -1], [-9, 2]])
    same(lambda m, x, i: [m.take(x, i, 0, mode="clip"), m.take(x, i, mode="wrap"),
                          m.take(x, i, 1, mode="wrap")], x, i)  # fmt: skip
    with jax.enable_x64(True):
        want = [jnp.take(x, i, 1, mode="fill"), jnp.take(x, i, 0, mode="fill", fill_value=7),
                jnp.take_along_axis(x, np.pad(i, ((0, 1), (0, 0))), 1, mode="fill")]  # fmt: skip

    def run(x: Any, i: Any) -> Any:
        wider = tnp.pad(i, ((0, 1), (0, 0)))
        return [tnp.take(x, i, 1, mode="fill"), tnp.take(x, i, 0, mode="fill", fill_value=7),
                tnp.take_along_axis(x, wider, 1, mode="fill")]  # fmt: skip

    for g, w in zip(tfc.jit(run)(x, i), want):
        np.testing.assert_array_equal(g, w)


def test_indices_along_an_axis_repeat_sizes_of_one():
    x, i = numbers("f8", 3, 4, 2), RNG.integers(-4, 4, (1, 3, 2))
    same(lambda m, x, i: [m.take_along_axis(x, i, 1), m.take_along_axis(x[:1], i, 1),
                          m.take_along_axis(x[0, :, 0], i[0, :, 0], None)], x, i)  # fmt: skip


X = np.arange(6.0).reshape(2, 3)
REFUSED: list[tuple[Any, type[TfcError], str]] = [
    (tnp.nonzero, TraceError, "nonzero gives depends on values .* give it as size="),
    (tnp.unique, TraceError, "unique gives depends on values"),
    (lambda x: tnp.unique(x, axis=0, size=2), TfcError, "unique along an axis takes known values"),
    (tnp.where, TraceError, "where gives depends on values"),
    (lambda x: tnp.where(x, 1), ShapeError, "both x and y, or neither"),
    (lambda x: tnp.compress(x[0] > 1, x, 1), TraceError, "compress gives depends on values"),
    (lambda x: tnp.bincount(x[0].astype(int)), TraceError, "give it as length="),
    (lambda x: tnp.bincount(x[0], length=3), ShapeError, "requires a vector of integers"),
    (lambda x: tnp.histogram(x, "auto"), TraceError, "give a number"),
    (tnp.trim_zeros, TraceError, "requires values that are known"),
    (lambda x: tnp.insert(x, x[0].astype(int), 1), TraceError, "places that are known"),
    (lambda x: tnp.delete(x, x[0].astype(int)), TraceError, "takes one integer; use compress"),
    (lambda x: tnp.delete(x, 9, 0), OutOfBoundsError, "index 9 is out of bounds"),
    (lambda x: tnp.take(x, [0, 9], 1), OutOfBoundsError, "index 9 is out of bounds for axis 1"),
    (lambda x: tnp.take(x, 0, out=x), ShapeError, "writes to no array"),
    (lambda x: tnp.take(x, 0, mode="other"), ShapeError, "the mode is one of"),
    (lambda x: tnp.put_along_axis(x, [[0]], 1, 0, inplace=True), ShapeError, "changes no array"),
    (lambda x: tnp.take_along_axis(x, [0], 1), ShapeError, "as many dimensions as the array"),
    (lambda x: tnp.searchsorted(x, 1), ShapeError, "requires a vector to search"),
    (lambda x: tnp.searchsorted(x[0], 1, "middle"), ShapeError, "requires the side"),
    (lambda x: tnp.choose([0, 2], [x, x]), OutOfBoundsError, "index 2 is out of bounds"),
    (lambda x: tnp.select([x > 1], []), ShapeError, "a condition for each choice"),
    (lambda x: tnp.sort(x, order="a"), ShapeError, "no fields to sort by"),
    (lambda x: tnp.partition(x, 3), ShapeError, "kth within the 3 elements"),
    (lambda x: tnp.lexsort((x, x[0])), ShapeError, "keys of one shape"),
    (lambda x: tnp.unravel_index(x.astype(int), (2, 3), order="A"), ShapeError, "'C' or 'F'"),
    (lambda x: tnp.fill_diagonal(x[0], 1), ShapeError, "requires a matrix"),
    (lambda x: tnp.ix_(x > 1), ShapeError, "requires vectors of integers"),
    (lambda x: tnp.place(x, x[0] > 1, 1), ShapeError, "a mask of 6 elements"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused_in_a_sentence(number: int):
    function, kind, message = REFUSED[number]
    with pytest.raises(kind, match=message) as raised:
        tfc.jit(function)(X)
    assert any("test_indexing_functions.py" in note for note in raised.value.__notes__)
