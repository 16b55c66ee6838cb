"""Examples of what simplify does to dots and convolutions: the function,
the lines of a computation, and what its root becomes (None: nothing). test_functions.py runs them.
"""

# fmt: off
EXAMPLES: list[tuple[str, str, str | None]] = [
    ("dot_of_nothing",
     "e = f32[2,0] slice(A), slice={[0:2], [0:0]};"
     "ROOT d = f32[2,2] dot(e, e), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
     "broadcast(0.0, dimensions=())"),
    ("dot_of_single_products",
     "r = f32[2,6,1] reshape(A); q = f32[2,1,6] reshape(A);"
     "ROOT d = f32[2,6,6] dot(r, q), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_batch_dims={0}, rhs_contracting_dims={1}",
     "multiply(broadcast(reshape(reshape(A)), dimensions=(0, 1)), "
     "broadcast(reshape(transpose(reshape(A), dimensions=(0, 2, 1))), dimensions=(0, 2)))"),
    ("dot_of_single_products",
     "b = bf16[2,6] convert(A); s = bf16[] convert(S);"
     "ROOT d = f32[2,6] dot(b, s), lhs_contracting_dims={}, rhs_contracting_dims={}",
     "multiply(broadcast(convert(convert(A)), dimensions=(0, 1)), "
     "broadcast(convert(convert(S)), dimensions=()))"),
    ("dot_of_single_products",
     "s = bf16[] convert(S);"
     "ROOT d = bf16[2,6] dot(A, s), lhs_contracting_dims={}, rhs_contracting_dims={}", None),
    ("dot_of_pairs",
     "n = f32[6,2] reshape(A);"
     "ROOT d = f32[2] dot(A, n), lhs_batch_dims={0}, lhs_contracting_dims={1}, "
     "rhs_batch_dims={1}, rhs_contracting_dims={0}",
     "reduce(multiply(A, transpose(reshape(A), dimensions=(1, 0))), 0.0, dimensions=(1,), "
     "to_apply=add_f32)"),
    ("dot_of_pairs",
     "r = f32[1,12] reshape(A);"
     "ROOT d = f32[1] dot(r, r), lhs_batch_dims={0}, lhs_contracting_dims={1}, "
     "rhs_batch_dims={0}, rhs_contracting_dims={1}", None),
    ("dot_of_transpose",
     "t = f32[6,2] transpose(A), dimensions={1,0};"
     "ROOT d = f32[2,2] dot(A, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "dot(A, A, lhs_contracting_dims=(1,), rhs_contracting_dims=(1,))"),
    ("dot_of_transpose",
     "r = f32[2,3,2] reshape(A); t = f32[3,2,2] transpose(r), dimensions={1,0,2};"
     "ROOT d = f32[3,2,2] dot(t, t), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_batch_dims={0}, rhs_contracting_dims={2}",
     "dot(reshape(A), transpose(reshape(A), dimensions=(1, 0, 2)), lhs_batch_dims=(1,), "
     "lhs_contracting_dims=(2,), rhs_batch_dims=(0,), rhs_contracting_dims=(2,))"),
    ("dot_of_transpose",
     "r = f32[2,3,2] reshape(A); t = f32[2,3,2] transpose(r), dimensions={2,1,0};"
     "ROOT d = f32[2,2,2] dot(t, t), lhs_batch_dims={0}, lhs_contracting_dims={1}, "
     "rhs_batch_dims={0}, rhs_contracting_dims={1}", None),
    ("dot_of_transposes",
     "r = f32[2,3,2] reshape(A); t = f32[3,2,2] transpose(r), dimensions={1,0,2};"
     "s = f32[2,3,2] transpose(r), dimensions={2,1,0};"
     "ROOT d = f32[2,2] dot(t, s), lhs_contracting_dims={0,1}, rhs_contracting_dims={1,2}",
     "dot(reshape(A), reshape(A), lhs_contracting_dims=(0, 1), rhs_contracting_dims=(0, 1))"),
    ("dot_of_transposes",
     "r = f32[2,3,2] reshape(A); t = f32[3,2,2] transpose(r), dimensions={1,0,2};"
     "ROOT d = f32[2,2] dot(t, r), lhs_contracting_dims={0,1}, rhs_contracting_dims={1,2}", None),
    ("transpose_of_dot",
     "n = f32[6,2] reshape(A);"
     "d = f32[2,2] dot(A, n), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
     "ROOT t = f32[2,2] transpose(d), dimensions={1,0}",
     "dot(reshape(A), A, lhs_contracting_dims=(0,), rhs_contracting_dims=(1,))"),
    ("transpose_of_dot",
     "r = f32[2,3,2] reshape(A);"
     "d = f32[2,3,3] dot(r, r), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_batch_dims={0}, rhs_contracting_dims={2};"
     "ROOT t = f32[2,3,3] transpose(d), dimensions={0,2,1}",
     "dot(reshape(A), reshape(A), lhs_batch_dims=(0,), lhs_contracting_dims=(2,), "
     "rhs_batch_dims=(0,), rhs_contracting_dims=(2,))"),
    ("transpose_of_dot",
     "r = f32[2,3,2] reshape(A);"
     "d = f32[2,3,3] dot(r, r), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_batch_dims={0}, rhs_contracting_dims={2};"
     "ROOT t = f32[3,2,3] transpose(d), dimensions={1,0,2}", None),
    ("dot_of_broadcast",
     "b = f32[5,2,6] broadcast(A), dimensions={1,2};"
     "ROOT d = f32[5,2,2] dot(b, A), lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     "broadcast(dot(A, A, lhs_contracting_dims=(1,), rhs_contracting_dims=(1,)), "
     "dimensions=(1, 2))"),
    ("dot_of_broadcast",
     "b = f32[2,5,6] broadcast(A), dimensions={0,2};"
     "ROOT d = f32[2,5] dot(A, b), lhs_batch_dims={0}, lhs_contracting_dims={1}, "
     "rhs_batch_dims={0}, rhs_contracting_dims={2}",
     "broadcast(dot(A, A, lhs_batch_dims=(0,), lhs_contracting_dims=(1,), "
     "rhs_batch_dims=(0,), rhs_contracting_dims=(1,)), dimensions=(0,))"),
    ("dot_of_broadcast",
     "b = f32[5,2,6] broadcast(A), dimensions={1,2};"
     "ROOT d = f32[2,5,5] dot(b, b), lhs_batch_dims={1}, lhs_contracting_dims={2}, "
     "rhs_batch_dims={1}, rhs_contracting_dims={2}",
     "broadcast(dot(A, broadcast(A, dimensions=(1, 2)), lhs_batch_dims=(0,), "
     "lhs_contracting_dims=(1,), rhs_batch_dims=(1,), rhs_contracting_dims=(2,)), "
     "dimensions=(0, 2))"),
    ("convolution_of_nothing",
     "e = f32[1,0,2] parameter(3); k = f32[1,2,3] parameter(4);"
     "ROOT c = f32[1,4,3] convolution(e, k), window={size=1 pad=2_2}, dim_labels=b0f_0io->b0f",
     "broadcast(0.0, dimensions=())"),
    ("convolution_of_pad",
     "a = f32[1,5,2] parameter(3); k = f32[3,2,3] parameter(4); z = f32[] constant(0);"
     "p = f32[1,12,2] pad(a, z), padding=0_0x1_2_1x0_0;"
     "ROOT c = f32[1,11,3] convolution(p, k), window={size=3 pad=1_0}, dim_labels=b0f_0io->b0f",
     "convolution(a, k, window={size=3 pad=2_2 lhs_dilate=2}, "
     "dim_labels=ConvolutionDimensionNumbers(lhs=(0, 2, 1), rhs=(2, 1, 0), out=(0, 2, 1)))"),
    ("convolution_of_pad",
     "a = f32[1,5,2] parameter(3); k = f32[3,3,3] parameter(4); z = f32[] constant(0);"
     "p = f32[1,5,3] pad(a, z), padding=0_0x0_0x0_1;"
     "ROOT c = f32[1,3,3] convolution(p, k), window={size=3}, dim_labels=b0f_0io->b0f", None),
]
# fmt: on
