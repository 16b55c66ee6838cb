"""Special functions: the families of gamma, of the error function, of Bessel, of entropies.

They are computed in f64, whatever the operands' type, and rounded once; each has a derivative of
its own. May import the files of `tfc.frontend`, `frontend.numpy` and `frontend.differentiation`.
"""
