"""What surrounds a running program: the host's queues, other replicas, functions it may call, and
what is loaded when it is first used.

Nothing here knows about HLO: values are NumPy arrays and nested tuples of them.
"""
