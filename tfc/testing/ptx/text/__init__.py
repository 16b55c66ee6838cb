"""PTX as text and as objects: `tokens`, the grammar of `operands` and of all else in `parser`,
which gives what `syntax` has; `types` has PTX's types in NumPy. Nothing here knows what
instructions do.
"""
