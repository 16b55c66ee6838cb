"""Control flow in graphs: branches, loops, lists of tensors, and functions that repeat others.

Branches and bodies are `Subgraph`s, attributes of one operation each (`If`, `While`), whose rows
are here as well: a trace makes tfc's own cond and while_loop of them, a run on the host takes the
branch, or repeats the body, with arrays.
"""

from tfc.graph.control import gradient_rows, gradients, list_rows, rows, scalar_function_rows

__all__ = ["gradient_rows", "gradients", "list_rows", "rows", "scalar_function_rows"]
