"""Runs tests/files/**/*.hlo: the expectation lies inside the file, beside what it tests.

A file begins with `// RUN: verb argument`; `// -----` lines part it into cases.

    // RUN: text                 parse, print; // CHECK lines match the printed text (filecheck.py)
    // RUN: canonical            parse, print: the very text of the case, without its // lines
    // RUN: verify               parsing fails: // ERROR lines follow the line that is wrong
    // RUN: --passes a,b         parse, run the passes, print; // CHECK lines; the values stay the
                                 same; // STRUCTURE: fusion 1, dot 0 counts what is outside kernels

`pytest --bless` rewrites the expectations to what is got; read the difference before keeping it.
A new verb is a row of VERBS.
"""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filecheck import check, escape

import tfc
from tfc.backends.whole_arrays import WholeArrays
from tfc.errors import ParseError
from tfc.hlo import evaluate, parse
from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.evaluation.evaluator import evaluate_replicas
from tfc.hlo.ir import Module
from tfc.passes import Pipeline, parse_passes
from tfc.passes.analysis.called import control_computations
from tfc.testing import arguments_for

FILES = Path(__file__).parent / "files"
SEPARATOR = "// -----\n"
_RUN = re.compile(r"// RUN: *(?:--)?(\w+) *(.*)")
_EXPECTED = re.compile(r"^[ \t]*// (CHECK|ERROR)\b.*\n", re.MULTILINE)


def run_passes(module: Module, names: str) -> Module:
    """The module after the passes named, found to compute what it did."""
    result = Pipeline("file", parse_passes(names)).run(module)
    arguments = arguments_for(module, np.random.default_rng(0))
    expected = value_of(module)
    got_parts = result is not module and device_counts(module)[1] > 1
    if got_parts:  # sums of parts are in another order
        got = WholeArrays(module, result, tfc.compile(result))(*arguments)
    else:
        got = value_of(result)
    for a, b in zip(expected, got, strict=True):
        if got_parts:
            np.testing.assert_allclose(a, b, rtol=1e-5)
        else:
            np.testing.assert_array_equal(a, b, strict=True)
    return result


def value_of(module: Module) -> list[Any]:
    """The arrays that a module returns for arguments of its own, on each of its replicas."""
    rng = np.random.default_rng(0)
    replicas = device_counts(module)[0]
    arguments = [arguments_for(module, rng) for _ in range(replicas)]
    if replicas == 1:
        return leaves_of(evaluate(module, *arguments[0]))
    return [leaf for v in evaluate_replicas(module, *arguments) for leaf in leaves_of(v)]


def leaves_of(value: Any) -> list[Any]:
    return [leaf for v in value for leaf in leaves_of(v)] if isinstance(value, tuple) else [value]


# Each verb turns a module and the argument of RUN into the one whose text CHECK lines are held to.
VERBS: dict[str, Callable[[Module, str], Module]] = {
    "text": lambda module, _: module,
    "canonical": lambda module, _: module,
    "passes": run_passes,
}


def cases() -> list[tuple[Path, int]]:
    """Every case of every file, by its number."""
    paths = sorted(FILES.glob("**/*.hlo"))
    return [(p, n) for p in paths for n in range(len(p.read_text().split(SEPARATOR)))]


def case_id(case: object) -> str:
    """`text/literals.hlo` or a case's number."""
    return str(case.relative_to(FILES)) if isinstance(case, Path) else str(case)


@pytest.mark.parametrize(("path", "number"), cases(), ids=case_id)
def test_file(path: Path, number: int, request: pytest.FixtureRequest):
    parts = path.read_text().split(SEPARATOR)
    run = _RUN.match(parts[0])
    assert run is not None, f"{path} does not begin with // RUN:"
    verb, argument = run[1], run[2].strip()
    if verb == "canonical":
        written = re.sub(r"^//.*\n", "", parts[number], flags=re.MULTILINE)
        assert str(parse(written, path.name)) == written
    elif request.config.getoption("--bless"):
        parts[number] = bless(parts[number], verb, argument)
        path.write_text(SEPARATOR.join(parts))
    elif verb == "verify":
        check_error(parts[number])
    else:
        result = VERBS[verb](parse(parts[number], path.name), argument)
        check(str(result), parts[number])
        check_structure(result, parts[number])


def check_structure(module: Module, text: str) -> None:
    """The instructions that run as steps (not inside kernels) are as many as STRUCTURE says."""
    steps = control_computations(module)
    counts = Counter(i.opcode for c in steps for i in c.instructions)
    for line in re.findall(r"// STRUCTURE: *(.*)", text):
        for part in line.split(","):
            opcode, count = part.split()
            assert counts[opcode] == int(count), f"{opcode}: {counts[opcode]}, not {count}"


def check_error(text: str) -> None:
    """Parsing fails on the line above the first ERROR line, with the message they give."""
    lines = text.split("\n")
    wanted = [n for n, line in enumerate(lines) if line.strip().startswith("// ERROR:")]
    assert wanted, "the case has no // ERROR: line"
    message = " ".join(lines[n].split("// ERROR:", 1)[1].strip() for n in wanted)
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.message == message
    assert caught.value.line == wanted[0], "the error is on another line"


def bless(text: str, verb: str, argument: str) -> str:
    """The case with its expectations replaced by what is got."""
    first = _EXPECTED.search(text)
    bare = _EXPECTED.sub("", text)
    if verb == "verify":
        return bless_error(bare)
    printed = str(VERBS[verb](parse(bare), argument)).strip().split("\n")
    kinds = ["CHECK"] + ["CHECK-NEXT"] * (len(printed) - 1)
    # A blank line cannot be checked for; what follows it is looked for anew.
    for n, line in enumerate(printed[:-1]):
        kinds[n + 1] = "CHECK-NEXT" if line.strip() else "CHECK"
    expected = "".join(
        f"// {kind}: {escape(line)}\n" for kind, line in zip(kinds, printed) if line.strip()
    )
    at = first.start() if first else len(bare)
    return bare[:at] + expected + bare[at:]


def bless_error(text: str) -> str:
    with pytest.raises(ParseError) as caught:
        parse(text)
    lines = text.split("\n")
    indent = re.match(r"\s*", lines[caught.value.line - 1])
    blank = indent[0] if indent else ""
    lines.insert(caught.value.line, f"{blank}// ERROR: {caught.value.message}")
    return "\n".join(lines).rstrip("\n") + "\n"
