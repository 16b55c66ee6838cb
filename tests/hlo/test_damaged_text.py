"""Damaged and hostile text: a module or a TfcError, soon, and never another exception.

The texts are those of tests/files/text, which have every operation and every form. What is done to
each instruction of them by rule has an expected message; what is done at random has none.
"""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants import outcomes

from tfc.errors import ParseError, TfcError
from tfc.hlo import parse
from tfc.hlo.op import OPS

FILES = Path(__file__).parents[1] / "files" / "text"
CASES = [
    re.sub(r"^//.*\n", "", case, flags=re.MULTILINE)
    for path in sorted(FILES.glob("*.hlo"))
    for case in path.read_text().split("// -----\n")
]
SECONDS = 5  # of this process, for a text of a few lines on any machine
_TOKEN = re.compile(r"[\w.%\-]+|\s+|\"[^\"\n]*\"|.", re.DOTALL)
_CALL = re.compile(r" = (?:\([^=]*\)|\S+) ([a-z][a-z0-9\-]*)\((.*?)\)(, .*)?$")
_ATTRIBUTE = re.compile(r", ([a-z_\-]+)=(\{(?:[^{}]|\{[^{}]*\})*\}|%?[\w.\-]+)")


def read(text: str) -> None:
    """Parse a text that may be refused."""
    start = time.process_time()
    with suppress(TfcError):
        parse(text)
    assert time.process_time() - start < SECONDS


def instructions() -> list[tuple[str, str, str, str]]:
    """(case, line, opcode, attributes) of the first instruction of each op and attribute list."""
    found = {}
    for case in CASES:
        for line in case.split("\n"):
            match = _CALL.search(line)
            if match and match[1] in OPS and line.count("{") == line.count("}"):
                names = tuple(re.findall(_ATTRIBUTE, match[3] or ""))
                key = (match[1], tuple(name for name, _ in names))
                found.setdefault(key, (case, line, match[1], match[3] or ""))
    return list(found.values())


def refusal(case: str, line: str, changed: str) -> str:
    """The message with which a case is refused when one line is changed."""
    with pytest.raises(ParseError) as caught:
        parse(case.replace(line, changed))
    return caught.value.message


def name_of(value: object) -> str:
    return value if isinstance(value, str) and value in OPS else ""


INSTRUCTIONS = instructions()


def test_every_operation_has_an_instruction_to_damage():
    assert {opcode for _, _, opcode, _ in INSTRUCTIONS} == set(OPS)


@pytest.mark.parametrize(("case", "line", "opcode", "attributes"), INSTRUCTIONS, ids=name_of)
def test_attributes_are_checked(case: str, line: str, opcode: str, attributes: str):
    op = OPS[opcode]
    stem = line.removesuffix(attributes)
    assert "has no attribute 'zzz'" in refusal(case, line, f"{line}, zzz=1")
    for match in _ATTRIBUTE.finditer(attributes):
        name, whole = match[1], match[0]
        said = refusal(case, line, line + whole)
        assert said == f"the attribute {name} is repeated"
        misspelt = attributes.replace(f" {name}=", f" {name}{name[-1]}=")
        assert "; did you mean '" in refusal(case, line, stem + misspelt)
        attribute = op.attribute(name)
        if attribute is None:
            continue
        if attribute.required and attribute.default is None:
            dropped = attributes.replace(whole, "", 1)
            assert refusal(case, line, stem + dropped) == f"{opcode} lacks the attribute {name}"
        broken = attributes.replace(whole, f", {name}=$", 1)
        assert re.match(
            "expected|unexpected|replica_groups must be written", refusal(case, line, stem + broken)
        )


@pytest.mark.parametrize(("case", "line", "opcode", "attributes"), INSTRUCTIONS, ids=name_of)
def test_operands_are_counted(case: str, line: str, opcode: str, attributes: str):
    op = OPS[opcode]
    if op.arity is None or opcode in ("parameter", "constant"):
        return
    match = _CALL.search(line)
    assert match is not None
    operands = [o for o in match[2].split(", ") if o]
    for wrong in ([*operands, "%x"], operands[:-1] if operands else ["%x", "%x"]):
        wrong = [re.sub(r"%x$", match[0] and (operands or ["%none"])[0], o) for o in wrong]
        changed = line.replace(f"{opcode}({match[2]})", f"{opcode}({', '.join(wrong)})")
        if "%none" not in changed:
            assert refusal(case, line, changed).startswith(f"{opcode} takes {op.arity} operand")


# At random.


@settings(max_examples=250)
@given(st.data())
def test_mutants_with_tokens_dropped_doubled_and_exchanged(data: st.DataObject):
    tokens = _TOKEN.findall(data.draw(st.sampled_from(CASES)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(tokens) - 1))
        match data.draw(st.sampled_from(["drop", "double", "exchange", "cut"])):
            case "drop":
                del tokens[at]
            case "double":
                tokens.insert(at, tokens[at])
            case "exchange":
                tokens[at] = tokens[data.draw(st.integers(0, len(tokens) - 1))]
            case _:
                del tokens[max(at, 1) :]
        tokens = tokens or ["x"]
    read("".join(tokens))


