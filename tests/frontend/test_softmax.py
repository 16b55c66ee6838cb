"""tfc.nn: softmax, its logarithm and their kin, against the formulas in NumPy."""

import numpy as np
from test_frontend_numpy import RNG, SPECIAL, assert_same, traced

from tfc import nn


def test_softmax_and_friends():
    x = RNG.standard_normal((3, 5)) * 200
    shifted = np.exp(x - x.max(-1, keepdims=True))
    expected = shifted / shifted.sum(-1, keepdims=True)
    np.testing.assert_allclose(traced(nn.softmax, x), expected, rtol=1e-14)
    lse = np.log(shifted.sum(-1)) + x.max(-1)
    np.testing.assert_allclose(traced(lambda a: nn.logsumexp(a, axis=-1), x), lse, rtol=1e-14)
    np.testing.assert_allclose(
        traced(nn.log_softmax, x), x - lse[:, None], rtol=1e-13, atol=1e-13)  # fmt: skip
    assert traced(nn.logsumexp, np.array([-np.inf, -np.inf])) == -np.inf
    assert_same(traced(nn.relu, SPECIAL), np.where(SPECIAL <= 0, 0, SPECIAL))
    assert_same(traced(lambda i: nn.one_hot(i, 3), np.array([0, 2, 5])),
                np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0]], np.float32))  # fmt: skip
    np.testing.assert_allclose(traced(nn.softplus, np.array([-800.0, 0, 800])), [0, np.log(2), 800])
