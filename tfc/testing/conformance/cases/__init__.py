"""The programs of a pack, in units that are made, compiled and stored together.

May import whatever programs are written with.
"""
