"""Kinds of kernels: a pass that forms one runs only for backends that have code for it."""

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings

from tfc.hlo import Module, verify
from tfc.passes import KernelKinds, default_pipeline
from tfc.passes.expand.dots import Dots
from tfc.passes.fusion.kernel_kinds import LOOPS_ONLY
from tfc.passes.fusion.multi_output import MultiOutput
from tfc.passes.pipeline import names
from tfc.testing import modules

FORMED = {
    "rows": {"rows"},
    "longest_row": set(),  # an option of rows
    "takes_longer_row": set(),  # another
    "row_steps": {"arg-extremes", "split-reductions"},
    "epilogues": {"epilogues", "masks"},
    "epilogue_results": set(),  # an option of epilogues
    "narrow_products": {"widenings"},  # and an option of dots, fold, epilogues and rows
    "instructions_a_byte": set(),  # an option of epilogues
    "splits_products": {"split-products"},
    "byte_products": {"integer-products"},
    "several_results": {"multi-output"},
    "reducing_stores": set(),  # an option of multi-output
    "whole_loops": {"loop-kernels"},
    "element_loops": {"element-loops"},
    "launch_overhead": {"horizontal"},
    "selections": {"selections"},  # and an option of expand
    "equal_once": {"number-tables"},
    "begins_collectives": {"overlap"},
    "reduces_in_transit": {"dense-collectives"},
    "takes_layouts": {"layout"},
    "takes_sums_together": {"sums-together"},
    "takes_attention": {"attention"},
    "takes_transform": set(),  # an option of expand
    "takes_edges": {"window-edges"},
}


def passes_for(kinds: KernelKinds) -> set[str]:
    return set(names(default_pipeline(kinds=kinds).passes))


@pytest.mark.parametrize("field", [f.name for f in fields(KernelKinds)])
def test_each_kind_brings_the_passes_that_form_it(field: str) -> None:
    answer = (lambda *_: True) if field.startswith(("takes_", "reduces_")) else True
    kinds = KernelKinds(**{field: answer})  # type: ignore[arg-type]
    assert passes_for(kinds) - passes_for(LOOPS_ONLY) == FORMED[field]


def test_options_of_other_passes_follow_the_kinds() -> None:
    several = KernelKinds(several_results=True)
    more = replace(several, reducing_stores=True, selections=True, narrow_products=True)
    plain, made = ({p.name: p for p in default_pipeline(kinds=k).passes} for k in (several, more))
    assert made["multi-output"] == MultiOutput(reducing_stores=True)
    assert plain["multi-output"] == MultiOutput(reducing_stores=False)
    assert made["expand"] != plain["expand"]
    transforming = default_pipeline(kinds=replace(several, takes_transform=lambda _: True))
    assert plain["expand"] not in transforming.passes
    assert (made["dots"], plain["dots"]) == (Dots(converts_first=True), Dots())


@given(modules(max_instructions=14))
@settings(max_examples=30, deadline=None)
def test_without_any_kind_all_kernels_are_loops_with_one_root(module: Module) -> None:
    result = default_pipeline(kinds=LOOPS_ONLY).run(module)
    verify(result)
    for kernel in (i for c in result.computations for i in c.instructions if i.opcode == "fusion"):
        assert kernel["kind"] in ("kLoop", "kInput")
        assert kernel["calls"].root.opcode != "tuple"
