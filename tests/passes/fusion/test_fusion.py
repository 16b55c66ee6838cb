"""Fusion: what goes together, what is refused and why, and that values stay the same."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfc.hlo import Module, builder, evaluate, parse, verify
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, PRED, S32, Shape
from tfc.passes.analysis.called import control_computations
from tfc.passes.analysis.fusible import can_fuse
from tfc.passes.fusion.fusion import Fusion, loop_index
from tfc.passes.simplify.dce import Dce
from tfc.testing import arguments_for, modules

HELPERS = """
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
max { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] maximum(x, y) }
"""


def fused(lines: str, **options: int) -> tuple[list[str], str]:
    """What is left in the entry after fusion, each fusion as its ops, and the refusals."""
    module = parse(f"{HELPERS}\nENTRY main {{\n{lines.replace(';', chr(10))}\n}}")
    fusion = Fusion(**options)
    result = fusion(module)
    verify(result)
    rng = np.random.default_rng(0)
    arguments = arguments_for(module, rng)
    a, b = (evaluate(m, *arguments) for m in (module, result))
    for x, y in zip(a, b) if isinstance(a, tuple) else [(a, b)]:
        np.testing.assert_array_equal(x, y, strict=True)
    kept = [i for i in result.entry.instructions if i.opcode not in ("parameter", "constant")]
    return [summary(i) for i in kept], "\n".join(map(str, fusion.explain(module)))


def summary(instruction: Instruction) -> str:
    if instruction.opcode != "fusion":
        return instruction.opcode
    inside = [i.opcode for i in instruction["calls"].instructions]
    return f"{instruction['kind']}: " + " ".join(o for o in inside if o != "parameter")


def test_a_chain_becomes_one_loop() -> None:
    kernels, _ = fused(
        "x = f32[8] parameter(0); e = f32[8] exponential(x); n = f32[8] negate(e);"
        "ROOT t = f32[8] tanh(n)"
    )
    assert kernels == ["kLoop: exponential negate tanh"]


def test_softmax_is_four_kernels() -> None:
    kernels, refusals = fused(
        "x = f32[4,8] parameter(0); low = f32[] constant(-inf); zero = f32[] constant(0);"
        "m = f32[4] reduce(x, low), dimensions={1}, to_apply=max;"
        "b = f32[4,8] broadcast(m), dimensions={0}; c = f32[4,8] subtract(x, b);"
        "e = f32[4,8] exponential(c); s = f32[4] reduce(e, zero), dimensions={1}, to_apply=add;"
        "t = f32[4,8] broadcast(s), dimensions={0}; ROOT r = f32[4,8] divide(e, t)"
    )
    assert kernels == [
        "kInput: constant reduce",
        "kLoop: broadcast subtract exponential",
        "kInput: constant reduce",
        "kLoop: broadcast divide",
    ]
    assert "it is used elsewhere too" in refusals


def test_a_reduce_takes_its_producers_but_no_consumers() -> None:
    kernels, _ = fused(
        "x = f32[4,8] parameter(0); zero = f32[] constant(0); y = f32[4,8] multiply(x, x);"
        "s = f32[4] reduce(y, zero), dimensions={1}, to_apply=add; ROOT q = f32[4] sqrt(s)"
    )
    assert kernels == ["kInput: multiply constant reduce", "sqrt"]


def test_an_expensive_producer_is_not_repeated_by_a_broadcast() -> None:
    lines = (
        "x = f32[4] parameter(0); y = f32[4,8] parameter(1); e = f32[4] {}(x);"
        "b = f32[4,8] broadcast(e), dimensions={{0}}; ROOT s = f32[4,8] add(b, y)"
    )
    kernels, refusals = fused(lines.format("exponential"))
    assert kernels == ["exponential", "kLoop: broadcast add"]
    assert "e into s: it is expensive" in refusals
    assert fused(lines.format("negate"))[0] == ["kLoop: negate broadcast add"]


def test_an_expensive_producer_read_at_two_places_is_stored() -> None:
    kernels, _ = fused(
        "x = f32[9] parameter(0); e = f32[9] exponential(x); a = f32[8] slice(e), slice={[0:8]};"
        "b = f32[8] slice(e), slice={[1:9]}; ROOT d = f32[8] subtract(b, a)"
    )
    assert kernels == ["exponential", "kLoop: slice slice subtract"]


def test_a_concatenate_computes_each_part_once() -> None:
    kernels, _ = fused(
        "x = f32[4] parameter(0); y = f32[6] parameter(1); e = f32[4] exponential(x);"
        "t = f32[6] tanh(y); ROOT c = f32[10] concatenate(e, t), dimensions={0}"
    )
    assert kernels == ["kLoop: exponential tanh concatenate"]


def test_cheap_movement_of_a_parameter_goes_into_each_user() -> None:
    kernels, _ = fused(
        "x = f32[4] parameter(0); y = f32[4,4] parameter(1); zero = f32[] constant(0);"
        "b = f32[4,4] broadcast(x), dimensions={1}; a = f32[4,4] add(y, b);"
        "s = f32[4] reduce(b, zero), dimensions={0}, to_apply=add;"
        "d = f32[4,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
        "ROOT t = (f32[4,4], f32[4]) tuple(d, s)"
    )
    # dot needs b in memory; the loops still repeat x rather than load the larger b.
    assert sorted(kernels) == [
        "broadcast", "dot", "kInput: broadcast constant reduce", "kLoop: broadcast add", "tuple",
    ]  # fmt: skip


def test_a_producer_that_reads_more_than_it_writes_is_not_repeated() -> None:
    kernels, refusals = fused(
        "x = f32[4] parameter(0); y = f32[4] parameter(1); a = f32[4] add(x, y);"
        "e = f32[4] exponential(a); zero = f32[] constant(0);"
        "s = f32[] reduce(a, zero), dimensions={0}, to_apply=add;"
        "ROOT t = (f32[4], f32[]) tuple(e, s)"
    )
    assert kernels == ["add", "exponential", "kInput: constant reduce", "tuple"]
    assert "computing it again costs more than loading it" in refusals


def test_a_bias_added_is_repeated_in_two_kernels_rather_than_stored() -> None:
    lines = (
        "x = f32[8,4] parameter(0); y = f32[4] parameter(1);"
        "b = f32[8,4] broadcast(y), dimensions={{1}}; a = f32[8,4] add(x, b);"
        "e = f32[8,4] {}(a); t = f32[4,8] transpose({}), dimensions={{1,0}};"
        "ROOT r = (f32[8,4], f32[4,8]) tuple(e, t)"
    )
    kernels, _ = fused(lines.format("negate", "a"))
    assert kernels == ["kLoop: broadcast add negate", "kLoop: broadcast add transpose", "tuple"]
    # What is slow to compute is stored.
    kernels, _ = fused(lines.format("exponential", "e"))
    assert kernels == ["kLoop: broadcast add exponential", "transpose", "tuple"]


def test_a_slow_instruction_goes_through_a_broadcast_but_a_function_does_not() -> None:
    lines = (
        "x = f32[8] parameter(0); y = f32[8,4] parameter(1); r = f32[8] {}(x);"
        "b = f32[8,4] broadcast(r), dimensions={{0}}; ROOT m = f32[8,4] multiply(b, y)"
    )
    assert fused(lines.format("rsqrt"))[0] == ["kLoop: rsqrt broadcast multiply"]
    assert fused(lines.format("tanh"))[0] == ["tanh", "kLoop: broadcast multiply"]


def test_dots_and_loops_stay_alone() -> None:
    x = builder.parameter(0, Shape(F32, (4, 4)))
    dot = builder.instruction("dot", [x, x], lhs_contracting_dims=(1,), rhs_contracting_dims=(0,))
    add = builder.binary("add", dot, x)
    assert "dot is not computed element by element" in str(can_fuse(dot, add))
    assert "dot needs its operand in memory" in str(can_fuse(builder.unary("negate", x), dot))
    assert can_fuse(builder.unary("negate", x), add) is None


def test_a_reshape_of_a_stored_value_stays_an_alias() -> None:
    kernels, _ = fused(
        "x = f32[2,6] parameter(0); r = f32[3,4] reshape(x); e = f32[3,4] exponential(r);"
        "ROOT q = f32[12] reshape(e)"
    )
    assert kernels == ["reshape", "exponential", "reshape"]
    between, _ = fused(
        "x = f32[2,6] parameter(0); e = f32[2,6] exponential(x); r = f32[12] reshape(e);"
        "ROOT n = f32[12] negate(r)"
    )
    assert between == ["kLoop: exponential reshape negate"]


def test_code_size_is_bounded_by_distinct_indices() -> None:
    x = builder.parameter(0, Shape(F32, (2**12,)))
    value: Instruction = x
    for _ in range(10):  # each level reads the one below at two places
        size = value.array_shape.dims[0] - 1
        parts = [builder.instruction("slice", [value], slice=((k, k + size, 1),)) for k in (0, 1)]
        value = builder.binary("maximum", *parts)
    module = Module("stencil", Computation.make("main", [x], value))
    result = Fusion()(module)
    verify(result)
    # The elements at i, i+1, … coincide between levels, so each level adds one access, not twice as
    # many; still all but the last level run more than once, and only a few of those may.
    assert Counter(i.opcode for i in result.entry.instructions) == {"parameter": 1, "fusion": 2}
    assert any("computed more than once" in str(d) for d in Fusion().explain(module))
    assert len(Fusion(max_instructions=8)(module).entry.instructions) > 3


def test_small_limits_split_a_chain() -> None:
    lines = (
        "x = f32[8] parameter(0); a = f32[8] negate(x); b = f32[8] tanh(a);"
        "ROOT c = f32[8] exponential(b)"
    )
    kernels, refusals = fused(lines, max_instructions=12)
    assert kernels == ["negate", "kLoop: tanh exponential"]
    assert "the loop body would exceed 12 instructions" in refusals


def test_index_arithmetic_is_bounded() -> None:
    x = builder.parameter(0, Shape(F32, (6, 10, 4)))
    value: Instruction = x
    for k in range(12):
        value = builder.instruction("transpose", [value], dimensions=(2, 0, 1))
        value = builder.reshape(value, [(6, 10, 4), (8, 3, 10), (5, 12, 4)][k % 3])
    module = Module("shuffle", Computation.make("main", [x], builder.unary("negate", value)))
    result = Fusion()(module)
    verify(result)
    data = np.arange(240, dtype=np.float32).reshape(6, 10, 4)
    np.testing.assert_array_equal(evaluate(module, data), evaluate(result, data))
    assert any("index arithmetic" in str(d) for d in Fusion().explain(module))


def test_empty_operands_and_loops_inside_control_flow() -> None:
    kernels, _ = fused(
        "x = f32[0] parameter(0); y = f32[3] parameter(1); e = f32[0] exponential(x);"
        "n = f32[3] negate(y); ROOT c = f32[3] concatenate(e, n), dimensions={0}"
    )
    assert len(kernels) == 1


def test_a_loop_body_is_fused_but_a_reducer_is_not() -> None:
    module = parse(
        """
        test { s = f32[4] parameter(0)
          ROOT f = pred[] constant(false) }
        body { s = f32[4] parameter(0)
          e = f32[4] exponential(s)
          ROOT n = f32[4] negate(e) }
        ENTRY main { x = f32[4] parameter(0)
          ROOT w = f32[4] while(x), condition=test, body=body }
        """
    )
    result = Fusion()(module)
    (loop,) = [i for i in result.entry.instructions if i.opcode == "while"]
    assert summary(loop["body"].root) == "kLoop: exponential negate"


def test_a_deep_chain_is_fused_in_linear_time() -> None:
    x = builder.parameter(0, Shape(F32, (4,)))
    value: Instruction = x
    for _ in range(10_000):
        value = builder.unary("negate", value)
    module = Module("deep", Computation.make("main", [x], value))
    result = Fusion(max_instructions=100)(module)
    assert len(result.entry.instructions) == 101


def test_loop_index_names_what_a_reduce_removes() -> None:
    x = builder.parameter(0, Shape(F32, (2, 3, 4)))
    add = builder.scalar_computation("add", F32)
    reduce = builder.reduce(x, builder.constant(0.0, F32), [1], add)
    assert [str(i) for i in loop_index(reduce)] == ["d0", "r0", "d1"]


def ops_of(module: Module) -> set[tuple[str, str]]:
    """The ops that are evaluated, with their shapes, wherever they are."""
    return {(i.opcode, str(i.shape)) for c in module.computations for i in c.instructions
            if i.opcode not in ("fusion", "parameter")}  # fmt: skip


@given(modules(14, element_types=(F32, S32, PRED)), st.sampled_from([1, 4, 128]))
def test_random_modules_keep_values_and_ops(module: Module, limit: int) -> None:
    result = Fusion(max_instructions=limit)(module)
    verify(result)
    arguments = arguments_for(module, np.random.default_rng(1), "special")
    expected, got = (evaluate(m, *arguments) for m in (module, result))
    if not isinstance(expected, tuple):
        expected, got = (expected,), (got,)
    for a, b in zip(expected, got):
        np.testing.assert_array_equal(a, b, strict=True)
    assert ops_of(Dce()(result)) == ops_of(Dce()(module))
    for computation in control_computations(result):
        for fusion in (i for i in computation.instructions if i.opcode == "fusion"):
            assert len(fusion["calls"].instructions) > 1


@pytest.mark.parametrize("seed", range(3))
def test_fusing_again_changes_nothing(seed: int) -> None:
    x = builder.parameter(0, Shape(F32, (4, 4)))
    value = builder.unary(["tanh", "exponential", "negate"][seed], x)
    value = builder.binary("add", value, builder.instruction("transpose", [x], dimensions=(1, 0)))
    once = Fusion()(Module("m", Computation.make("main", [x], value)))
    assert Fusion()(once) is once
