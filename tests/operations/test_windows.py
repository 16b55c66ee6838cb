"""Reduce-window and select-and-scatter: as text, in XLA and on the CPU; map and scan with them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spec_helpers import floats, gives
from test_differential import assert_same
from xla_bridge import run_hlo_text, xla_parse, xla_print

import tfc
from tfc.errors import ParseError
from tfc.hlo import Module, builder, evaluate, parse
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.builder import instruction, parameter
from tfc.hlo.ir import Computation
from tfc.hlo.shape import BF16, F32, F64, PRED, S32, U8, Shape
from tfc.testing import arguments_for, instructions_of, modules

OPCODES = ["reduce-window", "select-and-scatter", "map", "scan"]
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def text_of(window: str, dims: str = "4,6", opcode: str = "add") -> str:
    return f"""
f {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] {opcode}(a, b) }}
ENTRY e {{ x = f32[{dims}] parameter(0)
  i = f32[] constant(0)
  ROOT y = reduce-window(x, i), {window}to_apply=f }}"""


# Text.


@pytest.mark.parametrize(
    ("dims", "window"),
    [
        ("4,6", "window={size=2x3}, "),
        ("4,6", "window={size=1x1}, "),
        ("4,6", "window={size=2x3 stride=2x3}, "),
        ("4,6", "window={size=3x3 stride=2x2 pad=1_1x-1_1 lhs_dilate=2x2 rhs_dilate=1x2}, "),
        ("4,6", "window={size=2x1 rhs_reversal=1x0}, "),
        ("7", "window={size=2 pad=0_1}, "),
        ("", ""),
    ],
)
def test_windows_print_as_xla_prints_them_and_round_trip(dims: str, window: str):
    text = str(parse(text_of(window, dims)))
    assert f"reduce-window(%x, %i), {window}to_apply" in text
    assert str(parse(text)) == text
    printed = xla_print(xla_parse(text))
    assert f"reduce-window(%x, %i), {window}to_apply" in printed
    assert parse(printed).entry.root.shape == parse(text).entry.root.shape


def test_a_window_may_be_written_in_any_order_with_its_defaults():
    text = text_of("window={stride=2x1 pad=0_0x0_0 /* why */ size=2x1 lhs_dilate=1x1}, ")
    assert "window={size=2x1 stride=2x1}, " in str(parse(text))
    assert "), to_apply" in str(parse(text_of("window={}, ", "")))


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("window=3x3, ", "expected a window such as"),
        ("window={size=2x3 pad={1}}, ", "pad cannot be '.1.'"),
        ("window={size=2x3 stride=2}, ", "as many of everything else as of sizes"),
        ("window={stride=2x3}, ", "has a size"),
        ("window={size=2x3 size=2x3}, ", "'size' is repeated"),
        ("window={size=2x3 step=2x3}, ", "'step' is none of size, stride, pad"),
        ("window={size=2x3, stride=2x3}, ", "size cannot be '2x3,'"),
        ("window={size=2x3 pad=1x1}, ", "pad cannot be '1x1'"),
        ("window={size=2x3 rhs_reversal=2x0}, ", "rhs_reversal cannot be '2x0'"),
        ("window={size=2x99999999999999999999}, ", "size cannot be '2x9999"),
        ("window={size}, ", "size cannot be ''"),
        ("window={size=2x0}, ", "sizes, strides and dilations of 1 or more"),
        ("", "a window of 2 dimensions"),
    ],
)
def test_windows_that_cannot_be_read_are_refused_where_they_stand(window: str, message: str):
    with pytest.raises(ParseError, match=message):
        parse(text_of(window))


# Against XLA.


def is_fit_for_xla(module: Module) -> bool:
    """XLA's expansions fail on scalars and on empty scans."""
    walked = [i.operands[0].array_shape.dims for i in module.entry.instructions
              if i.opcode in ("select-and-scatter", "scan")]  # fmt: skip
    return all(dims and 0 not in dims for dims in walked)


@pytest.mark.parametrize("opcode", OPCODES)
@QUICK
@given(data=st.data())
def test_random_instructions_are_what_xla_computes(opcode: str, data: st.DataObject):
    module = data.draw(instructions_of(opcode, (F32, S32, PRED, U8)))
    assume(is_fit_for_xla(module))
    values = arguments_for(module, np.random.default_rng(0), "whole")
    np.testing.assert_array_equal(run_hlo_text(str(module), *values), evaluate(module, *values))


def pooled(x):
    largest = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    total = jax.lax.reduce_window(
        x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID",
        base_dilation=(1, 2, 1, 1), window_dilation=(1, 1, 2, 1),
    )  # fmt: skip
    return largest, total


