"""Row fusion: what joins a region, what stays outside and why, and that values stay the same."""

import numpy as np
import pytest
from row_programs import FLOATS, row_program

from tfc.hlo import Module, builder, evaluate, parse, verify
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, Shape
from tfc.passes import KernelKinds, default_pipeline
from tfc.passes.analysis.row_region import row_region
from tfc.passes.fusion.rows import RowFusion
from tfc.passes.pipeline import names
from tfc.testing import arguments_for

HELPERS = """
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
later { a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  greater = pred[] compare(b, a), direction=GT
  v = f32[] select(greater, b, a)
  p = s32[] select(greater, j, i)
  ROOT t = (f32[], s32[]) tuple(v, p) }
"""
TOTAL = "s = f32[4] reduce(x, zero), dimensions={1}, to_apply=add;"
SUM = f"{TOTAL} t = f32[4,8] broadcast(s), dimensions={{0}};"
GIVEN = "x = f32[4,8] parameter(0); zero = f32[] constant(0);"


def same_values(before: Module, after: Module, seed: int = 0, kind: str = "normal") -> None:
    arguments = arguments_for(before, np.random.default_rng(seed), kind)
    with np.errstate(all="ignore"):
        expected, got = (evaluate(m, *arguments) for m in (before, after))
    if not isinstance(expected, tuple):
        expected, got = (expected,), (got,)
    for a, b in zip(expected, got, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.astype(np.float64), b.astype(np.float64), strict=True)


def fused(lines: str, **options: int) -> tuple[list[str], str]:
    """What is left in the entry, each fusion as its ops, and the refusals."""
    module = parse(f"{HELPERS}\nENTRY main {{\n{lines.replace(';', chr(10))}\n}}")
    rows = RowFusion(**options)
    result = rows(module)
    verify(result)
    same_values(module, result)
    kept = [i for i in result.entry.instructions if i.opcode not in ("parameter", "constant")]
    return [summary(i) for i in kept], "\n".join(map(str, rows.explain(module)))


def summary(instruction: Instruction) -> str:
    if instruction.opcode != "fusion":
        return instruction.opcode
    assert instruction["kind"] == "kInput"
    inside = [i.opcode for i in instruction["calls"].instructions]
    return "rows: " + " ".join(o for o in inside if o not in ("parameter", "constant"))


def test_a_value_of_the_row_used_in_the_row_joins() -> None:
    kernels, _ = fused(f"{GIVEN} {SUM} ROOT y = f32[4,8] divide(x, t)")
    assert kernels == ["rows: reduce broadcast divide"]


def test_start_indices_of_no_consequence_are_operands() -> None:
    """A slice as large as a dimension begins at 0 whatever its start says."""
    kernels, _ = fused(
        f"{GIVEN} {TOTAL} w = f32[4,7] parameter(1); i = s32[] parameter(2);"
        "j = s32[] parameter(3); d = f32[4,1] dynamic-slice(w, i, j), dynamic_slice_sizes={4,1};"
        "k = f32[4] reshape(d); ROOT a = f32[4] add(s, k)"
    )
    assert kernels == ["rows: reduce dynamic-slice reshape add"]


def test_scalars_of_rows_join_and_so_do_reshapes_of_them() -> None:
    kernels, _ = fused(
        f"{GIVEN} {TOTAL}"
        "k = f32[4,1] reshape(s); q = f32[4,1] sqrt(k); r = f32[2,2] reshape(q);"
        "ROOT e = f32[2,2] exponential(r)"
    )
    assert kernels == ["rows: reduce reshape sqrt reshape exponential"]


def test_full_arrays_may_be_split_where_rows_are_not() -> None:
    kernels, _ = fused(
        f"{GIVEN} r = f32[2,2,8] reshape(x); e = f32[2,2,8] exponential(r);"
        "s = f32[2,2] reduce(e, zero), dimensions={2}, to_apply=add;"
        "t = f32[2,2,8] broadcast(s), dimensions={0,1}; y = f32[2,2,8] divide(e, t);"
        "f = f32[32] reshape(y); n = f32[32] negate(f); ROOT b = f32[4,8] reshape(n)"
    )
    # Reshapes at either end need no code: they stay outside.
    assert kernels == [
        "reshape", "rows: exponential reduce broadcast divide reshape negate", "reshape",
    ]  # fmt: skip


