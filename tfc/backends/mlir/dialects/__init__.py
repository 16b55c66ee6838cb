"""Where the MLIR bindings look for the Python classes of dialects that they come without.

They look for a dialect's module whenever they meet one of its operations, until they have found it.
"""
