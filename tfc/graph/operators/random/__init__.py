"""Operators that draw random numbers: of keys of the run, of seeds, of generators in variables.

What seeds and generators decide are TensorFlow's numbers, bit by bit; a run's are of other bits.
"""

from tfc.graph.operators.random import generators, runs, seeds

__all__ = ["generators", "runs", "seeds"]
