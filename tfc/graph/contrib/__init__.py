"""What TensorFlow has under `tf.contrib`, as far as it is here."""

from tfc.graph.contrib import compiler

__all__ = ["compiler"]
