"""What tfcompile compiles of a TensorFlow graph: the fetches of a configuration, of its feeds.

    Config proto ─read_configuration─► Configuration ┐
    GraphDef ────prune───► the nodes that it needs ──┴─trace─► Module, names, variables

May import `graph` with its files and how it runs; the rest of `aot` loads it when a graph is given.
"""
