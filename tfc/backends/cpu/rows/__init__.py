"""Kernels that go row by row, through memory in tiles, or past the caches.

May import `backends.mlir` and `passes.analysis`.
"""
