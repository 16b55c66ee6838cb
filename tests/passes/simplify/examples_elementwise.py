"""Examples of what simplify does to repeated scalars, conversions and known ranges: the function,
the lines of a computation, and what its root becomes (None: nothing). test_functions.py runs them.
"""

# fmt: off
EXAMPLES: list[tuple[str, str, str | None]] = [
    ("constant_of_splat", "ROOT b = f32[3] constant({7, 7, 7})", "broadcast(7.0, dimensions=())"),
    ("constant_of_splat", "ROOT b = f32[3] constant({7, 0, 7})", None),
    ("constant_of_splat", "ROOT b = f32[2] constant({0, -0})", None),
    ("constant_goes_right",
     "one = f32[] constant(1); b = f32[2,6] broadcast(one), dimensions={};"
     "ROOT c = f32[2,6] add(b, A)", "add(A, broadcast(1.0, dimensions=()))"),
    ("constant_goes_right",
     "one = f32[] constant(1); ROOT c = pred[] compare(one, S), direction=LT",
     "compare(S, 1.0, direction='GT')"),
    ("constant_goes_right", "z = f32[] constant(0); ROOT c = f32[] maximum(z, S)", None),
    ("constant_goes_right", "z = f32[] constant(1); ROOT c = f32[] maximum(z, S)",
     "maximum(S, 1.0)"),
    ("elementwise_of_splats",
     "two = f32[] constant(2); b = f32[4] broadcast(S), dimensions={};"
     "t = f32[4] broadcast(two), dimensions={}; ROOT c = pred[4] compare(b, t), direction=LT",
     "broadcast(compare(S, 2.0, direction='LT'), dimensions=())"),
    ("elementwise_of_splats",
     "b = f32[2,6] broadcast(S), dimensions={}; ROOT c = f32[2,6] add(A, b)", None),
    ("elementwise_of_broadcasts",
     "b = f32[2,6,5] broadcast(A), dimensions={0,1}; s = f32[2,6,5] broadcast(S), dimensions={};"
     "ROOT c = f32[2,6,5] subtract(s, b)",
     "broadcast(subtract(broadcast(S, dimensions=()), A), dimensions=(0, 1))"),
    ("elementwise_of_broadcasts",
     "b = f32[5,2,6] broadcast(A), dimensions={1,2}; t = f32[2,6] tanh(A);"
     "c = f32[5,2,6] broadcast(t), dimensions={1,2}; ROOT d = f32[5,2,6] clamp(S, b, c)",
     "broadcast(clamp(S, A, tanh(A)), dimensions=(1, 2))"),
    ("elementwise_of_broadcasts",
     "b = f32[6,2,6] broadcast(A), dimensions={1,2}; c = f32[6,2,6] broadcast(A), dimensions={1,0};"
     "ROOT d = f32[6,2,6] add(b, c)", None),
    ("convert_of_convert",
     "b = bf16[2,6] convert(A); c = f32[2,6] convert(b); ROOT d = bf16[2,6] convert(c)",
     "convert(A)"),
    ("convert_of_convert", "c = f64[2,6] convert(A); ROOT d = s32[2,6] convert(c)", "convert(A)"),
    ("convert_of_convert", "c = s32[2,6] convert(A); ROOT d = f32[2,6] convert(c)", None),
    ("bitcast_of_bitcast",
     "b = u32[2,6] bitcast-convert(A); ROOT c = s32[2,6] bitcast-convert(b)",
     "bitcast-convert(A)"),
    ("convert_of_iota",
     "i = s32[3,5] iota(), iota_dimension=1; ROOT f = f32[3,5] convert(i)",
     "iota(iota_dimension=1)"),
    ("convert_of_iota",
     "i = s8[300] iota(), iota_dimension=0; ROOT f = f32[300] convert(i)", None),
    ("convert_to_itself",
     "z = f32[2,6] broadcast(S), dimensions={}; p = pred[2,6] compare(A, z), direction=LT;"
     "f = f32[2,6] convert(p); ROOT q = pred[2,6] convert(f)",
     "compare(A, broadcast(S, dimensions=()), direction='LT')"),
    ("select_of_one_and_zero",
     "p = pred[2,6] compare(A, A), direction=EQ; one = f32[] constant(1);"
     "zero = f32[] constant(0); o = f32[2,6] broadcast(one), dimensions={};"
     "z = f32[2,6] broadcast(zero), dimensions={}; ROOT s = f32[2,6] select(p, o, z)",
     "convert(compare(A, A, direction='EQ'))"),
    ("select_of_one_and_zero",
     "p = pred[] compare(S, S), direction=EQ; one = f32[] constant(1);"
     "zero = f32[] constant(-0); ROOT s = f32[] select(p, one, zero)", None),
    ("compare_of_converts",
     "b = bf16[2,6] convert(A); c = f32[2,6] convert(b); n = bf16[2,6] negate(b);"
     "d = f32[2,6] convert(n); ROOT e = pred[2,6] compare(c, d), direction=LT",
     "compare(convert(A), negate(convert(A)), direction='LT')"),
    ("compare_of_converts",
     "b = s8[] convert(I); c = s32[] convert(b); k = s32[] constant(7);"
     "ROOT e = pred[] compare(c, k), direction=GE",
     "compare(convert(I), 7, direction='GE')"),
    ("compare_of_converts",
     "b = s8[] convert(I); c = s32[] convert(b); k = s32[] constant(300);"
     "ROOT e = pred[] compare(c, k), direction=GE", None),
    ("compare_of_converts",
     "b = bf16[] convert(S); c = f32[] convert(b); k = f32[] constant(0);"
     "ROOT e = pred[] compare(c, k), direction=GE, type=TOTALORDER", None),
    ("decided_by_range",
     "i = s32[5] iota(), iota_dimension=0; z = s32[] constant(0);"
     "b = s32[5] broadcast(z), dimensions={}; ROOT c = pred[5] compare(i, b), direction=LT",
     "broadcast(False, dimensions=())"),
    ("decided_by_range",
     "k = s32[] constant(7); z = s32[] constant(0); a = s32[] clamp(z, I, k);"
     "m = s32[] add(a, k); ROOT c = pred[] compare(m, k), direction=GE",
     "True"),
    ("decided_by_range",
     "k = s32[] constant(7); a = s32[] and(I, k); n = s32[] constant(8);"
     "ROOT c = pred[] compare(a, n), direction=NE",
     "True"),
    ("decided_by_range",
     "z = s32[] constant(0); ROOT c = pred[] compare(I, z), direction=LT", None),
    ("decided_by_range",
     "b = s8[] convert(I); k = s8[] constant(100); m = s8[] add(b, k);"
     "ROOT c = pred[] compare(m, b), direction=GT", None),
    ("decided_by_range",
     "i = s32[5] iota(), iota_dimension=0; z = s32[] constant(0);"
     "b = s32[5] broadcast(z), dimensions={}; ROOT c = s32[5] maximum(i, b)",
     "iota(iota_dimension=0)"),
    ("decided_by_range",
     "i = s32[5] iota(), iota_dimension=0; z = s32[] constant(4);"
     "b = s32[5] broadcast(z), dimensions={}; ROOT c = s32[5] minimum(i, b)",
     "iota(iota_dimension=0)"),
    ("decided_by_range",
     "i = s32[5] iota(), iota_dimension=0; z = s32[] constant(0); k = s32[] constant(4);"
     "ROOT c = s32[5] clamp(z, i, k)",
     "iota(iota_dimension=0)"),
    ("decided_by_range",
     "i = s32[5] iota(), iota_dimension=0; z = s32[] constant(3);"
     "b = s32[5] broadcast(z), dimensions={}; ROOT c = s32[5] minimum(i, b)", None),
    ("decided_by_range",
     "i = s32[5] iota(), iota_dimension=0; z = s32[] constant(5);"
     "b = s32[5] broadcast(z), dimensions={}; ROOT c = s32[5] remainder(i, b)",
     "iota(iota_dimension=0)"),
    ("decided_by_range",
     "i = s32[5] iota(), iota_dimension=0; z = s32[] constant(7);"
     "b = s32[5] broadcast(z), dimensions={}; ROOT c = s32[5] divide(i, b)",
     "broadcast(0, dimensions=())"),
    ("decided_by_range",
     "k = s32[] constant(5); ROOT c = s32[] remainder(I, k)", None),
    ("decided_by_range",
     "e = f32[2,6] exponential(A); m = f32[2,6] multiply(A, A); s = f32[2,6] add(e, m);"
     "ROOT b = f32[2,6] abs(s)",
     "add(exponential(A), multiply(A, A))"),
    ("decided_by_range",
     "k = s32[] constant(15); a = s32[] and(I, k); ROOT b = s32[] abs(a)",
     "and(I, 15)"),
    ("decided_by_range",
     "e = f32[2,6] exponential(A); m = f32[2,6] multiply(e, A); ROOT b = f32[2,6] abs(m)", None),
    ("decided_by_range",
     "e = f32[2,6] exponential(A); z = f32[] constant(0);"
     "b = f32[2,6] broadcast(z), dimensions={}; ROOT m = f32[2,6] maximum(e, b)",
     "exponential(A)"),
    ("decided_by_range",
     "s = f32[2,6] sqrt(A); z = f32[] constant(0); b = f32[2,6] broadcast(z), dimensions={};"
     "ROOT m = f32[2,6] maximum(s, b)", None),
    ("decided_by_range",
     "u = u8[] convert(I); k = u8[] constant(1); s = u8[] shift-right-arithmetic(u, k);"
     "n = u8[] constant(128); ROOT c = pred[] compare(s, n), direction=LT", None),
    ("decided_by_range",
     "z = f32[] constant(0); e = f32[] exponential(S); ROOT c = pred[] compare(e, z), direction=LT",
     "False"),
    ("decided_by_range",
     "z = f32[] constant(0); e = f32[] exponential(S); ROOT c = pred[] compare(e, z), direction=GE",
     None),
    ("decided_by_range",
     "z = f32[] constant(-0); k = f32[] constant(inf); e = f32[] cosh(S);"
     "ROOT c = f32[] clamp(z, e, k)",
     "cosh(S)"),
    ("decided_by_range",
     "e = f32[] cosh(S); n = f32[] constant(nan); ROOT c = f32[] maximum(e, n)", None),
    ("add_of_zero",
     "z = f32[] constant(0); r = f32[2] reduce(A, z), dimensions={1}, to_apply=add;"
     "b = f32[2] broadcast(z), dimensions={}; ROOT s = f32[2] add(r, b)",
     "reduce(A, 0.0, dimensions=(1,), to_apply=add)"),
    ("add_of_zero",
     "z = f32[] constant(0); r = f32[2] reduce(A, S), dimensions={1}, to_apply=add;"
     "b = f32[2] broadcast(z), dimensions={}; ROOT s = f32[2] add(r, b)", None),
]
# fmt: on