def test_producers_join_whose_values_only_the_region_needs() -> None:
    kernels, _ = fused(
        f"{GIVEN} y = f32[4,8] parameter(1); x2 = f32[4,8] multiply(x, y); x3 = f32[4,8] tanh(x2);"
        "s = f32[4] reduce(x3, zero), dimensions={1}, to_apply=add;"
        "t = f32[4,8] broadcast(s), dimensions={0}; ROOT z = f32[4,8] subtract(x3, t)"
    )
    assert kernels == ["rows: multiply tanh reduce broadcast subtract"]


def test_a_producer_that_others_need_too_becomes_a_result() -> None:
    kernels, _ = fused(
        f"{GIVEN} y = f32[4,8] parameter(1); x2 = f32[4,8] multiply(x, y);"
        "s = f32[4] reduce(x2, zero), dimensions={1}, to_apply=add;"
        "t = f32[4,8] broadcast(s), dimensions={0}; z = f32[4,8] subtract(x2, t);"
        "d = f32[4,4] dot(z, x2), lhs_contracting_dims={1}, rhs_contracting_dims={1};"
        "ROOT r = (f32[4,4], f32[4,8]) tuple(d, x2)"
    )
    assert kernels == [
        "rows: multiply reduce broadcast subtract tuple",
        "get-tuple-element", "get-tuple-element", "dot", "tuple",
    ]  # fmt: skip


def test_cheap_movement_that_others_need_too_is_repeated() -> None:
    kernels, _ = fused(
        f"{GIVEN} v = f32[8] parameter(1); b = f32[4,8] broadcast(v), dimensions={{1}};"
        f"{SUM} y = f32[4,8] divide(x, t); z = f32[4,8] multiply(y, b);"
        "d = f32[4,4] dot(z, b), lhs_contracting_dims={1}, rhs_contracting_dims={1};"
        "ROOT r = (f32[4,4], f32[4,8]) tuple(d, b)"
    )
    assert sorted(kernels) == [
        "broadcast", "dot", "rows: reduce broadcast divide broadcast multiply", "tuple",
    ]  # fmt: skip


def test_reductions_of_the_same_rows_join_each_other() -> None:
    kernels, _ = fused(
        f"{GIVEN} {TOTAL}"
        "xx = f32[4,8] multiply(x, x); q = f32[4] reduce(xx, zero), dimensions={1}, to_apply=add;"
        "ROOT r = (f32[4], f32[4]) tuple(s, q)"
    )
    assert kernels[0] == "rows: reduce multiply reduce tuple"


def test_a_value_of_two_regions_joins_them() -> None:
    kernels, _ = fused(
        f"{GIVEN} {TOTAL} y = f32[4,8] parameter(1);"
        "q = f32[4] reduce(y, zero), dimensions={1}, to_apply=add; ROOT r = f32[4] multiply(s, q)"
    )
    assert kernels == ["rows: reduce reduce multiply"]


def test_a_region_reads_what_another_one_before_a_product_stores() -> None:
    """As the gradient of a norm does, of whose result there was a product."""
    kernels, _ = fused(
        f"{GIVEN} {SUM} y = f32[4,8] divide(x, t); w = f32[8,8] parameter(1);"
        "d = f32[4,8] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
        "q = f32[4] reduce(d, zero), dimensions={1}, to_apply=add; m = f32[4] multiply(q, s);"
        "b = f32[4,8] broadcast(m), dimensions={0}; ROOT z = f32[4,8] subtract(d, b)"
    )
    rows = [kernel for kernel in kernels if kernel.startswith("rows")]
    assert rows == [
        "rows: reduce broadcast divide tuple", "rows: reduce multiply broadcast subtract",
    ]  # fmt: skip


