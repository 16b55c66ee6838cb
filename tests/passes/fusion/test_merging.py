"""What kernels may be merged, what a kernel computes, and the limits of a merged one."""

import numpy as np
import pytest

from tfc.hlo import Module, evaluate, parse, verify
from tfc.hlo.ir import Instruction
from tfc.passes.analysis.topological_levels import DEPENDENT
from tfc.passes.fusion.merging import Merging, body_of, byte_size
from tfc.testing import arguments_for
from tfc.testing.compare import flat

HELPERS = """
plus { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
rows { p = f32[4,8] parameter(0)
  e = f32[4,8] exponential(p)
  z = f32[] constant(0)
  ROOT r = f32[4] reduce(e, z), dimensions={1}, to_apply=plus }
product { p = f32[4,8] parameter(0)
  q = f32[8,4] parameter(1)
  d = f32[4,4] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT n = f32[4,4] negate(d) }
pair { p = f32[4,8] parameter(0)
  s = f32[4,8] sqrt(p)
  n = f32[4,8] negate(p)
  ROOT t = (f32[4,8], f32[4,8]) tuple(s, n) }
sum_of_sum { p = f32[4,8] parameter(0)
  z = f32[] constant(0)
  r = f32[4] reduce(p, z), dimensions={1}, to_apply=plus
  ROOT n = f32[4] negate(r) }
"""
TEXT = f"""{HELPERS}
ENTRY main {{
  x = f32[4,8] parameter(0)
  y = f32[8,4] parameter(1)
  zero = f32[] constant(0)
  one = f32[4,8] negate(x)
  total = f32[4] reduce(x, zero), dimensions={{1}}, to_apply=plus
  flat = f32[32] reshape(x)
  turned = f32[8,4] transpose(x), dimensions={{1,0}}
  plain = f32[4,4] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  dense = f32[4,4] fusion(x, y), kind=kOutput, calls=product
  several = (f32[4,8], f32[4,8]) fusion(x), kind=kLoop, calls=pair
  summed = f32[4] fusion(x), kind=kInput, calls=rows
  odd = f32[4] fusion(x), kind=kInput, calls=sum_of_sum
  ROOT t = (f32[4,8], f32[4]) tuple(one, summed) }}"""


def named() -> dict[str, Instruction]:
    return {i.name: i for i in parse(TEXT).entry.instructions}


@pytest.mark.parametrize(
    ("name", "values", "operands", "members"),
    [
        ("one", ["negate"], ["x"], ["one"]),
        ("total", ["reduce"], ["x"], ["zero", "total"]),  # its constant is no operand
        ("turned", ["transpose"], ["x"], ["turned"]),
        ("several", ["sqrt", "negate"], ["x"], ["several"]),
        ("summed", ["reduce"], ["x"], ["summed"]),
    ],
)
def test_bodies(name: str, values: list[str], operands: list[str], members: list[str]) -> None:
    body = body_of(named()[name])
    assert body is not None
    assert [v.opcode for v in body.values] == values
    assert [o.name for o in body.operands] == operands
    assert [m.name for m in body.members] == members


@pytest.mark.parametrize("name", ["x", "flat", "plain", "dense", "odd", "t"])
def test_what_is_no_body(name: str) -> None:
    """Aliases, products, other kinds of kernels, and reductions whose results are used inside."""
    assert body_of(named()[name]) is None


def test_the_bytes_of_tuples_are_those_of_their_arrays() -> None:
    instructions = named()
    assert byte_size(instructions["one"]) == 128
    assert byte_size(instructions["several"]) == 256


def merged(*names: str) -> Module:
    module = parse(TEXT.replace("tuple(one, summed)", "tuple(one, total)"))
    plan = Merging(module.entry, 100, 10)
    found = {i.name: i for i in module.entry.instructions}
    plan.merge([body for n in names if (body := body_of(found[n])) is not None])
    result = module.with_entry(plan.apply())
    verify(result)
    arguments = arguments_for(module, np.random.default_rng(0))
    for a, b in zip(*(flat(evaluate(m, *arguments)) for m in (module, result)), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    return result


def test_merged_kernels_are_one_in_the_order_of_the_text() -> None:
    (kernel,) = (i for i in merged("total", "one").entry.instructions if i.opcode == "fusion")
    assert (kernel.name, kernel["kind"]) == ("total_and_others", "kInput")
    assert kernel["calls"].name == "fused_negate_reduce"


def test_one_kernel_or_none_that_is_used_is_not_merged() -> None:
    for names in (["one"], ["several", "turned"]):
        assert not any(i.name.endswith("_and_others") for i in merged(*names).entry.instructions)


def test_limits_and_paths_are_reasons() -> None:
    module = parse(TEXT)
    plan = Merging(module.entry, max_instructions=100, max_arrays=10)
    assert plan.too_large(100, 10) is None
    assert plan.too_large(101, 10) == "the kernel would exceed 100 instructions"
    assert plan.too_large(100, 11) == "the kernel would have more than 10 arrays"
    found = {i.name: i for i in module.entry.instructions}
    assert plan.levels.merge(found["one"], found["summed"]) is None
    assert plan.levels.merge(found["x"], found["t"]) == DEPENDENT
