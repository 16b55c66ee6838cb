"""The engine: kernels of chosen members, what is left beside them, and what cannot be."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_programs import FLOATS, row_program

from tfc.errors import InternalError
from tfc.hlo import Module, evaluate, parse, verify
from tfc.hlo.ir import Computation, Instruction
from tfc.passes import PASSES
from tfc.passes.analysis.called import control_computations
from tfc.passes.analysis.fusible import is_scalar_constant
from tfc.passes.fusion.engine import Kernel, Kernels
from tfc.passes.pipeline import Pass
from tfc.passes.rewriting.decisions import Refused, Taken
from tfc.passes.simplify.dce import Dce
from tfc.testing import arguments_for, modules
from tfc.testing.compare import flat

CHAIN = """ENTRY main {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  a = f32[8] exponential(y)
  b = f32[8] add(x, a)
  c = f32[8] multiply(b, y)
  ROOT t = (f32[8], f32[8]) tuple(c, OTHER) }"""


def formed(text: str, *chosen: tuple[str, str]) -> tuple[Module, Kernels]:
    """The module with kernels of ("members", "outputs"), whose values are what they were."""
    module = parse(text)
    named = {i.name: i for i in module.entry.instructions}
    plan = Kernels(module.entry)
    for members, outputs in chosen:
        several = ([named[n] for n in names.split()] for names in (members, outputs))
        plan.kernels.append(Kernel("kLoop", *several))
    result = module.with_entry(plan.apply())
    same_values(module, result)
    return result, plan


def same_values(before: Module, after: Module) -> None:
    verify(after)
    arguments = arguments_for(before, np.random.default_rng(0))
    with np.errstate(all="ignore"):
        expected, got = (flat(evaluate(m, *arguments)) for m in (before, after))
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def opcodes(computation: Computation) -> list[str]:
    return [i.opcode for i in computation.instructions if i.opcode != "parameter"]


def kernels_of(module: Module) -> list[Instruction]:
    return [i for i in module.entry.instructions if i.opcode == "fusion"]


def test_nothing_formed_is_nothing_changed() -> None:
    computation = parse(CHAIN.replace("OTHER", "c")).entry
    assert Kernels(computation).apply() is computation


def test_operands_are_what_members_read_first_come_first() -> None:
    result, _ = formed(CHAIN.replace("OTHER", "c"), ("a b c", "c"))
    (kernel,) = kernels_of(result)
    assert [o.name for o in kernel.operands] == ["y", "x"]
    assert opcodes(kernel["calls"]) == ["exponential", "add", "multiply"]
    assert (kernel.name, kernel["calls"].name) == ("c_fusion", "fused_multiply")
    assert opcodes(result.entry) == ["fusion", "tuple"]


def test_several_outputs_are_elements_of_a_tuple() -> None:
    result, _ = formed(CHAIN.replace("OTHER", "a"), ("a b c", "a c"))
    (kernel,) = kernels_of(result)
    assert opcodes(kernel["calls"]) == ["exponential", "add", "multiply", "tuple"]
    assert opcodes(result.entry) == ["fusion", "get-tuple-element", "get-tuple-element", "tuple"]
    assert [o.name for o in result.entry.root.operands] == ["c", "a"]


def test_what_is_read_outside_and_no_output_is_computed_there_again() -> None:
    result, _ = formed(CHAIN.replace("OTHER", "a"), ("a b c", "c"))
    assert sorted(opcodes(result.entry)) == ["exponential", "fusion", "tuple"]
    assert opcodes(kernels_of(result)[0]["calls"]) == ["exponential", "add", "multiply"]


def test_a_kernel_may_read_another_whatever_the_order_of_their_first_members() -> None:
    text = CHAIN.replace("OTHER", "z").replace("ROOT", "z = f32[8] subtract(a, c)\n  ROOT")
    result, _ = formed(text, ("a z", "z"), ("b c", "c"))
    outer, inner = (next(k for k in kernels_of(result) if k.name[0] == n) for n in "zc")
    assert inner in outer.operands
    assert "exponential" in opcodes(result.entry)  # for the other kernel


def test_a_kernel_that_needs_its_own_result_is_a_defect() -> None:
    with pytest.raises(InternalError, match="needs what needs its results"):
        formed(CHAIN.replace("OTHER", "a"), ("a c", "a c"))


EFFECTS = """ENTRY main {
  x = f32[8] parameter(0)
  a = f32[8] negate(x)
  first = f32[8] custom-call(a), custom_call_target="f", custom_call_has_side_effect=true
  second = f32[8] custom-call(x), custom_call_target="g", custom_call_has_side_effect=true
  ROOT b = f32[8] abs(second) }"""


def test_an_effect_that_would_change_places_is_a_defect() -> None:
    """The kernel would need the second effect, and the first one the kernel."""
    module = parse(EFFECTS)
    named = {i.name: i for i in module.entry.instructions}
    plan = Kernels(module.entry)
    plan.kernels.append(Kernel("kLoop", *[[named["a"], named["b"]]] * 2))
    with pytest.raises(InternalError, match="needs what needs its results"):
        plan.apply()


CONTROL = """ENTRY main {
  x = f32[8] parameter(0)
  a = f32[8] negate(x)
  b = f32[8] abs(a)
  c = f32[8] sqrt(x), control-predecessors={PREDECESSOR}
  d = f32[8] sign(x)
  ROOT t = (f32[8], f32[8], f32[8]) tuple(c, b, d) }"""


def test_control_edges_are_kept_between_what_stays_by_itself() -> None:
    text = CONTROL.replace("  d = f32[8] sign(x)\n", "").replace(
        "  a =", "  d = f32[8] sign(x)\n  a ="
    )
    result, _ = formed(text.replace("PREDECESSOR", "d"), ("a b", "b"))
    (root,) = (i for i in result.entry.instructions if i.opcode == "sqrt")
    (before,) = root.control_predecessors
    order = result.entry.instructions
    assert order.index(before) < order.index(root)


@pytest.mark.parametrize("inside", ["a", "b"])
def test_control_edges_from_parts_of_kernels_say_nothing(inside: str) -> None:
    formed(CONTROL.replace("PREDECESSOR", inside), ("a b", "b"))


MERGED = """
one { p = f32[8] parameter(0)
  e = f32[8] exponential(p)
  ROOT n = f32[8] negate(e) }
