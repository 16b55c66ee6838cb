"""Functions of JAX: exported by JAX itself, or read from files that jax.export made, without JAX.

`flatbuffer.py` reads the encoding of these files, `exported.py` what is in them; `function.py` is
what users get. May import what importers may, `imported` above all: a program of JAX is StableHLO.
"""
