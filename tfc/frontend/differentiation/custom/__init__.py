"""Functions that say themselves how they are differentiated, and checkpoint, which computes again.

Their calls are marked (tfc.frontend.marked). May import the rest of `frontend.differentiation`,
which does not import this room.
"""
