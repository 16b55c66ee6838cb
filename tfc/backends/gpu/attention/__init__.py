"""Attention: two products around a softmax, without an array of all scores.

`spec` says what is multiplied how, and how it is cut; `sources` brings queries, keys and values;
`warps` is what a warp does with its tiles; `online` the softmax that goes along the keys; `kernels`
puts it together as parts.

May import the GPU backend's files beside it, `products`, and what these may.
"""