def cumulative(x):
    return (jnp.cumsum(x, 1), jnp.cumprod(x, 0), jax.lax.cummax(x, 2, reverse=True),
            jax.lax.cumlogsumexp(x, 1), jnp.cumsum(x.astype(jnp.int32)))  # fmt: skip


def with_gradients(x):
    def loss(v):
        return (pooled(v)[0] ** 2).sum() + (jnp.cumsum(v, 2) * v).sum()

    return jax.value_and_grad(loss)(x)


@pytest.mark.parametrize("function", [pooled, cumulative, with_gradients])
def test_jax_programs_give_what_jax_computes(function: Any):
    x = np.random.default_rng(2).normal(size=(2, 7, 6, 3)).astype(np.float32)
    text = jax.jit(function).lower(x).compiler_ir("hlo").as_hlo_text(True)
    module = parse(text)
    assert str(parse(str(module))) == str(module)
    expected = jax.tree_util.tree_leaves(jax.jit(function)(x))
    compiled = tfc.compile(module)(x)
    for got, ours, want in zip(evaluate(module, x), compiled, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)
        np.testing.assert_allclose(ours, want, rtol=2e-5, atol=1e-5)


# On the CPU.


@pytest.mark.parametrize("opcode", OPCODES)
@QUICK
@given(data=st.data(), seed=st.integers(0, 100))
def test_the_cpu_gives_what_the_evaluator_gives(opcode: str, data: st.DataObject, seed: int):
    assert_same(data.draw(instructions_of(opcode, (F32, S32, PRED, F64, U8, BF16))), seed, "whole")


FUSABLE = ("reduce-window", "scan", "map", "pad", "reverse", "slice", "transpose", "add",
           "multiply", "negate", "broadcast")  # fmt: skip


@QUICK
@given(modules(8, element_types=(F32, S32), opcodes=FUSABLE), st.integers(0, 100))
def test_the_cpu_gives_the_same_with_producers_fused_in(module: Module, seed: int):
    assert_same(module, seed, "whole")


@pytest.mark.parametrize("layout", ["{1,0}", "{0,1}"])
@pytest.mark.parametrize(
    "window",
    ["size=3x2 stride=2x1 pad=1_1x0_1", "size=1x700 pad=0_0x699_0", "size=1x700 pad=0_0x0_699",
     "size=5x1 pad=4_0x0_0", "size=2x3 pad=0_0x-3_1 lhs_dilate=1x2 rhs_dilate=2x2"],
)  # fmt: skip
def test_layouts_and_rows_longer_than_a_stretch(window: str, layout: str):
    text = text_of(f"window={{{window}}}, ", "5,700").replace("f32[5,700]", f"f32[5,700]{layout}")
    for wide in (text, text.replace("700", "5000").replace("699", "4999")):
        module = parse(wide)
        x = np.random.default_rng(0).integers(-9, 9, module.entry.parameters[0].array_shape.dims)
        x = x.astype(np.float32)
        np.testing.assert_array_equal(tfc.compile(module)(x)[0], evaluate(module, x))


@pytest.mark.parametrize("rows", ["1,1", "3", "4", "6", "2,8", "3,2"])
@pytest.mark.parametrize("pad", ["8_0", "0_8"])
def test_running_sums_of_several_rows_at_once(rows: str, pad: str):
    ones = "x".join("1" * len(rows.split(",")))
    none = "x".join("0_0" for _ in rows.split(","))
    module = parse(text_of(f"window={{size={ones}x9 pad={none}x{pad}}}, ", f"{rows},9"))
    (x,) = arguments_for(module, np.random.default_rng(1))
    np.testing.assert_array_equal(tfc.compile(module)(x)[0], evaluate(module, x))


def test_a_cumulative_sum_takes_linear_time():
    """In quadratic time this would take hours."""
    n = 3_000_000
    x = np.ones(n, np.float32)
    module = parse(text_of(f"window={{size={n} pad={n - 1}_0}}, ", str(n)))
    np.testing.assert_array_equal(tfc.compile(module)(x)[0], np.arange(1, n + 1))


def test_cumulative_windows_are_recognised():
    one, plain = WindowDimension, WindowDimension(1)
    assert Window((plain, one(4, 1, 3, 0))).cumulative((9, 4)) == (1, False)
    assert Window((one(9, 1, 0, 8), plain)).cumulative((9, 4)) == (0, True)
    for window in ((plain, plain), (one(3, 1, 2, 0), plain), (one(9, 1, 8, 0), one(4, 1, 3, 0)),
                   (one(9, 2, 8, 0), plain), (one(9, 1, 8, 1), plain)):  # fmt: skip
        assert Window(window).cumulative((9, 4)) is None