def test_elements_of_other_places_stay_outside() -> None:
    for op, shape in (
        ("reverse(y), dimensions={1}", "4,8"),
        ("transpose(y), dimensions={1,0}", "8,4"),
    ):
        kernels, refusals = fused(
            f"{GIVEN} {SUM} y = f32[4,8] divide(x, t); m = f32[{shape}] {op};"
            f"ROOT e = f32[{shape}] negate(m)"
        )
        assert kernels == ["rows: reduce broadcast divide", op.split("(")[0], "negate"]
        assert "it takes elements of other places of the rows" in refusals


def test_an_element_picked_from_the_own_row_joins_and_from_another_does_not() -> None:
    lines = (
        f"{GIVEN} {SUM} y = f32[4,8] divide(x, t); z = f32[4,1] slice(y), slice={{[0:4], [3:4]}};"
        "ROOT e = f32[4,1] negate(z)"
    )
    assert fused(lines)[0] == ["rows: reduce broadcast divide slice negate"]
    kernels, _ = fused(
        f"{GIVEN} {SUM} y = f32[4,8] divide(x, t); v = f32[4,8] reverse(y), dimensions={{0}};"
        "z = f32[4,1] slice(v), slice={[0:4], [3:4]}; ROOT e = f32[4,1] negate(z)"
    )
    assert kernels == ["rows: reduce broadcast divide", "reverse", "slice", "negate"]


def test_a_vector_as_long_as_there_are_rows_is_told_apart() -> None:
    kernels, _ = fused(
        "x = f32[8,8] parameter(0); zero = f32[] constant(0);"
        "s = f32[8] reduce(x, zero), dimensions={1}, to_apply=add;"
        "t = f32[8,8] broadcast(s), dimensions={1}; ROOT y = f32[8,8] divide(x, t)"
    )
    assert kernels == ["reduce", "broadcast", "divide"]


def test_what_leaves_the_region_does_not_come_back() -> None:
    kernels, refusals = fused(
        f"{GIVEN} {SUM} y = f32[4,8] divide(x, t);"
        "d = f32[4,4] dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={1};"
        "e = f32[4,8] dot(d, x), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
        "ROOT z = f32[4,8] add(y, e)"
    )
    assert kernels == ["rows: reduce broadcast divide", "dot", "dot", "add"]
    assert "it needs a value that needs the region's results" in refusals


def test_regions_do_not_wait_for_each_other() -> None:
    kernels, _ = fused(
        f"{GIVEN} w = f32[8,4] parameter(1); {SUM} y = f32[4,8] divide(x, t);"
        "c = f32[8] reduce(w, zero), dimensions={1}, to_apply=add;"
        "cc = f32[8,4] broadcast(c), dimensions={0}; v = f32[8,4] divide(w, cc);"
        "yt = f32[8,4] transpose(y), dimensions={1,0}; v2 = f32[8,4] add(v, yt);"
        "vt = f32[4,8] transpose(v), dimensions={1,0}; ROOT z = f32[4,8] add(y, vt)"
    )
    # v could join what needs y, or y what needs v, but not both.
    assert sum(k.startswith("rows") for k in kernels) == 2


def test_reasons_for_staying_alone() -> None:
    alone = f"{GIVEN} ROOT {TOTAL}"
    assert "x into s: nothing else is computed from its rows" in fused(alone)[1]
    columns = (
        f"{GIVEN} s = f32[8] reduce(x, zero), dimensions={{0}}, to_apply=add;"
        "ROOT e = f32[8] sqrt(s)"
    )
    assert "x into s: it does not remove the last dimensions" in fused(columns)[1]
    short = (
        "x = f32[4,1] parameter(0); zero = f32[] constant(0);"
        "s = f32[4] reduce(x, zero), dimensions={1}, to_apply=add; ROOT e = f32[4] sqrt(s)"
    )
    assert "its rows have less than two elements" in fused(short)[1]
    turned = (
        "x = f32[4,8]{0,1} parameter(0); zero = f32[] constant(0);"
        "s = f32[4] reduce(x, zero), dimensions={1}, to_apply=add; ROOT e = f32[4] sqrt(s)"
    )
    assert "its operand does not lie in row-major order" in fused(turned)[1]
    whole = (
        f"{GIVEN} i = s32[4,8] iota(), iota_dimension=1; none = s32[] constant(0);"
        "ROOT r = (f32[4], s32[4]) reduce(x, i, zero, none), dimensions={1}, to_apply=later"
    )
    assert "its results are used as a tuple" in fused(whole)[1]


