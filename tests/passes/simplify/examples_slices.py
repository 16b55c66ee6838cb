"""Examples of what simplify does to slices, paddings and concatenations: the function,
the lines of a computation, and what its root becomes (None: nothing). test_functions.py runs them.
"""

# fmt: off
EXAMPLES: list[tuple[str, str, str | None]] = [
    ("shorter_chain",
     "b = f32[1,3] slice(A), slice={[1:2], [0:6:2]};"
     "ROOT c = f32[1,2] slice(b), slice={[0:1], [1:3]}",
     "slice(A, slice=((1, 2, 1), (2, 5, 2)))"),
    ("shorter_chain",
     "b = f32[2,3] slice(A), slice={[0:2], [0:6:2]};"
     "ROOT c = f32[2,0] slice(b), slice={[0:2], [3:3]}",
     None),
    ("shorter_chain",
     "n = f32[2,6] negate(A); b = f32[2,12] concatenate(A, n), dimensions={1};"
     "ROOT c = f32[2,2] slice(b), slice={[0:2], [7:11:3]}",
     "slice(negate(A), slice=((0, 2, 1), (1, 5, 3)))"),
    ("shorter_chain",
     "n = f32[2,6] negate(A); b = f32[2,12] concatenate(A, n), dimensions={1};"
     "ROOT c = f32[2,2] slice(b), slice={[0:2], [5:7]}", None),
    ("shorter_chain", "ROOT b = f32[2,6] pad(A, S), padding=0_0x0_0", "A"),
    ("shorter_chain", "ROOT b = f32[2,6] pad(A, S), padding=0_0x1_-1", None),
    ("shorter_chain", "ROOT b = f32[2,6] concatenate(A), dimensions={0}", "A"),
    ("concatenate_of_parts",
     "e = f32[2,0] slice(A), slice={[0:2], [0:0]}; c = f32[2,12] concatenate(A, A), dimensions={1};"
     "ROOT b = f32[2,18] concatenate(A, e, c), dimensions={1}",
     "concatenate(A, A, A, dimensions=(1,))"),
    ("slice_of_pad",
     "p = f32[7,9] pad(A, S), padding=2_3x1_2;"
     "ROOT b = f32[1,4] slice(p), slice={[3:4], [1:5]}",
     "pad(slice(A, slice=((1, 2, 1), (0, 4, 1))), S, padding=((0, 0, 0), (0, 0, 0)))"),
    ("slice_of_pad",
     "p = f32[7,9] pad(A, S), padding=2_3x1_2;"
     "ROOT b = f32[4,8] slice(p), slice={[1:5], [0:8]}",
     "pad(slice(A, slice=((0, 2, 1), (0, 6, 1))), S, padding=((1, 1, 0), (1, 1, 0)))"),
    ("shorter_chain",
     "p = f32[7,9] pad(A, S), padding=2_3x1_2;"
     "ROOT b = f32[2,8] slice(p), slice={[5:7], [0:8]}",
     "broadcast(S, dimensions=())"),
    ("slice_of_pad",
     "p = f32[7,9] pad(A, S), padding=2_3x1_2;"
     "ROOT b = f32[1,3] slice(p), slice={[3:4], [1:7:2]}",
     "pad(slice(A, slice=((1, 2, 1), (0, 6, 2))), S, padding=((0, 0, 0), (0, 0, 0)))"),
    ("slice_of_pad",
     "p = f32[7,9] pad(A, S), padding=2_3x1_2;"
     "ROOT b = f32[1,5] slice(p), slice={[3:4], [0:9:2]}", None),
    ("slice_of_pad",
     "p = f32[3,11] pad(A, S), padding=0_0_1x0_0_1;"
     "ROOT b = f32[1,5] slice(p), slice={[1:2], [0:5]}", None),
    ("shorter_chain",
     "b = f32[5,2,6] broadcast(A), dimensions={1,2};"
     "ROOT c = f32[3,1,2] slice(b), slice={[0:5:2], [1:2], [2:4]}",
     "broadcast(slice(A, slice=((1, 2, 1), (2, 4, 1))), dimensions=(1, 2))"),
    ("shorter_chain",
     "b = f32[5,2,6] broadcast(A), dimensions={1,2};"
     "ROOT c = f32[1,2,6] slice(b), slice={[2:3], [0:2], [0:6]}",
     "reshape(A)"),
    ("shorter_chain",
     "i = s32[5,3] iota(), iota_dimension=0; ROOT b = s32[2,2] slice(i), slice={[0:2], [1:3]}",
     "iota(iota_dimension=0)"),
    ("shorter_chain",
     "i = s32[5,3] iota(), iota_dimension=0; ROOT b = s32[2,2] slice(i), slice={[1:3], [1:3]}",
     None),
    ("pad_that_cuts",
     "ROOT b = f32[4,4] pad(A, S), padding=-1_3x-3_1",
     "pad(slice(A, slice=((1, 2, 1), (3, 6, 1))), S, padding=((0, 3, 0), (0, 1, 0)))"),
    ("pad_that_cuts",
     "ROOT b = f32[2,10] pad(A, S), padding=0_0x-1_0_1", None),
    ("pad_that_cuts",
     "ROOT b = f32[1,6] pad(A, S), padding=-3_2x0_0", None),
    ("pad_of_pad",
     "p = f32[7,11] pad(A, S), padding=2_3x0_0_1;"
     "ROOT b = f32[8,12] pad(p, S), padding=0_1x1_0",
     "pad(A, S, padding=((2, 4, 0), (1, 0, 1)))"),
    ("pad_of_pad",
     "p = f32[7,6] pad(A, S), padding=2_3x0_0; ROOT b = f32[6,6] pad(p, S), padding=-1_0x0_0",
     None),
    ("pad_of_pad",
     "z = f32[] constant(0); p = f32[7,6] pad(A, S), padding=2_3x0_0;"
     "ROOT b = f32[8,6] pad(p, z), padding=1_0x0_0", None),
    ("pad_of_splat",
     "z = f32[] constant(0); b = f32[3] broadcast(z), dimensions={}; y = f32[] constant(0);"
     "ROOT p = f32[8] pad(b, y), padding=1_2_1",
     "broadcast(0.0, dimensions=())"),
    ("pad_of_splat",
     "e = f32[2,0] slice(A), slice={[0:2], [0:0]};"
     "ROOT p = f32[4,3] pad(e, S), padding=1_1x0_3",
     "broadcast(S, dimensions=())"),
    ("pad_of_splat",
     "z = f32[] constant(-0); b = f32[3] broadcast(z), dimensions={}; y = f32[] constant(0);"
     "ROOT p = f32[5] pad(b, y), padding=1_1", None),
    ("concatenate_of_splats",
     "b = f32[3] broadcast(S), dimensions={}; c = f32[2] broadcast(S), dimensions={};"
     "ROOT d = f32[5] concatenate(b, c), dimensions={0}",
     "broadcast(S, dimensions=())"),
    ("concatenate_of_splats",
     "o = f32[] constant(1); b = f32[3] broadcast(S), dimensions={};"
     "c = f32[2] broadcast(o), dimensions={};"
     "ROOT d = f32[5] concatenate(b, c), dimensions={0}", None),
    ("concatenate_of_neighbours",
     "a = f32[2,2] slice(A), slice={[0:2], [1:3]};"
     "b = f32[2,3] slice(A), slice={[0:2], [3:6]};"
     "ROOT d = f32[2,11] concatenate(A, a, b), dimensions={1}",
     "concatenate(A, slice(A, slice=((0, 2, 1), (1, 6, 1))), dimensions=(1,))"),
    ("concatenate_of_neighbours",
     "a = f32[1,2] slice(A), slice={[0:1], [1:3]};"
     "b = f32[1,3] slice(A), slice={[1:2], [3:6]};"
     "ROOT d = f32[1,5] concatenate(a, b), dimensions={1}", None),
]
# fmt: on
