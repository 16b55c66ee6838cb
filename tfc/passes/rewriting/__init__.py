"""How instructions are replaced: patterns, tables of equations, and the driver.

The lowest room of `tfc.passes`: it imports the IR only.
"""
