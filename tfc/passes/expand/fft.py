"""The Fourier transform as products with small matrices.

    y = c64[512] fft(x), fft_type=FFT, fft_length={512}
      --> f32[2,512] (real and imaginary parts) as f32[2·16, 32];
          a dot with the 32 × 32 real matrix that is the transform of 16 complex numbers,
          a product with the twiddle factors exp(-2πi jk/512), a transpose;
          then the same for 32 = 8 · 4, without the twiddle factors at the end

Cooley and Tukey's decomposition in Stockham's order: what a stage has done becomes part of the
batch, so the elements come out in order. Each stage is one matrix product over the whole array. A
large prime factor is Bluestein's convolution, itself by transforms of a length without any.
Constants are computed in f64 from angles reduced as integers.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil, log, prod

import numpy as np

from tfc.hlo import builder
from tfc.hlo.builder import binary
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import ElementType, Shape

_RADIX = 16  # the largest product of primes that is one stage
_LARGEST_DIRECT = 64  # the largest prime that is one

Roots = np.ndarray  # complex128


def roots(numerators: np.ndarray, size: int) -> Roots:
    """exp(-2πi k/size) for whole numbers k, both parts within an ulp or so.

    The angle is reduced to an eighth of the circle before it is rounded.
    """
    octant, rest = np.divmod(8 * (numerators % size), size)
    angle = np.where(octant % 2, size - rest, rest) * (np.pi / 4 / size)
    near, far = np.cos(angle), np.sin(angle)
    swapped = (octant + 1) // 2 % 2 == 1
    cosine, sine = np.where(swapped, far, near), np.where(swapped, near, far)
    cosine = np.where((octant >= 2) & (octant < 6), -cosine, cosine)
    return cosine + 1j * np.where(octant < 4, -sine, sine)


@lru_cache(maxsize=256)
def radices(size: int) -> tuple[int, ...]:
    """The factors of a length, one a stage: small ones joined, about equal, the rest prime."""
    found = []
    while size > 1:
        small = [d for d in range(2, _RADIX + 1) if size % d == 0]
        if small:
            target = size ** (1 / ceil(log(size, _RADIX) - 1e-9))
            found.append(min(small, key=lambda d: abs(d - target)))
        else:
            found.append(_smallest_factor(size))
        size //= found[-1]
    return tuple(sorted(found, reverse=True))


def _smallest_factor(size: int) -> int:
    return next((d for d in range(2, int(size**0.5) + 1) if size % d == 0), size)


def smooth_size(least: int) -> int:
    """The smallest number from `least` on without prime factors above 5."""
    sizes = [1]
    for prime in (2, 3, 5):
        for size in sizes:  # grows while it is walked
            if size * prime < 2 * least:
                sizes.append(size * prime)
    return min(size for size in sizes if size >= least)


class _Transform:
    """One-dimensional transforms of arrays [2, n, batch], whose first index is real or imaginary.

    forward: whether the exponent is negative.
    """

    def __init__(self, element_type: ElementType, forward: bool):
        self.type, self.forward = element_type, forward

    def __call__(self, data: Instruction) -> Instruction:
        """The transform along dimension 1, without scale."""
        _, size, batch = data.array_shape.dims
        rest, done = size, 1
        for radix in radices(size):
            rest //= radix
            data = self._stage(builder.reshape(data, (2, radix, rest * done * batch)))
            data = builder.reshape(data, (2, radix, rest, done * batch))
            if rest > 1:
                places = np.outer(np.arange(radix), np.arange(rest))
                data = self._multiply(data, self._roots(places, radix * rest), (1, 2))
                data = builder.instruction("transpose", [data], dimensions=(0, 2, 1, 3))
            done *= radix
        return builder.reshape(data, (2, size, batch))

    def _roots(self, numerators: np.ndarray, size: int) -> Roots:
        found = roots(numerators, size)
        return found if self.forward else found.conj()

    def _constant(self, values: np.ndarray) -> Instruction:
        return builder.constant(values.astype(self.type.dtype))

    def _stage(self, data: Instruction) -> Instruction:
        """The transform of length dims[1] at each of dims[2] places."""
        _, size, count = data.array_shape.dims
        if size > max(_RADIX, _LARGEST_DIRECT):
            return self._bluestein(data)
        matrix = self._roots(np.outer(np.arange(size), np.arange(size)), size)
        # (a + bi)(c + di) as a product of real matrices.
        re, im = np.real(matrix), np.imag(matrix)
        real = np.block([[re, -im], [im, re]])
        product = builder.instruction(
            "dot", [self._constant(real), builder.reshape(data, (2 * size, count))],
            lhs_contracting_dims=(1,), rhs_contracting_dims=(0,),
        )  # fmt: skip
        return builder.reshape(product, (2, size, count))

    def _multiply(
        self, data: Instruction, factors: Roots, dimensions: Sequence[int]
    ) -> Instruction:
        """The product with complex factors, which lie along the given dimensions."""
        dims = data.array_shape.dims
        re, im = np.real(factors), np.imag(factors)
        swapped = builder.instruction("reverse", [data], dimensions=(0,))
        real = builder.broadcast(self._constant(re), dims, dimensions)
        imaginary = builder.broadcast(self._constant(np.stack([-im, im])), dims, (0, *dimensions))
        return binary("add", binary("multiply", data, real), binary("multiply", swapped, imaginary))

    def _bluestein(self, data: Instruction) -> Instruction:
        """jk = (j² + k² - (k - j)²) / 2 makes the transform a convolution with a chirp."""
        _, size, count = data.array_shape.dims
        squares = np.arange(size, dtype=np.int64) ** 2
        chirp = self._roots(squares, 2 * size)
        length = smooth_size(2 * size - 1)
        kernel = np.zeros(length, complex)
        kernel[:size] = chirp.conj()
        kernel[length - size + 1 :] = chirp.conj()[:0:-1]
        scaled = np.fft.fft(kernel) / length
        padded = builder.instruction(
            "pad", [self._multiply(data, chirp, (1,)), builder.constant(0, self.type)],
            padding=((0, 0, 0), (0, length - size, 0), (0, 0, 0)),
        )  # fmt: skip
        there = _Transform(self.type, True)(padded)
        back = _Transform(self.type, False)(self._multiply(there, scaled, (1,)))
        kept = builder.instruction("slice", [back], slice=((0, 2, 1), (0, size, 1), (0, count, 1)))
        return self._multiply(kept, chirp, (1,))


def _along(transform: _Transform, data: Instruction, dimension: int) -> Instruction:
    """Transform one dimension of [2, …]."""
    dims = data.array_shape.dims
    order = [0, dimension, *(d for d in range(1, len(dims)) if d != dimension)]
    moved = builder.instruction("transpose", [data], dimensions=tuple(order))
    size = dims[dimension]
    found = transform(builder.reshape(moved, (2, size, prod(dims) // (2 * size))))
    shaped = builder.reshape(found, [dims[d] for d in order])
    back = tuple(int(d) for d in np.argsort(order))
    return builder.instruction("transpose", [shaped], dimensions=back)


def _slice_last(x: Instruction, start: int, limit: int) -> Instruction:
    *others, _ = x.array_shape.dims
    bounds = (*((0, n, 1) for n in others), (start, limit, 1))
    return builder.instruction("slice", [x], slice=bounds)


def _join(parts: Sequence[Instruction], dimension: int) -> Instruction:
    return builder.instruction("concatenate", parts, dimensions=(dimension,))


def _parts(x: Instruction) -> Instruction:
    """[2, …]: the real and the imaginary parts."""
    dims = (1, *x.array_shape.dims)
    found = (builder.instruction(name, [x]) for name in ("real", "imag"))
    return _join([builder.reshape(p, dims) for p in found], 0)


def _part(data: Instruction, number: int) -> Instruction:
    _, *dims = data.array_shape.dims
    bounds = ((number, number + 1, 1), *((0, n, 1) for n in dims))
    return builder.reshape(builder.instruction("slice", [data], slice=bounds), dims)


def _hermitian(data: Instruction, size: int) -> Instruction:
    """The whole of [2, …, size], of which a transform of real numbers keeps half.

    Element size - k is the conjugate of element k, so those that are their own are real.
    """
    real, imaginary = (_part(data, number) for number in range(2))
    last = real.array_shape.rank - 1
    middle = (size + 1) // 2  # where the elements end that have another one as conjugate
    zero = builder.full(0, Shape(real.array_shape.element_type, (*real.array_shape.dims[:-1], 1)))
    mirrored = [
        builder.instruction("reverse", [_slice_last(p, 1, middle)], dimensions=(last,))
        for p in (real, imaginary)
    ]
    centre = [zero] if size % 2 == 0 else []
    wholes = (
        _join([real, mirrored[0]], last),
        _join([zero, _slice_last(imaginary, 1, middle), *centre,
               builder.unary("negate", mirrored[1])], last),
    )  # fmt: skip
    return _join([builder.reshape(w, (1, *w.array_shape.dims)) for w in wholes], 0)


def by_dimensions(x: Instruction, is_kept: Callable[[Instruction], bool]) -> Instruction:
    """A transform as such of one dimension after the other, of which some are kept as they are."""
    (operand,), lengths = x.operands, x["fft_length"]
    if not x.array_shape.size:
        return expand_fft(x)
    of_last: str = x["fft_type"]
    complex_type = {"RFFT": "FFT", "IRFFT": "IFFT"}.get(of_last, of_last)
    rank = operand.array_shape.rank
    earlier = range(rank - len(lengths), rank - 1)

    def one(data: Instruction, kind: str, length: int) -> Instruction:
        made = builder.instruction("fft", [data], fft_type=kind, fft_length=(length,))
        return made if is_kept(made) else expand_fft(made)

    data = one(operand, of_last, lengths[-1]) if of_last != "IRFFT" else operand
    for dimension, length in zip(earlier, lengths):
        order = [*(d for d in range(rank) if d != dimension), dimension]
        moved = builder.instruction("transpose", [data], dimensions=tuple(order))
        made = one(moved, complex_type, length)
        back = tuple(int(d) for d in np.argsort(order))
        data = builder.instruction("transpose", [made], dimensions=back)
    return one(data, of_last, lengths[-1]) if of_last == "IRFFT" else data


def expand_fft(x: Instruction) -> Instruction:
    """The expansion of fft."""
    (operand,), result, lengths = x.operands, x.array_shape, x["fft_length"]
    if not result.size:
        return builder.full(0, result)
    fft_type, rank = x["fft_type"], operand.array_shape.rank
    forward, real = fft_type in ("FFT", "RFFT"), fft_type in ("RFFT", "IRFFT")
    if fft_type == "RFFT":
        operand = builder.instruction("complex", [operand, builder.full(0, operand.array_shape)])
    data = _parts(operand)
    transform = _Transform(data.array_shape.element_type, forward)
    for dimension in range(rank - len(lengths) + 1, rank):
        data = _along(transform, data, dimension)
    if fft_type == "IRFFT":
        data = _hermitian(data, lengths[-1])
    data = _along(transform, data, rank)
    if not forward:
        data = binary("multiply", data, builder.full(1 / prod(lengths), data.array_shape))
    if fft_type == "IRFFT":
        return _part(data, 0)
    if real:
        data = _slice_last(data, 0, result.dims[-1])
    return builder.instruction("complex", [_part(data, 0), _part(data, 1)])
