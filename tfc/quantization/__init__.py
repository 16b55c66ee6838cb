"""Fixed-point quantization: programs whose products and convolutions multiply 8-bit integers.

    function ─trace─► computation ─find (products.py)─► layers ─observe (calibration.py)─► ranges
                          └──────────── rewrite (rewriting.py, weights.py) ◄───────────────┘

`quantize` (quantize.py) is what users call. A number x stands for the integer
q = round(x / scale) + zero_point (affine.py). Formulas and options: docs/quantization.md.

May import the frontend, `jit` and the pass that inlines calls; nothing imports it but the command
lines.
"""
