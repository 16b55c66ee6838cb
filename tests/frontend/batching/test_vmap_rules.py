"""vmap of functions that have derivatives of their own, or are computed again, against JAX."""

import jax
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from vmap_checks import check

import tfc

RNG = np.random.default_rng(9)
X, Y = RNG.standard_normal((5, 3)), RNG.standard_normal((5, 4))
W = RNG.standard_normal((3, 3))


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def clipped(library, np_):
    """A function whose gradient is, on purpose, not that of what it computes."""
    f = library.custom_vjp(lambda x, w: {"y": np_.sin(x) @ w})
    forward = lambda x, w: (f(x, w), (np_.cos(x), w.sum()))  # noqa: E731
    backward = lambda kept, g: (np_.clip(g["y"].sum(), -1, 1) * kept[0], g["y"].sum() * kept[1] * W)  # noqa: E731
    f.defvjp(forward, backward)
    return lambda x, w: f(x, w)["y"]


def doubled(library, np_):
    f = library.custom_jvp(lambda x, w: np_.sin(x) @ w)
    f.defjvp(lambda primals, tangents: (
        f(*primals), 2 * tangents[0] @ primals[1] + primals[0] @ tangents[1]
    ))  # fmt: skip
    return f


AXES = [(0, None), pytest.param((None, 0), marks=pytest.mark.slow), (0, 0)]


def arguments(in_axes):
    ws = RNG.standard_normal((5, 3, 3))
    return X if in_axes[0] == 0 else X[0], ws if in_axes[1] == 0 else ws[0]


@pytest.mark.parametrize("in_axes", AXES)
@pytest.mark.parametrize("rule", [clipped, doubled])
def test_gradients_of_a_mapped_function_are_those_of_its_rule(rule, in_axes):
    def write(library, np_):
        f = library.vmap(rule(library, np_), in_axes)
        return library.grad(lambda x, w: np_.sum(f(x, w) ** 2), argnums=(0, 1))

    check(write, *arguments(in_axes))


@pytest.mark.parametrize("in_axes", AXES)
@pytest.mark.parametrize("rule", [clipped, doubled])
def test_gradients_of_each_example_are_those_of_the_rule(rule, in_axes):
    def write(library, np_):
        f = rule(library, np_)
        return library.vmap(library.grad(lambda x, w: np_.sum(f(x, w)), argnums=(0, 1)), in_axes)

    check(write, *arguments(in_axes))


@pytest.mark.parametrize("rule", [clipped, doubled])
def test_rules_go_through_maps_of_maps(rule):
    def write(library, np_):
        f = library.vmap(library.vmap(rule(library, np_), (0, None)), (None, 0))
        return library.grad(lambda x, w: np_.sum(f(x, w) ** 2), argnums=(0, 1))

    check(write, *arguments((0, 0)))


@pytest.mark.parametrize("in_axes", AXES)
def test_tangents_of_a_mapped_function_are_those_of_its_rule(in_axes):
    def write(library, np_):
        f = library.vmap(doubled(library, np_), in_axes)
        return lambda x, w: library.jvp(f, (x, w), (x * 2, w + 1))

    check(write, *arguments(in_axes))


def test_a_rule_uses_values_of_the_function_around_it():
    def write(library, np_):
        def of_each(x, y):
            f = library.custom_vjp(lambda v: v * v)
            f.defvjp(lambda v: (f(v), v), lambda v, g: (g * v * 3,))
            scaled = library.vmap(lambda v: f(v * y[0]))
            return library.grad(lambda v: np_.sum(scaled(v) * y[1]))(x)

        return library.vmap(of_each)

    check(write, X, Y)


def test_what_is_computed_again_is_mapped():
    def write(library, np_):
        name = tfc.checkpoint_name if library is tfc else checkpoint_name
        block = lambda w, x: np_.tanh(w @ name(np_.sin(x), "sine"))  # noqa: E731
        policies = library.checkpoint_policies
        kept = policies.save_only_these_names("sine")
        again = library.checkpoint(block, policy=kept)

        def loss(w, xs):
            return np_.sum(library.vmap(again, (None, 0))(w, xs) ** 2)

        return library.grad(loss, argnums=(0, 1))

    check(write, W, X)


@pytest.mark.parametrize(("names", "sines"), [(["sine"], 1), ([], 2)])
def test_what_a_policy_keeps_is_kept_for_a_batch(names, sines):
    def block(x):
        return tfc.numpy.tanh(W @ tfc.checkpoint_name(tfc.numpy.sin(x), "sine"))

    policy = tfc.checkpoint_policies.save_only_these_names(*names)
    mapped = tfc.vmap(tfc.checkpoint(block, policy=policy))
    text = tfc.jit(tfc.value_and_grad(lambda x: mapped(x).sum())).lower(X).compile().as_text()
    assert text.count(" sine(") == sines
