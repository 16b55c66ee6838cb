"""Gradients of loops whose number of iterations is known: against JAX, and what they cost."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gradient_checks import check
from jax import lax
from loop_programs import (
    JAX,
    PROGRAMS,
    TFC,
    XS,
    H,
    W,
    branches_in_a_loop,
    heat,
    layers_in_both_directions,
    nested,
    powers,
    recurrent,
    weights_that_are_summed,
)

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError

each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)


def assert_close(got, expected):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def compiled(function):
    return tfc.jit(function, backend="interpreter")


@each_program
def test_gradients_are_those_of_jax(program):
    ours, arguments = program(TFC)
    numbers = tuple(range(len(arguments)))
    with jax.enable_x64(True):
        theirs, _ = program(JAX)
        expected = jax.jit(jax.value_and_grad(theirs, numbers))(*arguments)
    assert_close(compiled(tfc.value_and_grad(ours, numbers))(*arguments), expected)


SECOND = [
    recurrent, powers, weights_that_are_summed, heat,
    *(pytest.param(p, marks=pytest.mark.slow)
      for p in (nested, branches_in_a_loop, layers_in_both_directions)),
]  # fmt: skip


@pytest.mark.parametrize("program", SECOND, ids=lambda p: p.__name__)
def test_second_gradients_are_those_of_jax(program):
    ours, arguments = program(TFC)

    def twice(grad, np_, loss):
        return grad(lambda *xs: np_.sum(np_.sin(grad(loss)(*xs))))

    with jax.enable_x64(True):
        expected = jax.jit(twice(jax.grad, jnp, program(JAX)[0]))(*arguments)
    assert_close(compiled(twice(tfc.grad, tnp, ours))(*arguments), expected)


@pytest.mark.parametrize("program", [recurrent, nested, heat], ids=lambda p: p.__name__)
def test_compiled_gradients_are_those_of_the_evaluator(program):
    loss, arguments = program(TFC)
    gradient = tfc.grad(loss, tuple(range(len(arguments))))
    assert_close(tfc.jit(gradient)(*arguments), compiled(gradient)(*arguments))


def test_gradients_agree_with_finite_differences():
    def loss(w, xs):
        def step(h, x):
            h = tnp.tanh(h @ w + x)
            return h, h[0]

        last, ys = tfc.scan(step, xs[0], xs[:3])
        return last, ys

    check(loss, W, XS[:, 0], tolerance=1e-5)


def test_gradients_outside_of_jit():
    square = lambda x: tfc.scan(lambda c, _: (c * c, c), x, length=3)[0]  # noqa: E731
    assert tfc.grad(square)(1.5) == pytest.approx(8 * 1.5**7)
    for bounds in ((1, 4), (np.int32(1), np.int32(4)), (1, np.int64(4))):
        power = lambda x: tfc.fori_loop(*bounds, lambda i, c: c * x, 1.0)  # noqa: B023, E731
        assert tfc.grad(power)(2.0) == 12
    value, pull = tfc.vjp(square, 1.5)
    assert value == pytest.approx(1.5**8)
    assert pull(2.0)[0] == pytest.approx(16 * 1.5**7)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_single_precision_and_complex_numbers(dtype):
    w, start = W.astype(dtype), H.astype(dtype)

    def loss(lib):
        step = lambda _, h: lib.np.sin(h @ w) + h  # noqa: E731
        return lambda h: lib.np.sum(lib.np.real(lib.control.fori_loop(0, 3, step, h)) ** 2)

    with jax.enable_x64(True):
        expected = jax.jit(jax.grad(loss(JAX)))(start)
    got = compiled(tfc.grad(loss(TFC)))(start)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_a_while_loop_whose_count_can_be_found_out_has_a_gradient():
    def f(x):
        return tfc.while_loop(lambda s: s[0] > 2, lambda s: (s[0] - 3, s[1] * x), (11, x))[1]

    assert tfc.grad(f)(2.0) == 4 * 2.0**3


def test_only_the_element_that_cannot_be_differentiated_refuses():
    def f(x, n):
        counted = tfc.fori_loop(0, n, lambda i, v: v + 1.0, 0.0)
        return x * tfc.stop_gradient(counted) + tfc.fori_loop(0, 3, lambda i, v: v * x, 1.0)

    assert tfc.jit(tfc.grad(f))(2.0, 5) == 5 + 3 * 2.0**2
    with pytest.raises(TraceError, match="between Python numbers, or"):
        tfc.jit(tfc.grad(lambda x, n: tfc.fori_loop(0, n, lambda i, v: v * x, x)))(2.0, 5)


def loops_of(function, *arguments):
    module = tfc.jit(function).lower(*arguments).hlo
    return [i for c in module.computations for i in c.instructions if i.opcode == "while"], module


def test_the_value_and_the_gradient_share_the_loop():
    loss, arguments = recurrent(TFC)
    loops, _ = loops_of(tfc.value_and_grad(loss), *arguments)
    assert len({loop["body"] for loop in loops}) == 2


def test_an_iteration_of_the_gradient_costs_no_more_in_a_longer_loop():
    """The scanned arrays and their cotangents are read and written a slice at a time."""

    def loss(xs, w):
        return tnp.sum(tfc.scan(lambda c, x: (c * x + w, c * c), xs[0], xs)[1])

    def inside(count):
        loops, _ = loops_of(tfc.grad(loss, (0, 1)), np.ones((count, 8)), np.ones(8))
        return [
            i.array_shape.size
            for loop in loops for i in loop["body"].instructions
            if i.opcode not in ("get-tuple-element", "dynamic-update-slice", "parameter", "tuple")
        ]  # fmt: skip

    assert inside(1000) == inside(10)
    assert max(inside(1000)) == 8


def test_products_of_weights_are_summed_by_one_product_after_the_loop():
    loss, arguments = layers_in_both_directions(TFC)
    loops, module = loops_of(tfc.grad(loss), *arguments)
    bodies = {loop["body"] for loop in loops}
    inside = [i.array_shape.dims for b in bodies for i in b.instructions if i.opcode == "dot"]
    assert (4, 4) not in inside
    outside = [i.array_shape.dims for i in module.entry.instructions if i.opcode == "dot"]
    assert outside == [(4, 4)] * 4


def test_cheap_operations_are_computed_again_and_expensive_ones_kept():
    def loss(x):
        step = lambda i, c: tnp.exp(c) * 2 + tnp.where(c > 0, c * 3, -c)  # noqa: E731
        return tnp.sum(tfc.fori_loop(0, 9, step, x))

    (first, _), _ = loops_of(tfc.grad(loss), np.ones(16))
    stacks = [s for s in first.shape.elements if s.dims[:1] == (9,)]
    assert [s.dims for s in stacks] == [(9, 16), (9, 16)]  # c, and exp(c)


def directions(arguments):
    return tuple(np.cos(np.arange(np.size(a))).reshape(np.shape(a)) for a in arguments)


@each_program
def test_tangents_are_those_of_jax(program):
    ours, arguments = program(TFC)
    slopes = directions(arguments)
    with jax.enable_x64(True):
        theirs, _ = program(JAX)
        expected = jax.jit(lambda *x: jax.jvp(theirs, x, slopes))(*arguments)
    assert_close(compiled(lambda *x: tfc.jvp(ours, x, slopes))(*arguments), expected)


def test_gradients_of_many_examples_are_those_of_jax():
    loss, (w, xs, h) = recurrent(TFC)
    several = np.stack([xs, xs * 2])

    def each(vmap, grad, loss):
        return vmap(grad(loss), in_axes=(None, 0, None))

    def of_all(lib, vmap, grad, loss):
        total = lambda w: lib.np.sum(vmap(lambda x: loss(w, x, h))(several) ** 2)  # noqa: E731
        return grad(total)

    with jax.enable_x64(True):
        theirs = recurrent(JAX)[0]
        first = jax.jit(each(jax.vmap, jax.grad, theirs))(w, several, h)
        second = jax.jit(of_all(JAX, jax.vmap, jax.grad, theirs))(w)
    assert_close(compiled(each(tfc.vmap, tfc.grad, loss))(w, several, h), first)
    assert_close(compiled(of_all(TFC, tfc.vmap, tfc.grad, loss))(w), second)


def test_a_loop_whose_count_is_not_known_has_tangents():
    def f(lib):
        def last(x, w):
            """Newton's square root, and how often it was improved."""
            far = lambda s: lib.np.abs(s[0] * s[0] - x) > 1e-3  # noqa: E731
            better = lambda s: ((s[0] + x / s[0]) / 2 * w, s[1] + 1)  # noqa: E731
            return lib.control.while_loop(far, better, (1.0, 0))

        return lambda x: last(x, 1.0)[0], lambda w: last(3.0, w)[0]

    for ours, theirs, at in zip(f(TFC), f(JAX), (7.0, 1.0)):
        with jax.enable_x64(True):
            expected = jax.jvp(theirs, (at,), (2.0,))
        assert_close(compiled(lambda x: tfc.jvp(ours, (x,), (2.0,)))(at), expected)  # noqa: B023


