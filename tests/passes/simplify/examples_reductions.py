"""Examples of what simplify does to reductions and windows: the function,
the lines of a computation, and what its root becomes (None: nothing). test_functions.py runs them.
"""

# fmt: off
EXAMPLES: list[tuple[str, str, str | None]] = [
    ("reduce_of_units",
     "r = f32[1,12] reshape(A); ROOT b = f32[12] reduce(r, S), dimensions={0}, to_apply=add",
     "add(broadcast(S, dimensions=()), reshape(reshape(A)))"),
    ("reduce_of_units", "ROOT b = f32[2,6] reduce(A, S), dimensions={}, to_apply=from",
     "subtract(A, broadcast(S, dimensions=()))"),
    ("reduce_of_units", "ROOT b = f32[2] reduce(A, S), dimensions={1}, to_apply=add", None),
    ("reduce_of_nothing",
     "e = f32[2,0] slice(A), slice={[0:2], [0:0]};"
     "ROOT r = f32[2] reduce(e, S), dimensions={1}, to_apply=add",
     "broadcast(S, dimensions=())"),
    ("reduce_of_transpose",
     "r = f32[2,3,2] reshape(A); t = f32[3,2,2] transpose(r), dimensions={1,0,2};"
     "ROOT s = f32[2] reduce(t, S), dimensions={0,2}, to_apply=add",
     "reduce(reshape(A), S, dimensions=(1, 2), to_apply=add)"),
    ("reduce_of_transpose",
     "r = f32[2,3,2] reshape(A); t = f32[2,2,3] transpose(r), dimensions={2,0,1};"
     "ROOT s = f32[2,2] reduce(t, S), dimensions={2}, to_apply=add", None),
    ("reduce_of_reshape",
     "r = f32[2,3,2] reshape(A); ROOT s = f32[2] reduce(r, S), dimensions={1,2}, to_apply=add",
     "reduce(A, S, dimensions=(1,), to_apply=add)"),
    ("reduce_of_reshape",
     "r = f32[2,3,2] reshape(A); ROOT s = f32[3,2] reduce(r, S), dimensions={0}, to_apply=add",
     "reshape(reduce(A, S, dimensions=(0,), to_apply=add))"),
    ("reduce_of_reshape",
     "r = f32[2,3,2] reshape(A); ROOT s = f32[2,3] reduce(r, S), dimensions={2}, to_apply=add",
     None),
    ("reduce_of_broadcast",
     "b = f32[2,3,6] broadcast(A), dimensions={0,2};"
     "ROOT r = f32[2,6] reduce(b, S), dimensions={1}, to_apply=max",
     "broadcast(maximum(broadcast(S, dimensions=()), A), dimensions=(0, 1))"),
    ("reduce_of_broadcast",
     "b = f32[2,3,6] broadcast(A), dimensions={0,2};"
     "ROOT r = f32[6] reduce(b, S), dimensions={0,1}, to_apply=max",
     "broadcast(reduce(A, S, dimensions=(0,), to_apply=max), dimensions=(0,))"),
    ("reduce_of_broadcast",
     "b = f32[2,3,6] broadcast(A), dimensions={0,2};"
     "ROOT r = f32[2,6] reduce(b, S), dimensions={1}, to_apply=add", None),
    ("reduce_of_broadcast",
     "b = s32[5] broadcast(I), dimensions={};"
     "ROOT r = s32[] reduce(b, I), dimensions={0}, to_apply=total",
     "broadcast(add(I, multiply(I, 5)), dimensions=())"),
    ("reduce_of_reduce",
     "z = f32[] constant(0); r = f32[2] reduce(A, z), dimensions={1}, to_apply=add;"
     "ROOT s = f32[] reduce(r, z), dimensions={0}, to_apply=add",
     "reduce(A, 0.0, dimensions=(0, 1), to_apply=add)"),
    ("reduce_of_reduce",
     "z = f32[] constant(-inf); q = f32[2,3,2] reshape(A);"
     "r = f32[2,2] reduce(q, z), dimensions={1}, to_apply=max;"
     "ROOT s = f32[2] reduce(r, S), dimensions={0}, to_apply=max",
     "reduce(reshape(A), S, dimensions=(0, 1), to_apply=max)"),
    ("reduce_of_reduce",
     "z = f32[] constant(0); r = f32[2] reduce(A, z), dimensions={1}, to_apply=add;"
     "ROOT s = f32[] reduce(r, S), dimensions={0}, to_apply=add", None),
    ("reduce_of_reduce",
     "z = f32[] constant(0); r = f32[2] reduce(A, z), dimensions={1}, to_apply=add;"
     "ROOT s = f32[] reduce(r, z), dimensions={0}, to_apply=max", None),
    ("reduce_of_pad",
     "z = f32[] constant(0); p = f32[2,14] pad(A, z), padding=0_0x1_2_1;"
     "ROOT r = f32[2] reduce(p, z), dimensions={1}, to_apply=add",
     "reduce(A, 0.0, dimensions=(1,), to_apply=add)"),
    ("reduce_of_pad",
     "z = f32[] constant(0); p = f32[2,9] pad(A, z), padding=0_0x1_2;"
     "ROOT r = f32[9] reduce(p, z), dimensions={0}, to_apply=add", None),
    ("reduce_of_pad",
     "p = f32[2,9] pad(A, S), padding=0_0x1_2;"
     "ROOT r = f32[2] reduce(p, S), dimensions={1}, to_apply=add", None),
    ("reduce_of_pad",
     "z = f32[] constant(0); p = f32[3,6] pad(A, z), padding=0_1x0_0;"
     "ROOT r = f32[3] reduce(p, z), dimensions={1}, to_apply=add", None),
    ("reduce_of_concatenate",
     "n = f32[2,6] negate(A); c = f32[2,12] concatenate(A, n), dimensions={1};"
     "ROOT r = f32[2] reduce(c, S), dimensions={1}, to_apply=max",
     "maximum(reduce(A, S, dimensions=(1,), to_apply=max), reduce(negate(A), -inf, "
     "dimensions=(1,), to_apply=max))"),
    ("reduce_of_concatenate",
     "n = f32[2,6] negate(A); c = f32[2,12] concatenate(A, n), dimensions={1};"
     "ROOT r = f32[12] reduce(c, S), dimensions={0}, to_apply=max", None),
    ("window_of_nothing",
     "e = f32[2,0] slice(A), slice={[0:2], [0:0]};"
     "ROOT r = f32[2,3] reduce-window(e, S), window={size=1x1 pad=0_0x1_2}, to_apply=add",
     "broadcast(S, dimensions=())"),
    ("window_of_single_elements",
     "ROOT r = f32[2,3] reduce-window(A, S), window={size=1x1 stride=1x2}, to_apply=from",
     "subtract(slice(A, slice=((0, 2, 1), (0, 6, 2))), broadcast(S, dimensions=()))"),
    ("window_of_single_elements",
     "ROOT r = f32[2,6] reduce-window(A, S), window={size=1x1}, to_apply=add",
     "add(broadcast(S, dimensions=()), A)"),
    ("window_of_everything",
     "ROOT r = f32[2,1] reduce-window(A, S), window={size=1x6 stride=1x2}, to_apply=add",
     "reshape(reduce(A, S, dimensions=(1,), to_apply=add))"),
    ("window_of_everything",
     "ROOT r = f32[2,2] reduce-window(A, S), window={size=1x5}, to_apply=add", None),
    ("window_of_pad",
     "z = f32[] constant(-inf); p = f32[2,14] pad(A, z), padding=0_0x1_2_1;"
     "ROOT r = f32[2,12] reduce-window(p, S), window={size=1x3}, to_apply=max",
     "reduce-window(A, S, window={size=1x3 pad=0_0x1_2 lhs_dilate=1x2}, to_apply=max)"),
    ("window_of_pad",
     "p = f32[2,9] pad(A, S), padding=0_0x1_2;"
     "ROOT r = f32[2,7] reduce-window(p, S), window={size=1x3}, to_apply=max", None),
    ("scatter_of_no_windows",
     "e = f32[2,0] slice(A), slice={[0:2], [0:0]};"
     "ROOT r = f32[2,6] select-and-scatter(A, e, S), window={size=1x7}, select=less, "
     "scatter=add",
     "broadcast(S, dimensions=())"),
]
# fmt: on
