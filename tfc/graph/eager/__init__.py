"""Eager execution: the functions of graphs, computed as they are called.

An `EagerGraph` as the default graph computes each operation when it is made. Tapes keep what was
made, so that `gradients` can walk it backwards.
"""
