"""StableHLO, the portable form of JAX's, PyTorch's and TensorFlow's programs: in and out of HLO.

source.py       text, bytecode or a portable artifact  ─►  a verified MLIR module
importer/       MLIR module  ─►  HLO module, a row of a table for each operation
types.py, constants.py   tensor types ⇄ shapes, constants ⇄ literals
"""
