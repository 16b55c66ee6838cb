"""Elements by their places: x[key], x.at[key], gathering, searching, counting, sets and grids.

Importing the room enters its functions in `tensor.FUNCTIONS`. May import the families of
`tfc.frontend.numpy`; knows nothing of differentiation.
"""

from tfc.frontend.numpy.indexing import (  # noqa: F401
    choosing,
    counting,
    editing,
    grids,
    locating,
    ordering,
    reading,
    searching,
    sets,
    taking,
    updates,
)
