"""Programs as they run: what the host does step by step, and what is recorded as graphs.

The kernels, and which of them run when, are made in the room above.
"""
