"""Dots that share an operand: when they become one, and why not else."""

import numpy as np

from tfc.hlo import Module, builder, evaluate, parse, verify
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, Shape
from tfc.passes import default_pipeline
from tfc.passes.analysis.topological_levels import DEPENDENT
from tfc.passes.layout.dot_merger import DotMerger
from tfc.passes.rewriting.decisions import Refused
from tfc.testing import arguments_for


def projections(m: int, k: int, widths: list[int], constants: bool, batch: int = 0) -> Module:
    """Dots of one array with several weights, kept apart in a tuple."""
    lead = [batch] if batch else []
    x = builder.parameter(0, Shape(F32, (*lead, m, k)))
    parameters, results = [x], []
    for number, n in enumerate(widths):
        if constants:
            values = np.random.default_rng(number).integers(-4, 5, (*lead, k, n))
            weights = builder.constant(values.astype(np.float32))
        else:
            weights = builder.parameter(len(parameters), Shape(F32, (*lead, k, n)))
            parameters.append(weights)
        at = len(lead)
        results.append(dot(x, weights, at))
    root = builder.instruction("tuple", results)
    return Module("m", Computation.make("main", parameters, root))


def dot(x: Instruction, y: Instruction, batch: int) -> Instruction:
    several = tuple(range(batch)) or None
    return builder.instruction(
        "dot", [x, y], lhs_batch_dims=several, rhs_batch_dims=several,
        lhs_contracting_dims=(batch + 1,), rhs_contracting_dims=(batch,),
    )  # fmt: skip


def check(module: Module, dots: int) -> Module:
    """The number of dots that are left; the values stay."""
    after = DotMerger()(module)
    verify(after)
    values = arguments_for(module, np.random.default_rng(0), "whole")
    for a, b in zip(evaluate(module, *values), evaluate(after, *values), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    assert sum(i.opcode == "dot" for i in after.entry.instructions) == dots
    return after


def test_narrow_projections_are_one_dot_whose_weights_are_joined_when_compiling() -> None:
    after = check(projections(9, 64, [2, 3, 1], constants=True), 1)
    assert [i.opcode for i in after.entry.instructions].count("concatenate") == 0
    made = next(i for i in after.entry.instructions if i.opcode == "dot")
    assert made.array_shape.dims == (9, 6)


def test_weights_that_are_arguments_are_joined_where_many_rows_pay_for_it() -> None:
    check(projections(256, 32, [2, 2, 2, 2], constants=False), 1)
    module = projections(4, 32, [2, 2, 2, 2], constants=False)
    check(module, 4)
    (refusal,) = DotMerger().explain(module)
    assert "moving results and operands costs" in str(refusal)


def test_projections_as_wide_as_what_is_projected_stay_apart() -> None:
    module = projections(16, 48, [48, 48, 48], constants=True)
    check(module, 3)
    (refusal,) = DotMerger().explain(module)
    assert str(refusal).endswith("costs 18432 bytes, reading the shared one 6144")


def test_batches_are_merged_along_the_columns() -> None:
    check(projections(9, 64, [2, 3], constants=True, batch=2), 1)


def test_dots_that_need_each_other_stay_apart() -> None:
    x = builder.parameter(0, Shape(F32, (16, 16)))
    first = dot(x, builder.parameter(1, Shape(F32, (16, 1))), 0)
    second = dot(x, builder.unary("negate", first), 0)
    root = builder.instruction("tuple", [first, second])
    module = Module("m", Computation.make("main", [x, first.operands[1]], root))
    check(module, 2)
    (refusal,) = DotMerger().explain(module)
    assert "its right operand is computed" in str(refusal)


def test_an_effect_between_two_dots_runs_once() -> None:
    """The second dot's weights are an element of what the first one's result is passed to."""
    module = parse("""ENTRY main {
      x = f32[256,32] parameter(0)
      u = f32[32,2] parameter(1)
      d = f32[256,2] dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      c = (f32[32,2], f32[4]) custom-call(d), custom_call_target="f",
          custom_call_has_side_effect=true
      w = f32[32,2] get-tuple-element(c), index=0
      e = f32[256,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT t = (f32[256,2], f32[256,2]) tuple(d, e)
    }""")
    assert DotMerger()(module) is module
    assert DotMerger().explain(module) == (Refused("e", DEPENDENT, "d"),)


def test_other_dimension_numbers_and_other_operands_are_other_dots() -> None:
    module = parse("""ENTRY main {
      x = f32[32,32] parameter(0)
      y = f32[32,32] parameter(1)
      u = f32[32,1] parameter(2)
      v = f32[32,1] parameter(3)
      a = f32[32,1] dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      b = f32[32,1] dot(x, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}
      c = f32[32,1] dot(y, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT t = (f32[32,1], f32[32,1], f32[32,1]) tuple(a, b, c)
    }""")
    assert DotMerger()(module) is module


def test_merged_dots_go_through_the_pipeline() -> None:
    module = projections(64, 128, [8, 8], constants=True)
    after = default_pipeline().run(module)
    assert sum(i.opcode == "dot" for i in after.entry.instructions) == 1
