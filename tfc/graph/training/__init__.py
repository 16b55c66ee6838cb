"""Training: optimizers, schedules of their rates, averages of variables, and checkpoints.

Lies on variables, gradients and files of graphs. Its public names are those of `tfc.graph.train`.
"""
