"""Kernels whose steps follow each other: scans, scatters, updates, triangular systems.

May import `backends.mlir` and `passes.analysis`.
"""
