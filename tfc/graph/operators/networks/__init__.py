"""Operators of networks and images, by family."""

from tfc.graph.operators.networks import (
    blocks,
    convolutions,
    fused,
    gradients,
    images,
    layers,
    pooling,
    quantization,
    resampling,
    sampling,
    suppression,
)

__all__ = [
    "blocks",
    "convolutions",
    "fused",
    "gradients",
    "images",
    "layers",
    "pooling",
    "quantization",
    "resampling",
    "sampling",
    "suppression",
]
