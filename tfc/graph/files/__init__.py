"""Graphs and variables in files: GraphDef, MetaGraphDef, checkpoints; in TensorFlow's formats.

Lies on graphs and variables, and on `protos` for the formats' messages. Files are read as what
they may be, damaged or hostile: an error, and never much more memory than the file has bytes.
"""
