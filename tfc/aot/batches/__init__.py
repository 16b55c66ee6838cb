"""Programs for several sizes of batch, which are one class and hold each weight once.

A batch's rows lie along the first dimension of some arguments and results. May import what `aot`
may; knows nothing of files and headers.
"""
