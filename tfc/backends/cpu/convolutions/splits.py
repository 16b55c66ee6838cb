"""How convolutions are shared among threads: by places of the result, batches or features."""

from math import prod

from tfc.backends.cpu.convolutions.direct import shared_features
from tfc.backends.cpu.convolutions.spec import ConvolutionSpec
from tfc.backends.cpu.convolutions.weight_gradient import feature_chunks
from tfc.backends.cpu.convolutions.window_lines import widest_place
from tfc.backends.cpu.products.splits import PACKED, most_chunks
from tfc.backends.target import Target


def convolution_chunks(spec: ConvolutionSpec, target: Target, cores: int, most: int) -> int:
    """In how many chunks, `most` at the most, cores share a convolution."""
    things, again = _shared_things(spec, target)
    by_features = spec.algorithm(target) == "direct"

    def features(chunks: int) -> int:
        return shared_features(spec, target, chunks) if by_features else 0

    def time(chunks: int) -> float:
        if features(chunks):
            return -(-chunks // cores) * (things + again) / chunks
        share = -(-things // chunks)
        rounds = -(-things // (share * cores))
        return rounds * (share + again)

    counts = [n for n in range(1, most + 1) if n <= max(things, 1) or features(n)]
    return spec.choice.chunks if spec.choice.chunks in counts else most_chunks(counts, time)


def _shared_things(spec: ConvolutionSpec, target: Target) -> tuple[int, float]:
    """What chunks of a convolution share: how many things, and what part of the work for one each
    chunk does besides. Things are places of the result along a dimension, batches, or features."""
    algorithm, plan = spec.algorithm(target), spec.tap_plan(target)
    if algorithm == "tap by tap" and plan is not None:
        return spec.columns // plan.columns, 0
    if algorithm == "weight gradient" and feature_chunks(spec, target):
        return feature_chunks(spec, target), 0
    if algorithm in ("weight gradient", "depthwise weight gradient"):
        return spec.out.dims[widest_place(spec)] if len(spec.window.dimensions) > 1 else 1, 0
    lines = len(spec.window.dimensions) > 1
    if algorithm == "depthwise":
        return spec.out.dims[1 if lines else 0], 0
    things = spec.out.dims[1] if lines else spec.out.dims[0] if algorithm == "small channels" else 1
    return things, PACKED * things / prod(spec.out.dims[:-1])