two { p = f32[8] parameter(0)
  e = f32[8] exponential(p)
  s = f32[8] sqrt(e)
  ROOT t = (f32[8], f32[8]) tuple(s, e) }
ENTRY main {
  x = f32[8] parameter(0)
  a = f32[8] fusion(x), kind=kLoop, calls=one
  k = (f32[8], f32[8]) fusion(x), kind=kLoop, calls=two
  b = f32[8] get-tuple-element(k), index=0
  c = f32[8] get-tuple-element(k), index=1
  ROOT t = (f32[8], f32[8], f32[8]) tuple(a, b, c) }"""


def test_kernels_inside_are_taken_apart_and_what_they_share_is_computed_once() -> None:
    module = parse(MERGED)
    plan = Kernels(module.entry)
    members = [i for i in module.entry.instructions if i.opcode == "fusion"]
    plan.kernels.append(Kernel("kLoop", members, members, "both", merges=True))
    result = module.with_entry(plan.apply())
    same_values(module, result)
    (kernel,) = kernels_of(result)
    assert kernel["calls"].name == "fused_both"
    assert opcodes(kernel["calls"]) == ["exponential", "negate", "sqrt", "tuple"]
    assert opcodes(result.entry).count("tuple") == 1  # elements are taken of the kernel itself


def test_decisions_are_what_is_refused_and_what_is_formed() -> None:
    _, plan = formed(CHAIN.replace("OTHER", "c"), ("a b", "b"))
    x, *_, c, _ = plan.computation.instructions
    plan.refuse(x, "it is a parameter", c)
    assert plan.decisions == (
        Refused("x", "it is a parameter", "c"),
        Taken("kLoop of 2 instructions", "b"),
    )
    assert plan.position[c] == plan.computation.instructions.index(c)


POLICIES = ["epilogues", "window-edges", "rows", "fusion", "multi-output", "horizontal"]


def computed(module: Module) -> Counter[tuple[str, str]]:
    """What the program computes, kernels' insides included, as operations and shapes."""
    found: Counter[tuple[str, str]] = Counter()
    pending = [c for c in module.computations if c in control_computations(module)]
    while pending:
        for i in pending.pop().instructions:
            if i.opcode == "fusion":
                pending.append(i["calls"])
            elif i.opcode not in ("parameter", "tuple", "get-tuple-element"):
                found[i.opcode, str(i.shape)] += not is_scalar_constant(i)
    return found


def hold(module: Module, each: Pass) -> Module:
    """The module after a pass that forms kernels: the same values, nothing lost, no cycle."""
    result = each(module)
    same_values(module, result)
    for computation in result.computations:
        place = {i: n for n, i in enumerate(computation.instructions)}
        assert all(place[o] < place[i] for i in place for o in i.operands)
    before, after = computed(module), computed(result)
    assert before.keys() == after.keys()
    return result


@pytest.mark.parametrize("name", POLICIES)
@given(module=modules(max_instructions=14))
@settings(max_examples=40, deadline=None)
def test_random_modules_keep_values_and_instructions(name: str, module: Module) -> None:
    module = Dce()(module)
    merges = name in ("multi-output", "horizontal")
    module = PASSES["fusion"]()(module) if merges else module
    hold(module, PASSES[name]())


@given(st.integers(0, 1 << 30), st.sampled_from(FLOATS))
@settings(max_examples=40, deadline=None)
def test_random_rows_keep_values_and_instructions(seed: int, element_type) -> None:
    module = Dce()(row_program(seed, element_type))
    for name in POLICIES:
        module = hold(module, PASSES[name]())


def count(module: Module) -> int:
    control = control_computations(module)
    return sum(i.opcode == "fusion" for c in control for i in c.instructions)


@given(modules(max_instructions=14))
@settings(max_examples=30, deadline=None)
def test_as_many_kernels_are_reported_as_are_formed(module: Module) -> None:
    module, each = Dce()(module), PASSES["fusion"]()
    formed = sum(isinstance(d, Taken) for d in each.explain(module))
    assert count(each(module)) - count(module) == formed
