"""What passes report of their decisions: values of two types, counted as what they are."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from tfc.hlo import Module, parse
from tfc.options import Options
from tfc.passes import PASSES, Pipeline, PipelineReport, parse_passes
from tfc.passes.pipeline import Explains, Pass
from tfc.passes.rewriting.decisions import Decision, Refused, Taken
from tfc.testing import modules

FILES = Path(__file__).parents[1] / "files" / "passes"
EXPLAINING = {name: made for name, made in PASSES.items() if hasattr(made, "explain")}

NESTED = """
HloModule m
short { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  n = f32[4] negate(v)
  ROOT r = (s32[], f32[4]) tuple(j, n) }
below { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(BOUND)
  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY main {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  q = (s32[], f32[4]) tuple(zero, x)
  w = (s32[], f32[4]) while(q), condition=below, body=short
  ROOT y = f32[4] get-tuple-element(w), index=1
}"""


def programs() -> list[tuple[str, Module]]:
    """The passes to run on each module in files/passes."""
    found = []
    for path in sorted(FILES.glob("*.hlo")):
        parts = path.read_text().split("// -----\n")
        stated = re.match(r"// RUN: --passes (.*)", parts[0])
        assert stated is not None
        # No file is about trip-counts, which every loop shows.
        found += [(n, parse(part)) for part in parts for n in (stated[1].strip(), "trip-counts")]
    return found


def explained(each: Pass, module: Module) -> tuple[Decision, ...]:
    """The decisions of a pass, each found to be one."""
    assert isinstance(each, Explains)
    decisions = each.explain(module)
    assert isinstance(decisions, tuple)
    for decision in decisions:
        assert isinstance(decision, (Taken, Refused))
        assert decision.what
        assert decision.count > 0 if isinstance(decision, Taken) else decision.reason
    return decisions


def test_every_pass_decides_in_taken_and_refused() -> None:
    """What the files under files/passes show of each pass that explains itself."""
    silent = set(EXPLAINING)
    for stated, module in programs():
        for each in parse_passes(stated):
            if each.name in EXPLAINING and explained(each, module):
                silent.discard(each.name)
            module = each(module)
    assert silent == set()


@given(modules(max_instructions=16))
@settings(max_examples=30, deadline=None)
def test_decisions_about_random_modules_are_typed(module: Module) -> None:
    for made in EXPLAINING.values():
        explained(made(), module)


@pytest.mark.parametrize(("trips", "taken", "refused"), [(3, 1, 0), (300, 0, 1)])
def test_what_is_refused_is_not_counted_as_taken(trips: int, taken: int, refused: int) -> None:
    module, report = parse(NESTED.replace("BOUND", str(trips))), PipelineReport()
    Pipeline("p", parse_passes("unroll")).run(module, Options(time=True), report)
    (line,) = (x.split() for x in str(report).split("\n") if x.startswith("unroll"))
    assert line[-2:] == [str(taken), str(refused)]


COUNTED = [
    ("conditionals.hlo", "conditionals"), ("licm.hlo", "licm"),
    ("input_projections.hlo", "input-projections"), ("unroll.hlo", "unroll"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "name"), COUNTED)
def test_the_report_counts_refusals_of_control_flow_apart(file: str, name: str) -> None:
    for part in (FILES / file).read_text().split("// -----\n"):
        module, report = parse(part), PipelineReport()
        decisions = explained(PASSES[name](), module)
        Pipeline("p", parse_passes(name)).run(module, Options(time=True), report)
        (line,) = (x.split() for x in str(report).split("\n") if x.startswith(name))
        counts = [sum(isinstance(d, kind) for d in decisions) for kind in (Taken, Refused)]
        assert line[-2:] == [str(n) for n in counts]
