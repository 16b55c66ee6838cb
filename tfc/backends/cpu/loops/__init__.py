"""The CPU's loops over elements: nests, shares for threads, tiles, past the caches, row by row.

May import `backends.mlir` and `passes.analysis`.
"""
