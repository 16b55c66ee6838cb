"""Better forms of the same values: equations, functions, folding, CSE, and dead results.

May import `rewriting`, `analysis` and `expand`.
"""
