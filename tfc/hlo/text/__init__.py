"""XLA's HLO text, read and written: what XLA prints is parsed, what is printed XLA parses.

May import all of `tfc.hlo`; nothing in it imports this room but the package itself.
"""
