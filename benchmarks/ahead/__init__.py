"""Programs compiled ahead of time, beside other compilers: what `benchmarks/aot.py` runs.

A program is stated once, over the operations of `programs.Operations`, and each of `in_tfc`,
`in_tensorflow`, `in_onnx` and `in_numpy` has these for one library, which its own process loads.
"""
