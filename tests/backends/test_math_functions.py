"""The expansions of mathematical functions: accuracy, special values, and that loops vectorise.

f32 is compared with NumPy in f64 over bit patterns spread evenly over all floats; f64 with mpmath
at points that include the hard ones, and with NumPy's long double where its mantissa is longer.
"""

import math
import platform
import re
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from kernel_harness import Kernel, compile_kernel, loop_ir

from tfc.backends.llvm.compilation import compile_ptx
from tfc.backends.mlir.arithmetic import math_functions as functions
from tfc.backends.target import Target
from tfc.hlo.shape import F32, F64, ElementType

MAX_ULP = 2.0
INF, NAN = math.inf, math.nan
LONG_DOUBLE_IS_LONG = np.finfo(np.longdouble).nmant >= 63
IS_X86 = Target.host().architecture == "x86_64"


@pytest.fixture(params=["host", "x86-64"] if IS_X86 else ["host"])
def target(request: pytest.FixtureRequest) -> Target:
    """The machine at hand, and one that it can stand in for, without fused multiply-adds."""
    text = "host" if request.param == "host" else f"{Target.host().triple},{request.param}"
    return Target.parse(text)


def _logistic(x: np.ndarray) -> np.ndarray:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


# name: (NumPy's function, mpmath's function)
# fmt: off
UNARY: dict[str, tuple[Callable, Callable]] = {
    "acos":     (np.arccos,                lambda x: _real(mpmath.acos(x))),
    "acosh":    (np.arccosh,               lambda x: _real(mpmath.acosh(x))),
    "asin":     (np.arcsin,                lambda x: _real(mpmath.asin(x))),
    "asinh":    (np.arcsinh,               mpmath.asinh),
    "atan":     (np.arctan,                mpmath.atan),
    "atanh":    (np.arctanh,               lambda x: _real(mpmath.atanh(x))),
    "cbrt":     (np.cbrt,                  lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x))),
    "cos":      (np.cos,                   mpmath.cos),
    "cosh":     (np.cosh,                  mpmath.cosh),
    "erf":      (np.vectorize(math.erf),   mpmath.erf),
    "exp":      (np.exp,                   mpmath.exp),
    "expm1":    (np.expm1,                 mpmath.expm1),
    "log":      (np.log,                   lambda x: _real(mpmath.log(x)) if x else -INF),
    "log1p":    (np.log1p,                 lambda x: _real(mpmath.log1p(x))),
    "logistic": (_logistic,                lambda x: 1 / (1 + mpmath.exp(-x))),
    "rsqrt":    (lambda x: 1 / np.sqrt(x), lambda x: _real(1 / mpmath.sqrt(x))),
    "sin":      (np.sin,                   mpmath.sin),
    "sinh":     (np.sinh,                  mpmath.sinh),
    "sqrt":     (np.sqrt,                  lambda x: _real(mpmath.sqrt(x))),
    "tan":      (np.tan,                   mpmath.tan),
    "tanh":     (np.tanh,                  mpmath.tanh),
}
# fmt: on

