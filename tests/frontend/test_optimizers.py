"""tfc.optim: optimizers step as their formulas in NumPy do, over nested parameters."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import optim
from tfc.errors import ShapeError, TraceError

RATE, STEPS = 0.1, 4


def parameters(dtype: type = np.float64) -> dict[str, Any]:
    return {"w": np.linspace(-1, 2, 6).reshape(2, 3).astype(dtype), "b": [np.array(0.5, dtype)]}


def gradients(step: int, dtype: type = np.float64) -> dict[str, Any]:
    w = np.sin(np.arange(6.0) + step).reshape(2, 3)
    return {"w": w.astype(dtype), "b": [np.array(np.cos(step), dtype)]}


def leaves(tree: dict[str, Any]) -> list[np.ndarray]:
    return [tree["w"], tree["b"][0]]


Formula = Callable[[np.ndarray], Iterator[np.ndarray]]


def sgd(momentum: float = 0.0, nesterov: bool = False) -> Formula:
    def steps(p):
        v = 0 * p
        while True:
            g = yield p
            v = g + momentum * v
            p = p - RATE * (g + momentum * v if nesterov else v)

    return steps


def adam(decay: float = 0.0, nesterov: bool = False, eps: float = 1e-8, trust: bool = False):
    def steps(p):
        m, v, t = 0 * p, 0 * p, 0
        while True:
            g = yield p
            t += 1
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            mean = m / (1 - 0.9**t)
            if nesterov:
                mean = 0.9 * m / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
            step = mean / (np.sqrt(v / (1 - 0.999**t)) + eps) + decay * p
            p = p - RATE * step * (np.linalg.norm(p) / np.linalg.norm(step) if trust else 1)

    return steps


def adamax(p):
    m, u, t = 0 * p, 0 * p, 0
    while True:
        g = yield p
        t += 1
        m, u = 0.9 * m + 0.1 * g, np.maximum(np.abs(g) + 1e-8, 0.999 * u)
        p = p - RATE * m / (1 - 0.9**t) / u


def adagrad(p):
    total = 0.1 + 0 * p
    while True:
        g = yield p
        total = total + g**2
        p = p - RATE * g / np.sqrt(total + 1e-7)


def adadelta(p):
    of_g, of_x = 0 * p, 0 * p
    while True:
        g = yield p
        of_g = 0.9 * of_g + 0.1 * g**2
        x = np.sqrt(of_x + 1e-6) / np.sqrt(of_g + 1e-6) * g
        of_x = 0.9 * of_x + 0.1 * x**2
        p = p - RATE * x


def rmsprop(centered: bool = False, momentum: float = 0.0) -> Formula:
    def steps(p):
        m, v, moved = 0 * p, 0 * p, 0 * p
        while True:
            g = yield p
            m, v = 0.9 * m + 0.1 * g, 0.9 * v + 0.1 * g**2
            moved = momentum * moved - RATE * g / np.sqrt(v - centered * m**2 + 1e-8)
            p = p + moved

    return steps


def lion(p):
    m = 0 * p
    while True:
        g = yield p
        step = np.sign(0.9 * m + 0.1 * g) + 1e-3 * p
        m = 0.99 * m + 0.01 * g
        p = p - RATE * step


def ftrl(l1: float, l2: float) -> Formula:
    def steps(p):
        n, z = 0.1 + 0 * p, 0 * p
        while True:
            g = yield p
            z = z + g - (np.sqrt(n + g**2) - np.sqrt(n)) / RATE * p
            n = n + g**2
            p = np.where(np.abs(z) > l1, (np.sign(z) * l1 - z) / (np.sqrt(n) / RATE + 2 * l2), 0.0)

    return steps


OPTIMIZERS: list[tuple[optim.GradientTransformation, Formula]] = [
    (optim.sgd(RATE), sgd()),
    (optim.sgd(RATE, 0.9), sgd(0.9)),
    (optim.sgd(RATE, 0.9, nesterov=True), sgd(0.9, True)),
    (optim.adam(RATE), adam()),
    (optim.nadam(RATE), adam(nesterov=True)),
    (optim.adamw(RATE, weight_decay=0.01), adam(0.01)),
    (optim.lamb(RATE, weight_decay=0.01), adam(0.01, eps=1e-6, trust=True)),
    (optim.adamax(RATE), adamax),
    (optim.adagrad(RATE), adagrad),
    (optim.adadelta(RATE), adadelta),
    (optim.rmsprop(RATE), rmsprop()),
    (optim.rmsprop(RATE, centered=True, momentum=0.5), rmsprop(True, 0.5)),
    (optim.lion(RATE), lion),
    (optim.ftrl(RATE), ftrl(0, 0)),
    (optim.ftrl(RATE, l1_regularization_strength=0.3, l2_regularization_strength=0.1),
     ftrl(0.3, 0.1)),
]  # fmt: skip


def stepped(optimizer: optim.GradientTransformation, dtype: type, jit: bool) -> dict[str, Any]:
    def step(params, state, slopes):
        updates, state = optimizer.update(slopes, state, params)
        return optim.apply_updates(params, updates), state

    step = tfc.jit(step) if jit else step
    params = parameters(dtype)
    state = optimizer.init(params)
    for number in range(STEPS):
        params, state = step(params, state, gradients(number, dtype))
    return params


@pytest.mark.parametrize(("optimizer", "formula"), OPTIMIZERS)
def test_steps_are_those_of_the_formula(optimizer, formula):
    expected = []
    for place, start in enumerate(leaves(parameters())):
        walk = formula(start)
        next(walk)
        for number in range(STEPS):
            value = walk.send(leaves(gradients(number))[place])
        expected.append(value)
    for got, want in zip(leaves(stepped(optimizer, np.float64, jit=False)), expected):
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    for got, want in zip(leaves(stepped(optimizer, np.float32, jit=True)), expected):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


def test_ftrl_makes_parameters_zero():
    got = stepped(optim.ftrl(RATE, l1_regularization_strength=50.0), np.float64, jit=False)
    assert not got["w"].any()


def test_gradient_descent_on_four_points_has_the_losses_that_it_had():
    """A linear model of which the losses of the first ten steps were written down."""
    x, y = (np.array(v, np.float32).reshape(4, 1) for v in ([1, 2, 3, 4], [0, -1, -2, -3]))

    def loss(p):
        return tnp.mean((x * p["w"] + p["b"] - y) ** 2)

    optimizer = optim.sgd(0.01)
    params = {"w": np.float32(-0.2683497), "b": np.float32(0)}
    state, losses = optimizer.init(params), []
    both = tfc.jit(tfc.value_and_grad(loss))
    for _ in range(10):
        value, slopes = both(params)
        losses.append(value)
        updates, state = optimizer.update(slopes, state, params)
        params = optim.apply_updates(params, updates)
    written = [1.35659, 1.00412, 0.759167, 0.588829, 0.470264,
               0.387626, 0.329918, 0.289511, 0.261112, 0.241046]  # fmt: skip
    np.testing.assert_allclose(losses, written, atol=5e-6)


COUNTS = [0, 1, 4, 5, 9, 10, 11, 25]
SCHEDULES = [
    (optim.constant_schedule(0.3), lambda n: 0.3),
    (optim.linear_schedule(1.0, 0.2, 8, 2), lambda n: 1 - 0.8 * min(max(n - 2, 0), 8) / 8),
    (optim.polynomial_schedule(1.0, 0.1, 3, 10), lambda n: 0.9 * (1 - min(n, 10) / 10) ** 3 + 0.1),
    (optim.exponential_decay(0.5, 5, 0.7), lambda n: 0.5 * 0.7 ** (n / 5)),
    (optim.exponential_decay(0.5, 5, 0.7, 1, staircase=True, end_value=0.2),
     lambda n: max(0.2, 0.5 * 0.7 ** (max(n - 1, 0) // 5))),
    (optim.cosine_decay_schedule(2.0, 10, 0.1, 2.0),
     lambda n: 2 * (0.9 * (0.5 + 0.5 * math.cos(math.pi * min(n, 10) / 10)) ** 2 + 0.1)),
    (optim.piecewise_constant_schedule(1.0, {4: 0.5, 10: 0.1}),
     lambda n: 1 if n <= 4 else 0.5 if n <= 10 else 0.05),
    (optim.warmup_cosine_decay_schedule(0.0, 1.0, 5, 20, 0.1),
     lambda n: n / 5 if n < 5 else 0.55 + 0.45 * math.cos(math.pi * min(n - 5, 15) / 15)),
    (optim.join_schedules([optim.constant_schedule(1.0), optim.linear_schedule(2.0, 3.0, 4)], [5]),
     lambda n: 1.0 if n < 5 else 2 + min(n - 5, 4) / 4),
]  # fmt: skip


@pytest.mark.parametrize(("schedule", "formula"), SCHEDULES)
def test_schedules_are_their_formulas(schedule, formula):
    expected = [formula(n) for n in COUNTS]
    np.testing.assert_allclose([schedule(n) for n in COUNTS], expected, rtol=1e-12)
    traced = tfc.jit(lambda n: schedule(n) + 0.0 * n)
    np.testing.assert_allclose([traced(np.int32(n)) for n in COUNTS[::3]], expected[::3], rtol=1e-6)


def test_a_schedule_counts_steps_from_zero():
    optimizer = optim.sgd(optim.piecewise_constant_schedule(1.0, {0: 0.5, 1: 0.5}))
    state = optimizer.init(np.float32(0))
    steps = []
    for _ in range(3):
        updates, state = optimizer.update(np.float32(1), state)
        assert updates.dtype == np.float32
        steps.append(updates)
    assert steps == [-1.0, -0.5, -0.25]
    assert state.count == 3


def test_gradients_are_clipped_by_element_and_by_norm():
    slopes = {"a": np.array([3.0, -0.5]), "b": np.array([[4.0]], np.float32)}
    got, _ = optim.clip(1.0).update(slopes, optim.EmptyState())
    np.testing.assert_array_equal(got["a"], [1.0, -0.5])
    norm = math.sqrt(9 + 0.25 + 16)
    np.testing.assert_allclose(optim.global_norm(slopes), norm)
    for bound in (1.0, 100.0):
        clip = optim.clip_by_global_norm(bound)
        got, _ = tfc.jit(lambda s, clip=clip: clip.update(s, clip.init(s)))(slopes)
        factor = min(1, bound / norm)
        for name, slope in slopes.items():
            assert got[name].dtype == slope.dtype
            np.testing.assert_allclose(got[name], slope * factor, rtol=1e-6)
    got, _ = optim.zero_nans().update(np.array([np.nan, 2.0]), optim.EmptyState())
    np.testing.assert_array_equal(got, [0, 2])


def test_a_mask_chooses_leaves():
    optimizer = optim.chain(
        optim.masked(optim.scale_by_adam(), {"w": True, "b": [False]}), optim.scale(-1.0)
    )
    params, slopes = parameters(), gradients(0)
    state = optimizer.init(params)
    updates, _ = optimizer.update(slopes, state, params)
    np.testing.assert_array_equal(updates["b"][0], -slopes["b"][0])
    np.testing.assert_allclose(updates["w"], -np.sign(slopes["w"]), atol=1e-5)
    decays = optim.adamw(RATE, weight_decay=0.5, mask=lambda p: {"w": False, "b": [True]})
    plain = optim.adam(RATE)
    got, _ = decays.update(slopes, decays.init(params), params)
    want, _ = plain.update(slopes, plain.init(params), params)
    np.testing.assert_allclose(got["w"], want["w"])
    np.testing.assert_allclose(got["b"][0], want["b"][0] - RATE * 0.5 * params["b"][0])


def test_frozen_and_unchanged_updates():
    slopes = gradients(1)
    got, _ = optim.set_to_zero().update(slopes, optim.EmptyState())
    assert not any(leaf.any() for leaf in leaves(got))
    got, _ = optim.identity().update(slopes, optim.EmptyState())
    assert got is slopes


def test_half_precision_parameters_stay_half():
    params = np.ones(3, np.float16)
    optimizer = optim.adam(1e-2)
    updates, state = optimizer.update(np.ones(3, np.float16), optimizer.init(params))
    assert (updates.dtype, state[0].mu.dtype) == (np.float16, np.float16)
    assert optim.apply_updates(params, np.ones(3, np.float32)).dtype == np.float16


def test_what_does_not_fit_is_refused():
    params, slopes = parameters(), gradients(0)
    adam, decay = optim.adam(RATE), optim.adamw(RATE)
    for error, call, words in (
        (TraceError, lambda: adam.update({"w": slopes["w"]}, adam.init(params)),
         "gradients, parameters and state of the same structure"),
        (TraceError, lambda: decay.update(slopes, decay.init(params)), "requires the parameters"),
        (TraceError, lambda: adam.update(slopes, ()), "requires as many states, got 0"),
        (TraceError, lambda: optim.masked(adam, {"w": True}).init(params), "a mask of Python bool"),
        (ShapeError, lambda: optim.linear_schedule(1, 0, 0), "must be above 0, got 0"),
        (ShapeError, lambda: optim.join_schedules([], [3]), "between them, got 1"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
