"""Convolutions in the algorithms that are fast on CPUs, and which of them takes which convolution.

May import `cpu.products`, `backends.mlir` and `passes.analysis`.
"""
