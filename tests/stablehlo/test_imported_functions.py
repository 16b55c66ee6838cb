"""Imported functions: the arguments and results of what JAX exported, and calls while tracing."""

from collections import namedtuple
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TraceError, UnsupportedError

Layer = namedtuple("Layer", "w b")
WEIGHTS = np.linspace(-0.2, 0.3, 6, dtype=np.float32).reshape(3, 2)
PARAMS = {"first": Layer(WEIGHTS, np.ones(2, "f4")), "none": None}
X = np.array([-1, 0.25, 1], np.float32)


def model(params: Any, x: Any, *, scale: Any, unused: Any = 0) -> Any:
    y = jnp.tanh(x @ params["first"].w * scale + params["first"].b)
    return {"y": y, "rest": (Layer(x, None), [y.sum()])}


def exported(function: Any = model, **options: Any) -> Any:
    one, ignored = np.float32(1), np.ones(5, "f4")
    return jax.export.export(jax.jit(function), **options)(PARAMS, X, scale=one, unused=ignored)


def assert_same(got: Any, expected: Any) -> None:
    assert jax.tree_util.tree_structure(got) == jax.tree_util.tree_structure(expected)
    for a, b in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(expected)):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


# --- the arguments and results of the exported function ------------------------------------------


@pytest.mark.parametrize("options", [
    {}, {"platforms": ["cuda"]}, {"platforms": ["cpu", "cuda"]}, {"platforms": ["tpu", "cpu"]},
    {"disabled_checks": [jax.export.DisabledSafetyCheck.platform()]},
])  # fmt: skip
def test_an_exported_function_takes_its_own_arguments(options: Any):
    function = tfc.from_stablehlo(exported(**options))
    named = {"scale": np.float32(2), "unused": np.ones(5, "f4")}
    assert_same(function(PARAMS, X, **named), model(PARAMS, X, **named))


def test_arguments_that_the_program_does_not_use_are_dropped():
    function = tfc.from_stablehlo(jax.export.export(jax.jit(lambda x, y: y + 1))(X, X))
    assert len(function.hlo.entry.parameters) == 1
    np.testing.assert_array_equal(function(None, X), X + 1)


def test_keys_of_random_numbers_are_passed_as_their_bits():
    def draw(key: Any) -> Any:
        return jax.random.uniform(key, (3,))

    function = tfc.from_stablehlo(jax.export.export(jax.jit(draw))(jax.random.key(0)))
    np.testing.assert_array_equal(function(jax.random.key(7)), draw(jax.random.key(7)))


def test_python_numbers_take_the_type_that_was_exported():
    function = tfc.from_stablehlo(exported())
    assert_same(
        function(PARAMS, X, scale=2, unused=0), model(PARAMS, X, scale=np.float32(2), unused=0)
    )


@pytest.mark.parametrize(("args", "named", "message"), [
    ((PARAMS, X), {"scale": 1.0}, "arguments must be as when exporting: .*unused"),
    ((X, X), {"scale": 1.0, "unused": 0}, "must be as when exporting: .*dict"),
    ((PARAMS,), {"scale": 1.0, "unused": 0}, "must be as when exporting: .*[Tt]uple"),
    (({**PARAMS, "first": Layer(np.ones((3, 2)), X)}, X), {"scale": 1.0, "unused": 0},
     r"argument 0\['first'\].w must be f32\[3,2\], got float64\[3,2\]"),
    ((PARAMS, X[:2]), {"scale": 1.0, "unused": 0},
     r"argument 1 must be f32\[3\], got float32\[2\]"),
    ((PARAMS, X), {"scale": 1j, "unused": 0},
     r"argument scale must be f32\[\], got complex128\[\]"),
    ((PARAMS, X), {"scale": "2", "unused": 0}, r"argument scale must be f32\[\], got <U1\[\]"),
    ((PARAMS, X), {"scale": object(), "unused": 0}, r"argument scale must be f32\[\], got object"),
    ((PARAMS, X), {"scale": [[1], [2, 3]], "unused": 0}, "argument scale must be .*, got list:"),
])  # fmt: skip
def test_arguments_that_do_not_fit_are_named(args: Any, named: Any, message: str):
    with pytest.raises(ShapeError, match=message):
        tfc.from_stablehlo(exported())(*args, **named)


