"""checkpoint: the gradient is the same, its memory is less; policies; nesting."""

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import checkpoint_policies
from tfc.errors import TraceError

RNG = np.random.default_rng(11)
LAYERS, ROWS, WIDTH = 5, 256, 16
W = (RNG.standard_normal((LAYERS, WIDTH, WIDTH)) * 0.2).astype(np.float32)
X = RNG.standard_normal((ROWS, WIDTH)).astype(np.float32)
BYTES = X.nbytes  # of the values of one layer


def block(w, x):
    """Five values of the size of x, of which the gradient needs four."""
    h = tfc.checkpoint_name(tnp.tanh(x @ w), "hidden")
    return tnp.tanh((tnp.sin(h) * h) @ w)


def loss(layer):
    def total(w, x):
        for number in range(LAYERS):
            x = layer(w[number], x)
        return tnp.sum(x * x)

    return total


def temporaries(layer):
    """The bytes of temporaries of the network's gradient, and the gradient."""
    compiled = tfc.jit(tfc.grad(loss(layer))).lower(W, X).compile()
    return compiled.memory_analysis().temporary_bytes, compiled(W, X)


PLAIN = temporaries(block)


def test_a_checkpointed_network_needs_the_memory_of_its_layers_arguments():
    size, gradient = temporaries(tfc.checkpoint(block))
    assert PLAIN[0] > 3 * LAYERS * BYTES
    assert size < (LAYERS + 8) * BYTES
    np.testing.assert_array_equal(gradient, PLAIN[1])


NAMED = checkpoint_policies.save_only_these_names("hidden")


@pytest.mark.parametrize(
    ("policy", "least", "most"),
    [
        (NAMED, 2 * LAYERS - 2, 2 * LAYERS + 8),
        (checkpoint_policies.dots_saveable, 2 * LAYERS, 3 * LAYERS + 8),
    ],
)
def test_policies_say_what_is_kept_beside_the_arguments(policy, least, most):
    size, gradient = temporaries(tfc.checkpoint(block, policy=policy))
    assert least * BYTES <= size <= most * BYTES
    np.testing.assert_allclose(gradient, PLAIN[1], rtol=1e-5, atol=1e-6)


def test_policies_are_asked_of_instructions():
    def f(w, x):
        return tnp.sum(block(w[0], x) @ w[1]) + tnp.sum(tnp.matmul(w, w))

    asked = []
    tfc.grad(lambda w: tfc.checkpoint(f, policy=lambda i: asked.append(i) or False)(w, X))(W)
    names = ["dots_saveable", "dots_with_no_batch_dims_saveable", "checkpoint_dots",
             "checkpoint_dots_with_no_batch_dims", "nothing_saveable",
             "everything_saveable"]  # fmt: skip
    plain = [sum(map(getattr(checkpoint_policies, name), asked)) for name in names]
    assert plain == [4, 3, 4, 3, 0, len(asked)]
    only = NAMED, checkpoint_policies.save_only_these_names("other")
    but = [checkpoint_policies.save_any_names_but_these(n) for n in ("hidden", "other")]
    rest = [checkpoint_policies.save_anything_except_these_names(n) for n in ("hidden", "other")]
    both = checkpoint_policies.save_from_both_policies(NAMED, checkpoint_policies.dots_saveable)
    counts = [sum(map(p, asked)) for p in (*only, *but, *rest, both)]
    assert counts == [1, 0, 0, 1, len(asked) - 1, len(asked), 5]


def test_what_is_not_kept_apart_may_be_computed_once():
    size, _ = temporaries(tfc.checkpoint(block, prevent_cse=False))
    assert size == PLAIN[0]


@pytest.mark.parametrize("policy", [None, checkpoint_policies.dots_saveable])
def test_derivatives_of_all_orders_are_those_without_checkpoint(policy):
    w, x, d = W[0, :3, :3].astype(float), X[:2, :3].astype(float), X[2:4, :3].astype(float)

    def second(layer):
        def of_x(v):
            return layer(w, v)

        inner = tfc.grad(lambda v: tnp.sum(of_x(v) ** 2))
        along = lambda v: tfc.jvp(of_x, (v,), (d,))[1]  # noqa: E731
        return (tfc.jvp(inner, (x,), (d,))[1], tfc.grad(lambda v: tnp.sum(inner(v) ** 2))(x),
                along(x), tfc.grad(lambda v: tnp.sum(along(v)))(x))  # fmt: skip

    for got, want in zip(second(tfc.checkpoint(block, policy=policy)), second(block)):
        np.testing.assert_allclose(got, want, rtol=1e-10)


def test_rules_of_functions_hold_within_and_closed_over_values_have_gradients():
    @tfc.custom_vjp
    def doubled(x):
        return x

    doubled.defvjp(lambda x: (x, None), lambda _, g: (2 * g,))

    def f(x, y):
        return tfc.checkpoint(lambda v: doubled(tnp.sin(v)) * y)(x)

    by_x, by_y = tfc.grad(f, (0, 1))(0.5, 3.0)
    np.testing.assert_allclose([by_x, by_y], [6 * np.cos(0.5), np.sin(0.5)])


def test_static_and_named_arguments():
    f = tfc.remat(lambda x, n, *, scale: x**n * scale, static_argnums=1)
    assert tfc.grad(lambda x: f(x, 3, scale=2.0))(2.0) == 24
    g = tfc.remat(lambda x, n, mode: x**n if mode == "power" else x, static_argnames=("n", "mode"))
    assert tfc.grad(lambda x: g(x, 3, mode="power"))(2.0) == 12
    with pytest.raises(TraceError, match="requires a text as name"):
        tfc.checkpoint_name(1.0, 3)


def test_values_outside_of_gradients_are_computed_once():
    """Without a gradient nothing is kept apart: the module is that of the plain function."""
    text = tfc.jit(tfc.checkpoint(block)).lower(W[0], X).compile().as_text()
    assert "opt-barrier" not in text
    assert text.count(" tanh(") == 2
