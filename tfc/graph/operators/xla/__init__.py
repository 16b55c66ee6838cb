"""Operators of XLA's own: its operations, of which programs are made directly."""

from tfc.graph.operators.xla import moving, products

__all__ = ["moving", "products"]
