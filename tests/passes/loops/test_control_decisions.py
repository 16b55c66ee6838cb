"""What the passes over loops and conditionals leave alone, with the reasons they give."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tfc
from benchmarks.models import lstm
from tfc.hlo import Module, evaluate, parse
from tfc.hlo.ir import Instruction
from tfc.hlo.loops.loop_config import stated_trip_count
from tfc.hlo.loops.trip_counts import whiles
from tfc.passes import default_pipeline
from tfc.passes.loops.conditionals import Conditionals
from tfc.passes.loops.input_projections import InputProjections
from tfc.passes.loops.licm import Licm
from tfc.passes.loops.loop_simplify import LoopSimplify
from tfc.passes.loops.unroll import Unroll
from tfc.passes.pipeline import Pipeline
from tfc.passes.rewriting.decisions import Refused, Taken

STATE = "(s32[], f32[8,8], f32[8,8], f32[8])"


def loop(body: str, result: str = "v", count: str = "10", more: str = "") -> Module:
    """A loop over (i, v, m, b) of which i counts to `count` and v becomes `result`."""
    return parse(f"""
{more}
test {{ s = {STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({count})
  ROOT c = pred[] compare(i, n), direction=LT }}
body {{ s = {STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[8,8] get-tuple-element(s), index=1
  m = f32[8,8] get-tuple-element(s), index=2
  b = f32[8] get-tuple-element(s), index=3
  one = s32[] constant(1)
  j = s32[] add(i, one)
  {body}
  ROOT r = {STATE} tuple(j, {result}, m, b) }}
ENTRY main {{
  k = s32[] parameter(0)
  x = f32[8,8] parameter(1)
  y = f32[8,8] parameter(2)
  z = f32[8] parameter(3)
  zero = s32[] constant(0)
  q = {STATE} tuple(zero, x, y, z)
  w = {STATE} while(q), condition=test, body=body
  ROOT o = f32[8,8] get-tuple-element(w), index=1
}}""")


def unknown(module: Module) -> Module:
    """The same loop, which goes on to an argument's value."""
    return parse(str(module).replace("tuple(%zero", "tuple(%k"))


EXP = "e = f32[8,8] exponential(m)\n a = f32[8,8] add(v, e)"
INVARIANTS = [
    (loop(EXP, "a"), Licm(), Taken("out of body", "e")),
    (loop("e = f32[8,8] broadcast(b), dimensions={0}\n f = f32[8,8] negate(e)\n"
          "a = f32[8,8] add(v, f)", "a"), Licm(),
     Refused("f", "it is larger than what it is made of, and cheap to make")),
    (loop("e = f32[8,8] broadcast(b), dimensions={0}\n f = f32[8,8] tanh(e)\n"
          "a = f32[8,8] add(v, f)", "a"), Licm(), Taken("out of body", "f")),
    (loop("e = f32[8,8] broadcast(b), dimensions={0}\n f = f32[8,8] tanh(e)\n"
          "a = f32[8,8] add(v, f)", "a"), Licm(max_bytes=100),
     Refused("f", "it takes 224 bytes more than what it is made of")),
    (unknown(loop('e = f32[8,8] custom-call(m), custom_call_target="f"\n'
                  "a = f32[8,8] add(v, e)", "a")), Licm(),
     Refused("e", "it may not end, and the loop may run no iteration")),
    (loop('e = f32[8,8] custom-call(m), custom_call_target="f"\n'
          "a = f32[8,8] add(v, e)", "a"), Licm(), Taken("out of body", "e")),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(INVARIANTS)))
def test_invariants(number: int):
    module, made, decision = INVARIANTS[number]
    assert decision in made.explain(module)
    assert (made(module) is module) == isinstance(decision, Refused)


def test_an_effect_is_not_moved():
    module = loop('e = f32[8,8] custom-call(m), custom_call_target="f", '
                  "custom_call_has_side_effect=true\n a = f32[8,8] add(v, e)", "a")  # fmt: skip
    assert Licm()(module) is module


UNROLLED = [
    (loop(EXP, "a", "3"), Unroll(), Taken("unrolled", "w")),
    (loop(EXP, "a"), Unroll(), Refused("w", "it runs 10 iterations, more than 8")),
    (loop(EXP, "a"), Unroll(max_trips=10), Taken("unrolled", "w")),
    (loop(EXP, "a", "3"), Unroll(max_instructions=8),
     Refused("w", "it would be 9 instructions, more than 8")),
    (unknown(loop(EXP, "a", "3")), Unroll(),
     Refused("w", "the number of its iterations is not known")),
    (loop('a = f32[8,8] custom-call(m), custom_call_target="f", '
          "custom_call_has_side_effect=true", "a", "3"), Unroll(), Refused("w", "it has effects")),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(UNROLLED)))
def test_unrolling(number: int):
    module, made, decision = UNROLLED[number]
    assert made.explain(module) == (decision,)
    assert (made(module) is module) == isinstance(decision, Refused)


