"""Donated arguments: results in their memory, right values, and no other argument touched."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfc
from tfc.errors import UnsupportedError
from tfc.hlo import parse
from tfc.passes.analysis.donation import Donation, donation_of

X = np.arange(6, dtype=np.float32)
ONES = np.ones(6, np.float32)


def fresh(*arrays: np.ndarray) -> list[np.ndarray]:
    return [a.copy() for a in arrays]


def test_the_result_is_the_donated_array() -> None:
    f = tfc.jit(lambda x, y: (x + y, x * 2), donate_argnums=0)
    x, y = fresh(X, ONES)
    total, twice = f(x, y)
    assert np.shares_memory(total, x)
    np.testing.assert_array_equal(total, X + 1)
    np.testing.assert_array_equal(twice, X * 2)
    np.testing.assert_array_equal(y, ONES)
    assert f.lower(x, y).compile().memory_analysis().aliased_bytes == 24


def test_donated_arrays_may_change_places() -> None:
    f = tfc.jit(lambda x, y, z: (z, x, y), donate_argnums=(0, 1, 2))
    given = fresh(X, ONES, X * 5)
    got = f(*given)
    for array, argument, expected in zip(got, given, (X * 5, X, ONES)):
        assert np.shares_memory(array, argument)
        np.testing.assert_array_equal(array, expected)


def test_a_training_step_updates_its_weights_where_they_lie() -> None:
    f = tfc.jit(lambda w, g: {k: w[k] - 0.5 * g[k] for k in w}, donate_argnums=0)
    w = {"a": X.copy(), "b": ONES.copy()}
    new = f(w, {"a": X, "b": X})
    assert all(np.shares_memory(new[k], w[k]) for k in w)
    np.testing.assert_array_equal(new["a"], X * 0.5)
    assert f.lower(w, w).compile().memory_analysis().temporary_bytes == 0


def test_memory_that_is_not_the_callers_to_give_is_copied() -> None:
    f = tfc.jit(lambda x, y: (y * 3, x), donate_argnums=0)
    (x,) = fresh(X)
    for a, b in zip(f(x, x), (X * 3, X)):  # x is another argument too
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(x, X)
    halves = np.concatenate([X, X])
    got = f(halves[3:9], halves[:6])
    np.testing.assert_array_equal(got[0], X * 3)
    np.testing.assert_array_equal(halves, np.concatenate([X, X]))
    x.flags.writeable = False
    np.testing.assert_array_equal(f(x, ONES)[0], ONES * 3)
    np.testing.assert_array_equal(x, X)
    strided = np.zeros((6, 2), np.float32)
    f(strided[:, 0], ONES)
    assert not strided.any()


def test_three_arguments_may_lie_in_one_another() -> None:
    f = tfc.jit(lambda x, y, z: (x + 100, y + 1000, z * 1), donate_argnums=(0, 1))
    whole = np.arange(100, dtype=np.float32)
    x, y, z = whole[:10], whole[2:50], whole[5:8]
    expected = x + 100, y + 1000, z.copy()
    for got, right in zip(f(x, y, z), expected):
        np.testing.assert_array_equal(got, right)


def test_scalars_keep_their_shape() -> None:
    f = tfc.jit(lambda x: x + 1, donate_argnums=0)
    assert f(3.0) == 4
    assert f(np.float32(3)).shape == ()
    x = np.array(3, np.float32)
    assert np.shares_memory(f(x), x)


def test_a_loop_works_in_the_donated_array() -> None:
    f = tfc.jit(lambda x: tfc.fori_loop(0, 20, lambda i, a: a * 2, x), donate_argnums=0)
    for start in (X, np.resize(X, 10000)):  # one kernel, and steps
        (x,) = fresh(start)
        assert np.shares_memory(f(x), x)
        np.testing.assert_array_equal(x, start * 2**20)
    assert f.lower(x).compile().as_text("mlir").count("  copy ") == 1  # the counter


def test_jax_programs_donate() -> None:
    lowered = jax.jit(lambda x, y: (x * y, x), donate_argnums=1).lower(X, X)
    f = tfc.from_stablehlo(lowered.as_text())
    assert dict(f.hlo.attributes)["input_output_alias"] == "{ {0}: (1, {}, may-alias) }"
    (y,) = fresh(X)
    product, _ = f(X, y)
    assert np.shares_memory(product, y)
    single = jax.jit(lambda x: x + 1, donate_argnums=0).lower(jnp.zeros(6))
    np.testing.assert_array_equal(tfc.from_stablehlo(single.as_text())(X.copy()), X + 1)


TUPLES = """HloModule m, input_output_alias={ {1,0}: (1, {0}, must-alias), {0}: (0, {}) },
  buffer_donor={ (1, {1}) }
ENTRY main { x = f32[2] parameter(0)
  p = (f32[3], f32[3]) parameter(1)
  a = f32[3] get-tuple-element(p), index=0
  b = f32[3] get-tuple-element(p), index=1
  s = f32[3] add(a, b)
  i = (f32[3], f32[2]) tuple(s, x)
  ROOT r = (f32[2], (f32[3], f32[2])) tuple(x, i) }"""


def test_places_in_tuples() -> None:
    assert donation_of(parse(TUPLES)) == Donation({1: 1, 0: 0}, frozenset({2}))


@pytest.mark.parametrize(("wrong", "message"), [
    ("{2}: (0, {}", "place {2}, which does not exist"),
    ("{0}: (2, {}", "place {2,}, which does not exist"),
    ("{1}: (0, {}", "must name arrays, got the tuple"),
    ("{1,1}: (1, {1}", "one shape and layout"),
    ("{1,0}: (0, {}", "once"),
])  # fmt: skip
def test_places_that_do_not_fit_are_refused(wrong: str, message: str) -> None:
    text = TUPLES.replace("{0}: (0, {}", wrong)
    with pytest.raises(UnsupportedError, match=message.replace("{", r"\{")):
        tfc.compile(parse(text))
