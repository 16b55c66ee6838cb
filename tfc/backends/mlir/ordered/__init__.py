"""What of ordered kernels CPU and GPU emit alike: a step of a scan, an update, a scatter's window.

May import `backends.mlir`.
"""