def loops_in_loops(depth: int) -> Module:
    """Loops of 3 iterations, each body of which but the innermost runs the next one twice."""
    state = "(s32[], f32[])"
    parts = [
        f"""
test {{ s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }}
body0 {{ s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[] sine(x)
  ROOT r = {state} tuple(j, y) }}"""
    ]
    parts += [f"""
body{d} {{ s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  z = s32[] constant(0)
  one = s32[] constant(1)
  a = {state} tuple(z, x)
  v = {state} while(a), condition=test, body=body{d - 1}
  y = f32[] get-tuple-element(v), index=1
  b = {state} tuple(z, y)
  w = {state} while(b), condition=test, body=body{d - 1}
  u = f32[] get-tuple-element(w), index=1
  j = s32[] add(i, one)
  ROOT r = {state} tuple(j, u) }}""" for d in range(1, depth)]  # fmt: skip
    return parse(
        "".join(parts)
        + f"""
ENTRY main {{ x = f32[] parameter(0)
  z = s32[] constant(0)
  t = {state} tuple(z, x)
  w = {state} while(t), condition=test, body=body{depth - 1}
  ROOT y = f32[] get-tuple-element(w), index=1 }}"""
    )


def test_bodies_that_are_run_in_many_places_are_measured_once():
    innermost, *_, outermost = Unroll().explain(loops_in_loops(60))
    assert innermost == Taken("unrolled", "v")
    # An addition, two loops, and a comparison and a body in each: L(n) = 5 + 2 L(n-1), L(0) = 2.
    length = 7 * 2**59 - 5
    assert outermost == Refused("w", f"it would be {3 * length} instructions, more than 128")


def conditional(step: str, shape: str = "f32[8]", branches: int = 2) -> Module:
    """A conditional on an index, with `step` in its first branch."""
    several = ", ".join(["g"] * (branches - 1))
    passed = ", ".join(["x"] * branches)
    return parse(f"""
f {{ x = {shape} parameter(0)
  ROOT r = {shape} {step} }}
g {{ x = {shape} parameter(0)
  ROOT r = {shape} negate(x) }}
ENTRY main {{
  p = s32[] parameter(0)
  x = {shape} parameter(1)
  ROOT c = {shape} conditional(p, {passed}), branch_computations={{f, {several}}}
}}""")


EFFECT = 'custom-call(x), custom_call_target="f", custom_call_has_side_effect=true'
CONDITIONALS = [
    (conditional("add(x, x)"), Taken("a select", "c")),
    (conditional("tanh(x)"), Refused("c", "f has an expensive operation, tanh")),
    (conditional(EFFECT), Refused("c", "f has effects")),
    (conditional("add(x, x)", "f32[8192]"), Refused("c", "f makes 65536 bytes")),
    (conditional("add(x, x)", branches=5), Refused("c", "it has more than 4 branches")),
]


@pytest.mark.parametrize("number", range(len(CONDITIONALS)))
def test_conditionals(number: int):
    module, decision = CONDITIONALS[number]
    assert Conditionals().explain(module) == (decision,)
    assert (Conditionals()(module) is module) == isinstance(decision, Refused)


def scan(steps: int, rows: int, count: str) -> Module:
    """A loop that adds products of `rows` rows of one of its inputs with weights."""
    state = f"(s32[], s32[], f32[{steps},{rows},4], f32[4,4], f32[{rows},4])"
    names = "".join(
        f"{name} = {shape} get-tuple-element(s), index={n}\n"
        for n, (name, shape) in enumerate([
            ("i", "s32[]"), ("n", "s32[]"), ("x", f"f32[{steps},{rows},4]"), ("m", "f32[4,4]"),
            ("v", f"f32[{rows},4]"),
        ])
    )  # fmt: skip
    return parse(f"""
test {{ s = {state} parameter(0)
  {names} ROOT c = pred[] compare(i, n), direction=LT }}
body {{ s = {state} parameter(0)
  {names} one = s32[] constant(1)
  j = s32[] add(i, one)
  zero = s32[] constant(0)
  cut = f32[1,{rows},4] dynamic-slice(x, i, zero, zero), dynamic_slice_sizes={{1,{rows},4}}
  row = f32[{rows},4] reshape(cut)
  d = f32[{rows},4] dot(row, m), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  a = f32[{rows},4] add(v, d)
  ROOT r = {state} tuple(j, n, x, m, a) }}
ENTRY main {{
  x = f32[{steps},{rows},4] parameter(0)
  m = f32[4,4] parameter(1)
  v = f32[{rows},4] parameter(2)
  k = s32[] parameter(3)
  zero = s32[] constant(0)
  n = s32[] {count}
  q = {state} tuple(zero, n, x, m, v)
  ROOT w = {state} while(q), condition=test, body=body
}}""")


