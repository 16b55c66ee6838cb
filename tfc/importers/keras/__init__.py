"""Keras's models: `tfc.from_keras`. Rooms: `operators`, the table's rows by family.

    file → archive → weights.py (HDF5, read by hdf5.py in a process of its own)
         → architecture.py: Sequential and Functional configs as a Graph, one node for each call

A node's operator is the class of its layer. Its attributes are the `layer`, and the `form` of the
call's arguments, whose values are the node's inputs, before the layer's weights. A value that has a
mask is a list of both. May import what importers may.
"""
