"""Sorts by digits or by merging, and the selection of few elements.

May import `backends.mlir` and `passes.analysis`.
"""
