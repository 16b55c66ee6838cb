"""Matrix products: tiles of operands in shared memory, sums in registers, and what comes after.

`spec` says what a kernel's dot is, `schedule` how it is cut into tiles and `choice` which way is
best; `pieces` brings operands, `pipeline` runs over the sums in stages, multiplying by `mma_tiles`
or `register_tiles`; `finishing` makes results of sums; `kernels` puts it together as parts. By
warpgroups `tiles` says which there are, of `box_operands`, `tile_order` how blocks go through them,
`roles` what a block's warpgroups do, `box_stores` how results leave; `persistent` makes the parts.

May import the GPU backend's files beside it and what they may.
"""
