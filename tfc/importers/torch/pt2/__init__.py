"""Files that torch.export.save writes, read without torch: a zip file with JSON and raw weights.

    archive → JSON → Calls (schema) → pure Calls (functional) → Graph (nodes) → Program

What torch saves is a program before its rewriting: layers, views, and writes in place.
`functional` takes views and writes away; the table has rows for the layers. May import what
importers may; it imports nothing of torch, and runs nothing that a file brings.
"""
