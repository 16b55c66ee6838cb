"""Control flow: loops with less state and work, and conditionals that are decided.

May import `rewriting`, `analysis`, `expand` and `simplify`.
"""
