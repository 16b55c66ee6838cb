"""The rules about movement, types, tuples and control flow: before, after, and the same values."""

import numpy as np
import pytest

from tfc.hlo import Module, evaluate, parse
from tfc.hlo.ir import Computation, Instruction
from tfc.passes import structure
from tfc.passes.rewrite import Function
from tfc.passes.structure import FUNCTIONS
from tfc.testing import arguments_for

HELPERS = """
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
from { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] subtract(y, x) }
twice { x = f32[3] parameter(0)
  ROOT s = f32[3] add(x, x) }
back { x = f32[3] parameter(0)
  ROOT s = f32[3] negate(x) }
never { x = f32[3] parameter(0)
  ROOT s = pred[] constant(false) }
"""

# The function, the lines of a computation (A and S are given), and what its root becomes.
# fmt: off
EXAMPLES = [
    ("reshape_of_reshape", "b = f32[3,4] reshape(A); ROOT c = f32[12] reshape(b)", "reshape(A)"),
    ("same_shape", "ROOT b = f32[2,6] reshape(A)", "A"),
    ("same_shape", "ROOT b = f32[2,6] copy(A)", "A"),
    ("same_shape", "ROOT b = f32[2,6] convert(A)", "A"),
    ("same_shape", "ROOT b = f32[2,6] bitcast-convert(A)", "A"),
    ("same_shape", "ROOT b = f32[2,6] slice(A), slice={[0:2], [0:6]}", "A"),
    ("same_shape", "ROOT b = f64[2,6] convert(A)", None),
    ("movement_of_splat",
     "b = f32[2,3] broadcast(S), dimensions={}; ROOT c = f32[6] reshape(b)",
     "broadcast(S, dimensions=())"),
    ("movement_of_splat",
     "b = f32[1] broadcast(S), dimensions={}; ROOT c = f32[] reshape(b)", "S"),
    ("movement_of_splat",
     "b = f32[4] broadcast(S), dimensions={}; ROOT c = f32[2] slice(b), slice={[0:4:2]}",
     "broadcast(S, dimensions=())"),
    ("transpose_of_transpose",
     "r = f32[2,3,2] reshape(A); b = f32[3,2,2] transpose(r), dimensions={1,2,0};"
     "ROOT c = f32[2,2,3] transpose(b), dimensions={1,2,0}",
     "transpose(reshape(A), dimensions=(2, 0, 1))"),
    ("transpose_in_place", "ROOT b = f32[2,6] transpose(A), dimensions={0,1}", "A"),
    ("transpose_in_place",
     "r = f32[1,3,4] reshape(A); ROOT b = f32[3,1,4] transpose(r), dimensions={1,0,2}",
     "reshape(reshape(A))"),
    ("transpose_in_place", "ROOT b = f32[6,2] transpose(A), dimensions={1,0}", None),
    ("transpose_of_broadcast",
     "b = f32[5,2,6] broadcast(A), dimensions={1,2};"
     "ROOT c = f32[2,6,5] transpose(b), dimensions={1,2,0}",
     "broadcast(A, dimensions=(0, 1))"),
    ("transpose_of_broadcast",
     "b = f32[5,2,6] broadcast(A), dimensions={1,2};"
     "ROOT c = f32[6,2,5] transpose(b), dimensions={2,1,0}", None),
    ("broadcast_of_broadcast",
     "b = f32[2,5,6] broadcast(A), dimensions={0,2};"
     "ROOT c = f32[2,5,6,7] broadcast(b), dimensions={0,1,2}",
     "broadcast(A, dimensions=(0, 2))"),
    ("broadcast_that_adds_nothing", "ROOT b = f32[2,6] broadcast(A), dimensions={0,1}", "A"),
    ("broadcast_that_adds_nothing", "ROOT b = f32[2,1,6] broadcast(A), dimensions={0,2}",
     "reshape(A)"),
    ("broadcast_that_adds_nothing", "ROOT b = f32[6,2] broadcast(A), dimensions={1,0}", None),
    ("broadcast_of_unit_dimensions",
     "r = f32[1,12,1] reshape(A); ROOT b = f32[1,12,4,1] broadcast(r), dimensions={0,1,3}",
     "broadcast(reshape(A), dimensions=(1,))"),
    ("broadcast_of_unit_dimensions",
     "r = f32[2,1,6] reshape(A); ROOT b = f32[2,1,6,4] broadcast(r), dimensions={0,1,2}",
     "broadcast(A, dimensions=(0, 2))"),
    ("slice_of_slice",
     "b = f32[1,3] slice(A), slice={[1:2], [0:6:2]};"
     "ROOT c = f32[1,2] slice(b), slice={[0:1], [1:3]}",
     "slice(A, slice=((1, 2, 1), (2, 5, 2)))"),
    ("slice_of_slice",
     "b = f32[2,3] slice(A), slice={[0:2], [0:6:2]};"
     "ROOT c = f32[2,0] slice(b), slice={[0:2], [3:3]}",
     None),
    ("slice_of_concatenate",
     "n = f32[2,6] negate(A); b = f32[2,12] concatenate(A, n), dimensions={1};"
     "ROOT c = f32[2,2] slice(b), slice={[0:2], [7:11:3]}",
     "slice(negate(A), slice=((0, 2, 1), (1, 5, 3)))"),
    ("slice_of_concatenate",
     "n = f32[2,6] negate(A); b = f32[2,12] concatenate(A, n), dimensions={1};"
     "ROOT c = f32[2,2] slice(b), slice={[0:2], [5:7]}", None),
    ("pad_by_nothing", "ROOT b = f32[2,6] pad(A, S), padding=0_0x0_0", "A"),
    ("pad_by_nothing", "ROOT b = f32[2,6] pad(A, S), padding=0_0x1_-1", None),
    ("reverse_of_units",
     "r = f32[1,12] reshape(A); ROOT b = f32[1,12] reverse(r), dimensions={0,1}",
     "reverse(reshape(A), dimensions=(1,))"),
    ("reverse_of_units",
     "r = f32[1,12] reshape(A); ROOT b = f32[1,12] reverse(r), dimensions={0}", "reshape(A)"),
    ("reverse_of_reverse",
     "b = f32[2,6] reverse(A), dimensions={0,1}; ROOT c = f32[2,6] reverse(b), dimensions={1}",
     "reverse(A, dimensions=(0,))"),
    ("concatenate_of_parts", "ROOT b = f32[2,6] concatenate(A), dimensions={0}", "A"),
    ("concatenate_of_parts",
     "e = f32[2,0] slice(A), slice={[0:2], [0:0]}; c = f32[2,12] concatenate(A, A), dimensions={1};"
     "ROOT b = f32[2,18] concatenate(A, e, c), dimensions={1}",
     "concatenate(A, A, A, dimensions=(1,))"),
    ("iota_of_unit", "ROOT b = f32[1,3] iota(), iota_dimension=0", "broadcast(0.0, dimensions=())"),
    ("iota_of_unit", "ROOT b = f32[1,3] iota(), iota_dimension=1", None),
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
    ("convert_of_convert",
     "b = bf16[2,6] convert(A); c = f32[2,6] convert(b); ROOT d = bf16[2,6] convert(c)",
     "convert(A)"),
    ("convert_of_convert", "c = f64[2,6] convert(A); ROOT d = s32[2,6] convert(c)", "convert(A)"),
    ("convert_of_convert", "c = s32[2,6] convert(A); ROOT d = f32[2,6] convert(c)", None),
    ("bitcast_of_bitcast",
     "b = u32[2,6] bitcast-convert(A); ROOT c = s32[2,6] bitcast-convert(b)",
     "bitcast-convert(A)"),
    ("reduce_of_units",
     "r = f32[1,12] reshape(A); ROOT b = f32[12] reduce(r, S), dimensions={0}, to_apply=add",
     "add(broadcast(S, dimensions=()), reshape(reshape(A)))"),
    ("reduce_of_units", "ROOT b = f32[2,6] reduce(A, S), dimensions={}, to_apply=from",
     "subtract(A, broadcast(S, dimensions=()))"),
    ("reduce_of_units", "ROOT b = f32[2] reduce(A, S), dimensions={1}, to_apply=add", None),
    ("element_of_tuple",
     "t = (f32[2,6], f32[]) tuple(A, S); ROOT e = f32[] get-tuple-element(t), index=1", "S"),
    ("tuple_of_elements",
     "t = (f32[], f32[2,6]) parameter(2); e = f32[] get-tuple-element(t), index=0;"
     "f = f32[2,6] get-tuple-element(t), index=1; ROOT u = (f32[], f32[2,6]) tuple(e, f)", "t"),
    ("tuple_of_elements",
     "t = (f32[], f32[2,6]) parameter(2); e = f32[] get-tuple-element(t), index=0;"
     "ROOT u = (f32[]) tuple(e)", None),
    ("conditional_on_constant",
     "c = pred[] constant(false); v = f32[3] parameter(2);"
     "ROOT r = f32[3] conditional(c, v, v), true_computation=twice, false_computation=back",
     "negate(v)"),
    ("conditional_on_constant",
     "c = s32[] constant(-3); v = f32[3] parameter(2);"
     "ROOT r = f32[3] conditional(c, v, v), branch_computations={twice, back}", "negate(v)"),
    ("while_never",
     "v = f32[3] parameter(2); ROOT r = f32[3] while(v), condition=never, body=twice", "v"),
]
# fmt: on


