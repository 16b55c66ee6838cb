"""Constant arguments: arrays that become part of the program, told apart by identity."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def frozen(*dims: int) -> np.ndarray:
    array = np.random.default_rng(sum(dims)).standard_normal(dims).astype(np.float32)
    array.setflags(write=False)
    return array


def layer(params: Any, x: Any) -> Any:
    return x @ params["w"] * params["scale"] + params["b"][0]


PARAMS = {"w": frozen(3, 4), "b": (frozen(4),), "scale": 2.0}
EXPECTED = X @ PARAMS["w"] * 2 + PARAMS["b"][0]


@pytest.mark.parametrize("choice", [{"constant_argnums": 0}, {"constant_argnames": "params"}])
def test_constant_arguments_are_no_parameters_of_the_program(choice: dict[str, Any]):
    function = tfc.jit(layer, **choice)
    for _ in range(3):
        np.testing.assert_allclose(function(PARAMS, X), EXPECTED, rtol=1e-6)
        np.testing.assert_allclose(function(x=X, params=PARAMS), EXPECTED, rtol=1e-6)
    assert function.cache_size() == 2
    assert len(function.lower(PARAMS, X).hlo.entry.parameters) == 1


def test_other_arrays_are_another_program_and_the_same_ones_are_not():
    function = tfc.jit(layer, constant_argnums=0)
    again = {**PARAMS, "b": (PARAMS["b"][0],)}
    other = {**PARAMS, "b": (frozen(4) * 0,)}
    other["b"][0].setflags(write=False)
    for params, value in ((PARAMS, EXPECTED), (again, EXPECTED), (other, X @ PARAMS["w"] * 2)):
        np.testing.assert_allclose(function(params, X), value, rtol=1e-6)
    assert function.cache_size() == 2
    np.testing.assert_allclose(function(PARAMS, X), EXPECTED, rtol=1e-6)


def test_a_container_that_was_changed_is_not_taken_for_what_it_was():
    function, params = tfc.jit(layer, constant_argnums=0), dict(PARAMS)
    function(params, X)
    params["scale"] = 3.0
    expected = X @ PARAMS["w"] * 3 + PARAMS["b"][0]
    for _ in range(2):
        np.testing.assert_allclose(function(params, X), expected, rtol=1e-6)


def test_between_static_and_traced_arguments_they_keep_their_places():
    def f(n: int, w: Any, x: Any, mode: str, *, v: Any) -> Any:
        return (x @ w + v) * n if mode == "times" else x

    function = tfc.jit(
        f, static_argnums=(0, 3), constant_argnums=1, constant_argnames="v", backend="interpreter"
    )
    w, v = frozen(3, 5), frozen(5)
    np.testing.assert_allclose(function(2, w, X, "times", v=v), (X @ w + v) * 2, rtol=1e-5)
    np.testing.assert_allclose(function(2, w, X, mode="none", v=v), X)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"w": np.ones(3)}, r"constant argument 0\['w'\] of .* must be a read-only array"),
        (np.broadcast_to(np.ones(3), (2, 3)), "and no view of another"),
        ("text", "must be a NumPy array or a number, got str"),
    ],
)
def test_what_could_change_unseen_is_refused(value: Any, reason: str):
    function = tfc.jit(lambda w, x: x, constant_argnums=0)
    with pytest.raises(TraceError, match=reason):
        function(value, X)


@pytest.mark.parametrize("other", ["static_argnums", "donate_argnums"])
def test_an_argument_is_one_thing_only(other: str):
    with pytest.raises(TraceError, match="constant arguments cannot be static or donated"):
        tfc.jit(layer, constant_argnums=0, **{other: 0})


def test_tensors_are_no_constants():
    inner = tfc.jit(layer, constant_argnums=0)
    with pytest.raises(TraceError, match=r"0\['w'\] of layer must be a NumPy array or a number"):
        tfc.jit(lambda w, x: inner({**PARAMS, "w": w}, x))(np.ones((3, 4), np.float32), X)
    np.testing.assert_allclose(tfc.jit(partial(inner, PARAMS))(X), EXPECTED, rtol=1e-6)
    gradient = tfc.grad(lambda x: tnp.sum(inner(PARAMS, x)))(X)
    np.testing.assert_allclose(gradient, np.ones((2, 4)) @ PARAMS["w"].T * 2, rtol=1e-5)


def test_pickles_keep_the_choice():
    function = tfc.jit(layer, constant_argnums=0)
    assert pickle.loads(pickle.dumps(function)).constant == function.constant
