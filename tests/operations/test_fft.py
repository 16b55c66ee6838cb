"""The Fourier transform: NumPy's and XLA's values, the accuracy of its expansion, gradients."""

from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from spec_helpers import refused
from xla_bridge import run_hlo_text

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError
from tfc.frontend.differentiation import reverse
from tfc.frontend.operations import operation
from tfc.hlo import evaluate, parse
from tfc.hlo.builder import instruction, parameter
from tfc.hlo.ir import Computation, Module
from tfc.hlo.ops.fft import FFT_TYPES, half
from tfc.hlo.shape import C64, C128, F32, F64, S32, ElementType, Shape
from tfc.passes.expand.expand import Expand
from tfc.passes.expand.fft import radices, roots, smooth_size

RNG = np.random.default_rng(0)
# Powers, odd ones, mixed radices; a prime that is one stage, one that is a convolution, both mixed.
SIZES = [1, 2, 3, 8, 17, 30, 61, 131, 134, 240]
WIDE = {F32: (C64, F32), F64: (C128, F64)}


def fft_module(
    fft_type: str, part: ElementType, dims: tuple[int, ...], lengths: tuple[int, ...]
) -> Module:
    """A transform over a parameter, whose last dimension is `dims[-1]` before it is halved."""
    whole, real = WIDE[part]
    if fft_type == "IRFFT":
        dims = (*dims[:-1], half(dims[-1]))
    x = parameter(0, Shape(real if fft_type == "RFFT" else whole, dims))
    root = instruction("fft", [x], fft_type=fft_type, fft_length=lengths)
    return Module("m", Computation.make("main", [x], root))


def argument(module: Module) -> np.ndarray:
    shape = module.entry.parameters[0].array_shape
    values = RNG.normal(size=shape.dims) + 1j * RNG.normal(size=shape.dims)
    return (values if shape.element_type.is_complex else np.real(values)).astype(
        shape.element_type.dtype
    )


def error(got: Any, expected: Any) -> float:
    """The root mean square of the difference, as part of that of the values."""
    if not expected.size:
        return 0.0
    wide = [np.asarray(v, np.complex128) for v in (got, expected)]
    return float(np.linalg.norm(wide[0] - wide[1]) / np.linalg.norm(wide[1]))


@pytest.mark.parametrize(("size", "fft_type"), [
    *((n, t) for n in SIZES[:6] for t in FFT_TYPES), *zip(SIZES[6:], FFT_TYPES)])  # fmt: skip
