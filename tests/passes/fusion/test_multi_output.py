"""Kernels with several results: which are merged, which not and why; values and order stay."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfc.hlo import Module, builder, evaluate, parse, verify
from tfc.hlo.ir import Computation
from tfc.hlo.shape import F32, PRED, S32, Shape
from tfc.passes.fusion.fusion import Fusion
from tfc.passes.fusion.multi_output import MultiOutput
from tfc.passes.rewriting.decisions import Refused
from tfc.testing import arguments_for, modules

HELPERS = """
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
"""


def merged(lines: str, **options: int) -> tuple[int, str]:
    """How many kernels are left, and the refusals; the values are checked."""
    module = Fusion()(parse(f"{HELPERS}\nENTRY main {{\n{lines.replace(';', chr(10))}\n}}"))
    made = MultiOutput(**options)
    result = made(module)
    assert_same_values(module, result)
    silent = ("parameter", "constant", "tuple", "get-tuple-element", "reshape")
    kernels = [i for i in result.entry.instructions if i.opcode not in silent]
    refusals = (str(d) for d in made.explain(module) if isinstance(d, Refused))
    return len(kernels), "\n".join(refusals)


def assert_same_values(before: Module, after: Module) -> None:
    verify(after)
    arguments = arguments_for(before, np.random.default_rng(1), "special")
    expected, got = (flat(evaluate(m, *arguments)) for m in (before, after))
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def flat(value: object) -> list[object]:
    return [x for v in value for x in flat(v)] if isinstance(value, tuple) else [value]


SIBLINGS = (
    "x = f32[8,4] parameter(0); y = f32[8,4] parameter(1); a = f32[8,4] add(x, y);"
    "b = f32[8,4] subtract(x, y); ROOT t = (f32[8,4], f32[8,4]) tuple(a, b)"
)


def test_siblings_over_one_space_are_merged() -> None:
    assert merged(SIBLINGS) == (1, "")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_arrays": 3}, "the kernel would have more than 3 arrays"),
        ({"max_instructions": 5}, "the kernel would exceed 5 instructions"),
        ({"least_saved": 67}, "it would save 256 of 384 bytes"),
    ],
)
def test_limits_are_kept(options: dict[str, int], reason: str) -> None:
    count, refusals = merged(SIBLINGS, **options)
    assert count == 2
    assert reason in refusals


def test_a_path_between_siblings_keeps_them_apart() -> None:
    count, refusals = merged(
        "x = f32[4,4] parameter(0); a = f32[4,4] exponential(x);"
        "d = f32[4,4] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0};"
        "b = f32[4,4] add(x, d); ROOT t = (f32[4,4], f32[4,4]) tuple(a, b)"
    )
    assert count == 3
    assert "b into a: a path leads from one to the other" in refusals


def test_a_consumer_at_other_elements_is_not_merged() -> None:
    count, refusals = merged(
        "x = f32[4,4] parameter(0); y = f32[4,4] exponential(x);"
        "a = f32[4,4] transpose(y), dimensions={1,0}; b = f32[4,4] add(a, x);"
        "ROOT t = (f32[4,4], f32[4,4]) tuple(y, b)"
    )
    assert count == 2
    assert "it reads other elements than those that are just made" in refusals


def test_a_scalar_reduction_ends_before_its_use() -> None:
    count, _ = merged(
        "x = f32[8] parameter(0); zero = f32[] constant(0);"
        "s = f32[] reduce(x, zero), dimensions={0}, to_apply=add;"
        "b = f32[8] broadcast(s), dimensions={}; q = f32[8] divide(x, b);"
        "ROOT t = (f32[8], f32[]) tuple(q, s)"
    )
    assert count == 2


def test_a_small_shared_operand_is_not_worth_it() -> None:
    count, refusals = merged(
        "x = f32[64,4] parameter(0); y = f32[64,4] parameter(1); c = f32[4] parameter(2);"
        "d = f32[64,4] broadcast(c), dimensions={1}; a = f32[64,4] add(x, d);"
        "b = f32[64,4] multiply(y, d); ROOT t = (f32[64,4], f32[64,4]) tuple(a, b)"
    )
    assert count == 2
    assert "it would save 16 of 2064 bytes" in refusals


def test_a_loop_with_conditions_stays_alone() -> None:
    count, _ = merged(
        "x = f32[8] parameter(0); y = f32[8] parameter(1);"
        "c = f32[16] concatenate(x, y), dimensions={0}; n = f32[16] exponential(c);"
        "z = f32[16] parameter(2); a = f32[16] add(c, z); b = f32[16] negate(z);"
        "ROOT t = (f32[16], f32[16], f32[16]) tuple(n, a, b)"
    )
    assert count > 1


def test_variadic_reductions_share_a_pass() -> None:
    module = parse("""
