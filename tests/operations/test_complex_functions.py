"""Complex functions: accuracy, special values and branch cuts, of the evaluator and of CPU code.

The reference is mpmath for c128; for c64 it is the evaluator in c128, at many more points.
"""

from collections.abc import Callable
from functools import cache

import mpmath
import numpy as np
import pytest
from kernel_harness import compile_kernel
from special_values import ulps
from xla_bridge import run_hlo_text_apart

from tfc.backends.mlir.arithmetic.complex_functions import COMPLEX_FUNCTIONS
from tfc.errors import ShapeError
from tfc.hlo import builder, evaluate
from tfc.hlo.evaluation.complex_values import join
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import C64, C128, ElementType, Shape

INF, NAN = np.inf, np.nan

# fmt: off
EXACT: dict[str, Callable] = {
    "cosh":                  mpmath.cosh,
    "cosine":                mpmath.cos,
    "exponential":           mpmath.exp,
    "exponential-minus-one": lambda z: mpmath.exp(z) - 1,
    "log":                   mpmath.log,
    "log-plus-one":          lambda z: mpmath.log(1 + z),
    "logistic":              lambda z: 1 / (1 + mpmath.exp(-z)),
    "rsqrt":                 lambda z: 1 / mpmath.sqrt(z),
    "sign":                  lambda z: z / abs(z),
    "sine":                  mpmath.sin,
    "sinh":                  mpmath.sinh,
    "sqrt":                  mpmath.sqrt,
    "tan":                   mpmath.tan,
    "tanh":                  mpmath.tanh,
}
# fmt: on
NOT_IN_XLA = ("cosh", "sinh")  # its CPU backend has them for real numbers only
UNDEFINED = ("acos", "acosh", "asin", "asinh", "atanh", "cbrt", "ceil", "erf", "floor", "is-finite",
             "round-nearest-afz", "round-nearest-even")  # fmt: skip


def module_of(opcode: str, element_type: ElementType, count: int, operands: int = 1) -> Module:
    shape = Shape(element_type, (count,))
    parameters = [builder.parameter(i, shape) for i in range(operands)]
    root = builder.instruction(opcode, parameters)
    return Module("functions", Computation.make("main", parameters, root))


def meaning(opcode: str, *arrays: np.ndarray) -> np.ndarray:
    element_type = C64 if arrays[0].dtype == np.complex64 else C128
    return evaluate(module_of(opcode, element_type, arrays[0].size, len(arrays)), *arrays)


def on_cpu(opcode: str, *arrays: np.ndarray) -> np.ndarray:
    element_type = C64 if arrays[0].dtype == np.complex64 else C128
    return compile_kernel(COMPLEX_FUNCTIONS[opcode], *[element_type] * len(arrays))(*arrays)


def points(element_type: ElementType, count: int, seed: int = 0) -> np.ndarray:
    """Any size, ordinary sizes, the circles around 0 and -1, axes, and multiples of π/2."""
    random = np.random.default_rng(seed)
    wide = 300 if element_type is C128 else 37
    far = 720 if element_type is C128 else 90

    def sized(low: float, high: float) -> np.ndarray:
        return random.choice([-1, 1], count) * 10.0 ** random.uniform(low, high, count)

    turn = random.uniform(0, 2 * np.pi, count)
    sets = [
        (random.normal(size=count), random.normal(size=count)),
        (sized(-wide, wide), sized(-wide, wide)),
        (sized(-10, 2), sized(-10, 3)),
        (random.uniform(-far, far, count), sized(-3, 2)),
        (random.uniform(-90, 90, count), random.uniform(-90, 90, count)),
        (np.cos(turn), np.sin(turn)),
        (np.cos(turn) - 1, np.sin(turn)),
        (sized(-8, 0), random.integers(-20, 20, count) * (np.pi / 2)),
        (random.integers(-5, 5, count), random.integers(-5, 5, count)),
    ]
    dtype = element_type.component.dtype
    x = join(*(np.concatenate(p).astype(dtype) for p in zip(*sets)))
    return x[x != 0]