def test_whole_numbers_are_not_cut_to_fit():
    function = tfc.from_stablehlo(jax.export.export(jax.jit(lambda x: x + 1))(np.int8(1)))
    assert function(100) == 101
    for wrong in (1.5, 1000):
        with pytest.raises(ShapeError, match=r"argument 0 must be s8\[\]"):
            function(wrong)


def test_names_are_refused_where_the_program_has_none():
    function = tfc.from_stablehlo(jax.jit(jnp.tanh).lower(X).as_text())
    with pytest.raises(ShapeError, match="takes arrays by position, got x"):
        function(x=X)


# --- called while tracing ------------------------------------------------------------------------


def test_an_imported_function_is_called_in_a_traced_one():
    function = tfc.from_stablehlo(exported())

    @tfc.jit
    def shifted(params: Any, x: Any) -> Any:
        found = function(params, x + 1, scale=2.0, unused=0)
        return found["y"] * 3, found["rest"][0].w

    expected = model(PARAMS, X + 1, scale=np.float32(2))
    assert_same(shifted(PARAMS, X), (expected["y"] * 3, expected["rest"][0].w))
    assert "call(" in shifted.lower(PARAMS, X).as_text()


def test_gradients_go_through_the_operations_of_an_imported_function():
    function = tfc.from_stablehlo(exported())

    def loss(params: Any, x: Any) -> Any:
        return tnp.sum(function({**params, "none": None}, x, scale=2.0, unused=0)["y"] ** 2)

    def expected(params: Any, x: Any) -> Any:
        return jnp.sum(model(params, x, scale=2.0)["y"] ** 2)

    params = {"first": PARAMS["first"]}
    wanted = jax.value_and_grad(expected, argnums=(0, 1))(params, X)
    assert_same(tfc.value_and_grad(loss, argnums=(0, 1))(params, X), wanted)
    assert_same(tfc.jit(tfc.value_and_grad(loss, argnums=(0, 1)))(params, X), wanted)


def test_cotangents_are_pulled_back_through_text_with_composites_and_branches():
    def program(x: Any) -> Any:
        y = jax.nn.gelu(x, approximate=False)
        return jax.lax.cond(x[0] > 0, lambda v: v * v, jnp.sin, y), jnp.sort(y)

    function = tfc.from_stablehlo(jax.jit(program).lower(X).as_text())
    cotangents = (np.array([1, 2, 3], "f4"), np.array([4, 5, 6], "f4"))
    value, pullback = tfc.vjp(function, X)
    wanted, wanted_pullback = jax.vjp(program, X)
    assert_same(value, wanted)
    assert_same(pullback(cotangents), wanted_pullback(cotangents))


def test_what_has_no_gradient_says_so():
    def loop(x: Any) -> Any:
        return jax.lax.while_loop(lambda v: v.sum() < 10, lambda v: v * 2, x)

    function = tfc.from_stablehlo(jax.jit(loop).lower(X).as_text())
    with pytest.raises(TraceError, match="needs the number of its iterations"):
        tfc.grad(lambda x: tnp.sum(function(x)))(X + 2)


def test_a_call_in_a_trace_checks_its_arguments():
    function = tfc.from_stablehlo(jax.jit(jnp.tanh).lower(X).as_text())
    with pytest.raises(ShapeError, match=r"argument 0 must be f32\[3\], got f32\[4\]"):
        tfc.jit(function)(np.ones(4, "f4"))
    with pytest.raises(ShapeError, match="takes 1 arrays, got 2"):
        tfc.jit(lambda x: function(x, x))(X)
    with pytest.raises(ShapeError, match=r"argument 0 must be f32\[3\], got s32\[3\]"):
        tfc.jit(function)(np.ones(3, "i4"))


def test_tokens_cannot_be_given_in_a_trace():
    function = tfc.from_stablehlo("""func.func @main(%t: !stablehlo.token) -> !stablehlo.token {
      return %t : !stablehlo.token }""")
    with pytest.raises(UnsupportedError, match=r"takes token\[\], which no function being traced"):
        tfc.jit(function)()


def test_a_profile_takes_the_exported_functions_arguments():
    function = tfc.from_stablehlo(jax.export.export(jax.jit(lambda p: p["x"] * 2))({"x": X}))
    assert tfc.profile(function, {"x": X}, runs=1).kernels