# Results at special arguments, for both types; signs of zeros count.
# fmt: off
SPECIAL: dict[str, dict[float, float]] = {
    "acos":     {1: 0.0, 1.5: NAN, -1.5: NAN, INF: NAN, -INF: NAN},
    "acosh":    {1: 0.0, 0.5: NAN, 0.0: NAN, -2: NAN, INF: INF, -INF: NAN},
    "asin":     {0.0: 0.0, 1.5: NAN, -1.5: NAN, INF: NAN, -INF: NAN},
    "asinh":    {0.0: 0.0, INF: INF, -INF: -INF},
    "atan":     {0.0: 0.0, INF: math.pi / 2, -INF: -math.pi / 2},
    "atanh":    {0.0: 0.0, 1: INF, -1: -INF, 1.5: NAN, -1.5: NAN, INF: NAN, -INF: NAN},
    "cbrt":     {0.0: 0.0, 1: 1, -8: -2, 27: 3, INF: INF, -INF: -INF},
    "cos":      {0.0: 1.0, INF: NAN, -INF: NAN},
    "cosh":     {0.0: 1.0, 800: INF, INF: INF, -INF: INF},
    "erf":      {0.0: 0.0, 7: 1, -7: -1, INF: 1, -INF: -1},
    "exp":      {0.0: 1.0, 800: INF, -800: 0.0, INF: INF, -INF: 0.0},
    "expm1":    {0.0: 0.0, 800: INF, -800: -1, INF: INF, -INF: -1},
    "log":      {0.0: -INF, 1: 0.0, -1: NAN, INF: INF, -INF: NAN},
    "log1p":    {0.0: 0.0, -1: -INF, -2: NAN, INF: INF, -INF: NAN},
    "logistic": {0.0: 0.5, INF: 1, -INF: 0.0, 800: 1, -800: 0.0},
    "rsqrt":    {0.0: INF, 1: 1, 4: 0.5, -1: NAN, INF: 0.0, -INF: NAN},
    "sin":      {0.0: 0.0, INF: NAN, -INF: NAN},
    "sinh":     {0.0: 0.0, 800: INF, -800: -INF, INF: INF, -INF: -INF},
    "sqrt":     {0.0: 0.0, 4: 2, -1: NAN, INF: INF, -INF: NAN},
    "tan":      {0.0: 0.0, INF: NAN, -INF: NAN},
    "tanh":     {0.0: 0.0, 30: 1, -30: -1, INF: 1, -INF: -1},
}
AT_MINUS_ZERO = {
    "acos": math.pi / 2, "acosh": NAN, "cos": 1.0, "cosh": 1.0, "exp": 1.0, "log": -INF,
    "logistic": 0.5, "rsqrt": -INF,
}
# fmt: on


def _real(x: mpmath.mpf) -> mpmath.mpf | float:
    """NaN for a complex result: the argument is outside the domain."""
    return NAN if isinstance(x, mpmath.mpc) else x


def _operands(name: str, element_type: ElementType) -> list[ElementType]:
    return [element_type] * (2 if name in ("pow", "atan2") else 1)


def _kernel(name: str, element_type: ElementType, target: Target) -> Kernel:
    return compile_kernel(getattr(functions, name), *_operands(name, element_type), target=target)


