"""What surrounds a running program: the host's queues, other replicas, and functions it may call.

Nothing here knows about HLO: values are NumPy arrays and nested tuples of them.
"""
