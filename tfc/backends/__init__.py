"""What turns optimised HLO into something that runs: interfaces, registry, targets.

Rooms: `llvm` (from MLIR to machine code), `mlir` (emitters that CPU and GPU share), `cpu`, `gpu`.
May import the IR and `passes.analysis`; only the compilers of backends name passes.
"""
