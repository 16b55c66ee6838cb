"""Every operation, by name: nothing of it is missing, and all who compute it agree."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import OracleCrash
from xla_bridge import RUNNABLE, run_hlo_text_apart

from tfc.cli import tfc as command
from tfc.hlo import evaluate, verify
from tfc.hlo.absent import ABSENT
from tfc.hlo.op import OPS
from tfc.testing import ELEMENT_TYPES, OPCODES, arguments_for, instructions_of
from tfc.testing.compare import flat, mismatch
from tfc.testing.fuzz import problem
from tfc.tools import catalogue

XLA_TYPES = [t for t in ELEMENT_TYPES if t.name in RUNNABLE]
COMPARED = [o for o in OPCODES if "not_compared" not in catalogue.entry(o)]
# What StableHLO allows, through which XLA takes programs.
KINDS_OF = {
    "abs": ("signed", "float", "complex"),
    "sign": ("signed", "float", "complex"),
    "rng-bit-generator": ("unsigned",),
}
# XLA folds constants to other values than its code computes: NaN for atan2(0, 0), -32 for -2.
FOLDED_WRONGLY = frozenset({"atan2", "count-leading-zeros"})
# Chance, or what the process is connected to, decides about the results of these.
NEEDS_A_HOST = frozenset({
    "custom-call", "infeed", "outfeed", "send", "send-done", "recv", "recv-done", "rng",
    "rng-get-and-update-state",
})  # fmt: skip
KINDS = st.sampled_from(["normal", "whole", "special"])


@pytest.mark.parametrize("row", [r for r in catalogue.rows() if r.opcode in OPS],
                         ids=lambda r: r.opcode)  # fmt: skip
def test_no_part_of_an_operation_is_missing(row: catalogue.CatalogueRow):
    assert row.cpu, f"{row.opcode} has no CPU code: add an emission, a kernel or an expansion"
    assert row.gpu, f"{row.opcode} has no GPU code: add an emission, a kernel or an expansion"
    assert row.gradient, f"{row.opcode} has no gradient: add a rule or list it without one"
    assert row.xla or row.note, (
        f"{row.opcode} is not compared with XLA: say why in hlo/reference.toml"
    )
    assert row.opcode in OPCODES or row.note, (
        f"{row.opcode} is never drawn at random: add a generator"
    )


def test_what_is_absent_is_absent():
    assert not set(ABSENT) & set(OPS)


@pytest.mark.parametrize("opcode", OPCODES)
@settings(max_examples=12)
@given(data=st.data(), seed=st.integers(0, 100), kind=KINDS)
def test_cpu_computes_what_the_evaluator_says(opcode: str, data: st.DataObject, seed: int, kind):
    module = data.draw(instructions_of(opcode))
    arguments = arguments_for(module, np.random.default_rng(seed), kind)
    assert problem(module, arguments, "cpu") is None


@pytest.mark.slow
@pytest.mark.parametrize("opcode", COMPARED)
@settings(max_examples=6)
@given(data=st.data(), number=st.integers(0, 100))
def test_xla_computes_what_the_evaluator_says(opcode: str, data: st.DataObject, number: int):
    types = [t for t in XLA_TYPES if t.kind in KINDS_OF.get(opcode, t.kind)]
    module = data.draw(instructions_of(opcode, types))
    # XLA takes updates without an index to be as large as the array that they go to.
    assume(opcode != "scatter" or module.entry.root["scatter_dims_to_operand_dims"])
    assume(opcode not in FOLDED_WRONGLY or module.entry.parameters)
    # Algorithms of fewer bits XLA has for other processors.
    assume(module.entry.root.attributes.get("algorithm") is None)
    arguments = arguments_for(module, np.random.default_rng(number))
    try:
        results = list(flat(run_hlo_text_apart(str(module), *arguments)))
    except OracleCrash:
        return  # above all on programs without elements
    assert mismatch(module, arguments, results) is None


@pytest.mark.parametrize("opcode", sorted(OPS))
def test_the_example_of_the_reference_is_true(opcode: str):
    entry = catalogue.entry(opcode)
    assert entry, f"{opcode} is not described in hlo/reference.toml"
    module = catalogue.example(opcode)
    verify(module)
    assert any(i.opcode == opcode for c in module.computations for i in c.instructions)
    if "result" not in entry:
        assert opcode in NEEDS_A_HOST, f"{opcode} has an example without a result"
        return
    got, expected = [*flat(evaluate(module))], catalogue.expected(opcode)
    assert len(got) == len(expected)
    for array, literal in zip(got, expected):
        np.testing.assert_allclose(array, literal.array, rtol=1e-5)
    assert problem(module, [], "cpu") is None


def test_the_reference_describes_nothing_else():
    assert set(catalogue.reference()) <= set(OPS)


def test_the_page_of_operations_is_the_one_that_the_definitions_make():
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    assert page == catalogue.reference_page(), "run `tfc ops --markdown -o docs/operations.md`"


def test_coverage_is_a_line_for_each_operation():
    shown = CliRunner().invoke(command, ["ops"]).output
    for opcode in (*OPS, *ABSENT):
        assert re.search(rf"(?m)^{opcode} ", shown), opcode
