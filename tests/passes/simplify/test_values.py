"""Inlining, flattening, folding, merging and removing: each by example, all on random modules."""

import numpy as np
import pytest
from comparing import same
from hypothesis import given

from tfc.hlo import Module, builder, evaluate, parse, verify
from tfc.hlo.ir import Computation, Instruction, has_side_effect
from tfc.hlo.shape import BF16, F32, F64, PRED, S8, S32, U8, Shape
from tfc.passes import Pipeline, Repeat, default_pipeline, parse_passes
from tfc.passes.analysis.called import control_computations
from tfc.passes.expand.expand import EXPANSIONS
from tfc.passes.expand.inline import Flatten, Inline
from tfc.passes.simplify.cse import Cse
from tfc.passes.simplify.dce import Dce
from tfc.passes.simplify.fold import Fold
from tfc.passes.simplify.simplify import Simplify
from tfc.testing import OPCODES, arguments_for, modules
from tfc.testing.compare import flat, mismatch


def entry(lines: str, before: str = "") -> Module:
    return parse(f"{before}\nENTRY main {{\n{lines.replace(';', chr(10))}\n}}")


def opcodes(module: Module) -> list[str]:
    return [i.opcode for i in module.entry.instructions if i.opcode != "parameter"]


def same_values(before: Module, after: Module, kind: str = "special") -> None:
    """Both modules compute the same bits, any NaN being as good as another."""
    verify(after)
    arguments = arguments_for(before, np.random.default_rng(5), kind)
    expected, got = (evaluate(m, *arguments) for m in (before, after))
    if not isinstance(expected, tuple):
        expected, got = (expected,), (got,)
    for a, b in zip(expected, got):
        assert same(np.asarray(a), np.asarray(b)).all()


# --- cse ------------------------------------------------------------------------------------------


def test_equal_instructions_are_merged() -> None:
    module = entry(
        "x = f32[4] parameter(0); a = f32[4] tanh(x); b = f32[4] tanh(x); ROOT s = f32[4] add(a, b)"
    )
    assert opcodes(Cse()(module)) == ["tanh", "add"]


def test_different_zeros_are_not_merged() -> None:
    module = entry(
        "a = f32[] constant(0); b = f32[] constant(-0); ROOT t = (f32[], f32[]) tuple(a, b)"
    )
    assert Cse()(module) is module


def test_equal_reducers_are_merged_and_loop_parts_keep_their_caller() -> None:
    x = builder.parameter(0, Shape(F32, (4,)))
    zero = builder.constant(0.0, F32)
    sums = [builder.reduce(x, zero, [0], builder.scalar_computation("add", F32)) for _ in range(2)]
    other = builder.reduce(x, zero, [0], builder.scalar_computation("maximum", F32))
    root = builder.instruction("tuple", [*sums, other])
    module = Module("m", Computation.make("main", [x], root))
    merged = Cse()(module)
    assert [c.root.opcode for c in merged.computations] == ["add", "maximum", "tuple"]
    assert merged.entry.root.operands[0] is merged.entry.root.operands[1]


LOOP = """
test { s = s32[] parameter(0)
  n = s32[] constant(5)
  ROOT c = pred[] compare(s, n), direction=LT }
test2 { s = s32[] parameter(0)
  n = s32[] constant(5)
  ROOT c = pred[] compare(s, n), direction=LT }
body { s = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT t = s32[] add(s, one) }
f { x = s32[] parameter(0)
  ROOT w = s32[] while(x), condition=test, body=body }
"""


def test_equal_loops_are_merged_but_not_their_parts() -> None:
    module = entry(
        "x = s32[] parameter(0); y = s32[] parameter(1);"
        "a = s32[] while(x), condition=test, body=body;"
        "b = s32[] while(x), condition=test2, body=body;"
        "c = s32[] while(y), condition=test2, body=body;"
        "ROOT t = (s32[], s32[], s32[]) tuple(a, b, c)", LOOP,
    )  # fmt: skip
    flat = Flatten()(module)
    merged = Cse()(flat)
    assert opcodes(merged) == ["while", "while", "tuple"]
    assert Flatten()(merged) is merged
    same_values(module, merged)


# --- dce ------------------------------------------------------------------------------------------


