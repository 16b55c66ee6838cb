"""Operators of XLA's own: its operations, of which programs are made directly."""

from tfc.graph.operators.xla import bits, modules, moving, products

__all__ = ["bits", "modules", "moving", "products"]