def module_of(lines: str) -> Module:
    body = "\n  ".join(line.strip() for line in lines.split(";"))
    given = "A = f32[2,6] parameter(0)\n  S = f32[] parameter(1)"
    return parse(f"{HELPERS}\nENTRY main {{\n  {given}\n  {body}\n}}")


def show(x: Instruction) -> str:
    """An instruction and what it is made of, without shapes and names."""
    if x.opcode == "parameter":
        return x.name
    if x.opcode == "constant":
        return str(x["literal"].array)
    stated = [f"{k}={v!r}" for k, v in x.attributes.items()]
    return f"{x.opcode}({', '.join([*map(show, x.operands), *stated])})"


@pytest.mark.parametrize(("name", "before", "after"), EXAMPLES)
def test_example(name: str, before: str, after: str | None) -> None:
    module = module_of(before)
    old = module.entry.root
    function: Function = getattr(structure, name)
    assert function in FUNCTIONS[old.opcode]
    new = function(old)
    assert (show(new) if new else None) == after
    if new is None:
        return
    assert new.shape == old.shape
    changed = Module("m", Computation.make("main", module.entry.parameters, new))
    for kind in ("normal", "special"):
        arguments = arguments_for(module, np.random.default_rng(3), kind)
        expected, got = (evaluate(m, *arguments) for m in (module, changed))
        if not isinstance(expected, tuple):
            expected, got = (expected,), (got,)
        for a, b in zip(expected, got):
            np.testing.assert_array_equal(a, b, strict=True)


def test_every_function_has_an_example() -> None:
    known = {f.__name__ for several in FUNCTIONS.values() for f in several}
    assert known == {name for name, _, after in EXAMPLES if after is not None}


def test_every_function_states_itself() -> None:
    for function in {f for several in FUNCTIONS.values() for f in several}:
        assert " --> " in (function.__doc__ or ""), function.__name__
