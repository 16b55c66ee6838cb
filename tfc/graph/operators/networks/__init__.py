"""Operators of networks and images, by family."""

from tfc.graph.operators.networks import (
    blocks,
    convolutions,
    images,
    layers,
    pooling,
    quantization,
    sampling,
)

__all__ = [
    "blocks",
    "convolutions",
    "images",
    "layers",
    "pooling",
    "quantization",
    "sampling",
]
