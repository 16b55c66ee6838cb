"""Complex numbers: accuracy against exact arithmetic, agreement with XLA, gradients as in JAX."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from special_values import ulps
from xla_bridge import run_hlo_text

import tfc
import tfc.numpy as tnp
from tfc.frontend import operations as ops
from tfc.frontend.operations import operation
from tfc.hlo import evaluate, parse
from tfc.hlo.evaluation.complex_values import join
from tfc.hlo.shape import C64, C128, F32, ElementType, Shape

RNG = np.random.default_rng(0)
EXACT: dict[str, Callable] = {
    "exponential": mpmath.exp,
    "exponential-minus-one": lambda z: mpmath.exp(z) - 1,
    "log": mpmath.log,
    "log-plus-one": lambda z: mpmath.log(1 + z),
    "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
    "sqrt": mpmath.sqrt,
    "rsqrt": lambda z: 1 / mpmath.sqrt(z),
    "sine": mpmath.sin,
    "cosine": mpmath.cos,
    "tan": mpmath.tan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "sign": lambda z: z / abs(z),
    "negate": lambda z: -z,
}
# What cancels in f64 where a part of the result is nearly zero: units in the last place of a part.
C128_ERROR = {"exponential-minus-one": 512, "logistic": 64, "log": 64, "log-plus-one": 64}


def module_text(opcode: str, element_type: ElementType, count: int, operands: int = 1) -> str:
    names = [f"p{n}" for n in range(operands)]
    given = "\n".join(f"  {p} = {element_type}[{count}] parameter({n})"
                      for n, p in enumerate(names))  # fmt: skip
    root = f"  ROOT r = {element_type}[{count}] {opcode}({', '.join(names)})"
    return f"ENTRY main {{\n{given}\n{root}\n}}"


def samples(element_type: ElementType, count: int = 40) -> np.ndarray:
    """Ordinary numbers, small and large ones, and those on the unit circle and near -1."""
    reach = 20 if element_type == C64 else 60
    turn = RNG.uniform(-np.pi, np.pi, count)
    parts = [
        RNG.normal(size=(2, count)),
        RNG.normal(size=(2, count)) * 2.0 ** RNG.integers(-reach, 6, (2, count)),
        np.stack([np.cos(turn), np.sin(turn)]),
        np.stack([np.cos(turn) - 1, np.sin(turn)]),
    ]
    real, imaginary = np.concatenate(parts, axis=1).astype(element_type.component.dtype)
    return join(real, imaginary)


@pytest.mark.parametrize("element_type", [C64, C128], ids=str)
@pytest.mark.parametrize("opcode", EXACT)
def test_functions_are_accurate_in_both_parts(opcode: str, element_type: ElementType):
    x = samples(element_type)
    (got,) = tfc.compile(parse(module_text(opcode, element_type, len(x))))(x)
    with mpmath.workprec(400):
        exact = [EXACT[opcode](mpmath.mpc(float(z.real), float(z.imag))) for z in x]
        expected = [np.array([float(getattr(e, part)) for e in exact]).astype(got.real.dtype)
                    for part in ("real", "imag")]  # fmt: skip
    allowed = 1 if element_type == C64 else C128_ERROR.get(opcode, 5)
    for actual, wanted in zip((got.real, got.imag), expected):
        distance = ulps(np.ascontiguousarray(actual), wanted)
        worst = int(np.argmax(distance))
        assert distance[worst] <= allowed, (x[worst], got[worst], distance[worst])


@pytest.mark.parametrize("element_type", [C64, C128], ids=str)
@pytest.mark.parametrize("opcode", ["add", "subtract", "multiply", "divide", "power", "atan2"])
def test_binary_operations_agree_with_xla(opcode: str, element_type: ElementType):
    x, y = samples(element_type), np.roll(samples(element_type), 7)
    y = np.where(np.abs(y) < 1e-3, 1, y).astype(x.dtype)
    text = module_text(opcode, element_type, len(x), 2)
    expected, xla = evaluate(parse(text), x, y), run_hlo_text(text, x, y)
    (got,) = tfc.compile(parse(text))(x, y)
    epsilon = np.finfo(x.real.dtype).eps
    for other, units in ((xla, 2**12), (got, 2**8 if element_type == C128 else 1)):
        scale = np.abs(expected) if opcode != "atan2" else 1 + np.abs(expected)
        overflowed = ~np.isfinite(expected) & ~np.isfinite(other)
        with np.errstate(invalid="ignore"):
            near = overflowed | (np.abs(other - expected) <= units * epsilon * scale)
        assert near.all(), (x[~near][:3], y[~near][:3], other[~near][:3], expected[~near][:3])


def holomorphic(z, w, namespace):
    total = namespace.exp(z) * w / (z * z + 3) + namespace.sin(w) - z
    return namespace.sqrt(total) + namespace.log(w + 4) * namespace.tanh(z)


def real_valued(z, w, namespace):
    size = namespace.abs(z) * namespace.real(w) + namespace.imag(z * w)
    return size + namespace.abs(z - w)


FUNCTIONS = {"holomorphic": holomorphic, "real_valued": real_valued}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cotangents_are_those_of_jax(name: str):
    z, w = (join(*RNG.normal(size=(2, 5))) for _ in range(2))
    with jax.enable_x64(True):
        value, pull = jax.vjp(lambda *a: FUNCTIONS[name](*a, jnp), z, w)
        shape, dtype = np.shape(value), np.asarray(value).dtype
        g = RNG.normal(size=shape).astype(dtype)
        g = join(g.real, RNG.normal(size=shape)) if dtype.kind == "c" else g
        expected = [np.asarray(e) for e in pull(g)]
    got = tfc.jit(
        lambda *a: tfc.vjp(lambda *b: FUNCTIONS[name](*b, tnp), *a[:2])[1](a[2]),
        backend="interpreter",
    )(z, w, g)
    for actual, wanted in zip(got, expected):
        np.testing.assert_allclose(actual, wanted, rtol=1e-11, atol=1e-12)


def test_parts_and_conversions_pull_cotangents_back_as_jax_does():
    x = RNG.normal(size=4)

    def ours(t):
        made = operation("complex", t, t * 2)
        wide = ops.convert(t, C128)
        return operation("real", made * wide) + operation("imag", made)

    def theirs(t):
        made = jax.lax.complex(t, t * 2)
        return (made * t.astype(np.complex128)).real + made.imag

    with jax.enable_x64(True):
        expected = jax.vjp(theirs, x)[1](np.ones(4))[0]
    (got,) = tfc.jit(lambda t: tfc.vjp(ours, t)[1](tnp.ones(4)), backend="interpreter")(x)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_reduced_precision_rounds_the_cotangent_too():
    x, g = np.float32([1.01, 2.3, -7.7]), np.float32([1.01, 3.3, 9.9])

    def ours(t):
        return operation("reduce-precision", t, exponent_bits=8, mantissa_bits=7)

    def theirs(t):
        return jax.lax.reduce_precision(t, 8, 7)

    expected = jax.vjp(theirs, x)[1](g)[0]
    (got,) = tfc.jit(lambda t, c: tfc.vjp(ours, t)[1](c), backend="interpreter")(x, g)
    np.testing.assert_array_equal(got, expected)


def test_complex_scalars_are_carried_by_loops_and_chosen_by_conditionals():
    text = """
