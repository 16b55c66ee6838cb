"""Gradients through complex numbers: against JAX's pullbacks, and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tfc
import tfc.numpy as tnp
from tfc.frontend import operations as ops
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor
from tfc.hlo.shape import C64, C128

RNG = np.random.default_rng(3)
Z = (RNG.normal(size=(2, 3)) + 1j * RNG.normal(size=(2, 3))).astype(np.complex64)
W = (RNG.normal(size=(3, 2)) + 1j * RNG.normal(size=(3, 2))).astype(np.complex64)
X = RNG.normal(size=(2, 3)).astype(np.float32)


def op(name):
    return lambda *xs: operation(name, *(as_tensor(x) for x in xs))


# name: (function in tfc, function in JAX, arguments)
CASES = {
    "real": (op("real"), jnp.real, [Z]),
    "imag": (op("imag"), jnp.imag, [Z]),
    "complex": (op("complex"), lax.complex, [X, X * 2]),
    "abs": (op("abs"), jnp.abs, [Z]),
    "negate": (op("negate"), jnp.negative, [Z]),
    "add": (op("add"), jnp.add, [Z, Z * 2]),
    "multiply": (op("multiply"), jnp.multiply, [Z, Z * (1 + 2j)]),
    "divide": (op("divide"), jnp.divide, [Z, Z * (1 + 2j)]),
    "dot": (lambda x, y: as_tensor(x) @ as_tensor(y), jnp.matmul, [Z, W]),
    "sum": (lambda x: tnp.sum(as_tensor(x), axis=0), lambda x: jnp.sum(x, axis=0), [Z]),
    "to complex": (lambda x: ops.convert(as_tensor(x), C64), lambda x: x.astype("c8"), [X]),
    "of real numbers": (op("real"), lambda x: x * 1, [X]),
}  # fmt: skip


HOLOMORPHIC = {
    "atan2": (jnp.arctan2, [Z, Z * (1 + 2j)]),
    "cosh": (jnp.cosh, [Z]),
    "cosine": (jnp.cos, [Z]),
    "exponential": (jnp.exp, [Z]),
    "exponential-minus-one": (jnp.expm1, [Z]),
    "log": (jnp.log, [Z]),
    "log-plus-one": (jnp.log1p, [Z]),
    "logistic": (lax.logistic, [Z]),
    "power": (lax.pow, [Z, Z * (1 + 2j)]),
    "rsqrt": (lax.rsqrt, [Z]),
    "sine": (jnp.sin, [Z]),
    "sinh": (jnp.sinh, [Z]),
    "sqrt": (jnp.sqrt, [Z]),
    "tan": (jnp.tan, [Z]),
    "tanh": (jnp.tanh, [Z]),
}
CASES |= {name: (op(name), *case) for name, case in HOLOMORPHIC.items()}


@pytest.mark.parametrize("name", CASES)
def test_pullbacks_are_those_of_jax(name: str):
    ours, theirs, arguments = CASES[name]
    value, pullback = jax.vjp(theirs, *arguments)
    shape = value.shape
    cotangent = RNG.normal(size=shape).astype(np.float32)
    if jnp.iscomplexobj(value):
        cotangent = (cotangent + 1j * RNG.normal(size=shape)).astype(np.complex64)
    got, pull = tfc.vjp(ours, *arguments)
    np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-6)
    for mine, his in zip(pull(cotangent), pullback(cotangent), strict=True):
        np.testing.assert_allclose(mine, his, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_tangents_are_those_of_jax(name: str):
    ours, theirs, arguments = CASES[name]
    directions = tuple((RNG.normal(size=a.shape) * (a + 1)).astype(a.dtype) for a in arguments)
    _, want = jax.jvp(theirs, tuple(arguments), directions)
    _, got = tfc.jvp(ours, tuple(arguments), directions)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_pullbacks_of_double_precision_are_those_of_jax(name: str):
    theirs, arguments = HOLOMORPHIC[name]
    with jax.enable_x64(True):
        arguments = [z.astype(np.complex128) for z in arguments]
        value, pullback = jax.vjp(theirs, *arguments)
        want = [np.asarray(c) for c in pullback(value)]
    _, pull = tfc.vjp(op(name), *arguments)
    for mine, his in zip(pull(np.asarray(value)), want, strict=True):
        assert mine.dtype == his.dtype
        np.testing.assert_allclose(mine, his, rtol=1e-11, atol=1e-12)


def test_the_sign_turns_with_its_operand_and_keeps_its_length():
    z = np.array([3 + 4j, -1 + 2j, 2j, -5], np.complex128)
    tfc.testing.check_grads(op("sign"), (z,), 1, rtol=1e-6)
    _, pull = tfc.vjp(op("sign"), np.zeros(2, np.complex128))
    assert not pull(np.ones(2, np.complex128))[0].any()


def test_a_narrower_complex_type_and_back():
    def through(z):
        return ops.convert(ops.convert(as_tensor(z), C128), C64)

    _, pull = tfc.vjp(through, Z)
    np.testing.assert_array_equal(pull(Z)[0], Z)


def test_the_gradient_of_a_real_function_is_its_steepest_ascent_conjugated():
    def energy(z):
        z = as_tensor(z)
        return tnp.sum(operation("abs", z) * operation("real", z * z))

    found, step = tfc.jit(tfc.grad(energy))(Z), 1e-3
    for at in np.ndindex(Z.shape):
        for direction, sign in ((step, 1), (1j * step, -1)):
            sides = []
            for s in (1, -1):
                moved = Z.astype(np.complex128)
                moved[at] += s * direction
                sides.append(float(np.sum(np.abs(moved) * (moved * moved).real)))
            slope = (sides[0] - sides[1]) / (2 * step)
            part = found[at].real if sign == 1 else -found[at].imag
            np.testing.assert_allclose(part, slope, rtol=1e-3, atol=1e-3)


def test_the_absolute_value_has_no_slope_at_zero():
    zero = np.zeros(2, np.complex64)
    gradient = tfc.grad(lambda z: tnp.sum(operation("abs", as_tensor(z))))(zero)
    np.testing.assert_array_equal(gradient, zero)
