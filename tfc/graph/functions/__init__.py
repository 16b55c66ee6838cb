"""The functions that users make operations with, under TensorFlow 1's names, by family.

Each converts what it is given to tensors, and makes operations of `operators`' types.
"""
