"""Generators: the Fourier transform."""

from tfc.hlo import builder
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.fft import FFT_TYPES, half
from tfc.hlo.shape import C64, C128, F32, F64, Shape
from tfc.testing.generators.grower import Grower, generates
from tfc.testing.generators.values import sizes


@generates("fft")
def _fft(g: Grower) -> Instruction:
    kinds = ("FFT", "IFFT", "IRFFT") if not {F32, F64} & set(g.element_types) else FFT_TYPES
    fft_type = g.pick(kinds)
    types = (F32, F64) if fft_type == "RFFT" else (C64, C128)
    element_type = g.pick([t for t in types if t in g.element_types] or types)
    rank = g.integer(1, min(3, max(g.max_rank, 1)))
    dims = [g.draw(sizes(g.zero)) for _ in range(rank)]
    lengths = tuple(dims[-g.integer(1, rank) :])
    if fft_type == "IRFFT":
        dims[-1] = half(lengths[-1])
    x = g.like(Shape(element_type, tuple(dims)))
    return builder.instruction("fft", [x], fft_type=fft_type, fft_length=lengths)
