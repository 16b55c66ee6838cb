"""The operators of ONNX that are layers of networks, by family.

May import the operators around it, and what they may.
"""
