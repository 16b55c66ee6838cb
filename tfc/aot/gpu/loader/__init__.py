"""The loader of bundles, in parts: `tfc.aot.gpu.bundles` joins them to one file.

What is here runs without tfc: it imports Python's library, NumPy, and a binding to the driver.
"""
