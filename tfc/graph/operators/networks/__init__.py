"""Operators of networks and images, by family."""

from tfc.graph.operators.networks import blocks, convolutions, images, layers, pooling, sampling

__all__ = ["blocks", "convolutions", "images", "layers", "pooling", "sampling"]
