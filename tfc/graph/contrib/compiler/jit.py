"""`tf.contrib.compiler.jit`: the scope whose operations are compiled."""

from tfc.graph.running.scopes import jit_scope as experimental_jit_scope

__all__ = ["experimental_jit_scope"]
