"""x.at[key] and x[key] beyond the bounds, at repeated places, by masks; gradients: as in JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import OutOfBoundsError, ShapeError, TraceError

X = np.arange(12.0).reshape(3, 4) / 3 + 1
BEYOND = np.array([2, 0, 5, -1, -9, 2])
VALUES = np.array([[0.5], [3.0], [-1.0], [2.0], [7.0], [0.25]]) * np.array([1.0, -2.0, 0.0, 1.5])
MODES = [None, "drop", "fill", "clip"]


def by_jax(function: Any, *args: Any) -> Any:
    with jax.enable_x64(True):
        found = jax.jit(function)(*map(jnp.asarray, args))
        return jax.tree.map(np.asarray, found)


def same(function: Any, *args: Any) -> None:
    """A function of arrays gives in tfc what it gives in JAX."""
    for got, want in zip(tfc.jit(function)(*args), by_jax(function, *args)):
        np.testing.assert_allclose(got, want, rtol=1e-12, strict=True)


@pytest.mark.parametrize("mode", MODES)
def test_places_beyond_the_bounds_are_treated_as_in_jax(mode: str | None):
    def run(x: Any, i: Any, v: Any) -> Any:
        return [
            x.at[i].get(mode=mode), x.at[i, 1].get(mode=mode), x.at[:, i].get(mode=mode),
            x.at[i[2]].get(mode=mode), x.at[i[4], 1:].get(mode=mode), x.at[i].add(v, mode=mode),
            x.at[1:, i].add(2.0, mode=mode), x.at[i, i].add(v[:, 1], mode=mode),
            x.at[i[2]].set(7.0, mode=mode), x.at[i[4], ::2].add(7.0, mode=mode),
            x.at[i].max(v, mode=mode), x.at[i].min(v, mode=mode), x.at[i].multiply(v, mode=mode),
        ]  # fmt: skip

    same(run, X, BEYOND, VALUES)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, np.bool_, np.complex64], ids=str)
def test_missing_elements_are_filled_as_in_jax(dtype: Any):
    def run(x: Any, i: Any) -> Any:
        return [x.at[i].get(mode="fill"), x.at[i, 0].get(mode="fill", fill_value=1)]

    same(run, (X > 2).astype(dtype), BEYOND)


def test_known_places_beyond_the_bounds_are_left_out_of_what_is_written():
    def run(x: Any) -> Any:
        return [x.at[9].set(1.0), x.at[-9, 0].add(1.0), x.at[BEYOND].add(1.0),
                x.at[7].get(mode="fill"), x.at[BEYOND].get(mode="clip"),
                x.at[-9].get(mode="clip")]  # fmt: skip

    same(run, X)


def test_repeated_places_are_combined_with_each_update_as_in_jax():
    def run(x: Any, i: Any, v: Any) -> Any:
        return [x.at[i].add(v), x.at[i].subtract(v), x.at[i].multiply(v), x.at[i].power(2),
                x.at[i].divide(v + 9), x.at[i].apply(lambda e: e * e), x.at[1:].apply(lambda e: -e),
                x.at[i[0]].power(2.5), x.at[::-2, 1].divide(4), x.at[i].mul(2)]  # fmt: skip

    same(run, X, np.array([1, 0, 1, 1, -1, 2]), VALUES)


def test_integers_and_booleans_are_combined_as_in_jax():
    def run(x: Any, b: Any, i: Any) -> Any:
        return [x.at[i].add(3), x.at[i].divide(2), x.at[i].set(2.7), x.at[i].max(4),
                x.at[0].power(3), b.at[i].min(False), b.at[0].set(True)]  # fmt: skip

    same(run, np.arange(5), np.arange(5) > 2, np.array([1, 1, 4]))


def test_a_mask_known_when_the_program_runs_chooses_what_is_written():
    def run(x: Any) -> Any:
        return [x.at[x > 2].set(0.0), x.at[x > 2].add(1.0), x.at[x[:, 0] > 2].multiply(x[0]),
                x.at[(x > 3,)].min(3.5), x.at[x < 2].max(1.9),
                x.at[x[:, 0] > 2].set([[5.0] * 4])]  # fmt: skip

    x = X
    got = tfc.jit(run)(x)
    rows = x[:, :1] > 2
    want = [np.where(x > 2, 0.0, x), np.where(x > 2, x + 1, x), np.where(rows, x * x[0], x),
            np.minimum(x, np.where(x > 3, 3.5, x)), np.maximum(x, np.where(x < 2, 1.9, x)),
            np.where(rows, 5.0, x)]  # fmt: skip
    for g, w in zip(got, want):
        np.testing.assert_array_equal(g, w)


def test_arrays_outside_of_traced_functions_are_updated_by_at():
    np.testing.assert_array_equal(tnp.at(X)[[0, 0], 1].add(1.0)[0, 1], X[0, 1] + 2)
    np.testing.assert_array_equal(tnp.at(X)[X > 2].set(0.0), np.where(X > 2, 0, X))
    np.testing.assert_array_equal(tnp.at(X)[1].get(), X[1])


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda x: x[9], IndexError, "index 9 is out of bounds for axis 0 of size 3"),
    (lambda x: x[:, [0, -5]], OutOfBoundsError, "index -5 is out of bounds for axis 1 of size 4"),
    (lambda x: x[0, 0, 0], IndexError, "3 indices are too many for an array of 2 dimensions"),
    (lambda x: x[np.array([True, False])], IndexError, r"a mask must have the sizes"),
    (lambda x: x[x > 2], TraceError, "tfc.numpy.where, or give a size to tfc.numpy.nonzero"),
    (lambda x: x[x > 2, 0], TraceError, "a mask that is not known while tracing"),
    (lambda x: x.at[x > 2, 0].set(1), TraceError, "a mask that is not known while tracing"),
    (lambda x: x[: x[0, 0].astype(int)], TraceError, "use tfc.dynamic_slice_in_dim"),
    (lambda x: x[x[0]], ShapeError, r"an index must be an integer, got f64"),
    (lambda x: x[1.0], ShapeError, "an index must be an integer or a slice, got 1.0"),
    (lambda x: x["a"], ShapeError, "an index must be an integer or a slice, got 'a'"),
    (lambda x: x[[0.5]], ShapeError, "an index must be an integer"),
    (lambda x: x[[0, [1]]], ShapeError, "an index must be an integer or a slice"),
    (lambda x: x[[0, 1], [0, 1, 2]], ShapeError, "dimensions that are equal or one"),
    (lambda x: x[::0], ShapeError, "slice step cannot be zero"),
    (lambda x: x.at[0].set([1.0, 2.0]), ShapeError, r"values that broadcast to it, got \[2\]"),
    (lambda x: x.at[0].add(1j), TraceError, "cannot put complex128 values into an array"),
    (lambda x: x.astype(int).at[0].add(1.5), TraceError, "cannot put float64 values into an array"),
    (lambda x: x.at[0].set(1, mode="wrong"), ShapeError, "the mode for indices out of bounds is"),
    (lambda x: x.at[x > 2].set(x[0:2]), TraceError, "the same values at each of its places"),
    (lambda x: x.at[[0]].apply(lambda e: e * x[0, 0]), TraceError, "needs a value from around it"),
    (lambda x: x.at[[0]].apply(lambda e: e.reshape(1)), ShapeError, "a function of elements"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_no_key_is_refused_in_a_sentence(number: int):
    function, kind, message = REFUSED[number]
    with pytest.raises(kind, match=message) as raised:
        tfc.jit(function)(X)
    assert any("test_indexed_updates.py" in note for note in raised.value.__notes__)


PLACES = np.array([2, 0, 2, -1, 7, 1])
# fmt: off
DIFFERENTIABLE: dict[str, Any] = {
    "read": lambda x, i, v: x[i % 3] * v,
    "read pairs": lambda x, i, v: x[i % 3, i % 4] * v[:, 0],
    "read by a scalar": lambda x, i, v: x[i[0], ::-1] ** 2,
    "read beside slices": lambda x, i, v: x[::2, i % 4] ** 2,
    "filled": lambda x, i, v: x.at[i].get(mode="fill", fill_value=0.0) * v,
    "set": lambda x, i, v: x.at[i].set(v) ** 2,
    "set, unique": lambda x, i, v: x.at[i[:2]].set(v[:2], unique_indices=True) ** 2,
    "set at a scalar": lambda x, i, v: x.at[i[1]].set(v[0]) ** 2,
    "set a slice": lambda x, i, v: x.at[:2, ::2].set(v[:2, :2]) ** 2,
    "add": lambda x, i, v: x.at[i].add(v) ** 2,
    "add, dropped": lambda x, i, v: x.at[i, 2].add(v[:, 1], mode="drop") ** 2,
    "add, clipped": lambda x, i, v: x.at[i].add(v, mode="clip") ** 2,
    "subtract": lambda x, i, v: x.at[i, 1:3].subtract(v[:, :2]) ** 2,
    "multiply, unique": lambda x, i, v: x.at[i[:2]].multiply(v[:2], unique_indices=True) ** 2,
    "power": lambda x, i, v: x.at[i].power(2.0) ** 2,
    "min": lambda x, i, v: x.at[i].min(v) ** 2,
    "max": lambda x, i, v: x.at[i].max(v) ** 2,
    "max of equals": lambda x, i, v: x.at[i].max(x[0] * 0 + 3.0 + 0 * v) * x,
}
# fmt: on


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_jaxs(name: str):
    function = DIFFERENTIABLE[name]

    def of(m: Any) -> Any:
        def loss(x: Any, v: Any, i: Any) -> Any:
            made = function(x, i, v)
            return m.sum(made * m.cos(m.arange(made.size, dtype="f8")).reshape(made.shape))

        return loss

    want = by_jax(jax.grad(of(jnp), (0, 1)), X, VALUES, PLACES)
    got = tfc.jit(tfc.grad(of(tnp), (0, 1)))(X, VALUES, PLACES)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-12)


def test_the_gradient_of_factors_at_one_place_is_the_product_of_the_others():
    """Also where one of them, or several, are zero."""
    places = np.array([0, 1, 0, 0, 1, 2, 2, 9])
    factors = np.array([2.0, 0.0, 3.0, 0.5, 4.0, 0.0, 0.0, 5.0])
    x = np.array([1.5, -2.0, 3.0, 1.0])
    weights = np.array([1.0, 10.0, 100.0, 7.0])
    loss = lambda x, v: tnp.sum(x.at[places].multiply(v) * weights)  # noqa: E731
    got = tfc.jit(tfc.grad(loss, (0, 1)))(x, factors)
    of_factors = [
        weights[p] * x[p] * np.prod(np.delete(factors, k)[np.delete(places, k) == p])
        if p < 4 else 0.0 for k, p in enumerate(places)
    ]  # fmt: skip
    of_x = [w * np.prod(factors[places == p]) for p, w in enumerate(weights)]
    np.testing.assert_allclose(got[0], of_x)
    np.testing.assert_allclose(got[1], of_factors)


def test_slices_at_places_known_when_the_program_runs_are_jaxs():
    def run(m: Any) -> Any:
        return lambda x, i: [
            m.dynamic_slice(x, (i, 1), (2, 2)), m.dynamic_slice(x, (-i, i - 9), (1, 3)),
            m.dynamic_slice_in_dim(x, i, 2, axis=1), m.dynamic_slice_in_dim(x, -1, 1),
            m.dynamic_index_in_dim(x, i, 1), m.dynamic_index_in_dim(x, -i, 0, keepdims=False),
            m.dynamic_update_slice(x, x[:2, :1] * 9, (i, -1)),
            m.dynamic_update_slice_in_dim(x, x[:, :2] * 9, i, 1),
            m.dynamic_update_index_in_dim(x, x[0] * 9, i, 0),
        ]  # fmt: skip

    for start in (0, 2, 7):
        got, want = tfc.jit(run(tfc))(X, start), by_jax(run(jax.lax), X, start)
        for g, w in zip(got, want):
            np.testing.assert_array_equal(g, w, strict=True)


def test_dynamic_slices_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="requires 2 starts, got 1"):
        tfc.dynamic_slice(X, [0], (1, 1))
    with pytest.raises(ShapeError, match=r"a start must be an integer, got 0\.5"):
        tfc.dynamic_slice_in_dim(X, 0.5, 1)
    with pytest.raises(ShapeError):
        tfc.dynamic_slice_in_dim(X, 0, 9)


def test_calls_outside_of_traced_functions_refuse_known_places_beyond_the_bounds_each_time():
    """Also where the same call with other places went well before."""
    for call in (lambda i: tnp.take(X, i, 1), lambda i: tnp.take_along_axis(X, i[None], 1),
                 lambda i: tnp.at(X)[i].get(), lambda i: tnp.choose(i % 10, [X[0, :2]] * 3),
                 lambda i: tnp.put_along_axis(X, i[None], 1.0, 1)):  # fmt: skip
        first = call(np.array([0, 1]))
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            call(np.array([0, 9]))
        np.testing.assert_array_equal(call(np.array([0, 1])), first)