def _ulp_error(result: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The error in units in the last place of the exact result; inf where NaN or inf differ."""
    information = np.finfo(result.dtype)
    with np.errstate(all="ignore"):
        rounded = expected.astype(result.dtype)
        exponent = np.frexp(np.abs(expected))[1] - (information.nmant + 1)
        smallest = information.minexp - information.nmant
        unit = np.ldexp(np.ones_like(expected), np.maximum(exponent, smallest))
        error = np.abs(result.astype(expected.dtype) - expected) / unit
    finite = np.isfinite(rounded) & np.isfinite(result)
    same = (np.isnan(rounded) & np.isnan(result)) | (rounded == result)
    return np.where(finite, error, np.where(same, 0, INF)).astype(float)


def _assert_accurate(result: np.ndarray, expected: np.ndarray, *arguments: np.ndarray) -> None:
    error = _ulp_error(result, expected)
    worst = int(np.argmax(error))
    at = [float(a[worst]) for a in arguments]
    assert error[worst] <= MAX_ULP, f"{error[worst]} ulp at {at}: {result[worst]}"


def _patterns(step: int, offset: int = 0) -> np.ndarray:
    """Every `step`-th f32 of all, NaN and infinity among them."""
    return np.arange(offset, 1 << 32, step, dtype=np.uint64).astype(np.uint32).view(np.float32)


def _assert_f32_sweep(name: str, x: np.ndarray, target: Target) -> None:
    with np.errstate(all="ignore"):
        expected = UNARY[name][0](x.astype(np.float64))
    _assert_accurate(_kernel(name, F32, target)(x), expected, x)


@pytest.mark.parametrize("name", UNARY)
def test_f32_is_accurate_over_all_floats(name: str, target: Target) -> None:
    """Half a million bit patterns, spread over the whole range."""
    _assert_f32_sweep(name, _patterns(8209), target)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNARY)
def test_f32_is_accurate_over_all_floats_densely(name: str, target: Target) -> None:
    """One pattern in 61, in pieces that fit memory."""
    for offset in range(16):
        _assert_f32_sweep(name, _patterns(16 * 61, 61 * offset), target)


def _points(seed: int, count: int) -> np.ndarray:
    """f64 arguments: any bits, any size, near one, near multiples of π/2, and hard cases."""
    random = np.random.default_rng(seed)
    sign = random.choice([-1.0, 1.0], count)
    return np.concatenate(
        [
            random.integers(0, 1 << 64, count, dtype=np.uint64).view(np.float64),
            sign * 10.0 ** random.uniform(-12, 3.2, count),
            random.uniform(-1, 1, count),
            sign * (1 + random.uniform(-1, 1, count) * 10.0 ** random.uniform(-16, 0, count)),
            random.integers(0, 1 << 30, count) * (np.pi / 2),
            # The f64 that comes nearest to a multiple of π/2, and limits of the formats' ranges.
            [
                6381956970095103.0 * 2.0**797,
                709.782712893384,
                -745.1332191019411,
                710.4758600739439,
            ],
            [5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308],
        ]
    )


def _exact(function: Callable, *arguments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rounded to f64, rest) of mpmath's results."""
    rounded = np.empty(arguments[0].size)
    rest = np.zeros(arguments[0].size)
    for i, point in enumerate(zip(*arguments)):
        # Reducing the largest f64 modulo π needs as many bits as its exponent has, and more.
        with mpmath.workprec(1300 if function in (mpmath.sin, mpmath.cos, mpmath.tan) else 150):
            value = mpmath.mpf(function(*(mpmath.mpf(float(x)) for x in point)))
            rounded[i] = float(value)
            if math.isfinite(rounded[i]):
                rest[i] = float(value - rounded[i])
    return rounded, rest


def _assert_f64_exact(
    name: str, function: Callable, target: Target, *arguments: np.ndarray
) -> None:
    """As _assert_accurate, against a reference in two doubles (no long double needed)."""
    rounded, rest = _exact(function, *arguments)
    result = _kernel(name, F64, target)(*arguments)
    with np.errstate(all="ignore"):
        error = np.abs((result - rounded) - rest) / np.spacing(np.abs(rounded))
    same = (np.isnan(rounded) & np.isnan(result)) | (rounded == result)
    error = np.where(np.isfinite(rounded) & np.isfinite(result), error, np.where(same, 0, INF))
    worst = int(np.argmax(error))
    at = [float(a[worst]) for a in arguments]
    assert error[worst] <= MAX_ULP, f"{error[worst]} ulp at {at}: {result[worst]}"


def _finite(x: np.ndarray) -> np.ndarray:
    return x[np.isfinite(x)]


@pytest.mark.parametrize("name", UNARY)
def test_f64_is_accurate_against_exact_results(name: str, target: Target) -> None:
    """A few hundred points in multiple precision."""
    _assert_f64_exact(name, UNARY[name][1], target, _finite(_points(1, 80)))


@pytest.mark.skipif(not LONG_DOUBLE_IS_LONG, reason="long double is no longer than double")
@pytest.mark.parametrize("name", sorted(set(UNARY) - {"erf"}))
def test_f64_is_accurate_at_many_points(name: str, target: Target) -> None:
    """A hundred thousand points against the C library's long double."""
    x = _finite(_points(2, 20_000))
    with np.errstate(all="ignore"):
        expected = UNARY[name][0](x.astype(np.longdouble))
    _assert_accurate(_kernel(name, F64, target)(x), expected, x)


@pytest.mark.parametrize("element_type", [F32, F64], ids=str)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str, element_type: ElementType, target: Target) -> None:
    """Zeros, infinities, NaN, poles, the ends of domains and of ranges."""
    table = {NAN: NAN, **SPECIAL[name]}
    arguments = np.array([*table, -0.0], element_type.dtype)
    expected = np.array([*table.values(), AT_MINUS_ZERO.get(name, -0.0)], element_type.dtype)
    result = _kernel(name, element_type, target)(arguments)
    np.testing.assert_array_equal(result, expected)
    defined = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[defined], np.signbit(expected)[defined])


