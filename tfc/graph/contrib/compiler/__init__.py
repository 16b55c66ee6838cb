"""`tf.contrib.compiler`: which operations are compiled."""

from tfc.graph.contrib.compiler import jit

__all__ = ["jit"]