@pytest.mark.parametrize("program", SECOND, ids=lambda p: p.__name__)
def test_tangents_of_gradients_and_gradients_of_tangents_are_those_of_jax(program):
    ours, arguments = program(TFC)
    slopes = directions(arguments)

    def both(lib, grad, jvp, loss):
        over = lambda *x: jvp(grad(loss), x, slopes)[1]  # noqa: E731
        return lambda *x: (over(*x), grad(lambda *y: lib.np.sum(jvp(loss, y, slopes)[1]))(*x))

    with jax.enable_x64(True):
        expected = jax.jit(both(JAX, jax.grad, jax.jvp, program(JAX)[0]))(*arguments)
    assert_close(compiled(both(TFC, tfc.grad, tfc.jvp, ours))(*arguments), expected)


def test_an_iteration_says_once_what_it_says_when_its_gradient_is_asked_for(capsys):
    def loss(x):
        def step(c, _):
            tfc.debug.print("carry {}", c)
            return c * x, None

        return tfc.scan(step, 1.0, length=3)[0]

    assert tfc.jit(tfc.grad(loss))(2.0) == 12
    assert capsys.readouterr().out.split() == ["carry", "1.0", "carry", "2.0", "carry", "4.0"]
    assert tfc.jit(lambda x: tfc.jvp(loss, (x,), (1.0,)))(2.0) == (8, 12)
    assert capsys.readouterr().out.count("carry") == 3


def test_a_step_with_rules_of_its_own_and_one_that_is_computed_again():
    @tfc.custom_vjp
    def twice(x):
        return x * 2

    twice.defvjp(lambda x: (x * 2, x), lambda x, g: (g * x,))
    wrong = lambda x: tfc.scan(lambda c, _: (twice(c), None), x, length=3)[0]  # noqa: E731
    assert tfc.jit(tfc.grad(wrong))(1.5) == 1.5 * 3 * 6
    _, arguments = recurrent(TFC)

    def again(w, xs, h):
        step = tfc.checkpoint(lambda h, x: (tnp.tanh(h @ w + x), tnp.sum(h * h, axis=1)))
        h, _ = tfc.scan(step, h, xs)
        return tnp.sum(h)

    with jax.enable_x64(True):
        plain = lambda w, xs, h: jnp.sum(lax.scan(lambda h, x: (jnp.tanh(h @ w + x), 0), h, xs)[0])  # noqa: E731
        expected = jax.grad(plain)(*arguments)
    assert_close(compiled(tfc.grad(again))(*arguments), expected)
