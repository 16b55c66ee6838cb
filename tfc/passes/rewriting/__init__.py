"""How instructions are replaced: patterns, equations, the driver, decisions, loops stated anew.

The lowest room of `tfc.passes`: it imports the IR only.
"""
