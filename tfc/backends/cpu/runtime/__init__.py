"""What surrounds compiled programs: entry, bytecode and its interpreter, threads, clocks.

Most of it is C, kept as the LLVM IR that clang makes of it (generated.py, regenerate.py); Python
fills in its tables. May import `backends.llvm`, targets and `tfc.runtime`; knows no HLO beyond
shapes.
"""
