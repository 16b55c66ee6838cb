"""How instructions are replaced: patterns, tables of equations, the driver, and decisions.

The lowest room of `tfc.passes`: it imports the IR only.
"""
