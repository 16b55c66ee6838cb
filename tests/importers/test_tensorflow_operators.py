"""TensorFlow's operators: their values beside TensorFlow's, and docs/tensorflow.md, made of them.

The samples, with what TensorFlow computes, are in tensorflow_operators.xz; where TensorFlow is
installed, tests/importers/tensorflow_operators compares them with it anew.

`pytest tests/importers/test_tensorflow_operators.py -m slow --bless` writes the page.
"""

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from tensorflow_cases import Case, archive, compiled_names, outcome, with_known

from tfc.graph.operators.registry import OPERATORS, REFUSED
from tfc.importers.tensorflow import load  # noqa: F401, which enters its rows
from tfc.importers.tensorflow.table import TENSORFLOW

PAGE = Path(__file__).parent.parent.parent / "docs" / "tensorflow.md"
HEAD = """# TensorFlow, operator by operator

A test writes this page. Of the {names} operators that XLA compiles in TensorFlow 2.21 (tf2xla's
kernels for CPUs), tfc has {compiled}; with further ones it has {rows}. Of {count} samples with
TensorFlow's results {passed} pass: integers, booleans and elements that are only moved bit by bit,
floats to within roundings. Attributes that a file leaves out have TensorFlow's defaults.

- **tf2xla**: whether XLA compiles it in TensorFlow.
- **dtypes**: of the first input or result of samples that pass.
- **passed**: samples. – where there are none: control flow, variables and lists have tests of their
  own.

Shapes of results are known before a program runs: axes, shapes, sizes and the numbers of sorted
segments are constants or computed of shapes.

| operator | tf2xla | dtypes | passed | remark |
|---|---|---|---|---|
"""
SHORT = {"float": "f", "bfloat": "bf", "complex": "c", "uint": "u", "int": "s"}
MOST_QUICK = 2  # samples of an operator


def by_operator() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for case in archive():
        found[case.operator].append(case)
    return found


def spread(cases: list[Case]) -> list[Case]:
    """Some of the cases, the first and the last among them."""
    step = max(1, -(-len(cases) // MOST_QUICK))
    return [*cases[:-1:step], cases[-1]]


def failures(cases: list[Case], backend: str = "interpreter") -> list[str]:
    made = [(case, outcome(case, backend)) for case in cases if case.operator in OPERATORS]
    return [f"{case.operator} of {case.dtype}: {reason}" for case, reason in made if reason]


def test_operators_compute_what_tensorflow_does():
    chosen = [case for cases in by_operator().values() for case in spread(cases)]
    assert len(chosen) > 800
    assert failures(chosen) == []


@pytest.mark.slow
def test_any_input_may_be_a_constant():
    chosen = [case for cases in by_operator().values() for case in spread(cases)]
    variants = [
        with_known(case, name) for case in chosen for name in case.given if len(case.given) > 1
    ]
    assert failures(variants) == []


@pytest.mark.slow
def test_imported_operators_compute_what_tensorflow_does():
    chosen = [case for cases in by_operator().values() for case in spread(cases)]
    plain = [c for c in chosen if all(node.op != "VarHandleOp" for node in c.message.node)]
    assert failures(plain, "imported") == []


@pytest.mark.slow
def test_compiled_operators_compute_what_tensorflow_does():
    chosen = [c for cases in by_operator().values() for c in [x for x in cases if x.given][-1:]]
    assert failures(chosen, "cpu") == []


def test_no_operator_has_a_row_and_a_refusal():
    assert OPERATORS.keys() & REFUSED.keys() == set()


def short(dtype: str) -> str:
    """A dtype as HLO writes it: f32, s8."""
    for long, letter in SHORT.items():
        if dtype.startswith(long):
            return letter + dtype.removeprefix(long)
    return "pred" if dtype == "bool" else dtype


@pytest.mark.slow
def test_the_page_says_what_works_of_each_operator(request: pytest.FixtureRequest):
    there, passed = Counter[str](), Counter[str]()
    dtypes: dict[str, list[str]] = defaultdict(list)
    for case in archive():
        if case.operator in OPERATORS:
            there[case.operator] += 1
            if not outcome(case):
                passed[case.operator] += 1
                dtypes[case.operator].append(short(case.dtype))
    names = set(compiled_names())
    of_files = {name for (_, name), _ in TENSORFLOW.rows()} - OPERATORS.keys() - REFUSED.keys()
    has = OPERATORS.keys() | of_files
    rows = {name for name in has if name in names or there[name]}
    lines = []
    for name in sorted(names | rows | REFUSED.keys()):
        count = f"{passed[name]} of {there[name]}" if there[name] else "–"
        held = ", ".join(dict.fromkeys(dtypes[name]))
        remark = "" if name in has else f"not supported: {REFUSED.get(name, 'no row')}"
        remark = "in imported models alone" if name in of_files else remark
        known = "yes" if name in names else "no"
        lines.append(f"| `{name}` | {known} | {held} | {count} | {remark} |")
    head = HEAD.format(
        names=len(names), compiled=len(names & has), rows=len(rows),
        count=there.total(), passed=passed.total(),
    )  # fmt: skip
    page = head + "\n".join(lines) + "\n"
    if request.config.getoption("--bless"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page
