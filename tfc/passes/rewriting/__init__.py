"""How instructions are replaced: patterns, equations, the driver, decisions.

The lowest room of `tfc.passes`: it imports the IR only.
"""
