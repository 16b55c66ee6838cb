"""PyTorch: `tfc.from_torch` and the backend of `torch.compile`. Rooms: `operators`, `pt2`.

Modules and exported programs are read by torch itself (`exported`): torch.export or AOTAutograd
take views and writes in place away, and its decompositions rewrite what the table has no row for.
Files of torch.export.save are read without torch (`pt2`). Both give a `Program`. Only `exported`,
`reader`, `archive`, `plain`, `exchange` and `backend` import torch, and `load` loads them when it
needs them. May import what importers may.
"""
