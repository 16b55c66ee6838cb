"""The pipeline: order, dumps, blame, fixpoints, reports, and the text form of passes."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings

from tfc.errors import InternalError, TfcError, VerificationError
from tfc.hlo import Module, builder, parse
from tfc.hlo.ir import Computation
from tfc.hlo.shape import F32, S32, Shape
from tfc.options import Options
from tfc.passes import (
    ORDERINGS,
    PASSES,
    Pipeline,
    PipelineReport,
    Repeat,
    default_pipeline,
    parse_passes,
)
from tfc.passes.fusion.fusion import Fusion
from tfc.passes.pipeline import pass_text
from tfc.passes.report import Step
from tfc.passes.rewriting.decisions import Refused, Taken
from tfc.passes.simplify.cse import Cse
from tfc.passes.simplify.dce import Dce
from tfc.passes.simplify.simplify import Simplify
from tfc.testing import modules

TEXT = """
HloModule sample

ENTRY main {
  x = f32[4] parameter(0)
  one = f32[] constant(1)
  ones = f32[4] broadcast(one), dimensions={}
  y = f32[4] multiply(x, ones)
  n = f32[4] tanh(y)
  m = f32[4] tanh(y)
  ROOT s = f32[4] add(n, m)
}
"""


def sample() -> Module:
    return parse(TEXT)


@dataclass(frozen=True)
class Fails:
    """A pass that raises."""

    name: ClassVar[str] = "fails"

    def __call__(self, module: Module) -> Module:
        raise ValueError("on purpose")


@dataclass(frozen=True)
class Breaks:
    """A pass that makes a module with a wrong shape."""

    name: ClassVar[str] = "breaks"

    def __call__(self, module: Module) -> Module:
        root = module.entry.root.with_(shape=Shape(S32))
        return module.with_entry(Computation.make("main", module.entry.parameters, root))


@dataclass(frozen=True)
class Flips:
    """A pass that always changes something."""

    name: ClassVar[str] = "flips"

    def __call__(self, module: Module) -> Module:
        root = builder.unary("negate", module.entry.root)
        return module.with_entry(Computation.make("main", module.entry.parameters, root))


def test_order_is_checked_when_a_pipeline_is_made() -> None:
    with pytest.raises(InternalError, match="cse must come before fusion: fusion counts users"):
        Pipeline("wrong", (Fusion(), Repeat((Cse(), Dce()))), ORDERINGS)


def test_default_pipeline_has_every_ordered_pass() -> None:
    assert {a for a, _, _ in ORDERINGS} | {b for _, b, _ in ORDERINGS} <= set(PASSES)
    assert default_pipeline().run(sample()) is not None


def test_dumps_are_numbered_written_on_change_and_parse(tmp_path: Path) -> None:
    pipeline = Pipeline("p", (Dce(), Simplify(), Cse(), Dce(), Fusion()))
    result = pipeline.run(sample(), Options(dump_dir=str(tmp_path)))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "00.input.hlo", "02.simplify.hlo", "03.cse.hlo", "05.fusion.hlo",
    ]  # fmt: skip
    assert str(parse((tmp_path / "05.fusion.hlo").read_text())) == str(result)
    again = Fusion()(parse((tmp_path / "03.cse.hlo").read_text()))
    assert str(again) == str(result)


def test_a_failure_names_the_pass_and_how_to_reproduce_it(tmp_path: Path) -> None:
    pipeline = Pipeline("p", (Simplify(), Fails()))
    with pytest.raises(ValueError, match="on purpose") as caught:
        pipeline.run(sample(), Options(dump_dir=str(tmp_path)))
    (note,) = caught.value.__notes__
    assert note == (
        "while running fails (2 of 2) on module sample; "
        f"reproduce: tfc opt {tmp_path}/01.simplify.hlo --passes fails"
    )


def test_a_failure_without_dumps_writes_its_input() -> None:
    with pytest.raises(ValueError, match="on purpose") as caught:
        Pipeline("p", (Simplify(), Fails())).run(sample())
    (note,) = caught.value.__notes__
    path = Path(note.partition("tfc opt ")[2].partition(" --passes")[0])
    assert "multiply" not in path.read_text()
    assert parse(path.read_text()).name == "sample"
    path.unlink()
    path.parent.rmdir()


def test_a_module_that_breaks_an_invariant_is_blamed_on_its_pass(tmp_path: Path) -> None:
    options = Options(dump_dir=str(tmp_path))
    with pytest.raises(VerificationError) as caught:
        Pipeline("p", (Breaks(),)).run(sample(), options)
    assert caught.value.__notes__[0].startswith("while running breaks (1 of 1) on module sample")
    Pipeline("p", (Breaks(),)).run(sample(), Options(verify=False))


def test_passes_are_disabled_by_name_inside_repeats_too() -> None:
    pipeline = Pipeline("p", (Repeat((Simplify(), Cse())), Fusion()))
    module = sample()
    assert pipeline.run(module, Options(disabled=("simplify", "cse", "fusion"))) is module
    with pytest.raises(TfcError, match="no pass 'fuse' to disable; there are cse, fusion"):
        pipeline.run(module, Options(disabled=("fuse",)))


def test_repeat_runs_until_nothing_changes_and_reports_a_cycle() -> None:
    repeat = Repeat((Simplify(), Cse(), Dce()))
    once = repeat(sample())
    assert repeat(once) is once
    with pytest.raises(InternalError, match=r"repeat\(flips,dce\) does not settle .* of flips$"):
        Repeat((Flips(), Dce()), limit=3)(sample())


def test_an_idempotent_pass_is_not_run_on_what_it_made() -> None:
    report = PipelineReport()
    made = Pipeline("p", (Simplify(), Simplify())).run(sample(), report=report)
    assert [s.name for s in report.steps] == ["simplify"]
    assert Simplify()(made) is made


@given(modules(max_instructions=16))
@settings(max_examples=60, deadline=None)
def test_passes_that_settle_leave_what_they_made(module: Module) -> None:
    for made in PASSES.values():
        if getattr(made, "idempotent", False):
            once = made()(module)
            assert made()(once) is once


def test_the_report_says_what_each_pass_did() -> None:
    report = PipelineReport()
    Pipeline("p", (Simplify(), Cse(), Cse())).run(sample(), Options(time=True), report)
    assert [(s.name, s.changed) for s in report.steps] == [
        ("simplify", True), ("cse", True), ("cse", False),
    ]  # fmt: skip
    assert report.steps[0].decisions == (Taken("multiply(x, 1) -> x"),)
    assert report.steps[1].before == report.steps[1].after + 1
    assert set(report.seconds()) == {"simplify", "cse"}
    lines = [line.split() for line in str(report).split("\n")]
    assert lines[0] == ["pass", "runs", "changed", "ms", "instructions", "taken", "refused"]
    assert lines[1][:3] + lines[1][4:] == ["simplify", "1", "1", "7", "->", "4", "1", "0"]
    assert lines[2][:3] + lines[2][4:7] == ["cse", "2", "1", "4", "->", "3"]
    assert lines[3][:3] == ["total", "3", "2"]
    assert " ".join(lines[5]) == "1 x simplify multiply(x, 1) -> x"


def test_what_passes_refuse_is_counted_once_however_often_they_say_so() -> None:
    module = sample()
    refusal = Refused("a", "why", "b")
    decisions = (refusal, Taken("rule", count=3), Taken("moved", "c"), refusal)
    once = Step("fusion", 0.5, module, module, decisions)
    report = PipelineReport([once, once])
    assert once.taken == Counter({"rule": 3, "c: moved": 1})
    assert once.refused == (refusal,)
    assert f"{'':9}fusion  refused a into b: why" in str(report).split("\n")
    assert f"{6:5} x  fusion  rule" in str(report).split("\n")
    (line,) = (x.split() for x in str(report).split("\n") if x.startswith("fusion"))
    assert line == ["fusion", "2", "0", "1000.00", "unchanged", "8", "1"]
    many = Step("fusion", 0, module, module, tuple(Refused(f"{n}", "why") for n in range(100)))
    assert "… and 60 more like these" in str(PipelineReport([many]))


def test_passes_are_parsed_and_printed() -> None:
    passes = parse_passes("simplify, fusion{max_instructions=8},simplify{exact=false}")
    assert passes == (Simplify(), Fusion(8), Simplify(exact=False))
    assert [pass_text(p) for p in passes] == [
        "simplify", "fusion{max_instructions=8}", "simplify{exact=false}",
    ]  # fmt: skip
    assert parse_passes("") == ()
    text = str(default_pipeline(max_instructions=9))
    assert "repeat(simplify,sinking,dead-results,fold,cse,dce,conditionals,loops," in text
    assert "fusion{max_instructions=9}" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fuse", "there is no pass 'fuse'; there are stated-layouts, "),
        ("fusion{size=1}", "fusion has no option 'size'; there are max_instructions"),
        ("cse{size=1}", "cse has no option 'size'; there are none"),
        ("fusion{max_instructions=few}", "must be a whole number, got 'few'"),
        ("simplify{exact=1}", "must be true or false, got '1'"),
        ("fusion{max_instructions=1", "there is no pass"),
    ],
)
def test_mistakes_in_passes_are_named(text: str, message: str) -> None:
    with pytest.raises(TfcError, match=message):
        parse_passes(text)


def test_options_read_the_environment() -> None:
    nothing = {"TFC_CACHE": ""}  # else there is the user's own folder
    assert Options.from_environment(nothing) == Options()
    variables = nothing | {
        "TFC_DUMP": "d", "TFC_VERIFY": "0", "TFC_TIME": "on", "TFC_DISABLE": "cse, fold",
    }  # fmt: skip
    expected = Options("d", False, True, ("cse", "fold"))
    assert Options.from_environment(variables) == expected
    assert not Options.from_environment({"TFC_TUNED": "0"}).tuned
    assert Options.from_environment({"TFC_DUMP_AS": "dot, html"}).dump_as == ("dot", "html")
    with pytest.raises(TfcError, match="TFC_VERIFY must be 1 or 0, got 'maybe'"):
        Options.from_environment({"TFC_VERIFY": "maybe"})


def test_every_pass_returns_the_same_object_when_it_has_nothing_to_do() -> None:
    x = builder.parameter(0, Shape(F32, (4,)))
    module = Module("m", Computation.make("main", [x], builder.unary("tanh", x)))
    for made in PASSES.values():
        assert made()(module) is module, made.name
