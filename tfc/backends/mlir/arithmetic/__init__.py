"""Scalars in registers: element types, conversions, elementary functions, emission table.

May import the provider of the bindings and the IR's shapes; knows no loops and no memory.
"""
