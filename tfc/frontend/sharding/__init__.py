"""Functions for several devices: meshes, what part of an array lies where, and collectives.

May import the files of `tfc.frontend` itself; how a program is divided is decided by passes.
"""
