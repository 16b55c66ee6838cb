"""Matrix products: tiles of operands in shared memory, sums in registers, and what comes after.

`spec` says what a kernel's dot is, `schedule` how it is cut into tiles and `choice` which way is
best; `pieces` brings operands, `pipeline` runs over the sums in stages, multiplying by `mma_tiles`
or `register_tiles`; `finishing` makes results of sums; `kernels` puts it together as parts.

May import the GPU backend's files beside it and what they may.
"""
