"""Operators of other domains: ai.onnx.ml's models that are no networks, com.microsoft's fusions.

May import the operators around it, the layers, and what they may.
"""
