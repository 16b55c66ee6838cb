"""PyTorch: `tfc.from_torch` and the backend of `torch.compile`. Rooms: `operators`, rows by family.

torch itself makes the graph: `torch.export` or AOTAutograd take views and writes in place away, and
its decompositions rewrite what the table has no row for. Only this room imports torch, and `load`
only when it is called. May import what importers may.
"""
