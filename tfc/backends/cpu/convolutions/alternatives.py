"""The ways that there are to compute a convolution on CPUs, of which the tuner measures some."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product

from tfc.backends.choices import chosen
from tfc.backends.cpu.convolutions.spec import Algorithm, ConvolutionChoice, ConvolutionSpec
from tfc.backends.cpu.convolutions.splits import convolution_chunks
from tfc.backends.cpu.products.schedule import further_rows, largest_tiles
from tfc.backends.target import Target
from tfc.passes.analysis.products import group_stride

_CHUNKS_A_CORE = (1, 2, 4)


def with_choice(spec: ConvolutionSpec, target: Target, cores: Callable[[], int]) -> ConvolutionSpec:
    """A convolution with what was measured to be best for it, if anything was."""
    choice = chosen(
        ("convolution on CPU", spec),
        lambda: spec.algorithm(target),
        lambda: alternatives(spec, target, cores()),
    )
    return spec if choice is None else replace(spec, choice=choice)


@cache
def alternatives(
    spec: ConvolutionSpec, target: Target, cores: int
) -> tuple[ConvolutionChoice, ...]:
    """What may be chosen for a convolution in place of what rules say."""
    found: list[ConvolutionChoice] = []
    for algorithm in (None, *_others(spec, target)):
        choices = ConvolutionChoice(algorithm)
        is_direct = replace(spec, choice=choices).algorithm(target) == "direct"
        tiles = _tiles(spec, target) if is_direct else (None,)
        chunks = _chunks(replace(spec, choice=choices), target, cores)
        found += [ConvolutionChoice(algorithm, *each) for each in product(tiles, chunks)]
    return tuple(found[1:])


def _others(spec: ConvolutionSpec, target: Target) -> Iterator[Algorithm]:
    """Algorithms beside the one that rules say: what they leave to others, "direct" can do too."""
    is_dense = group_stride(spec.rhs, range(spec.rhs.rank - 1)) in (0, spec.rhs.dims[-1])
    if spec.algorithm(target) != "direct" and not spec.depthwise and is_dense:
        yield "direct"


def _tiles(spec: ConvolutionSpec, target: Target) -> tuple[tuple[int, int] | None, ...]:
    lanes = target.lanes(spec.lhs.element_type.bits)
    others = largest_tiles(target, lanes, further_rows=further_rows(spec.words))[1:]
    return (None, *others)


def _chunks(spec: ConvolutionSpec, target: Target, cores: int) -> tuple[int | None, ...]:
    """In how many chunks threads may share it: some for each core."""
    if cores == 1:
        return (None,)
    counts = {convolution_chunks(spec, target, cores, cores * each) for each in _CHUNKS_A_CORE}
    return (None, *sorted(counts - {1}))
