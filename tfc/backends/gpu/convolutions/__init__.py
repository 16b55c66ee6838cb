"""Convolutions as products of matrices that are nowhere in memory: implicit GEMM.

`phases` says what the matrices of a convolution are, `sources` brings tiles of them, and `kernels`
makes parts of blocks, whose pipeline is that of matrix products (`products`); `warpgroups` has
copies of pixels bring them, to blocks that stay. `padding` makes sums right that met some, and
`shares` is for few results with long sums.

May import the GPU backend's files beside it, its driver, its matrix products, and what these may.
"""