PROJECTIONS = [
    (scan(20, 1, "constant(20)"), InputProjections(), Taken("before the loop", "d")),
    (scan(20, 1, "constant(25)"), InputProjections(), Taken("before the loop", "d")),
    (scan(20, 1, "copy(k)"), InputProjections(),
     Refused("d", "the loop is not known to use most of 20 slices")),
    (scan(20, 1, "constant(9)"), InputProjections(),
     Refused("d", "the loop is not known to use most of 20 slices")),
    (scan(20, 1, "constant(20)"), InputProjections(max_bytes=300),
     Refused("d", "all products take 320 bytes, more than 300")),
    (scan(20, 2, "constant(20)"), InputProjections(),
     Refused("d", "storing all products moves more than reading the weights each time")),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PROJECTIONS)))
def test_input_projections(number: int):
    module, made, decision = PROJECTIONS[number]
    assert made.explain(module) == (decision,)
    result = made(module)
    assert (result is module) == isinstance(decision, Refused)
    numbers = np.random.default_rng(0).integers(-3, 4, (20, 2, 4)).astype(np.float32)
    rows = module.entry.parameters[2].array_shape.dims[0]
    arguments = (numbers[:, :rows], numbers[0, :1].repeat(4, 0), numbers[1, :rows], np.int32(5))
    for got, expected in zip(evaluate(result, *arguments), evaluate(module, *arguments)):
        np.testing.assert_array_equal(got, expected)


def before_fusion(module: Module) -> Module:
    """The module after all passes on whole computations."""
    passes = default_pipeline().passes
    last = next(n for n, p in enumerate(passes) if p.name == "trip-counts")
    return Pipeline("front", passes[: last + 1]).run(module)


def opcodes(loop: Instruction) -> list[str]:
    """The opcodes in a loop's body, sorted, except for what has no code."""
    free = ("constant", "get-tuple-element", "parameter", "tuple", "reshape", "broadcast")
    return sorted(i.opcode for i in loop["body"].instructions if i.opcode not in free)


def test_the_body_of_an_lstm_is_minimal():
    model = lstm(steps=20, width=16)
    module = tfc.from_stablehlo(model.stablehlo()).hlo
    result = before_fusion(module)
    (loop,) = whiles(result)
    shapes = [s.without_layout() for s in loop.shape.elements]  # type: ignore[union-attr]
    assert sorted(shapes) == sorted([
        "s32[]", "f32[1,16]", "f32[1,16]", "f32[20,1,16]",  # what changes
        "f32[16,64]", "f32[64]", "f32[20,1,64]",  # what does not: weights, bias, projected inputs
    ])  # fmt: skip
    found = opcodes(loop)
    assert found.count("dot") == found.count("dynamic-slice") == 1
    assert not {"compare", "select", "clamp", "while", "call", "copy"} & set(found)
    root = loop["body"].root
    (update,) = (i for i in loop["body"].instructions if i.opcode == "dynamic-update-slice")
    assert root.operands.index(update) == update.operands[0]["index"]  # at its own place
    got, expected = (evaluate(m, *model.leaves()) for m in (result, module))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_indices_of_nested_loops_are_not_checked():
    """Negative indices count from the end in JAX, which loop counters never do."""

    def run(x):
        def inner(i, total):
            return lax.fori_loop(0, 20, lambda j, t: t + x[i, j] * jnp.sin(x[i, 0]), total)

        return lax.fori_loop(0, 10, inner, 0.0)

    x = np.random.default_rng(0).random((10, 20), np.float32)
    module = tfc.from_stablehlo(jax.jit(run).lower(x).as_text()).hlo
    result = before_fusion(module)
    inner, outer = whiles(result)
    assert opcodes(inner) == ["add", "add", "dynamic-slice", "multiply"]
    assert opcodes(outer) == ["add", "dynamic-slice", "sine", "while"]
    assert [stated_trip_count(w) for w in (inner, outer)] == [20, 10]
    np.testing.assert_allclose(evaluate(result, x), evaluate(module, x), rtol=1e-6)


def test_scanning_over_numbers_takes_the_counter():
    def run(x):
        return lax.scan(lambda c, i: (c + x[i], x[i] * 2), jnp.zeros(4), jnp.arange(10))

    x = np.random.default_rng(0).random((10, 4), np.float32)
    result = before_fusion(tfc.from_stablehlo(jax.jit(run).lower(x).as_text()).hlo)
    (loop,) = whiles(result)
    assert opcodes(loop) == ["add", "add", "dynamic-slice", "dynamic-update-slice", "multiply"]


def test_effects_hold_a_loop_that_nothing_uses():
    module = loop('a = f32[8,8] custom-call(m), custom_call_target="f", '
                  "custom_call_has_side_effect=true", "a")  # fmt: skip
    text = str(module).replace("ROOT %o = f32[8,8]{1,0} get-tuple-element(%w), index=1",
                               "ROOT %o = f32[8,8]{1,0} negate(%x)")  # fmt: skip
    result = LoopSimplify()(parse(text))
    (kept,) = whiles(result)
    assert [s.without_layout() for s in kept.shape.elements] == ["s32[]", "f32[8,8]"]  # type: ignore
    assert LoopSimplify()(result) is result