def test_compiled_transforms_are_as_accurate_as_xlas(size: int, fft_type: str):
    """Against the reference in f64: within twice XLA's error, or a few units in the last place."""
    exact = fft_module(fft_type, F64, (3, size), (size,))
    module = fft_module(fft_type, F32, (3, size), (size,))
    x = argument(module)
    expected = evaluate(exact, x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
    assert error(evaluate(module, x), expected) < 6e-8
    (got,) = tfc.compile(module)(x)
    assert (got.dtype, got.shape) == (evaluate(module, x).dtype, expected.shape)
    assert error(got, expected) < 2 * error(run_hlo_text(str(module), x), expected) + 1e-7


@pytest.mark.parametrize("fft_type", FFT_TYPES)
@pytest.mark.parametrize("size", [5, 64, 131, 360])
def test_expansions_are_accurate_in_f64_too(size: int, fft_type: str):
    module = fft_module(fft_type, F64, (2, size), (size,))
    x = argument(module)
    assert error(evaluate(Expand()(module), x), evaluate(module, x)) < 1e-15


@pytest.mark.parametrize("fft_type", FFT_TYPES)
@pytest.mark.parametrize(("dims", "rank"), [((4, 6), 2), ((2, 3, 5), 2), ((3, 4, 6), 3),
                                            ((2, 1, 3, 1), 3), ((5,), 1)])  # fmt: skip
def test_transforms_of_several_dimensions_are_xlas(dims: tuple, rank: int, fft_type: str):
    module = fft_module(fft_type, F32, dims, dims[-rank:])
    x = argument(module)
    (got,), expected = tfc.compile(module)(x), evaluate(module, x)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(run_hlo_text(str(module), x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("fft_type", FFT_TYPES)
@pytest.mark.parametrize(("dims", "rank"), [((0, 4), 1), ((2, 0), 1), ((0,), 1), ((3, 0, 2), 2)])
def test_arrays_without_elements_give_the_shape_that_xla_gives(
    dims: tuple, rank: int, fft_type: str
):
    module = fft_module(fft_type, F32, dims, dims[-rank:])
    x = argument(module)
    expected = run_hlo_text(str(module), x)
    for got in (evaluate(module, x), tfc.compile(module)(x)[0]):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert not np.any(got)


@pytest.mark.parametrize("size", [4, 5])
def test_irfft_ignores_the_imaginary_parts_that_real_numbers_do_not_have(size: int):
    """Even if they are NaN or infinite."""
    module = fft_module("IRFFT", F32, (size,), (size,))
    x = argument(module)
    spoilt = x.copy()
    spoilt.imag[0] = np.nan
    if size % 2 == 0:
        spoilt.imag[-1] = np.inf
    expected = evaluate(module, x)
    np.testing.assert_allclose(tfc.compile(module)(spoilt)[0], expected, rtol=1e-5, atol=1e-6)


def test_roots_of_unity_are_right_to_the_last_place():
    with mpmath.workdps(30):
        for size in (1, 2, 3, 8, 12, 97, 1024):
            numbers = np.arange(0, 3 * size, max(size // 16, 1))
            for number, root in zip(numbers, roots(numbers, size)):
                exact = mpmath.expjpi(-2 * mpmath.mpf(int(number)) / size)
                assert abs(mpmath.mpc(complex(root)) - exact) < 1.6e-16


@pytest.mark.parametrize("size", [1, 2, 16, 30, 97, 1000, 1009, 4096, 2 * 3 * 5 * 7 * 11])
def test_radices_multiply_to_the_length_and_are_small_or_prime(size: int):
    found = radices(size)
    assert int(np.prod(found)) == size
    assert all(r <= 16 or all(r % d for d in range(2, r)) for r in found)


def test_smooth_sizes_are_the_next_without_large_primes():
    assert [smooth_size(n) for n in (1, 7, 31, 129, 2017)] == [1, 8, 32, 135, 2025]


def test_work_grows_little_faster_than_the_length():
    """Multiplications of the dots, for each element: a quadratic transform would have thousands."""
    for size in (4096, 4099, 10007):  # a power, and two primes
        expanded = Expand()(fft_module("FFT", F32, (size,), (size,)))
        dots = [i for i in expanded.entry.instructions if i.opcode == "dot"]
        work = sum(i.array_shape.size * i.operands[0].array_shape.dims[1] for i in dots)
        assert work / size < 1200


def test_shapes_that_do_not_fit_are_refused():
    def fft(shape: Shape, fft_type: str, *lengths: int) -> None:
        instruction("fft", [parameter(0, shape)], fft_type=fft_type, fft_length=lengths)

    with refused("an fft_type FFT IFFT RFFT IRFFT, got DFT"):
        fft(Shape(C64, (4,)), "DFT", 4)
    with refused(r"FFT fft requires c64 or c128, got f32\[4\]"):
        fft(Shape(F32, (4,)), "FFT", 4)
    with refused(r"RFFT fft requires f32 or f64, got c64\[4\]"):
        fft(Shape(C64, (4,)), "RFFT", 4)
    with refused(r"RFFT fft requires f32 or f64, got s32\[4\]"):
        fft(Shape(S32, (4,)), "RFFT", 4)
    for lengths in ((), (4, 4), (1, 1, 1, 4)):
        with refused(r"an fft_length of 1 to 3 dimensions of c64\[4\], got"):
            fft(Shape(C64, (4,)), "FFT", *lengths)
    with refused(r"FFT fft requires last dimensions \[5\] for its lengths, got c64\[2,4\]"):
        fft(Shape(C64, (2, 4)), "FFT", 5)
    with refused(r"IRFFT fft requires last dimensions \[2, 3\] for its lengths, got c64\[2,4\]"):
        fft(Shape(C64, (2, 4)), "IRFFT", 2, 4)
    with refused(r"lengths that are not negative, got \[-4\]"):
        fft(Shape(C64, (4,)), "FFT", -4)


def test_text_is_xlas():
    text = str(fft_module("IRFFT", F32, (2, 6), (2, 6)))
    assert "f32[2,6]{1,0} fft(%p0), fft_type=IRFFT, fft_length={2,6}" in text
    assert str(parse(text)) == text


# --- gradients: the transposes that JAX has -------------------------------------------------------

JAX = {
    "FFT": lambda x, s: jnp.fft.fftn(x, axes=range(-len(s), 0)),
    "IFFT": lambda x, s: jnp.fft.ifftn(x, axes=range(-len(s), 0)),
    "RFFT": lambda x, s: jnp.fft.rfftn(x, axes=range(-len(s), 0)),
    "IRFFT": lambda x, s: jnp.fft.irfftn(x, s, axes=range(-len(s), 0)),
}


@pytest.mark.parametrize("fft_type", FFT_TYPES)
@pytest.mark.parametrize("lengths", [(1,), (6,), (7,), (3, 4), (2, 3, 5)])
def test_gradients_are_jaxs(lengths: tuple, fft_type: str):
    module = fft_module(fft_type, F64, (2, *lengths), lengths)
    x = argument(module)
    value = evaluate(module, x)
    weight = RNG.normal(size=value.shape).astype(value.dtype)
    if value.dtype.kind == "c":
        weight = weight + 1j * RNG.normal(size=value.shape)

    def pulled(x, weight):
        y = operation("fft", x, fft_type=fft_type, fft_length=lengths)
        return reverse.RULES["fft"](weight, y, x)[0]

    with jax.enable_x64(True):
        _, pull = jax.vjp(lambda v: JAX[fft_type](v, lengths), x)
        (expected,) = pull(weight)
    np.testing.assert_allclose(tfc.jit(pulled)(x, weight), expected, rtol=1e-12, atol=1e-12)


# --- tnp.fft ------------------------------------------------------------------------------------

REAL = RNG.normal(size=(3, 4, 6))
COMPLEX = REAL + 1j * RNG.normal(size=REAL.shape)
CALLS: dict[str, Any] = {
    "fft": lambda f: f.fft(COMPLEX),
    "fft of reals": lambda f: f.fft(REAL, axis=0),
    "fft of float32": lambda f: f.fft(REAL.astype(np.float32)),
    "fft of integers": lambda f: f.fft(np.arange(6)),
    "fft cut": lambda f: f.fft(COMPLEX, 4, axis=2, norm="ortho"),
    "fft filled": lambda f: f.fft(COMPLEX, 9, axis=1, norm="forward"),
    "ifft": lambda f: f.ifft(COMPLEX, norm="ortho"),
    "ifft forward": lambda f: f.ifft(COMPLEX, norm="forward"),
    "rfft": lambda f: f.rfft(REAL, axis=1),
    "rfft odd": lambda f: f.rfft(REAL, 5),
    "irfft": lambda f: f.irfft(COMPLEX),
    "irfft odd": lambda f: f.irfft(COMPLEX, 7, axis=0),
    "fft2": lambda f: f.fft2(COMPLEX),
    "ifft2": lambda f: f.ifft2(COMPLEX, s=(5, 3), axes=(0, 2)),
    "rfft2": lambda f: f.rfft2(REAL, axes=(2, 0)),
    "irfft2": lambda f: f.irfft2(COMPLEX),
    "fftn": lambda f: f.fftn(COMPLEX),
    "fftn of five dimensions": lambda f: f.fftn(COMPLEX.reshape(3, 2, 2, 3, 2), norm="ortho"),
    "ifftn": lambda f: f.ifftn(COMPLEX, axes=(1,)),
    "rfftn": lambda f: f.rfftn(REAL.reshape(3, 2, 2, 3, 2)),
    "irfftn": lambda f: f.irfftn(COMPLEX.reshape(3, 2, 2, 3, 2)),
    "fftfreq": lambda f: f.fftfreq(7, 0.1),
    "rfftfreq": lambda f: f.rfftfreq(8),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_are_numpys(name: str):
    got, expected = CALLS[name](tnp.fft), CALLS[name](np.fft)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    tolerance = 1e-5 if expected.dtype == np.complex64 else 1e-12
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def test_a_convolution_by_transforms_compiles():
    def convolve(x, kernel):
        return tnp.fft.irfft(tnp.fft.rfft(x, 40) * tnp.fft.rfft(kernel, 40), 40)

    x, kernel = RNG.normal(size=33), RNG.normal(size=8)
    np.testing.assert_allclose(tfc.jit(convolve)(x, kernel), np.convolve(x, kernel), atol=1e-12)


def test_calls_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="axis 3 is out of bounds"):
        tnp.fft.fft(COMPLEX, axis=3)
    with pytest.raises(ShapeError, match=r"lengths of one at least, got \[0\]"):
        tnp.fft.fft(COMPLEX, 0)
    with pytest.raises(ShapeError, match="the norm must be backward, ortho or forward, got l2"):
        tnp.fft.fft(COMPLEX, norm="l2")
    with pytest.raises(ShapeError, match="2 axes require as many lengths"):
        tnp.fft.fftn(COMPLEX, (4,), (0, 1))
    with pytest.raises(ShapeError, match="RFFT fft requires f32 or f64, got c128"):
        tnp.fft.rfft(COMPLEX)
    with pytest.raises(ShapeError, match="at least one axis"):
        tnp.fft.fftn(np.float32(1))
