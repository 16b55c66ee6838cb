"""One program for each partition of a program over whole arrays: propagation, rules, resharding.

May import `passes.analysis`, `passes.rewriting` and `passes.expand`. Knows nothing of meshes with
names: shardings are annotations of the module.
"""
