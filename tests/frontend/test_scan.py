"""scan, map, switch and associative_scan: values against JAX, structures, what they refuse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TraceError

RNG = np.random.default_rng(7)
XS = RNG.standard_normal((7, 3)).astype(np.float32)


def jit(function):
    return tfc.jit(function, backend="interpreter")


def assert_same(got, expected):
    """The same structure, dtypes and values, up to the rounding of f32."""
    leaves, structure = jax.tree.flatten(got)
    wanted, expected_structure = jax.tree.flatten(expected)
    assert structure == expected_structure
    for a, b in zip(leaves, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        assert np.shape(a) == b.shape
        assert a.dtype == b.dtype


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 7, True])
def test_a_scan_gives_what_jax_gives(reverse, unroll):
    weights = np.float32([0.5, -1, 2])

    def run(scan, np_):
        def step(carry, x):
            total = carry["total"] + x["a"] * weights
            count = carry["count"] + 1
            return {"total": total, "count": count}, (np_.sum(total), [x["b"], None, count])

        def whole(xs, b):
            init = {"total": xs[0] * 0, "count": np.int32(3)}
            return scan(step, init, {"a": xs, "b": b}, reverse=reverse, unroll=unroll)

        return whole

    flags = np.arange(7, dtype=np.int32)
    assert_same(jit(run(tfc.scan, tnp))(XS, flags), jax.jit(run(lax.scan, jnp))(XS, flags))


@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_scan_of_any_length_runs_without_arrays(length):
    def run(scan):
        return lambda x: scan(lambda c, _: (c * 2, c), x, None, length=length)

    assert_same(jit(run(tfc.scan))(XS[0]), run(lax.scan)(XS[0]))
    assert_same(jit(run(tfc.scan))(XS[:0]), run(lax.scan)(XS[:0]))


def test_nothing_is_taken_of_arrays_without_slices():
    got = jit(lambda x: tfc.scan(lambda c, v: (c + v, v * 2), np.float32(4), x))(XS[:0, 0])
    assert_same(got, lax.scan(lambda c, v: (c + v, v * 2), np.float32(4), XS[:0, 0]))


def test_scans_nest_and_use_what_is_around_them():
    def run(scan, np_):
        def outer(table, bias):
            def row(carry, values):
                inner = lambda c, v: (c + v * bias, c)  # noqa: E731
                total, partial = scan(inner, carry, values)
                return total * bias, partial

            return scan(row, np.float32(1), table)

        return outer

    bias = np.float32(1.25)
    assert_same(jit(run(tfc.scan, tnp))(XS, bias), run(lax.scan, jnp)(XS, bias))


def test_python_numbers_take_the_dtype_of_the_step():
    last, ys = jit(lambda xs: tfc.scan(lambda c, x: (c + x, c), 0.0, xs))(XS[:, 0])
    assert last.dtype == ys.dtype == np.float32
    integer = jit(lambda xs: tfc.scan(lambda c, x: (c + 1, x), 0, xs))(XS)[0]
    assert integer == 7
    assert integer.dtype == np.int64


def test_a_scan_and_a_map_work_at_once():
    last, ys = tfc.scan(lambda c, x: (c + x, c), 0.0, np.arange(4.0))
    assert last == 6
    np.testing.assert_array_equal(ys, [0, 0, 1, 3])
    np.testing.assert_array_equal(tfc.map(lambda x: x * x, np.arange(4.0)), [0, 1, 4, 9])


@pytest.mark.parametrize("size", [None, 0, 1, 3, 7, 20])
def test_a_map_gives_what_jax_gives(size):
    f = lambda x: {"double": x["v"] * 2, "first": x["v"][0]}  # noqa: E731
    got = jit(lambda x: tfc.map(f, {"v": x}, batch_size=size))(XS)
    assert_same(got, lax.map(f, {"v": XS}, batch_size=size))


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 3, 100])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16])
def test_a_switch_takes_the_nearest_branch(index, dtype):
    index = np.asarray(index).astype(dtype)
    branches = [lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y * 3]
    got = jit(lambda i, x: tfc.switch(i, branches, x, x + 1))(index, XS)
    assert_same(got, lax.switch(index, branches, XS, XS + 1))


def test_a_switch_of_one_branch_is_that_branch():
    assert tfc.switch(3, [lambda x: x + 1], 1.0) == 2


def test_the_branches_of_a_switch_use_what_is_around_them():
    def f(i, x, y):
        z = x + y
        return tfc.switch(i, [lambda: (z, 1), lambda: (x * 2, 2), lambda: (y, 0.5)])

    for i, expected in enumerate([(XS + 1, 1), (XS * 2, 2), (np.ones_like(XS), 0.5)]):
        array, number = jit(f)(i, XS, np.ones_like(XS))
        np.testing.assert_array_equal(array, expected[0])
        assert number == expected[1]
        assert number.dtype == np.float64


@pytest.mark.parametrize(
    ("count", "reverse"), [(0, False), (1, True), (2, True), (5, True), (6, False)]
)
def test_an_associative_scan_gives_what_jax_gives(count, reverse):
    table = RNG.standard_normal((2, count, 2)).astype(np.float32)

    def run(scan):
        affine = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])  # noqa: E731
        return lambda x: scan(affine, (x, x + 1), reverse=reverse, axis=1)

    assert_same(jit(run(tfc.associative_scan))(table), jax.jit(run(lax.associative_scan))(table))


def test_an_associative_scan_keeps_booleans_and_negative_zeros():
    flags = np.array([False, True, False])
    np.testing.assert_array_equal(tfc.associative_scan(tnp.logical_or, flags), [False, True, True])
    zeros = tfc.associative_scan(lambda a, b: b, np.full(5, -0.0))
    assert np.signbit(zeros).all()


def step(c, x):
    return c + x, c


REFUSALS = [
    (lambda: tfc.scan(step, 0.0), TraceError, "arrays in xs or a length"),
    (lambda: tfc.scan(step, 0.0, 3.0), ShapeError, r"slices of, got f64\[\] for xs"),
    (lambda: tfc.scan(step, 0.0, {"a": XS, "b": XS[1:]}), ShapeError,
     r"one length, got 7 for xs\['a'\] and 6 for xs\['b'\]"),
    (lambda: tfc.scan(step, 0.0, XS, 3), ShapeError, "got 3 for length and 7 for xs"),
    (lambda: tfc.scan(step, 0.0, XS, "3"), ShapeError, "length of a scan must be an integer"),
    (lambda: tfc.scan(step, 0.0, length=-1), ShapeError, "not negative, got -1"),
    (lambda: tfc.scan(step, 0.0, XS, unroll=0), ShapeError, "unroll to be positive, got 0"),
    (lambda: tfc.scan(lambda c, x: c, 0.0, XS), TraceError, r"return a pair \(carry, y\), got \*"),
    (lambda: tfc.scan(lambda c, x: ((c, c), x), 0.0, XS), TraceError,
     r"structure of its argument \*, got \(\*, \*\)"),
    (lambda: tfc.scan(lambda c, x: ({"a": x}, x), {"a": np.float32(0)}, XS), ShapeError,
     r"carry\['a'\] is f32\[\] and becomes f32\[3\] .WH-2"),
    (lambda: tfc.map(abs, XS, batch_size=-2), ShapeError, "not negative, got -2"),
    (lambda: tfc.map(lambda x: x, (XS, XS[1:]), batch_size=2), ShapeError, "one length"),
    (lambda: tfc.switch(0, []), TraceError, "at least one branch"),
    (lambda: tfc.switch(0.5, [lambda: 1, lambda: 2]), TraceError, "scalar integer to choose"),
    (lambda: tfc.switch(0, [lambda: 1, lambda: (1, 2)]), TraceError,
     r"got \* from branches\[0\] and \(\*, \*\) from branches\[1\]"),
    (lambda: tfc.switch(0, [lambda: XS, lambda: XS, lambda: XS[0]]), ShapeError,
     r"f32\[7,3\] from branches\[0\] and f32\[3\] from branches\[2\]"),
    (lambda: tfc.switch(0, [lambda: 1, lambda: XS > 0, lambda: XS]), ShapeError,
     r"s64\[\] from branches\[0\] and pred\[7,3\] from branches\[1\]"),
    (lambda: tfc.associative_scan(tnp.add, ()), TraceError, "at least one array"),
    (lambda: tfc.associative_scan(tnp.add, XS, axis=2), ShapeError, "axis 2 does not exist"),
    (lambda: tfc.associative_scan(tnp.add, (XS, XS[1:])), ShapeError,
     r"f32\[7,3\] for elems\[0\] and f32\[6,3\] for elems\[1\]"),
    (lambda: tfc.associative_scan(lambda a, b: (a, b), XS), TraceError, "got .*, .*"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_what_is_refused_shows_the_users_line(number):
    function, kind, message = REFUSALS[number]
    with pytest.raises(kind, match=message) as error:
        function()
    assert any("test_scan.py" in note for note in error.value.__notes__)


def test_a_fori_loop_unrolls_between_bounds_that_are_known():
    f = lambda v, **named: tfc.fori_loop(2, 9, lambda i, c: c * 2 + i, v, **named)  # noqa: E731
    for unroll in (1, 3, True):
        assert jit(lambda v: f(v, unroll=unroll))(1) == f(1)  # noqa: B023
    assert tfc.fori_loop(3, 1, lambda i, v: v + i, 5, unroll=2) == 5
    with pytest.raises(TraceError, match="unrolls only between bounds"):
        jit(lambda n: tfc.fori_loop(0, n, lambda i, v: v, 0, unroll=2))(3)
