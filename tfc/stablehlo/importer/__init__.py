"""From StableHLO to HLO: modules, functions and regions, and the operations that are read only.

Functions become computations that are called, and a region becomes a computation, which gets what
it uses from outside as parameters. Operations that both have are in operations/.
"""