def _pow_points(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Arguments whose power is in f64's range: any size of base, and bases near one."""
    random = np.random.default_rng(seed)
    base = np.concatenate(
        [
            np.exp(random.uniform(-700, 700, count)),
            1 + random.uniform(-0.4, 0.5, count) * 10.0 ** random.uniform(-14, 0, count),
            random.uniform(0, 4, count),
        ]
    )
    base[base == 1] = 2
    exponent = random.uniform(-744, 709, base.size) / np.abs(np.log(base))
    exponent[2 * count :] = random.integers(-80, 80, count) / 4
    return base, exponent


def test_f64_pow_is_accurate(target: Target) -> None:
    """Where the logarithm needs all of its extra bits."""
    _assert_f64_exact("pow", mpmath.power, target, *_pow_points(3, 700))


def test_f32_pow_is_accurate(target: Target) -> None:
    """Any bits, and bases and exponents whose power is in range."""
    random = np.random.default_rng(4)
    any_bits = random.integers(0, 1 << 32, (2, 200_000), dtype=np.uint64).astype(np.uint32)
    x, y = any_bits.view(np.float32)
    base, exponent = _pow_points(5, 100_000)
    x = np.concatenate([x, (base**0.12).astype(np.float32)])
    y = np.concatenate([y, exponent.astype(np.float32)])
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    _assert_accurate(_kernel("pow", F32, target)(x, y), expected, x, y)


@pytest.mark.parametrize("element_type", [F32, F64], ids=str)
@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_special_values_of_two_arguments(
    name: str, element_type: ElementType, target: Target
) -> None:
    """Every pair of special numbers, against the C library's results for f64."""
    magnitudes = [0.0, 1e-320, 0.5, 1, 1.5, 2, 2.5, 3, 8388609, 2.0**53 - 1, 1e300, INF, NAN]
    with np.errstate(all="ignore"):
        numbers = np.array([s * m for m in magnitudes for s in (1, -1)]).astype(element_type.dtype)
    y, x = (a.ravel() for a in np.meshgrid(numbers, numbers))
    function = {"pow": np.power, "atan2": np.arctan2}[name]
    with np.errstate(all="ignore"):
        expected = function(y.astype(np.float64), x.astype(np.float64)).astype(element_type.dtype)
    result = _kernel(name, element_type, target)(y, x)
    np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(element_type.dtype).eps, atol=0)
    defined = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[defined], np.signbit(expected)[defined])


@pytest.mark.parametrize("element_type", [F32, F64], ids=str)
def test_atan2_is_accurate(element_type: ElementType, target: Target) -> None:
    """All octants, ratios from nothing to everything, and subnormal coordinates."""
    random = np.random.default_rng(6)
    ratio = 10.0 ** random.uniform(-30, 30, (2, 1000)) * random.choice([-1, 1], (2, 1000))
    tiny = random.uniform(-1, 1, (2, 300)) * 10.0 ** random.uniform(2, 14, 300)
    tiny = tiny * np.finfo(element_type.dtype).smallest_subnormal
    points = np.concatenate([ratio, random.uniform(-2, 2, (2, 1000)), tiny], axis=1)
    y, x = points.astype(element_type.dtype)
    if element_type == F64:
        _assert_f64_exact("atan2", mpmath.atan2, target, y, x)
    else:
        _assert_accurate(
            _kernel("atan2", F32, target)(y, x),
            np.arctan2(*points.astype("f4").astype("f8")),
            y,
            x,
        )


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64", "aarch64", "arm64"), reason="no vectors known"
)
@pytest.mark.parametrize("name", [*UNARY, "pow", "atan2"])
def test_f32_loops_vectorise_without_calls(name: str, target: Target) -> None:
    """LLVM makes vectors of the scalar loop, and nothing is left to a library."""
    text = _kernel(name, F32, target).llvm_ir
    through_f64 = name in ("pow", "atan2", "atan", "asin", "acos")
    assert re.search(rf"<\d+ x {'double' if through_f64 else 'float'}>", text)
    called = set(re.findall(r"call [^@]*@([\w.]+)", text))
    assert all(callee.startswith("llvm.") for callee in called), called


@pytest.mark.parametrize("element_type", [F32, F64], ids=str)
@pytest.mark.parametrize("name", functions.__all__)
def test_gpu_code_rounds_every_operation_and_calls_nothing(
    name: str, element_type: ElementType
) -> None:
    """An operation without .rn could be contracted by ptxas, which would break the exact pairs."""
    text = loop_ir(getattr(functions, name), _operands(name, element_type), element_type)
    ptx = compile_ptx(text, Target.parse("nvptx64-nvidia-cuda,sm_80"))
    assert not re.search(r"\bcall\b|\b(?:add|sub|mul)\.f|approx|ftz", ptx)
