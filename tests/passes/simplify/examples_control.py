"""Examples of what simplify does to tuples, control flow and empty values: the function,
the lines of a computation, and what its root becomes (None: nothing). test_functions.py runs them.
"""

# fmt: off
EXAMPLES: list[tuple[str, str, str | None]] = [
    ("element_of_tuple",
     "t = (f32[2,6], f32[]) tuple(A, S); ROOT e = f32[] get-tuple-element(t), index=1", "S"),
    ("tuple_of_elements",
     "t = (f32[], f32[2,6]) parameter(3); e = f32[] get-tuple-element(t), index=0;"
     "f = f32[2,6] get-tuple-element(t), index=1; ROOT u = (f32[], f32[2,6]) tuple(e, f)", "t"),
    ("tuple_of_elements",
     "t = (f32[], f32[2,6]) parameter(3); e = f32[] get-tuple-element(t), index=0;"
     "ROOT u = (f32[]) tuple(e)", None),
    ("conditional_on_constant",
     "c = pred[] constant(false); v = f32[3] parameter(3);"
     "ROOT r = f32[3] conditional(c, v, v), true_computation=twice, false_computation=back",
     "negate(v)"),
    ("conditional_on_constant",
     "c = s32[] constant(-3); v = f32[3] parameter(3);"
     "ROOT r = f32[3] conditional(c, v, v), branch_computations={twice, back}", "negate(v)"),
    ("while_never",
     "v = f32[3] parameter(3); ROOT r = f32[3] while(v), condition=never, body=twice", "v"),
    ("conditional_on_nothing",
     "c = pred[] compare(S, S), direction=EQ; v = f32[3] parameter(3);"
     "ROOT r = f32[3] conditional(c, v, v), true_computation=twice, false_computation=double",
     "add(v, v)"),
    ("conditional_on_nothing",
     "c = pred[] compare(S, S), direction=EQ; v = f32[3] parameter(3);"
     "ROOT r = f32[3] conditional(c, v, v), true_computation=twice, false_computation=back", None),
    ("conditional_of_little",
     "c = pred[] compare(S, S), direction=EQ; v = f32[3] parameter(3);"
     "ROOT r = f32[3] conditional(c, v, v), true_computation=twice, false_computation=back",
     "select(compare(S, S, direction='EQ'), add(v, v), negate(v))"),
    ("conditional_of_little",
     "c = pred[] compare(S, S), direction=EQ; v = f32[300] parameter(3);"
     "ROOT r = f32[300] conditional(c, v, v), true_computation=long, false_computation=longer",
     None),
]
# fmt: on
