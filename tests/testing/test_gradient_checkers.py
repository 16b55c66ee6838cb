"""The gradient checkers accept right derivatives and find wrong ones, of every order and mode."""

import sys
from subprocess import run

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import TfcError

X = np.linspace(-1.0, 2.0, 6).reshape(2, 3)


def smooth(p, y):
    return {"z": tnp.sin(p["x"]) @ tnp.exp(y), "n": 3}


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("lin",), ("fwd", "rev")])
def test_right_derivatives_pass(modes):
    tfc.testing.check_grads(smooth, ({"x": X}, X.T), order=2, modes=modes)
    tfc.testing.check_grads(smooth, ({"x": X.astype(np.float32)}, X.T.astype(np.float32)), 1, modes)


def wrong(order):
    """A square whose derivative of one order has one tenth too much."""

    @tfc.custom_jvp
    def first(x):
        return 2.0 * x

    @tfc.custom_jvp
    def f(x):
        return x * x

    first.defjvp(lambda p, t: (first(*p), 2.0 * t[0] * (1.1 if order == 2 else 1)))
    f.defjvp(lambda p, t: (f(*p), first(*p) * t[0] * (1.1 if order == 1 else 1)))
    return f


@pytest.mark.parametrize("mode", ["fwd", "rev", "lin"])
def test_wrong_derivatives_are_found_at_their_order(mode):
    with pytest.raises(AssertionError, match={"fwd": "JVP", "rev": "VJP", "lin": "LIN"}[mode]):
        tfc.testing.check_grads(wrong(1), (X,), 1, [mode])
    tfc.testing.check_grads(wrong(2), (X,), 1, [mode])
    with pytest.raises(AssertionError, match="of "):
        tfc.testing.check_grads(wrong(2), (X,), 2, [mode])


def test_complex_functions_and_tolerances():
    z = X + 1j * X[::-1]
    tfc.testing.check_grads(lambda a: tnp.real(a * a * a) + tnp.abs(a), (z,), 2)
    with pytest.raises(AssertionError):
        tfc.testing.check_grads(tnp.sin, (X,), 1, atol=1e-14, rtol=1e-14, eps=1e-2)
    with pytest.raises(TfcError, match="knows the modes fwd, rev, lin, got 'both'"):
        tfc.testing.check_grads(tnp.sin, (X,), 1, ["both"])


def test_jacobians_by_differentiation_and_by_differences():
    """The documents' example: a ReLU of one's own, and a matrix product."""

    def relu(x):
        return tfc.py_func(lambda v: np.maximum(v, 0), [x], x.dtype, shape=x.shape,
                           grad=lambda v, g: tnp.where(v > 0, g, 0))  # fmt: skip

    x = X.astype(np.float32) - 0.05
    (analytic,), (numeric,) = tfc.testing.compute_gradient(relu, [x])
    np.testing.assert_array_equal(analytic, np.diag((x > 0).ravel()))
    np.testing.assert_allclose(numeric, analytic, atol=1e-3)
    assert tfc.testing.compute_gradient_error(relu, [x]) < 1e-3
    (by_x, by_y), _ = tfc.testing.compute_gradient(lambda a, b: a @ b, [X, X.T])
    np.testing.assert_allclose(by_x, np.kron(np.eye(2), X))
    assert by_y.shape == (4, 6)
    assert tfc.testing.compute_gradient_error(wrong(1), [X]) > 0.1


def test_they_come_with_tfc_and_without_hypothesis():
    code = "import tfc, sys; tfc.testing.check_grads; print('hypothesis' in sys.modules)"
    made = run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout == "False\n"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tfc.testing.nothing  # noqa: B018