@cache
def exact(opcode: str) -> tuple[np.ndarray, np.ndarray]:
    """(points, results) in c128, the results as objects of mpmath."""
    x = points(C128, 24)
    results = np.empty(x.size, object)
    for i, z in enumerate(x):
        size = max(abs(z.real), abs(z.imag), 1 / max(min(abs(z.real), abs(z.imag)), 1e-300))
        with mpmath.workprec(300 if size < 1e9 else 2300):
            try:
                results[i] = EXACT[opcode](mpmath.mpc(z.real, z.imag))
            except (ZeroDivisionError, ValueError):
                results[i] = mpmath.mpc(NAN, NAN)
    return x, results


def errors(got: np.ndarray, results: np.ndarray) -> np.ndarray:
    """The errors in units of 2^-52 of the magnitude; subnormal numbers may be off by as many."""
    found = np.zeros(got.size)
    largest = mpmath.mpf(float(np.finfo(float).max))
    for i, (value, want) in enumerate(zip(got, results)):
        with mpmath.workprec(200):
            parts = [(value.real, want.real), (value.imag, want.imag)]
            unit = max(mpmath.hypot(*(e for _, e in parts)) * 2.0**-52, mpmath.mpf(5e-324))
            for part, e in parts:
                if abs(e) > largest:
                    off = 0.0 if np.isinf(part) and (part > 0) == (e > 0) else INF
                elif not np.isfinite(part):
                    off = 0.0 if mpmath.isnan(e) else INF
                else:
                    off = float(abs(mpmath.mpf(float(part)) - e) / unit)
                found[i] = max(found[i], off)
    return found


@pytest.mark.parametrize("compute", [meaning, on_cpu])
@pytest.mark.parametrize("opcode", EXACT)
def test_c128_is_accurate(opcode: str, compute: Callable):
    x, results = exact(opcode)
    found = errors(compute(opcode, x), results)
    worst = int(np.argmax(found))
    assert found[worst] <= 3, f"{found[worst]} units at {x[worst]}"


@pytest.mark.parametrize("opcode", EXACT)
def test_both_parts_of_c64_are_rounded_almost_correctly(opcode: str):
    x = points(C64, 3000)
    got, want = on_cpu(opcode, x), meaning(opcode, x.astype(np.complex128))
    for part in (np.real, np.imag):
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = part(want).astype(np.float32)
            error = np.abs(part(got).astype(float) - part(want)) / np.spacing(np.abs(rounded))
        same = (part(got) == rounded) | (np.isnan(part(got)) & np.isnan(rounded))
        error = np.where(same, 0, error)
        worst = int(np.argmax(error))
        assert error[worst] <= 0.51, f"{error[worst]} ulp at {x[worst]}: {got[worst]}"


def specials(element_type: ElementType, with_ends: bool = True) -> np.ndarray:
    dtype = element_type.component.dtype
    limits = np.finfo(dtype)
    ends = [limits.max, -limits.max, limits.smallest_subnormal, -limits.tiny]
    parts = np.array([0.0, -0.0, 1.5, -1.5, 1e-30, -80, INF, -INF, NAN], dtype)
    parts = np.concatenate([parts, np.array(ends, dtype)]) if with_ends else parts
    return join(*(a.reshape(-1) for a in np.meshgrid(parts, parts, indexing="ij")))


def assert_same(got: np.ndarray, want: np.ndarray, open_signs: np.ndarray, limit: float) -> None:
    """Equal parts, NaN for NaN, signs of zeros but where they are open."""
    for part in (np.real, np.imag):
        x, y = part(got), part(want)
        x, y = np.where(open_signs, np.abs(x), x), np.where(open_signs, np.abs(y), y)
        wrong = ulps(x, y) > limit
        wrong |= (np.signbit(x) != np.signbit(y)) & ~np.isnan(y)
        assert not wrong.any(), list(zip(got[wrong][:5], want[wrong][:5]))


