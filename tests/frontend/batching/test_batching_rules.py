"""Every op's batching rule: what it gives for the whole batch is what the evaluator gives for each
element by itself, whichever of the operands are batched. Programs of one instruction are random.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfc.frontend.batching import walk
from tfc.frontend.batching.walk import Batch
from tfc.hlo import parse
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Module
from tfc.hlo.op import OPS
from tfc.hlo.verification.verifier import verify
from tfc.testing import OPCODES, arguments_for, instructions_of, modules
from tfc.testing.compare import flat, mismatch

MOST = 3  # parameters of which every choice is batched
MAPPED = [opcode for opcode in OPCODES if opcode not in walk.REFUSED]
KINDS = st.sampled_from(["normal", "whole", "special"])


def choices(count):
    """Which of the parameters are batched: all choices of few, or each alone and all together."""
    if count <= MOST:
        return [c for c in product((False, True), repeat=count) if any(c)]
    return [tuple(n == k for n in range(count)) for k in range(count)] + [(True,) * count]


def flags_in_order(flags):
    """The flags of the leaves, depth first."""
    return (
        [f for part in flags for f in flags_in_order(part)] if isinstance(flags, tuple) else [flags]
    )


def problem(module, chosen, size, rng, kind):
    """None if the batched module gives for each element what the module does, else what differs."""
    each = [arguments_for(module, rng, kind) for _ in range(size)]
    each = [[a if c else a0 for a, a0, c in zip(one, each[0], chosen)] for one in each]
    stacked = [np.stack(several) if c else several[0] for several, c in zip(zip(*each), chosen)]
    computation, flags = Batch(size).computation(module.entry, chosen)
    verify(Module("batched", computation))
    got = list(flat(evaluate_computation(computation, stacked)))
    of_results = flags_in_order(flags)
    assert len(got) == len(of_results)
    for number, arguments in enumerate(each):
        mine = [g[number] if f else g for g, f in zip(got, of_results)]
        found = mismatch(module, arguments, mine)
        if found:
            return f"element {number} of a batch of {chosen}: {found}\n{module}\n{computation}"
    return None


def check_rule(data, opcode, seed, kind):
    module = data.draw(instructions_of(opcode))
    rng = np.random.default_rng(seed)
    for chosen in choices(len(module.entry.parameters)):
        assert problem(module, chosen, 1 + seed % 3, rng, kind) is None


@pytest.mark.parametrize("opcode", MAPPED)
@settings(max_examples=5)
@given(data=st.data(), seed=st.integers(0, 100), kind=KINDS)
def test_each_element_of_a_batch_is_what_it_is_alone(opcode, data, seed, kind):
    check_rule(data, opcode, seed, kind)


@pytest.mark.slow
@pytest.mark.parametrize("opcode", MAPPED)
@settings(max_examples=25)
@given(data=st.data(), seed=st.integers(0, 1000), kind=KINDS)
def test_each_element_of_many_batches_is_what_it_is_alone(opcode, data, seed, kind):
    check_rule(data, opcode, seed, kind)


@settings(max_examples=12)
@given(data=st.data(), seed=st.integers(0, 1000), kind=KINDS)
def test_programs_of_several_ops_are_what_they_are_alone(data, seed, kind):
    module = data.draw(modules(10, opcodes=MAPPED))
    rng = np.random.default_rng(seed)
    chosen = tuple(bool(rng.integers(0, 2)) for _ in module.entry.parameters)
    assert problem(module, chosen, 1 + seed % 3, rng, kind) is None


def test_every_op_has_a_batching_rule():
    assert walk.missing_rules() == []
    assert set(walk.RULES) <= set(OPS)


def test_a_missing_batching_rule_is_named_with_what_to_do(monkeypatch):
    monkeypatch.delitem(walk.RULES, "reverse")
    assert walk.missing_rules() == ["reverse has no batching rule: add one in frontend/batching/."]


NESTED = """
condition {
  s = (s32[], (f32[2], f32[])) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  pair = (f32[2], f32[]) get-tuple-element(s), index=1
  limit = f32[] get-tuple-element(pair), index=1
  count = f32[] convert(i)
  ROOT more = pred[] compare(count, limit), direction=LT
}

body {
  s = (s32[], (f32[2], f32[])) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  pair = (f32[2], f32[]) get-tuple-element(s), index=1
  ROOT after = (s32[], (f32[2], f32[])) tuple(next, pair)
}

ENTRY main {
  i = s32[] parameter(0)
  x = f32[2] parameter(1)
  limit = f32[] parameter(2)
  pair = (f32[2], f32[]) tuple(x, limit)
  s = (s32[], (f32[2], f32[])) tuple(i, pair)
  ROOT loop = (s32[], (f32[2], f32[])) while(s), condition=condition, body=body
}
"""


def test_tuples_that_a_loop_hands_on_are_shared_though_its_condition_differs():
    module = parse(NESTED)
    _, flags = Batch(3).computation(module.entry, (True, False, False))
    assert flags == (True, (False, False))
    rng = np.random.default_rng(2)
    for chosen in choices(3):
        assert problem(module, chosen, 3, rng, "whole") is None
