"""Examples of what simplify does to dynamic slices, gathers, scatters and sorts: the function,
the lines of a computation, and what its root becomes (None: nothing). test_functions.py runs them.
"""

# fmt: off
EXAMPLES: list[tuple[str, str, str | None]] = [
    ("same_shape",
     "ROOT b = f32[2,6] dynamic-slice(A, I, I), dynamic_slice_sizes={2,6}",
     "A"),
    ("dynamic_slice_at_constants",
     "k = s32[] constant(7); z = s32[] constant(-1);"
     "ROOT b = f32[1,4] dynamic-slice(A, z, k), dynamic_slice_sizes={1,4}",
     "slice(A, slice=((0, 1, 1), (2, 6, 1)))"),
    ("dynamic_slice_at_constants",
     "z = s32[] constant(-1);"
     "ROOT b = f32[1,4] dynamic-slice(A, z, I), dynamic_slice_sizes={1,4}", None),
    ("dynamic_slice_of_splat",
     "a = f32[5] broadcast(S), dimensions={};"
     "ROOT b = f32[3] dynamic-slice(a, I), dynamic_slice_sizes={3}",
     "broadcast(S, dimensions=())"),
    ("dynamic_slice_of_splat",
     "a = f32[9,8] broadcast(S), dimensions={}; i = s32[3,1] parameter(3);"
     "ROOT g = f32[3,8] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}",
     "broadcast(S, dimensions=())"),
    ("dynamic_slice_of_broadcast",
     "j = s32[] negate(I); b = f32[5,2,6] broadcast(A), dimensions={1,2};"
     "ROOT c = f32[2,1,3] dynamic-slice(b, I, I, j), dynamic_slice_sizes={2,1,3}",
     "broadcast(dynamic-slice(A, I, negate(I), dynamic_slice_sizes=(1, 3)), dimensions=(1, 2))"),
    ("dynamic_slice_of_update",
     "u = f32[1,3] parameter(3); d = f32[2,6] dynamic-update-slice(A, u, I, I);"
     "ROOT s = f32[1,3] dynamic-slice(d, I, I), dynamic_slice_sizes={1,3}",
     "u"),
    ("dynamic_slice_of_update",
     "u = f32[1,3] parameter(3); d = f32[2,6] dynamic-update-slice(A, u, I, I);"
     "ROOT s = f32[1,2] dynamic-slice(d, I, I), dynamic_slice_sizes={1,2}", None),
    ("update_of_all",
     "u = f32[2,6] negate(A); ROOT d = f32[2,6] dynamic-update-slice(A, u, I, I)",
     "negate(A)"),
    ("update_of_all",
     "u = f32[2,0] slice(A), slice={[0:2], [0:0]};"
     "ROOT d = f32[2,6] dynamic-update-slice(A, u, I, I)",
     "A"),
    ("update_by_itself",
     "s = f32[1,3] dynamic-slice(A, I, I), dynamic_slice_sizes={1,3};"
     "ROOT d = f32[2,6] dynamic-update-slice(A, s, I, I)",
     "A"),
    ("update_of_update",
     "u = f32[1,3] parameter(3); v = f32[1,3] negate(u);"
     "d = f32[2,6] dynamic-update-slice(A, u, I, I);"
     "ROOT e = f32[2,6] dynamic-update-slice(d, v, I, I)",
     "dynamic-update-slice(A, negate(u), I, I)"),
    ("update_of_splat",
     "k = s32[] constant(7); z = s32[] constant(1); b = f32[4,9] broadcast(S), dimensions={};"
     "ROOT d = f32[4,9] dynamic-update-slice(b, A, z, k)",
     "pad(A, S, padding=((1, 1, 0), (3, 0, 0)))"),
    ("gather_of_one_window",
     "i = s32[1,1] reshape(I);"
     "ROOT g = f32[1,6] gather(A, i), offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
     "dynamic-slice(A, reshape(reshape(I)), 0, dynamic_slice_sizes=(1, 6))"),
    ("gather_of_one_window",
     "i = s32[2] parameter(3);"
     "ROOT g = f32[3] gather(A, i), offset_dims={0}, collapsed_slice_dims={0}, "
     "start_index_map={1,0}, index_vector_dim=0, slice_sizes={1,3}",
     "reshape(dynamic-slice(A, reshape(slice(i, slice=((1, 2, 1),))), reshape(slice(i, "
     "slice=((0, 1, 1),))), dynamic_slice_sizes=(1, 3)))"),
    ("gather_of_one_window",
     "i = s32[2,1] parameter(3);"
     "ROOT g = f32[2,6] gather(A, i), offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}", None),
    ("gather_of_neighbours",
     "i = s32[3,1] constant({{1},{3},{5}});"
     "ROOT g = f32[2,3] gather(A, i), offset_dims={0}, collapsed_slice_dims={1}, "
     "start_index_map={1}, index_vector_dim=1, slice_sizes={2,1}",
     "transpose(slice(A, slice=((0, 2, 1), (1, 6, 2))), dimensions=(0, 1))"),
    ("gather_of_neighbours",
     "i = s32[3] iota(), iota_dimension=0; j = s32[3,1] reshape(i);"
     "ROOT g = f32[3,2] gather(A, j), offset_dims={1}, collapsed_slice_dims={1}, "
     "start_index_map={1}, index_vector_dim=1, slice_sizes={2,1}",
     "transpose(slice(A, slice=((0, 2, 1), (0, 3, 1))), dimensions=(1, 0))"),
    ("gather_of_neighbours",
     "i = s32[3,1] constant({{1},{3},{4}});"
     "ROOT g = f32[2,3] gather(A, i), offset_dims={0}, collapsed_slice_dims={1}, "
     "start_index_map={1}, index_vector_dim=1, slice_sizes={2,1}", None),
    ("gather_of_neighbours",
     "i = s32[3,1] constant({{4},{5},{6}});"
     "ROOT g = f32[2,3] gather(A, i), offset_dims={0}, collapsed_slice_dims={1}, "
     "start_index_map={1}, index_vector_dim=1, slice_sizes={2,1}", None),
    ("gather_of_clamped",
     "i = s32[4,1] parameter(3); z = s32[] constant(0); k = s32[] constant(1);"
     "c = s32[4,1] clamp(z, i, k);"
     "ROOT g = f32[4,6] gather(A, c), offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
     "gather(A, i, offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), "
     "index_vector_dim=1, slice_sizes=(1, 6))"),
    ("gather_of_clamped",
     "i = s32[4,1] parameter(3); z = s32[] constant(0); c = s32[4,1] clamp(z, i, z);"
     "ROOT g = f32[4,6] gather(A, c), offset_dims={1}, collapsed_slice_dims={0}, "
     "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}", None),
    ("scatter_of_nothing",
     "i = s32[0,1] parameter(3); u = f32[0,6] parameter(4);"
     "ROOT s = f32[2,6] scatter(A, i, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
     "A"),
    ("scatter_of_one_window",
     "k = s32[] constant(1); a = s32[] and(I, k); i = s32[1] reshape(a);"
     "u = f32[6] parameter(3);"
     "ROOT s = f32[2,6] scatter(A, i, u), update_window_dims={0}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=over",
     "dynamic-update-slice(A, reshape(u), reshape(reshape(and(I, 1))), 0)"),
    ("scatter_of_one_window",
     "i = s32[1] reshape(I); u = f32[6] parameter(3);"
     "ROOT s = f32[2,6] scatter(A, i, u), update_window_dims={0}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=over", None),
    ("scatter_of_one_window",
     "i = s32[1] constant({1}); u = f32[6] parameter(3);"
     "ROOT s = f32[2,6] scatter(A, i, u), update_window_dims={0}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add", None),
    ("scatter_over_splat",
     "b = f32[3,5] broadcast(S), dimensions={}; i = s32[3,1,1] parameter(3);"
     "u = f32[3,1] parameter(4);"
     "ROOT s = f32[3,5] scatter(b, i, u), update_window_dims={}, inserted_window_dims={1}, "
     "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
     "scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=add",
     "select(compare(iota(iota_dimension=1), broadcast(reshape(i), dimensions=(0,)), "
     "direction='EQ'), add(broadcast(S, dimensions=()), broadcast(reshape(u), dimensions=(0,))), "
     "broadcast(S, dimensions=()))"),
    ("scatter_over_splat",
     "b = f32[3,5,2] broadcast(S), dimensions={}; i = s32[1,2] parameter(3);"
     "u = f32[1,2] parameter(4);"
     "ROOT s = f32[3,5,2] scatter(b, i, u), update_window_dims={1}, inserted_window_dims={0,1}, "
     "scatter_dims_to_operand_dims={1,0}, index_vector_dim=1, to_apply=max",
     "select(compare(iota(iota_dimension=0), broadcast(reshape(slice(i, slice=((0, 1, 1), "
     "(1, 2, 1)))), dimensions=()), direction='EQ'), select(compare(iota(iota_dimension=1), "
     "broadcast(reshape(slice(i, slice=((0, 1, 1), (0, 1, 1)))), dimensions=()), direction='EQ'), "
     "maximum(broadcast(S, dimensions=()), broadcast(reshape(u), dimensions=(2,))), "
     "broadcast(S, dimensions=())), broadcast(S, dimensions=()))"),
    ("scatter_over_splat",
     "b = f32[5] broadcast(S), dimensions={}; i = s32[3,1] parameter(3);"
     "u = f32[3] parameter(4);"
     "ROOT s = f32[5] scatter(b, i, u), update_window_dims={}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add", None),
    ("scatter_over_splat",
     "b = f32[5] broadcast(S), dimensions={}; i = s32[1] parameter(3);"
     "u = f32[3] parameter(4);"
     "ROOT s = f32[5] scatter(b, i, u), update_window_dims={0}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add", None),
    ("sort_of_single",
     "r = f32[12,1] reshape(A); ROOT s = f32[12,1] sort(r), dimensions={1}, to_apply=less",
     "reshape(A)"),
    ("sort_of_single",
     "b = f32[4] broadcast(S), dimensions={};"
     "ROOT s = f32[4] sort(b), dimensions={0}, to_apply=less",
     "broadcast(S, dimensions=())"),
    ("sort_of_single",
     "ROOT s = f32[2,6] sort(A), dimensions={0}, to_apply=less", None),
]
# fmt: on
