"""What each operation of a graph computes: one row an operator, by family. Knows no graph.

`registry` is the table, `inference` what is known of results beforehand; the other files are
families of rows. Importing this package enters them all.
"""

from tfc.graph.operators import basics, differentiation, state

__all__ = ["basics", "differentiation", "state"]