body { s = (s32[], c64[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  z = c64[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  turn = c64[2] constant({(0, 1), (0.5, 0.5)})
  turned = c64[2] multiply(z, turn)
  ROOT r = (s32[], c64[2]) tuple(next, turned) }
condition { s = (s32[], c64[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT r = pred[] compare(i, three), direction=LT }
ENTRY main {
  x = c64[2] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], c64[2]) tuple(zero, x)
  loop = (s32[], c64[2]) while(start), condition=condition, body=body
  ROOT z = c64[2] get-tuple-element(loop), index=1
}"""
    x = np.array([1 + 2j, 4j], np.complex64)
    (got,) = tfc.compile(parse(text))(x)
    np.testing.assert_allclose(got, x * np.array([1j, 0.5 + 0.5j]) ** 3, rtol=1e-6)


def test_a_complex_part_is_f32_or_f64():
    with pytest.raises(tfc.errors.ParseError, match="complex requires parts of type f32 or f64"):
        parse("ENTRY e { x = f16[] parameter(0) ROOT r = c64[] complex(x, x) }")


def test_complex_numbers_have_no_order():
    with pytest.raises(tfc.errors.ParseError, match="which have no order, got LT"):
        parse("ENTRY e { x = c64[] parameter(0) ROOT r = pred[] compare(x, x), direction=LT }")
    assert Shape(C64).element_type.component == F32


def test_numpy_functions_of_complex_arrays():
    x = np.array([1 + 2j, -3 - 1j, 0, np.inf + 1j, complex(np.nan, 0)], np.complex64)
    for name in ("real", "imag", "conj", "conjugate", "angle", "abs", "isfinite", "isinf", "isnan"):
        got = tfc.jit(getattr(tnp, name))(x)
        expected = getattr(np, name)(x)
        assert got.dtype == expected.dtype, name
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    np.testing.assert_allclose(tnp.angle(x[:2], deg=True), np.angle(x[:2], deg=True), rtol=1e-6)
    assert tnp.iscomplexobj(x)
    assert not tnp.iscomplexobj(x.real)


@pytest.mark.parametrize("other", [1j, 2.5, 3, np.float32(1), np.float64(1), np.int8(1), True])
def test_complex_operands_promote_as_numpy_has_it(other: object):
    for x in (np.float32([1, 2]), np.complex64([1, 2j]), np.int32([1, 2]), np.complex128([1, 2j])):
        got, expected = tfc.jit(lambda v: v * other)(x), x * other
        assert got.dtype == expected.dtype, (x.dtype, other)
        np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize("axis", [0, (0,), (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_extremes_along_full_axes_of_an_empty_array_are_empty(axis, keepdims: bool):
    z = np.zeros((2, 0, 3), np.complex64)
    for name in ("max", "min"):
        got = tfc.jit(lambda z, n=name: getattr(tnp, n)(z, axis=axis, keepdims=keepdims))(z)
        wanted = getattr(np, name)(z, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(got, wanted, strict=True)
