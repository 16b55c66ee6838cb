"""The generators of `tfc fuzz` draw what they claim, and what fails is made small."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from tfc.errors import InternalError, ShapeError, TfcError, UnsupportedError, VerificationError
from tfc.hlo import parse
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.shape import F32, PRED, S32, Shape, TupleShape, leaves
from tfc.testing import instructions_of, mutants, mutations
from tfc.testing.apart import Apart, Gone
from tfc.testing.fuzz import drawing, programs
from tfc.testing.generators.layouts import with_layouts
from tfc.testing.generators.modules import ORDERED
from tfc.testing.generators.values import Draw
from tfc.testing.mutants import Mutant, corpus, draw_mutant, run_mutant
from tfc.testing.one_meaning import order_matters, starts_anew
from tfc.testing.report import Outcome, outcome_of
from tfc.testing.shrinking import shrink, shrink_lines

FILES = Path(__file__).parents[1] / "files"
TYPES = (F32, S32, PRED)
# Ops whose results have two dimensions or more, or are tuples of such.
LAID_OUT = ("batch-norm-grad", "batch-norm-inference", "batch-norm-training", "call", "conditional",
            "convolution", "copy", "dot", "fft", "fusion", "gather", "map",
            "opt-barrier", "reduce", "reduce-window", "reshape", "scan", "scatter", "sort", "topk",
            "transpose", "tuple", "while")  # fmt: skip


def drawn(number: int, count: int, strategy: st.SearchStrategy[Any]) -> list[Any]:
    """The first values that a seed gives of a strategy."""
    found: list[Any] = []

    def keep(value: Any) -> None:
        found.append(value)

    seed(number)(drawing(count)(given(strategy)(keep)))()
    return found


@st.composite
def laid_out_instructions(draw: Draw, opcode: str) -> Module:
    """One instruction of an op over leaves, with layouts stated at random."""
    return with_layouts(draw, draw(instructions_of(opcode)))


def instructions(module: Module) -> list[Instruction]:
    return [i for c in module.computations for i in c.instructions]


def is_laid_out(instruction: Instruction) -> bool:
    return any(not s.has_default_layout for s in leaves(instruction.shape))


def test_a_seed_gives_the_same_programs():
    strategy = programs(5, TYPES)
    assert drawn(5, 8, strategy) == drawn(5, 8, strategy)
    assert drawn(5, 8, strategy) != drawn(6, 8, strategy)


def test_layouts_are_stated_on_operations_of_every_kind():
    missing = set(LAID_OUT)
    for opcode in LAID_OUT:
        for number in range(20):
            for module in drawn(number, 8, laid_out_instructions(opcode)):
                missing -= {i.opcode for i in instructions(module) if is_laid_out(i)}
            if opcode not in missing:
                break
    assert not missing


def test_layouts_differ_across_every_boundary():
    missing = {"tuple", "get-tuple-element", "call", "fusion", "while", "conditional", "header"}
    strategy = programs(8, TYPES, ("tuple", "call", "fusion", "while", "conditional"))
    for text in [t for n in range(6) for t in drawn(n, 40, strategy)]:
        module = parse(text)
        for x in instructions(module):
            roots = [c.root.shape for c in x.called_computations]
            taken = [p.shape for c in x.called_computations for p in c.parameters]
            if x.opcode in ("call", "fusion", "conditional", "while") and (
                x.shape not in roots or {o.shape for o in x.operands} != set(taken)
            ):
                missing.discard(x.opcode)
            if x.opcode == "tuple" and x.shape != TupleShape(tuple(o.shape for o in x.operands)):
                missing.discard("tuple")
            if x.opcode == "get-tuple-element":
                (whole,) = (o.shape for o in x.operands)
                assert isinstance(whole, TupleShape)
                if whole.elements[x["index"]] != x.shape:
                    missing.discard("get-tuple-element")
        header = text.partition("\n")[0]
        if any(f"{p.shape} parameter" not in text for p in module.entry.parameters):
            assert "entry_computation_layout" in header
            missing.discard("header")
    assert not missing


def test_operands_are_transposed_temporaries_and_what_follows_them():
    """A sort of several operands, above all, in orders that passes may choose one by one."""
    missing = {*ORDERED, "copy of a tuple", "sort of several"} - {"convolution"}
    ordered = [text for opcode in sorted(ORDERED) for number in range(3)
               for text in drawn(number, 6, programs(4, TYPES, [opcode]))]  # fmt: skip
    for text in [*ordered, *drawn(2, 20, programs(8, TYPES, ["tuple"]))]:
        for x in instructions(parse(text)):
            before = {o.opcode for o in x.operands}
            before |= {p.opcode for o in x.operands for p in o.operands}
            if "transpose" in before:
                missing.discard(x.opcode)
                if x.opcode == "sort" and len(x.operands) > 1:
                    missing.discard("sort of several")
            if x.opcode == "copy" and isinstance(x.shape, TupleShape):
                missing.discard("copy of a tuple")
    assert not missing


BUSY = """add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[4,3]{0,1} parameter(0)
  y = f32[4,3] parameter(1)
  z = f32[] constant(0)
  n = f32[4,3]{0,1} negate(x)
  t = f32[3,4] transpose(n), dimensions={1,0}
  s = f32[4,3] add(n, y)
  r = f32[3]{0} reduce(s, z), dimensions={0}, to_apply=add
  p = pred[4,3] compare(n, y), direction=LT
  ROOT u = (f32[3,4]{0,1}, f32[3], f32[4,3], pred[4,3]) tuple(t, r, s, p) }"""


@pytest.mark.parametrize(("opcode", "most"), [("transpose", 2), ("reduce", 3), ("negate", 2)])
def test_a_program_is_made_as_small_as_what_fails_in_it(opcode: str, most: int):
    def fails(module: Module) -> bool:
        return any(i.opcode == opcode for i in module.entry.instructions)

    small = shrink(parse(BUSY), fails)
    assert fails(small)
    assert len(small.entry.instructions) <= most
    assert not any(map(is_laid_out, instructions(small)))


def test_a_layout_that_matters_stays_when_a_program_is_made_small():
    small = shrink(parse(BUSY), lambda m: "tuple" in str(m) and is_laid_out(m.entry.root))
    assert [i.opcode for i in small.entry.instructions] == ["parameter", "tuple"]


def test_a_text_that_is_no_program_is_made_small_by_lines():
    text = shrink_lines(BUSY, lambda text: "negate(x)" in text and "ENTRY" in text)
    assert text.count("\n") == 1


def test_mutants_are_the_same_for_a_seed_and_most_changes_leave_a_program():
    texts = corpus(FILES, 1)
    first, again = (
        [draw_mutant(texts, rng).text for _ in range(60)]
        for rng in (random.Random(3), random.Random(3))
    )
    assert first == again

    def parses(text: str) -> bool:
        try:
            parse(text)
        except Exception:  # an untyped one is a defect, which is found where mutants are run
            return False
        return True

    assert sum(map(parses, first)) >= 20


@pytest.mark.parametrize("change", mutations.CHANGES, ids=lambda change: change.__name__)
def test_every_change_changes_programs(change: Callable[..., None]):
    rng, original = random.Random(1), mutations.plain_text(parse(BUSY)).split("\n")
    changed = set()
    for _ in range(30):
        lines = list(original)
        change(lines, rng)
        changed.add("\n".join(lines))
    assert len(changed) > 1


def test_shapes_are_set_right_after_a_change():
    text = mutations.plain_text(parse(BUSY)).replace("dimensions={1,0}", "dimensions={0,1}")
    shape, *_ = leaves(parse(mutations.repaired(text)).entry.root.shape)
    assert shape.dims == (4, 3)


def test_the_corpus_must_have_a_program(tmp_path: Path):
    (tmp_path / "a.hlo").write_text("nothing")
    with pytest.raises(TfcError, match=r"has no \.hlo file with a program"):
        corpus(tmp_path, 1)


def test_mutants_that_are_right_are_not_found_and_refused_ones_are_told():
    def run(text: str) -> Outcome:
        return run_mutant(Mutant(text, 1, "normal"), lambda stage: None)[0]

    assert run("ENTRY e { a = f32[2] parameter(0)\n ROOT b = f32[2] negate(a) }") == Outcome()
    assert "operands give f32[2]" in run("ENTRY e { ROOT b = f32[3] negate(a) }\n").refused or (
        run("ENTRY e { ROOT b = f32[3] negate(a) }").refused
    )
    assert "depends on its surroundings" in run(
        "ENTRY e { a = f32[] constant(0)\n ROOT b = f32[2] rng(a, a), distribution=rng_uniform }"
    ).oracle  # fmt: skip


def test_a_mutant_whose_evaluation_fails_untyped_is_found(monkeypatch):
    def broken(*_: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(mutants, "evaluate", broken)
    mutant = Mutant("ENTRY e { a = f32[2] parameter(0)\n ROOT b = f32[2] negate(a) }", 1, "normal")
    assert "KeyError" in run_mutant(mutant, lambda stage: None)[0].wrong


@pytest.mark.parametrize(("error", "is_wrong"), [
    (UnsupportedError("no code"), False), (ShapeError("no fit"), False),
    (InternalError("lost"), True), (VerificationError("a pass broke it"), True),
    (KeyError("untyped"), True),
])  # fmt: skip
def test_errors_of_tfc_are_defects_and_its_refusals_are_not(error: Exception, is_wrong: bool):
    outcome = outcome_of(error)
    assert bool(outcome.wrong) is is_wrong
    assert bool(outcome.refused) is not is_wrong


REDUCES = """f { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] %s }
ENTRY e { x = f32[4] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=f }"""
SORTS = """f { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=%s }
ENTRY e { x = s32[4] parameter(0)
  ROOT r = s32[4] sort(x), dimensions={0}, to_apply=f }"""


@pytest.mark.parametrize(("text", "matters"), [
    (REDUCES % "add(a, b)", False), (REDUCES % "maximum(b, a)", False),
    (REDUCES % "subtract(a, b)", True), (REDUCES % "negate(a)", True),
    (REDUCES % "add(b, b)", True), (SORTS % "LT", False), (SORTS % "GT", False),
    (SORTS % "LE", True), (SORTS % "NE", True),
])  # fmt: skip
def test_programs_without_a_single_meaning_are_told(text: str, matters: bool):
    assert bool(order_matters(parse(text))) is matters


@pytest.mark.parametrize(("start", "anew"), [("0", False), ("1", True)])
def test_reductions_that_begin_with_something_are_told(start: str, anew: bool):
    text = (REDUCES % "add(a, b)").replace("constant(0)", f"constant({start})")
    assert starts_anew(parse(text)) is anew


def test_xla_is_asked_of_mutants_that_are_right():
    text = "ENTRY e { a = f32[2] parameter(0)\n ROOT b = f32[2] negate(a) }"
    xla = mutants.Xla()
    assert xla.outcome(Mutant(text, 1, "normal"), ["negate"]) == Outcome()
    unknown = text.replace("negate(a)", 'custom-call(a), custom_call_target="nobody"')
    assert "refuses" in xla.outcome(Mutant(unknown, 1, "normal"), []).oracle
    xla.process.end()


def work(request: str, say: Callable[[str], None]) -> str:
    say("working")
    if request == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if request == "hang":
        time.sleep(600)
    return request.upper()


def test_work_apart_survives_a_crash_and_a_hang():
    process = Apart(work)
    assert process.ask("this", 60) == "THIS"
    with pytest.raises(Gone, match=f"working: ended the process with signal {signal.SIGSEGV:d}"):
        process.ask("crash", 60)
    assert process.ask("that", 60) == "THAT"
    with pytest.raises(Gone, match=r"working: took longer than 0\.2 s"):
        process.ask("hang", 0.2)
    process.end()


def test_shapes_of_random_arguments_are_logical():
    """What layouts a program states says nothing about the arrays that it takes."""
    module = parse("ENTRY e { ROOT a = f32[2,3]{0,1} parameter(0) }")
    (shape,) = (p.shape for p in module.entry.parameters)
    assert isinstance(shape, Shape)
    (array,) = mutants.arguments_for(module, np.random.default_rng(1))
    assert array.shape == (2, 3)
