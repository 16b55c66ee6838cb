"""Matrix products: packed, blocked for caches, summed in registers, with epilogues.

May import `backends.mlir` and `passes.analysis`.
"""