@pytest.mark.parametrize("element_type", [C64, C128], ids=str)
@pytest.mark.parametrize("opcode", EXACT)
def test_special_values_on_cpu_are_those_of_the_evaluator(opcode: str, element_type: ElementType):
    x = specials(element_type)
    got, want = on_cpu(opcode, x), meaning(opcode, x)
    assert got.dtype == want.dtype
    nowhere = ~np.isfinite(x.real) & ~np.isfinite(x.imag)  # infinite in no direction
    assert_same(got, want, np.isnan(want) | nowhere, 3)


@pytest.mark.parametrize("opcode", sorted({*EXACT, "power"} - {*NOT_IN_XLA}))
@pytest.mark.parametrize("element_type", [C64, C128], ids=str)
def test_xla_gives_the_same_where_it_gives_numbers(opcode: str, element_type: ElementType):
    """Signs of zeros apart, which it loses, and with them the sides of branch cuts."""
    x = specials(element_type, with_ends=False)
    x = x[~np.isnan(x)]
    operands = [x]
    if opcode == "power":
        operands = [v.reshape(-1) for v in np.meshgrid(x, points(element_type, 1), indexing="ij")]
    text = str(module_of(opcode, element_type, operands[0].size, len(operands)))
    xla, got = run_hlo_text_apart(text, *operands), on_cpu(opcode, *operands)
    # XLA computes in the precision of the operands; its sine of 1e-30i is 0.
    unit = 32 * np.finfo(xla.dtype).eps
    if opcode == "power":
        with np.errstate(all="ignore"):
            unit = unit * (1 + np.abs(operands[1] * np.log(operands[0])))
    for part in (np.real, np.imag):
        with np.errstate(invalid="ignore"):
            a, b = np.abs(part(xla)), np.abs(part(got))
            near = (a == b) | (np.abs(a - b) <= unit * (1 + np.minimum(np.abs(xla), np.abs(got))))
        wrong = ~near & np.isfinite(xla)
        assert not wrong.any(), list(zip(operands[0][wrong], xla[wrong], got[wrong]))[:5]


C99 = [  # opcode, argument, result
    ("exponential", complex(-INF, INF), 0j),
    ("exponential", complex(INF, -0.0), complex(INF, -0.0)),
    ("exponential", complex(NAN, 0), complex(NAN, 0)),
    ("exponential", complex(INF, NAN), complex(INF, NAN)),
    ("log", complex(-0.0, 0), complex(-INF, np.pi)),
    ("log", complex(-1, -0.0), complex(0, -np.pi)),
    ("log", complex(-INF, INF), complex(INF, 0.75 * np.pi)),
    ("log", complex(NAN, INF), complex(INF, NAN)),
    ("sqrt", complex(-4, -0.0), complex(0, -2)),
    ("sqrt", complex(NAN, INF), complex(INF, INF)),
    ("sqrt", complex(-INF, 1), complex(0, INF)),
    ("sinh", complex(0, NAN), complex(0, NAN)),
    ("sinh", complex(INF, 0), complex(INF, 0)),
    ("cosh", complex(INF, 0), complex(INF, 0)),
    ("tanh", complex(INF, 1), complex(1, 0)),
    ("tanh", complex(NAN, 0), complex(NAN, 0)),
    ("rsqrt", complex(4, -0.0), complex(0.5, 0)),
    ("rsqrt", 0j, complex(INF, NAN)),
    ("sign", complex(-0.0, 0), complex(-0.0, 0)),
    ("exponential-minus-one", complex(-0.0, 0), complex(-0.0, 0)),
    ("log-plus-one", complex(-1, 0), complex(-INF, 0)),
    ("log-plus-one", complex(1e-20, 1e-20), complex(1e-20, 1e-20)),
]


@pytest.mark.parametrize("compute", [meaning, on_cpu])
def test_special_values(compute: Callable):
    for opcode, argument, result in C99:
        got = compute(opcode, np.array([argument]))
        assert_same(got, np.array([result]), np.isnan([result]), 2)