def test_reduce_window_of_pairs_in_which_the_order_shows():
    """The index of the first largest element of each window, as a reduction of pairs."""
    x, i, y, j = (parameter(n, Shape(t)) for n, t in enumerate((F32, S32) * 2))
    test = builder.compare("GE", x, y)
    best = [instruction("select", [test, a, b]) for a, b in ((x, y), (i, j))]
    pick = Computation.make("pick", [x, i, y, j], instruction("tuple", best))
    values = parameter(0, Shape(F32, (6,)))
    for window, expected in (
        (WindowDimension(3), [2, 2, 2, 5]),
        (WindowDimension(6, 1, 5, 0), [0, 0, 2, 2, 2, 5]),
        (WindowDimension(6, 1, 0, 5), [5, 5, 5, 5, 5, 5]),
    ):
        pair = instruction(
            "reduce-window", [values, builder.iota(Shape(S32, (6,)), 0),
                              builder.constant(-np.inf, F32), builder.constant(-1, S32)],
            window=Window((window,)), to_apply=pick,
        )  # fmt: skip
        root = instruction("get-tuple-element", [pair], index=1)
        module = Module("m", Computation.make("e", [values], root))
        x = np.array([3, 3, 5, 5, 1, 7], np.float32)
        np.testing.assert_array_equal(evaluate(module, x), expected)
        np.testing.assert_array_equal(tfc.compile(module)(x)[0], expected)


def test_reductions_by_computations_that_are_not_elementwise_evaluate():
    """A conditional has no meaning on arrays: the evaluator goes through the elements."""
    x, y = (parameter(n, Shape(F32)) for n in range(2))
    branch = Computation.make("branch", [x], builder.unary("negate", x))
    other = Computation.make("other", [x], x)
    root = instruction(
        "conditional", [builder.compare("LT", x, y), x, y], true_computation=branch,
        false_computation=other,
    )  # fmt: skip
    to_apply = Computation.make("pick", [x, y], root)
    made = instruction(
        "map", [floats([1.0, 5, 2]), floats([2.0, 3, 2])], dimensions=(0,), to_apply=to_apply
    )
    gives(made, [-1, 3, 2])
    made = instruction(
        "reduce-window", [floats([1.0, 5, 2]), floats(3)], window=Window((WindowDimension(2),)),
        to_apply=to_apply,
    )  # fmt: skip
    gives(made, [-1, 3])


def test_reductions_by_computations_with_loops_compile():
    """Control flow among the scalars of a kernel: a loop, and a branch chosen out of range."""
    module = parse("""
    HloModule m
    body { t = (f32[], s32[]) parameter(0)
           x = f32[] get-tuple-element(t), index=0
           i = s32[] get-tuple-element(t), index=1
           one = s32[] constant(1)
           ROOT r = (f32[], s32[]) tuple(f32[] multiply(x, x), s32[] add(i, one)) }
    again { t = (f32[], s32[]) parameter(0)
            i = s32[] get-tuple-element(t), index=1
            two = s32[] constant(2)
            ROOT l = pred[] compare(i, two), direction=LT }
    same { ROOT x = bf16[] parameter(0) }
    minus { x = bf16[] parameter(0)
            ROOT y = bf16[] negate(x) }
    square { x = bf16[] parameter(0)
             ROOT y = bf16[] multiply(x, x) }
    step { x = f32[] parameter(0)
           y = f32[] parameter(1)
           start = (f32[], s32[]) tuple(y, s32[] constant(0))
           looped = (f32[], s32[]) while(start), condition=again, body=body
           fourth = f32[] get-tuple-element(looped), index=0
           half = bf16[] convert(y)
           chosen = bf16[] conditional(s32[] convert(y), half, half, half),
               branch_computations={same, minus, square}
           ROOT s = f32[] add(x, f32[] add(fourth, f32[] convert(chosen))) }
    ENTRY e { a = f32[3] parameter(0)
              ROOT r = f32[2] reduce-window(a, f32[] constant(3)), window={size=2}, to_apply=step }
    """)
    x = np.array([-1, 5, 1], np.float32)
    # -1 and 5 are no branches: the last one, the square, runs. 1^4 - 1 is 0.
    expected = [3 + (1 + 1) + (625 + 25), 3 + (625 + 25) + 0]
    np.testing.assert_array_equal(tfc.hlo.evaluate(module, x), expected)
    np.testing.assert_array_equal(tfc.compile(module)(x)[0], expected)