both { a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  s = f32[] add(a, c)
  p = f32[] multiply(b, d)
  ROOT t = (f32[], f32[]) tuple(s, p) }
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
ENTRY main { x = f32[8,4] parameter(0)
  one = f32[] constant(1)
  v = (f32[8], f32[8]) reduce(x, x, one, one), dimensions={1}, to_apply=both
  s = f32[8] reduce(x, one), dimensions={1}, to_apply=add
  p = f32[8] get-tuple-element(v), index=1
  ROOT t = (f32[8], f32[8], (f32[8], f32[8])) tuple(s, p, v) }
""")
    result = MultiOutput()(Fusion()(module))
    assert_same_values(module, result)
    assert sum(i.opcode == "fusion" for i in result.entry.instructions) == 1


def test_effects_keep_their_order() -> None:
    # The merged kernel would need the second value fed in, and give what the first feed waits for.
    module = parse("""
ENTRY main { x = f32[4] parameter(0)
  a = f32[4] exponential(x)
  n = token[] after-all()
  o = token[] outfeed(a, n), outfeed_shape=f32[4]
  f = (f32[4], token[]) infeed(n)
  g = f32[4] get-tuple-element(f), index=0
  b = f32[4] add(x, g)
  ROOT t = (f32[4], f32[4]) tuple(a, b) }
""")
    assert MultiOutput()(Fusion()(module)) is module


@given(modules(14, element_types=(F32, S32, PRED)), st.booleans())
def test_random_modules_keep_their_values(module: Module, fuse: bool) -> None:
    before = Fusion()(module) if fuse else module
    result = MultiOutput(least_saved=0)(before)
    assert_same_values(module, result)


def test_many_kernels_are_merged_in_little_time() -> None:
    x = builder.parameter(0, Shape(F32, (64,)))
    value, results = x, []
    for _ in range(2000):
        results.append(builder.unary("exponential", value))
        value = builder.binary("add", value, results[-1])
    module = Module("deep", Computation.make("main", [x], builder.instruction("tuple", results)))
    made = MultiOutput()
    result = made(module)
    verify(result)
    assert all(len(i["calls"].instructions) <= 257 + 96
               for i in result.entry.instructions if i.opcode == "fusion")  # fmt: skip


def test_a_kernel_that_reads_one_element_of_a_reduction_comes_after_it() -> None:
    """The element is spread by way of a scalar; both go over x at the same places."""
    count, refusals = merged(
        "x = f32[64,64] parameter(0); zero = f32[] constant(0);"
        "total = f32[64] reduce(x, zero), dimensions={1}, to_apply=add;"
        "one = f32[1] slice(total), slice={[1:2]}; scalar = f32[] reshape(one);"
        "spread = f32[64,64] broadcast(scalar), dimensions={}; y = f32[64,64] add(x, spread);"
        "ROOT t = (f32[64], f32[64,64]) tuple(total, y)"
    )
    assert count == 2
    assert "it reads other elements than those that are just made" in refusals


def test_kernels_that_compute_the_same_of_a_small_array_are_merged() -> None:
    angles = (
        "p = f32[4] parameter(0); i = f32[64,4] iota(), iota_dimension=0;"
        "b = f32[64,4] broadcast(p), dimensions={1}; d = f32[64,4] divide(i, b);"
        "c = f32[64,4] cosine(d); s = f32[64,4] sine(d);"
        "ROOT t = (f32[64,4], f32[64,4]) tuple(c, s)"
    )
    assert merged(angles)[0] == 1
    assert merged(angles.replace("sine(d)", "sine(i)").replace("cosine(d)", "cosine(b)"))[0] == 2


def test_what_kernels_compute_is_compared_in_linear_time() -> None:
    doublings = ";".join(f"v{k + 1} = f32[64,4] multiply(v{k}, v{k})" for k in range(90))
    merged(f"v0 = f32[64,4] parameter(0); {doublings}; ROOT n = f32[64,4] negate(v90)")


def test_a_launch_that_is_saved_counts_where_something_is_shared() -> None:
    lines = (
        "x = f32[8,64] parameter(0); y = f32[8,4] parameter(1);"
        "a = f32[8,4] slice(x), slice={[0:8], [0:4]}; b = f32[8,4] slice(x), slice={[0:8], [4:8]};"
        "c = f32[8,4] add(a, y); d = f32[8,4] exponential(c); e = f32[8,4] multiply(d, b);"
        "ROOT t = (f32[8,4], f32[8,4]) tuple(c, e)"
    )
    assert merged(lines, least_saved=90)[0] == 2
    assert merged(lines, least_saved=90, launch_bytes=1 << 20)[0] == 1
