"""Which order in memory values have, and what follows from it for products and reductions.

May import the rooms before it: `rewriting`, `analysis`, `expand`, `simplify`, `loops`.
"""