def test_effects_keep_their_order() -> None:
    """What needs the result of the second effect is no part of what the first one needs."""
    module = parse(HELPERS + """ENTRY main {
      x = f32[4,8] parameter(0)
      zero = f32[] constant(0)
      s = f32[4] reduce(x, zero), dimensions={1}, to_apply=add
      first = f32[4] custom-call(s), custom_call_target="f", custom_call_has_side_effect=true
      second = f32[4,8] custom-call(x), custom_call_target="g", custom_call_has_side_effect=true
      b = f32[4,8] broadcast(s), dimensions={0}
      e = f32[4,8] multiply(x, b)
      y = f32[4,8] add(e, second)
      ROOT t = (f32[4,8], f32[4]) tuple(y, first)
    }""")  # fmt: skip
    after = RowFusion()(module).entry
    assert [i["custom_call_target"] for i in after.effects] == ["f", "g"]
    (kernel,) = (i for i in after.instructions if i.opcode == "fusion")
    assert summary(kernel) == "rows: reduce broadcast multiply tuple"


def test_kernels_are_of_bounded_size() -> None:
    lines = f"{GIVEN} {SUM} y = f32[4,8] divide(x, t); ROOT z = f32[4,8] tanh(y)"
    kernels, refusals = fused(lines, max_instructions=3)
    assert kernels == ["rows: reduce broadcast divide", "tanh"]
    assert "the kernel would exceed 3 instructions" in refusals


def test_repetition_of_a_result_is_left_to_those_who_read_it() -> None:
    kernels, _ = fused(
        f"{GIVEN} {TOTAL} q = f32[4] sqrt(s);ROOT t = f32[4,8] broadcast(q), dimensions={{0}}"
    )
    assert kernels == ["rows: reduce sqrt", "broadcast"]


def test_a_region_is_recognised_by_its_root() -> None:
    module = parse(f"{HELPERS}\nENTRY main {{\n{(GIVEN + SUM).replace(';', chr(10))}\n}}")
    region = row_region(module.entry.root)
    assert region is not None
    assert (region.space.rows, region.space.length) == (4, 8)
    assert {i.name: role for i, role in region.roles.items()} == {
        "t": "full", "s": "row", "x": "full", "zero": "scalar",
    }  # fmt: skip
    assert row_region(module.entry.instructions[2]) is None


@pytest.mark.parametrize("limit", [6, 128])
@pytest.mark.parametrize("part", range(4))
def test_random_programs_keep_their_values(part: int, limit: int) -> None:
    count = 0
    for seed in range(part * 12, part * 12 + 12):
        module = row_program(seed, FLOATS[seed % 4])
        result = RowFusion(limit)(module)
        verify(result)
        same_values(module, result, seed, ("normal", "special", "whole")[seed % 3])
        count += sum(i.opcode == "fusion" for i in result.entry.instructions)
        assert limit < 128 or RowFusion(limit)(result) is result
    assert count > 6


def test_long_programs_take_time_in_proportion() -> None:
    x = builder.parameter(0, Shape(F32, (4, 8)))
    zero, add = builder.constant(0.0, F32), builder.scalar_computation("add", F32)
    value: Instruction = x
    for _ in range(300):  # a deep network of norms between transposes
        total = builder.reduce(value, zero, [1], add)
        spread = builder.broadcast(builder.unary("tanh", total), (4, 8), (0,))
        value = builder.binary("add", value, spread)
        for order in ((1, 0), (1, 0)):
            value = builder.instruction("transpose", [value], dimensions=order)
            value = builder.unary("negate", value)
        value = builder.binary("add", value, x)
    module = Module("deep", Computation.make("main", [x], value))
    result = RowFusion()(module)
    assert sum(i.opcode == "fusion" for i in result.entry.instructions) == 300


def test_the_pipeline_fuses_rows_for_those_who_have_code_for_them() -> None:
    assert "rows" not in names(default_pipeline().passes)
    assert "rows" in names(default_pipeline(kinds=KernelKinds(rows=True)).passes)