@pytest.mark.parametrize("compute", [meaning, on_cpu])
def test_special_powers(compute: Callable):
    x = specials(C128)
    one = np.ones_like(x)
    np.testing.assert_array_equal(compute("power", x, 0 * one), one)
    np.testing.assert_array_equal(compute("power", one, x), one)
    zero = compute("power", 0 * one[:2], np.array([2, 1 + 3j]))
    np.testing.assert_array_equal(zero, [0, 0])
    # On the positive axis it is the real power.
    values = np.array([0.5, 3, 1e300, INF])
    exponents = np.array([2.5, -3, 0.5, 2])
    got = compute("power", values.astype(complex), exponents.astype(complex))
    np.testing.assert_allclose(got, values**exponents, rtol=1e-12)


def power_error(x: np.ndarray, y: np.ndarray, got: np.ndarray) -> np.ndarray:
    """The errors of powers relative to the magnitude; numbers in the range of f32 only."""
    found = np.zeros(x.size)
    for i, (base, exponent, value) in enumerate(zip(x, y, got)):
        with mpmath.workprec(200):
            want = mpmath.exp(mpmath.mpc(complex(exponent)) * mpmath.log(mpmath.mpc(complex(base))))
            if 1e-30 < abs(want) < 1e30:
                found[i] = float(abs(mpmath.mpc(complex(value)) - want) / abs(want))
    return found


@pytest.mark.parametrize("compute", [meaning, on_cpu])
def test_power_is_accurate(compute: Callable):
    random = np.random.default_rng(3)
    parts = random.normal(size=(4, 300)) * 10.0 ** random.uniform(-3, 1.5, 300)
    x, y = join(*parts[:2]), join(*parts[2:])
    # The evaluator rounds the product of which it takes exp.
    size = np.abs(y * np.log(x)) if compute is meaning else 0.0
    assert np.max(power_error(x, y, compute("power", x, y)) / (1 + size)) < 4 * 2.0**-52
    x, y = x.astype(np.complex64), y.astype(np.complex64)
    assert np.max(power_error(x, y, compute("power", x, y))) < 2.0**-23


@pytest.mark.parametrize("element_type", [C64, C128], ids=str)
@pytest.mark.parametrize("compute", [meaning, on_cpu])
def test_powers_of_any_angle_have_their_magnitude(compute: Callable, element_type: ElementType):
    """Also where the angle is so large that its error is many turns."""
    random = np.random.default_rng(6)
    base = random.uniform(0.5, 30, 200)
    angles = 10.0 ** random.uniform(-3, 30, 200) * random.choice([-1, 1], 200)
    exponents = join(random.uniform(-3, 3, 200), angles).astype(element_type.dtype)
    got = compute("power", base.astype(element_type.dtype), exponents)
    want = base ** exponents.real.astype(np.float64)
    np.testing.assert_allclose(np.abs(got), want, rtol=1e-5 if element_type is C64 else 1e-12)


@pytest.mark.parametrize("element_type", [C64, C128], ids=str)
def test_the_angle_of_two_complex_numbers(element_type: ElementType):
    random = np.random.default_rng(4)
    parts = random.normal(size=(4, 500)).astype(element_type.component.dtype)
    parts[1, :50] = parts[3, :50] = 0  # as that of two real numbers
    y, x = join(*parts[:2]), join(*parts[2:])
    got, want = on_cpu("atan2", y, x), meaning("atan2", y, x)
    unit = np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, want, rtol=20 * unit)
    np.testing.assert_allclose(got.real[:50], np.arctan2(y.real, x.real)[:50], rtol=2 * unit)
    np.testing.assert_allclose(on_cpu("atan2", y * 2.0**80, x * 2.0**80), got)
    xla = run_hlo_text_apart(str(module_of("atan2", element_type, x.size, 2)), y, x)
    np.testing.assert_allclose(got, xla, rtol=1000 * unit, atol=100 * unit)


@pytest.mark.parametrize("opcode", UNDEFINED)
def test_what_xla_has_for_real_numbers_only_is_refused(opcode: str):
    with pytest.raises(ShapeError, match="operands of type"):
        module_of(opcode, C64, 3)