def test_unused_instructions_go_and_parameters_stay() -> None:
    x, y = (builder.parameter(i, Shape(F32)) for i in range(2))
    root, unused = builder.unary("tanh", x), builder.unary("negate", y)
    module = Module("m", Computation("main", (x, y), (x, y, unused, root), root))
    assert [i.opcode for i in Dce()(module).entry.instructions] == [
        "parameter",
        "parameter",
        "tanh",
    ]


# --- fold -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ("a = s32[] constant(2); b = s32[] constant(3); ROOT s = s32[] add(a, b)", ["constant"]),
        ("a = f32[2,2] constant({{1,2},{3,4}}); ROOT t = f32[2,2] transpose(a), dimensions={1,0}",
         ["constant"]),
        ("a = f32[] constant(2); ROOT b = f32[3] broadcast(a), dimensions={}",
         ["constant", "broadcast"]),
        ("i = f32[3] iota(), iota_dimension=0; ROOT n = f32[3] negate(i)", ["iota", "negate"]),
        ("a = f32[2] constant({1, 2}); z = f32[] constant(0); ROOT p = f32[99999] pad(a, z), "
         "padding=0_99997", ["constant", "constant", "pad"]),
        ("a = f32[2,3] constant({{1,2,3},{4,5,6}}); b = f32[3] constant({1,2,3}); ROOT d = f32[2] "
         "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}", ["constant"]),
        ("a = f32[2] constant({1, 2}); ROOT t = (f32[2]) tuple(a)", ["constant", "tuple"]),
    ],
)  # fmt: skip
def test_constants_fold_unless_the_result_is_large(lines: str, left: list[str]) -> None:
    module = entry(lines)
    folded = Fold()(module)
    assert opcodes(folded) == left
    same_values(module, folded)


def test_loops_on_constants_are_not_run() -> None:
    module = entry(
        "z = s32[] constant(0); ROOT w = s32[] while(z), condition=test, body=body", LOOP
    )
    assert opcodes(Fold()(module)) == ["constant", "while"]


# --- inline and flatten ---------------------------------------------------------------------------


def test_calls_are_inlined_through_each_other() -> None:
    module = entry(
        "x = s32[] parameter(0); a = s32[] call(x), to_apply=g; ROOT b = s32[] call(a), to_apply=g",
        "h { x = s32[] parameter(0)\n ROOT y = s32[] not(x) }\n"
        "g { x = s32[] parameter(0)\n y = s32[] call(x), to_apply=h\n ROOT z = s32[] negate(y) }",
    )
    inlined = Inline()(module)
    assert opcodes(inlined) == ["not", "negate", "not", "negate"]
    same_values(module, inlined)


def test_each_loop_part_gets_its_own_caller() -> None:
    module = entry(
        "x = s32[] parameter(0); p = pred[] parameter(1); a = s32[] call(x), to_apply=f;"
        "c = s32[] conditional(p, a, a), true_computation=f, false_computation=f;"
        "ROOT b = s32[] call(c), to_apply=f", LOOP,
    )  # fmt: skip
    flat = Flatten()(Inline()(module))
    same_values(module, flat)
    control = control_computations(flat)
    assert len(control) == 1 + 2 * 2 + 2 * 3  # the entry, two loops, two branches with a loop each
    every = [i for c in control for i in c.instructions]
    assert len(every) == len(set(every))
    assert Flatten()(flat) is flat


def test_instructions_shared_by_computations_are_separated() -> None:
    shared = builder.iota(Shape(F32, (4,)), 0)
    x = builder.parameter(0, Shape(F32, (4,)))
    branch = [
        Computation.make(n, [p], builder.binary("add", p, shared))
        for n, p in (("f", builder.parameter(0, x.shape)), ("g", builder.parameter(0, x.shape)))
    ]
    p = builder.parameter(1, Shape(PRED))
    root = builder.instruction(
        "conditional", [p, x, shared], true_computation=branch[0], false_computation=branch[1]
    )
    flat = Flatten()(Module("m", Computation.make("main", [x, p], root)))
    every = [i for c in flat.computations for i in c.instructions]
    assert len(every) == len(set(every))
    verify(flat)


