"""Kernels that move elements, and those element by element: neighbours are made together."""
