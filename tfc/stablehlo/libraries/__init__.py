"""Routines of libraries that JAX's programs call by name, computed by tfc's own operations.

`lapack.py` is the table of LAPACK's: a function of Tensors for each. `calls.py` traces such a
function and makes it part of the program. May import the frontend, since that is what the
functions are written in.
"""
