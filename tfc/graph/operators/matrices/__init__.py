"""Operators of linear algebra: products, factorizations, diagonals, Fourier transforms."""

from tfc.graph.operators.matrices import diagonals, linear_algebra, products, spectral

__all__ = ["diagonals", "linear_algebra", "products", "spectral"]
