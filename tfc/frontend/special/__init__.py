"""Special functions: of gamma, beta, the error function, exponential integrals, Bessel, entropies.

They are computed in f64, whatever the operands' type, and rounded once; each has a derivative of
its own. May import the files of `tfc.frontend`, `frontend.control`, `frontend.linalg`,
`frontend.numpy` and `frontend.differentiation`.
"""
