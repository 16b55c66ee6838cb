"""Effects are done once each, in the order of the program, whatever transformation is taken."""

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError

HALF = np.float32(0.5)


class Log(list):
    """What a program has shown, in order."""

    def show(self, name, value):
        """An effect: enters a name and a value."""
        tfc.debug.callback(lambda v: self.append((name, round(float(v), 3))), value)


def in_a_branch(log):
    """Effects in the branch that is taken, and in the one that is not."""

    def taken(x):
        log.show("taken", x)
        return tnp.sin(x) * x

    def other(x):
        log.show("other", x)
        return x

    return lambda x: tfc.cond(x > 0, taken, other, x)


def in_a_case(log):
    """Effects in one of three functions."""

    def case(name):
        def run(x):
            log.show(name, x)
            return tnp.exp(x) * x

        return run

    return lambda x: tfc.switch(1, [case("a"), case("b"), case("c")], x)


def in_a_loop(log):
    """Effects in each iteration of a counted loop."""

    def step(i, c):
        log.show("step", c)
        return tnp.sin(c) * 2

    return lambda x: tfc.fori_loop(0, 3, step, x)


def in_a_scan(log):
    """Effects before and after what an iteration computes."""

    def step(c, k):
        log.show("before", c)
        c = tnp.sin(c) * k
        log.show("after", c)
        return c, c

    return lambda x: tfc.scan(step, x, tnp.arange(1.0, 3.0, dtype="float32"))[0]


def in_a_loop_in_a_branch(log):
    """Effects in a loop that a branch runs."""
    return lambda x: tfc.cond(x > 0, in_a_loop(log), lambda x: x, x)


def in_a_branch_in_a_loop(log):
    """Effects in a branch that a loop takes."""
    return lambda x: tfc.fori_loop(0, 3, lambda i, c: in_a_branch(log)(c) + x, x)


def without_arguments(log):
    """Effects that depend on nothing."""

    def run(x):
        tfc.debug.callback(lambda: log.append("first"))
        y = tfc.cond(x > 0, lambda x: x * x, lambda x: x, x)
        tfc.debug.callback(lambda: log.append("second"))
        return y

    return run


PROGRAMS = [
    in_a_branch, in_a_case, in_a_loop, in_a_scan, in_a_loop_in_a_branch, in_a_branch_in_a_loop,
    without_arguments,
]  # fmt: skip
TRANSFORMED = {
    "grad": tfc.grad,
    "value_and_grad": tfc.value_and_grad,
    "jvp": lambda f: lambda x: tfc.jvp(f, (x,), (x,)),
    "grad of grad": lambda f: tfc.grad(tfc.grad(f)),
    "vjp": lambda f: lambda x: tfc.vjp(f, x)[1](x),
}


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("name", TRANSFORMED)
def test_derivatives_do_effects_once_and_in_order(make, name):
    log = Log()
    tfc.jit(make(log))(HALF)
    expected, log[:] = list(log), []
    assert expected
    tfc.jit(TRANSFORMED[name](make(log)))(HALF)
    assert log == expected


def test_a_gradient_uses_what_an_effect_in_a_branch_returned():
    calls = []

    def drawn(x):
        noise = tfc.py_func(lambda v: calls.append(1) or np.float32(len(calls)), [x],
                            np.float32, shape=())  # fmt: skip
        return x * x * tfc.stop_gradient(noise)

    def loss(x):
        return tfc.cond(x > 0, drawn, lambda x: x, x)

    value, slope = tfc.jit(tfc.value_and_grad(loss))(np.float32(3))
    assert (float(value), float(slope), len(calls)) == (9.0, 6.0, 1)


def test_a_result_without_a_derivative_that_nobody_asks_for_is_computed_once():
    calls = []

    def both(x):
        return x * x, tfc.py_func(lambda v: calls.append(1) or v, [x], np.float32, shape=())

    def loss(x, number):
        return tfc.cond(x > 0, both, lambda x: (x, x), x)[number]

    assert tfc.jit(tfc.grad(lambda x: loss(x, 0)))(np.float32(3)) == 6
    assert calls == [1]
    with pytest.raises(TraceError, match="has no derivative"):
        tfc.jit(tfc.grad(lambda x: loss(x, 1)))(np.float32(3))


def test_a_mapped_function_does_the_effects_of_a_common_branch_for_each_element():
    log = Log()
    x = np.float32([0.5, 0.25])

    def each(x):
        log.show("each", x)
        return x * x

    mapped = tfc.vmap(tfc.grad(lambda x, k: tfc.switch(k, [each] * 3, x)), in_axes=(0, None))
    slopes = tfc.jit(mapped)(x, 2)
    assert log == [("each", 0.5), ("each", 0.25)]
    assert np.array_equal(slopes, 2 * x)


def test_effects_in_branches_that_differ_by_element_are_refused():
    with pytest.raises(TraceError, match="predicate differs by batch element"):
        tfc.jit(tfc.vmap(in_a_branch(Log())))(np.float32([1, -1]))


def test_a_checkpointed_function_does_its_effects_again_on_the_way_back():
    log = Log()

    def shown(x):
        log.show("x", x)
        return tnp.sin(tnp.sin(x))

    tfc.jit(tfc.grad(tfc.checkpoint(shown)))(HALF)
    assert log == [("x", 0.5), ("x", 0.5)]
