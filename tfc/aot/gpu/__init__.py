"""Programs for GPUs, compiled ahead of time: a bundle of code, its loader of one file, and C++.

What is written here runs without tfc and without a compiler: with Python, NumPy and a binding to
NVIDIA's driver, or with C++ and that driver.
"""