@pytest.mark.parametrize("values", ["x, f", "f, x", "t, x", "x, t", "t, f", "f, t"])
@pytest.mark.parametrize("size", [1, 3])
def test_a_scalar_that_chooses_between_truths_is_repeated(values: str, size: int) -> None:
    module = entry(
        f"p = pred[] parameter(0); x = pred[{size}] parameter(1); one = pred[] constant(true);"
        f"none = pred[] constant(false); t = pred[{size}] broadcast(one), dimensions={{}};"
        f"f = pred[{size}] broadcast(none), dimensions={{}};"
        f"ROOT s = pred[{size}] select(p, {values})"
    )
    simple = Simplify()(module)
    assert "select" not in opcodes(simple)
    same_values(module, simple)


# --- all together ---------------------------------------------------------------------------------

# Sums in another order are other sums of floats.
EXACTLY = "simplify{reorder=false}"
PASSES = [
    "inline",
    "inline,flatten",
    EXACTLY,
    "dead-results",
    "fold",
    "cse",
    "dce",
    "inline,copies",
    "dots",
]


@pytest.mark.parametrize("text", PASSES)
@given(module=modules(12, element_types=(F32, S32, PRED, BF16, F64, S8, U8)))
def test_a_pass_keeps_every_bit(text: str, module: Module) -> None:
    after = module
    for each in parse_passes(text):
        after = each(after)
    same_values(module, after)


@given(module=modules(12, element_types=(F32, S32, PRED, BF16, F64, S8, U8)))
def test_simplify_and_motion_keep_the_values(module: Module) -> None:
    same_numbers(module, Pipeline("p", parse_passes("simplify,sinking,simplify")).run(module))


def same_numbers(before: Module, after: Module) -> None:
    """Both compute the same, but for the order of sums and what comes of that."""
    verify(after)
    arguments = arguments_for(before, np.random.default_rng(5), "special")
    assert mismatch(before, arguments, list(flat(evaluate(after, *arguments)))) is None


# An expansion computes an operation in another way than the reference does.
PLAIN = [o for o in OPCODES if o not in EXPANSIONS]


@given(module=modules(16, element_types=(F32, S32, PRED, BF16, U8), opcodes=PLAIN))
def test_the_default_pipeline_keeps_the_values(module: Module) -> None:
    same_numbers(module, default_pipeline().run(module))


@given(module=modules(12))
def test_passes_settle(module: Module) -> None:
    for each in (Simplify(), Simplify(exact=False), Cse(), Dce(), Fold()):
        once = each(module)
        assert each(once) is once, each.name


@given(module=modules(12))
def test_simplify_motion_and_the_others_settle_together(module: Module) -> None:
    once = Repeat(parse_passes("simplify,sinking,dead-results,fold,cse,dce"))
    module = once(module)
    assert once(module) is module


@given(module=modules(12))
def test_cse_leaves_no_two_equal_instructions(module: Module) -> None:
    for computation in Cse()(module).computations:
        pure = [i for i in computation.instructions if not has_side_effect(i)]
        keys = [(i.opcode, i.operands, i.attributes, i.shape) for i in pure]
        assert len(keys) == len(set(keys))


def test_deep_modules_take_every_pass() -> None:
    x = builder.parameter(0, Shape(F32, (4,)))
    value: Instruction = x
    for k in range(5_000):
        value = builder.unary("tanh" if k % 2 else "negate", value)
    module = Module("deep", Computation.make("main", [x], value))
    assert default_pipeline().run(module) is not module


def test_a_reshape_of_a_scalar_makes_no_other_reshape_rise():
    """It costs nothing where it is, so that to rise would only change places, again and again."""
    module = parse("""ENTRY e {
      p = pred[3] parameter(0)
      q = pred[1] slice(p), slice={[0:1]}
      n = pred[1] slice(p), slice={[1:2]}
      b = pred[1] and(q, n)
      x = f64[] parameter(1)
      y = f64[] exponential(x)
      r = f64[1] reshape(y)
      z = f64[] constant(2)
      zs = f64[1] broadcast(z), dimensions={}
      s = f64[1] select(b, r, zs)
      m = f64[1,1] reshape(s)
      o = f64[] constant(0)
      ROOT w = f64[3,1] pad(m, o), padding=0_2x0_0
    }""")
    assert Repeat(parse_passes("simplify,sinking,cse,dce"))(module) is not None
