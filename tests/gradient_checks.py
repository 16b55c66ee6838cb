"""Gradients against finite differences, in f64 with a step chosen so that both errors are small.

Tangents against the gradients that were checked so: what a direction does to a weighted sum of the
results is the gradient's product with it.
"""

import numpy as np

import tfc
import tfc.numpy as tnp
from tfc.frontend.promotion import as_tensor

RNG = np.random.default_rng(1)


def jit(function):
    return tfc.jit(function, backend="interpreter")


def check(function, *arguments, tolerance=1e-6):
    """The gradient of a weighted sum of f's results, by each argument, against differences.

    And the derivative of that sum along a random direction against the gradient.
    """
    weights: dict[int, np.ndarray] = {}

    def scalar(*xs):
        total = tnp.zeros((), np.float64)
        results = function(*[as_tensor(x) for x in xs])
        for number, result in enumerate(results if isinstance(results, tuple) else (results,)):
            weight = weights.setdefault(number, RNG.standard_normal(result.shape) + 2)
            total = total + tnp.sum(result * weight)
        return total

    arguments = [np.asarray(a, np.float64) for a in arguments]
    got = jit(tfc.grad(scalar, tuple(range(len(arguments)))))(*arguments)
    value = jit(scalar)
    for position, argument in enumerate(arguments):
        expected = np.zeros_like(argument)
        for index in np.ndindex(argument.shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in arguments]
                moved[position][index] += step
                sides.append(value(*moved))
            expected[index] = (sides[0] - sides[1]) / 2e-5
        np.testing.assert_allclose(got[position], expected, rtol=tolerance, atol=tolerance)
    directions = tuple(np.asarray(RNG.standard_normal(a.shape)) for a in arguments)
    slope = jit(lambda xs, ds: tfc.jvp(scalar, xs, ds)[1])(tuple(arguments), directions)
    along = sum(np.sum(g * d) for g, d in zip(got, directions))
    # What both modes round differently shows where numbers are narrow, which tolerance allows for.
    accuracy = 1e-9 if tolerance < 1e-3 else tolerance
    np.testing.assert_allclose(slope, along, rtol=accuracy, atol=accuracy)
