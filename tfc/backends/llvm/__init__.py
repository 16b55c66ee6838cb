"""From MLIR modules to machine code or PTX: llvmlite's LLVM, effort, parts side by side.

May import the bindings' provider (`backends.mlir.provider`) and targets; knows no HLO.
"""
