"""Statistics of attention's rows that one pass gathers while their maximum grows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.gpu.attention.gradient_spec import gradient_in
from tfc.backends.gpu.attention.growing import Growing, growing_in
from tfc.hlo import parse
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(31)


def of_rows(attend: Any) -> Growing | None:
    """What the kernel of the rows of an attention's gradient gathers in one pass."""

    def loss(q: Any, k: Any, v: Any, d: Any) -> Any:
        return tnp.sum(attend(q, k, v) * d)

    arguments = [np.zeros((20, 8), np.float32)] * 4
    gradient = tfc.grad(loss, argnums=(0, 1, 2))
    compiled = tfc.jit(gradient, backend="gpu").lower(*arguments).compile()
    found: Iterator[Any] = map(gradient_in, parse(compiled.as_text()).computations)
    (scores,) = (s.scores for s in found if s is not None and s.lines == "r")
    assert len(scores.statistics) >= 3
    return growing_in(scores)


def test_total_and_weighted_gradients_are_gathered_beside_the_maximum():
    found = of_rows(lambda q, k, v: nn.softmax(q @ k.T) @ v)
    assert found is not None
    total, gradients = found.sums
    assert total.powers == ()
    assert gradients.powers == ((total.statistic.reduce, -2),)


def test_a_cap_below_the_maximum_is_a_part_of_the_logits():
    found = of_rows(lambda q, k, v: nn.softmax(tnp.tanh(q @ k.T) * 5) @ v)
    assert found is not None
    assert len(found.sums) == 2


def with_a_floor(q: Any, k: Any, v: Any) -> Any:
    """Weights that are no multiples of exp(x - max)."""
    logits = q @ k.T
    powers = tnp.exp(logits - tnp.max(logits, axis=1, keepdims=True)) + 0.1
    return powers / tnp.sum(powers, axis=1, keepdims=True) @ v


def test_sums_of_anything_else_wait_for_the_maximum():
    assert of_rows(with_a_floor) is None


def of_base_two(q: Any, k: Any, v: Any) -> Any:
    """Weights by another number of the row than their maximum."""
    logits = q @ k.T
    largest = tnp.max(logits, axis=1, keepdims=True)
    powers = tnp.exp(logits - largest * 0.5)
    return powers / tnp.sum(powers, axis=1, keepdims=True) @ v


@pytest.mark.parametrize(
    "attend", [pytest.param(a, marks=pytest.mark.slow) for a in (with_a_floor, of_base_two)]
)
def test_what_waits_is_right(attend: Any):
    check(attend, *(random.standard_normal((40, 8)).astype(np.float32) for _ in range(4)))


@pytest.mark.parametrize("slope", [3.0, pytest.param(-3.0, marks=pytest.mark.slow)])
def test_weights_fit_the_maximum_wherever_it_comes(slope: float):
    q, k, v, d = (random.standard_normal((70, 8)).astype(np.float32) for _ in range(4))
    q[:, 0], k[:, 0] = 15, slope / 15 * np.arange(70)
    q[5] = 0  # a row whose logits are all alike
    check(lambda q, k, v: nn.softmax(q @ k.T) @ v, q, k, v, d)


@pytest.mark.parametrize(
    "value", [np.inf, *(pytest.param(v, marks=pytest.mark.slow) for v in (np.nan, -np.inf))]
)
def test_rows_that_the_program_makes_nan_are_nan(value: float):
    q, k, v, d = (random.standard_normal((40, 8)).astype(np.float32) for _ in range(4))
    bias = np.zeros((40, 40), np.float32)
    bias[3, 35 if value > 0 else slice(None)] = value

    def loss(q: Any, k: Any, v: Any, d: Any) -> Any:
        return tnp.sum(nn.softmax(q @ k.T + bias) @ v * d)

    gradient = tfc.grad(loss, argnums=0)
    with device_for_tests():
        got = np.asarray(tfc.jit(gradient, backend="gpu")(q, k, v, d))
    wanted = np.asarray(tfc.jit(gradient)(q, k, v, d))
    assert np.isnan(wanted[3]).all()
    np.testing.assert_allclose(got, wanted, 1e-4, 1e-5)


def check(attend: Any, *arguments: np.ndarray) -> None:
    """The gradients on the device are the CPU's."""
    gradient = tfc.grad(lambda q, k, v, d: tnp.sum(attend(q, k, v) * d), argnums=(0, 1, 2))
    with device_for_tests():
        compiled = tfc.jit(gradient, backend="gpu").lower(*arguments).compile()
        assert compiled.as_text("ptx").count(".entry") == 2
        got = compiled(*arguments)
        for a, b in zip(got, tfc.jit(gradient)(*arguments), strict=True):
            b = np.asarray(b)
            np.testing.assert_allclose(np.asarray(a), b, 1e-5, 1e-5 * np.abs(b).max())
