"""Examples of what sinking does: the function, the lines of a computation, and what its root
becomes (None: nothing). test_functions.py runs them.
"""

# fmt: off
EXAMPLES: list[tuple[str, str, str | None]] = [
    ("sink_movement",
     "r = f32[12] reshape(A); s = f32[12] broadcast(S), dimensions={};"
     "ROOT m = f32[12] multiply(r, s)",
     "reshape(multiply(A, broadcast(S, dimensions=())))"),
    ("sink_movement",
     "t = f32[6,2] transpose(A), dimensions={1,0}; b = f32[6] parameter(3);"
     "s = f32[6,2] broadcast(b), dimensions={0}; ROOT m = f32[6,2] divide(s, t)",
     "transpose(divide(broadcast(b, dimensions=(1,)), A), dimensions=(1, 0))"),
    ("sink_movement",
     "t = f32[6,2] transpose(A), dimensions={1,0}; n = f32[2,6] negate(A);"
     "u = f32[6,2] transpose(n), dimensions={1,0}; ROOT m = pred[6,2] compare(t, u), direction=LT",
     "transpose(compare(A, negate(A), direction='LT'), dimensions=(1, 0))"),
    ("sink_movement",
     "t = f32[6,2] transpose(A), dimensions={1,0}; i = f32[6,2] iota(), iota_dimension=0;"
     "ROOT m = f32[6,2] add(t, i)",
     "transpose(add(A, iota(iota_dimension=1)), dimensions=(1, 0))"),
    ("sink_movement",
     "t = f32[6,2] transpose(A), dimensions={1,0}; b = f32[6,2] parameter(3);"
     "ROOT m = f32[6,2] add(t, b)", None),
    ("sink_movement",
     "t = f32[6,2] transpose(A), dimensions={1,0}; ROOT m = f64[6,2] convert(t)", None),
    ("sink_movement",
     "t = f32[6,2] transpose(A), dimensions={1,0}; ROOT m = bf16[6,2] convert(t)",
     "transpose(convert(A), dimensions=(1, 0))"),
    ("raise_movement",
     "t = f32[6,2] transpose(A), dimensions={1,0}; b = f32[6,2] parameter(3);"
     "a = f32[6,2] subtract(b, t); ROOT u = f32[2,6] transpose(a), dimensions={1,0}",
     "subtract(transpose(b, dimensions=(1, 0)), A)"),
    ("raise_movement",
     "r = f32[12] reshape(A); s = f32[12] broadcast(S), dimensions={};"
     "a = f32[12] maximum(r, s); ROOT u = f32[2,6] reshape(a)",
     "maximum(A, broadcast(S, dimensions=()))"),
    ("raise_movement",
     "b = f32[6,2] parameter(3); c = f32[6,2] parameter(4); a = f32[6,2] add(b, c);"
     "ROOT u = f32[2,6] transpose(a), dimensions={1,0}", None),
    ("sink_convert",
     "n = bf16[2,6] convert(A); w = f32[2,6] convert(n);"
     "ROOT t = f32[6,2] transpose(w), dimensions={1,0}",
     "convert(transpose(convert(A), dimensions=(1, 0)))"),
    ("sink_convert",
     "n = bf16[2,6] convert(A); w = f32[2,6] convert(n); m = bf16[2,6] negate(n);"
     "v = f32[2,6] convert(m); ROOT c = f32[4,6] concatenate(w, v), dimensions={0}",
     "convert(concatenate(convert(A), negate(convert(A)), dimensions=(0,)))"),
    ("sink_convert",
     "w = s32[2,6] convert(A); ROOT t = s32[6,2] transpose(w), dimensions={1,0}", None),
    ("raise_slice",
     "n = f32[6,9] parameter(3);"
     "d = f32[2,9] dot(A, n), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
     "ROOT s = f32[1,3] slice(d), slice={[1:2], [0:9:3]}",
     "dot(slice(A, slice=((1, 2, 1), (0, 6, 1))), slice(n, slice=((0, 6, 1), (0, 9, 3))), "
     "lhs_contracting_dims=(1,), rhs_contracting_dims=(0,))"),
    ("raise_slice",
     "n = f32[6,9] parameter(3);"
     "d = f32[2,9] dot(A, n), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
     "ROOT s = f32[2,8] slice(d), slice={[0:2], [0:8]}", None),
    ("raise_slice",
     "r = f32[6] reduce(A, S), dimensions={0}, to_apply=add;"
     "ROOT s = f32[2] slice(r), slice={[1:3]}",
     "reduce(slice(A, slice=((0, 2, 1), (1, 3, 1))), S, dimensions=(0,), to_apply=add)"),
    ("raise_slice",
     "t = f32[6,2] transpose(A), dimensions={1,0};"
     "ROOT s = f32[3,1] slice(t), slice={[0:6:2], [1:2]}",
     "transpose(slice(A, slice=((1, 2, 1), (0, 6, 2))), dimensions=(1, 0))"),
]
# fmt: on
