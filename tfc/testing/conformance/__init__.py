"""Conformance packs: programs for GPUs with what they should give, run without tfc or a compiler.

    cases ─compile, evaluate─► programs.zip, run.py        on any machine: tfc conformance DIR
    python DIR/run.py ─► conformance.json, conformance.txt  on one with a GPU, NumPy and a binding

The rooms below have the cases (`cases`) and what runs on the other machine (`runner`).
"""
