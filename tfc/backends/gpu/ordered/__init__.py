"""Kernels whose steps depend on each other: running totals, scatters, updates, kept state."""
