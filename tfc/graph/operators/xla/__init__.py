"""Operators of XLA's own: its operations, of which programs are made directly."""

from tfc.graph.operators.xla import modules, moving, products

__all__ = ["modules", "moving", "products"]
