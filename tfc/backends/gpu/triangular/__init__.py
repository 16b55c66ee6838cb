"""Triangular matrices: `factors` makes them (cholesky), `systems` solves by them, tile by tile.

May import the GPU backend's files beside it, and what these may.
"""
