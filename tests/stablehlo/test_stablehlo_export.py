"""HLO modules as StableHLO: the text verifies, comes back as the same program, and XLA takes it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from xla_bridge import RUNNABLE, OracleCrash, run_stablehlo_text_apart

import tfc
from tfc.compiler import module_text
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.ir import Module
from tfc.hlo.op import OPS
from tfc.hlo.shape import F32, F64, S64, U8, leaves
from tfc.passes.expand.expand import EXPANSIONS
from tfc.stablehlo.exporter.module import WRITERS
from tfc.testing import ELEMENTWISE, OPCODES, arguments_for, instructions_of, modules

QUICK = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(QUICK, max_examples=8)
# What StableHLO has nothing like.
WITHOUT = {"parameter", "rng-get-and-update-state", "stochastic-convert"}
EXPORTED = tuple(o for o in OPCODES if o not in WITHOUT)
# What XLA computes as the evaluator does, defects of its own aside; test_xla.py looks at the rest.
RUN_BY_XLA = (
    *(o for o in ELEMENTWISE if o not in {*WITHOUT, "mulhi"}),
    "broadcast", "call", "concatenate", "conditional", "convolution", "dot", "dynamic-slice",
    "dynamic-update-slice", "gather", "pad", "reduce", "reduce-window", "reshape", "reverse",
    "slice", "transpose", "while",
)  # fmt: skip


def flat(value: Any) -> Iterator[np.ndarray]:
    """The arrays in nested tuples, depth first."""
    if isinstance(value, tuple):
        for element in value:
            yield from flat(element)
    else:
        yield value


def assert_same_after_a_round_trip(module: Module, seed: int) -> None:
    """HLO → StableHLO → HLO evaluates to the same bits."""
    arguments = tuple(arguments_for(module, np.random.default_rng(seed), "normal"))
    again = tfc.from_stablehlo(module_text(module, "stablehlo")).hlo
    expected = flat(evaluate(module, *arguments))
    actual = flat(evaluate(again, *flat(arguments)))
    for got, want in zip(actual, expected, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tobytes() == want.tobytes()


@QUICK
@given(modules(12, opcodes=EXPORTED), st.integers(0, 1000))
def test_random_modules_come_back(module: Module, seed: int):
    assert_same_after_a_round_trip(module, seed)


@QUICK
@given(modules(8, (F64, U8, S64, F32), EXPORTED), st.integers(0, 1000))
def test_random_modules_of_other_types_come_back(module: Module, seed: int):
    assert_same_after_a_round_trip(module, seed)


@pytest.mark.parametrize("opcode", EXPORTED)
@FEW
@given(st.data(), st.integers(0, 1000))
def test_every_operation_comes_back(opcode: str, data: Any, seed: int):
    assert_same_after_a_round_trip(data.draw(instructions_of(opcode)), seed)


def test_every_operation_is_exported_or_known_not_to_be():
    """A new op needs a row, an expansion, or a place in the list of those without."""
    assert set(OPS) - set(WRITERS) - set(EXPANSIONS) == WITHOUT


@settings(QUICK, max_examples=25)
@given(modules(8, opcodes=RUN_BY_XLA, zero=False), st.integers(0, 1000))
def test_xla_runs_what_is_exported(module: Module, seed: int):
    shapes = [s for p in module.entry.parameters for s in leaves(p.shape)]
    assert all(s.element_type.name in RUNNABLE for s in shapes)
    arguments = tuple(arguments_for(module, np.random.default_rng(seed), "normal"))
    expected = list(flat(evaluate(module, *arguments)))
    try:
        actual = run_stablehlo_text_apart(module_text(module, "stablehlo"), *flat(arguments))
    except OracleCrash:
        reject()
    for got, want in zip(actual, expected, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        else:
            np.testing.assert_array_equal(got, want)
