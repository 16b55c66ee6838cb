"""Windows that slide over arrays: reduce-window, select-and-scatter and the gradients of pooling.

May import `backends.mlir`, `cpu.ordered` and `passes.analysis`.
"""
