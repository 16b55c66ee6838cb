"""What surrounds compiled programs: entry, bytecode and its interpreter, threads, clocks.

May import `backends.llvm`, targets and `tfc.runtime`; knows no HLO beyond shapes.
"""
