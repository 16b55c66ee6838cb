"""Attention: two products around a softmax, without an array of all scores.

`spec` says what is multiplied how, and how it is cut; `sources` brings queries, keys and values;
`warps` is what a warp does with its tiles; `logits` what the program makes of scores; `online` the
softmax that goes along the keys; `kernels` puts it together as parts. `warpgroups` is another form,
for sm_90a, with tiles of its own (`warpgroup_tiles`), whose operands come as `boxes`. Gradients are
`gradients`, or `warpgroup_gradients`, of a `gradient_spec`; `visible` says what a mask hides of
their scores, and `ranges` which tiles are left.

May import the GPU backend's files beside it, `driver`, `products`, and what these may.
"""