@settings(max_examples=250)
@given(st.data())
def test_mutants_with_flipped_bytes(data: st.DataObject):
    raw = bytearray(data.draw(st.sampled_from(CASES)).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] ^= 1 << data.draw(st.integers(0, 7))
    read(raw.decode(errors="replace"))


def as_text(content: bytes) -> object:
    return parse(content.decode(errors="replace"))


def test_mutants_are_refused_or_read(record_property: Callable[[str, object], None]):
    found = outcomes(as_text, [case.encode() for case in CASES], 700, seed=1)
    record_property("mutants", dict(found))
    assert found["refused"] > 140


@pytest.mark.slow
def test_five_thousand_mutants_are_refused_or_read(record_property: Callable[[str, object], None]):
    found = outcomes(as_text, [case.encode() for case in CASES], 5000, seed=2)
    record_property("mutants", dict(found))
    assert found["refused"] > 1000


@settings(max_examples=200)
@given(st.one_of(st.binary(max_size=200).map(lambda b: b.decode("latin-1")), st.text()))
def test_hostile_garbage(text: str):
    read(text)
    read(f"HloModule m, {text}")
    read(f"x = f32[2] parameter(0)\ny = {text}")
    read(f"x = f32[2] parameter(0)\ny = negate(x), {text}")
    read(f"c = f32[2] constant({text})")


NESTED = {
    "tuples": ("x = " + "(" * 50_000, "tuples nest deeper"),
    "literals": ("x = s32[2] constant(" + "{" * 50_000, "nests deeper"),
    "operands": ("x = f32[] parameter(0)\ny = " + "negate(" * 50_000, "operands nest deeper"),
    "computations": ("x = f32[] call(), to_apply=" + "{ y = f32[] call(), to_apply=" * 50_000,
                     "computations nest deeper"),
    "operands in tuples in computations":
        ("x = f32[] call(), to_apply={" * 60 + "x = f32[] negate(" + "(" * 30 + "f32[]" + ")" * 30
         + "negate(" * 60, "operands nest deeper"),
    "braces": ("x = f32[] parameter(0), sharding=" + "{" * 50_000, "never closed"),
    "comments": ("/* " * 50_000, "comment that begins here does not end"),
    "quotes": ('x = f32[] parameter(0), backend_config="' + '\\"' * 50_000, "does not end"),
    "digits": ("x = f32[" + "9" * 50_000 + "] parameter(0)", "expected dimension sizes"),
    "numbers": ("x = f32[] parameter(" + "9" * 50_000 + ")", "does not fit 64 bits"),
    "elements": ("x = s32[] constant(" + "9" * 50_000 + ")", "is outside"),
    "floats": ("x = f32[] constant(" + "9" * 50_000 + ")", "is outside the range of f32"),
    "names": ("x" * 50_000 + " = f32[] negate(y)", "undefined name 'y'"),
    "layouts": ("x = f32[2]{0:" + "T(8)" * 50_000 + "Q} parameter(0)", "layout property"),
    "shardings": ("x = f32[] parameter(0), sharding={" + "{replicated}, " * 5_000 + "{q}}",
                  "sharding must look like"),
    "meshes": ("x = f32[] parameter(0), sharding={mesh[" + "{a}" * 5_000 + "$", "never closed"),
    "aliases": ("HloModule m, input_output_alias={" + "{0}: (0, {}), " * 5_000 + "q}",
                "must look like"),
    "comments in braces": ("x = f32[] parameter(0), sharding={" + "/* " * 50_000, "does not end"),
    "blanks in complex numbers": ("x = c64[] constant((1" + " " * 50_000 + ".", "an element"),
    "blanks in shapes": ("x = f32[1" + " " * 50_000 + "?] parameter(0)", "the sizes"),
    "digits in statistics": ("x = f32[] parameter(0), statistics={a=" + "1" * 50_000 + "x}",
                             "must look like"),
    "lines after an unknown name": ("x = f32[] negate(y)" + "\n" * 50_000 + "y", "undefined name"),
    "lines after an unknown computation":
        ("x = f32[] call(), to_apply=f" + "\n" * 50_000 + "f", "undefined computation"),
    "definitions of nearly that name":
        ("x = f32[] call(), to_apply=f\n" + "f\n" * 50_000, "undefined computation"),
    "hashes": ("x = f32[] parameter(0)\ny = negate(x" + "#0" * 50_000, "has no element 0"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), NESTED.values(), ids=NESTED)
def test_hostile_text_is_refused_soon(text: str, message: str):
    start = time.process_time()
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)
    assert time.process_time() - start < SECONDS
    assert len(str(caught.value)) < 1000


def test_a_chain_of_ten_thousand_instructions_is_read_soon():
    lines = ["x = f32[8,8]{1,0} parameter(0)"]
    for i in range(10_000):
        lines.append(f"%v{i} = f32[8,8]{{1,0}} add(%{f'v{i - 1}' if i else 'x'}, %x), "
                     f'metadata={{op_name="jit(f)/add" source_line={i % 50}}}')  # fmt: skip
    start = time.process_time()
    text = str(parse("\n".join(lines)))
    assert str(parse(text)) == text
    assert time.process_time() - start < 4 * SECONDS
