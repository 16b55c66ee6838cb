"""Changes at random to the text of an HLO program, most of which leave it a program.

    %t = f32[3,2]{1,0} transpose(%p), dimensions={1,0}
    %t = f32[3,2]{0,1} transpose(%p), dimensions={1,0}      layouts: how a value lies in memory
    %t = f32[3,2]{1,0} reverse(%p), dimensions={1,0}        opcodes
    %t = bf16[3,2]{1,0} transpose(%p), dimensions={1,0}     element types, everywhere or here
    %t = f32[3,2]{1,0} transpose(%p), dimensions={0,1}      attributes

Shapes that no longer are what the operands give are set to what they give: see `repaired`.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tfc.errors import ParseError
from tfc.hlo.ir import Module
from tfc.hlo.op import OPS
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.hlo.text.parser import parse
from tfc.hlo.text.printer import print_module

MOST = 4  # changes to one program
REPAIRS = 24  # shapes set anew in one program
_START = re.compile(r"\s*(?:ROOT )?%([\w.\-]+) = ")
_CALL = re.compile(r" ([a-z][a-z0-9\-]*)\(")
_ARRAY = re.compile(r"\b([a-z]+[0-9]*\w*)\[([0-9,]*)\](\{[0-9,]*\})?")
_NAME = re.compile(r"%[\w.\-]+")
_NUMBER = re.compile(r"(?<![\w.%])-?\d+")
_GIVEN = re.compile(r"is stated to be .*?, but its operands give (.*)$")
_SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)
_WORDS = ("true", "false", *{c for op in OPS.values() for a in op.attributes for c in a.choices})
# By the number of operands, the ops that take so many; those that take any are with each.
_TAKING = {
    n: tuple(o.name for o in OPS.values() if o.arity in (n, None) and o.name != "parameter")
    for n in range(6)
}


@dataclass(frozen=True)
class Line:
    """An instruction's line in its parts, which together are the line."""

    start: str  # "  ROOT %t = "
    shape: str
    opcode: str
    inside: str  # what stands between the parentheses
    rest: str  # ", dimensions={1,0}"

    def __str__(self) -> str:
        return f"{self.start}{self.shape} {self.opcode}({self.inside}){self.rest}"


def line_of(text: str) -> Line | None:
    """The parts of a line; None if it is no instruction's."""
    start = _START.match(text)
    if start is None:
        return None
    from_shape = _closing(text, start.end()) if text[start.end()] == "(" else start.end()
    call = _CALL.search(text, from_shape)
    if call is None:
        return None
    end = _closing(text, call.end() - 1)
    return Line(start[0], text[start.end() : call.start()], call[1],
                text[call.end() : end - 1], text[end:])  # fmt: skip


def _closing(text: str, at: int) -> int:
    """The place behind the parenthesis that closes the one at `at`."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place + 1
    return len(text)


def plain_text(module: Module) -> str:
    """A module's text without what repeats the shapes of its instructions."""
    text = print_module(module)
    text = re.sub(r", entry_computation_layout=\{.*\}", "", text.partition("\n")[0]) + "\n" + (
        text.partition("\n")[2]
    )  # fmt: skip
    return re.sub(r"(?m)^((?:ENTRY )?%[\w.\-]+) \(.*\) -> .* \{$", r"\1 {", text)


Change = Callable[[list[str], random.Random], None]
CHANGES: list[Change] = []


def _change(function: Change) -> Change:
    CHANGES.append(function)
    return function


def mutated(text: str, rng: random.Random) -> str:
    """The text with a few changes, repaired where that is possible."""
    lines = text.split("\n")
    for _ in range(rng.randint(1, MOST)):
        rng.choice(CHANGES)(lines, rng)
    return repaired("\n".join(lines))


def repaired(text: str) -> str:
    """The text with the shapes that operands give, as far as that makes a program of it."""
    lines = text.split("\n")
    for _ in range(REPAIRS):
        try:
            parse("\n".join(lines))
        except ParseError as error:
            given = _GIVEN.search(error.message)
            line = line_of(lines[error.line - 1])
            if given is None or line is None:
                break
            lines[error.line - 1] = str(replace(line, shape=given[1]))
        except Exception:
            break  # whatever it is, it is found where the mutant is run
        else:
            break
    return "\n".join(lines)


def _some_line(
    lines: list[str], rng: random.Random, fits: Callable[[Line], object] = lambda line: True
) -> tuple[int, Line] | None:
    """An instruction's line that fits, and its place."""
    found = [(n, line) for n, text in enumerate(lines) if (line := line_of(text)) and fits(line)]
    return rng.choice(found) if found else None


@_change
def _layouts(lines: list[str], rng: random.Random) -> None:
    """Other layouts of a few values, whatever they are of."""

    def other(match: re.Match[str]) -> str:
        rank = match[2].count(",") + 1
        if rank < 2:
            return match[0]
        order = rng.sample(range(rank), rank)
        return f"{match[1]}[{match[2]}]{{{','.join(map(str, order))}}}"

    for _ in range(rng.randint(1, 4)):
        found = _some_line(lines, rng, lambda line: re.search(r"\d,\d", line.shape))
        if found:
            at, line = found
            lines[at] = str(replace(line, shape=_ARRAY.sub(other, line.shape)))


@_change
def _opcode(lines: list[str], rng: random.Random) -> None:
    """Another op of as many operands, with the attributes that it had."""
    found = _some_line(lines, rng, lambda line: line.opcode not in ("parameter", "constant"))
    if found:
        at, line = found
        count = len(_NAME.findall(line.inside))
        opcode = rng.choice(_TAKING.get(count) or tuple(OPS))
        lines[at] = str(replace(line, opcode=opcode))


@_change
def _element_type(lines: list[str], rng: random.Random) -> None:
    """Another element type, of all values of one or of one value."""
    present = sorted({m[1] for text in lines for m in _ARRAY.finditer(text)} & set(ELEMENT_TYPES))
    if not present:
        return
    old, new = rng.choice(present), rng.choice(tuple(ELEMENT_TYPES))
    found = _some_line(lines, rng, lambda line: f"{old}[" in line.shape)
    places: Sequence[int] = range(len(lines))
    if found and rng.random() < 0.3:
        places = [found[0]]
    for at in places:
        lines[at] = re.sub(rf"\b{old}\[", f"{new}[", lines[at])


@_change
def _size(lines: list[str], rng: random.Random) -> None:
    """Another size of all dimensions of one size."""
    sizes = sorted({s for t in lines for m in _ARRAY.finditer(t) for s in m[2].split(",")} - {""})
    if not sizes:
        return
    old, new = rng.choice(sizes), str(rng.choice(_SIZES))

    def other(match: re.Match[str]) -> str:
        dims = ",".join(new if s == old else s for s in match[2].split(","))
        return f"{match[1]}[{dims}]{match[3] or ''}"

    for at, text in enumerate(lines):
        lines[at] = _ARRAY.sub(other, text)


@_change
def _number(lines: list[str], rng: random.Random) -> None:
    """Another number in an attribute or a constant."""
    found = _some_line(lines, rng, lambda line: _NUMBER.search(_numbers_of(line)))
    if not found:
        return
    at, line = found
    text = _numbers_of(line)
    match = rng.choice(list(_NUMBER.finditer(text)))
    value = int(match[0])
    new = rng.choice((value + 1, value - 1, 0, 1, -value, rng.choice(_SIZES)))
    text = f"{text[: match.start()]}{new}{text[match.end() :]}"
    lines[at] = str(replace(line, **{_part(line): text}))


def _part(line: Line) -> str:
    return "inside" if line.opcode in ("constant", "parameter") else "rest"


def _numbers_of(line: Line) -> str:
    return getattr(line, _part(line))


@_change
def _list(lines: list[str], rng: random.Random) -> None:
    """Another order of an attribute's numbers, or one of them less."""
    lists = re.compile(r"=\{(\d+(?:,\d+)+)\}")
    found = _some_line(lines, rng, lambda line: lists.search(line.rest))
    if found:
        at, line = found
        match = rng.choice(list(lists.finditer(line.rest)))
        numbers = match[1].split(",")
        numbers = rng.sample(numbers, len(numbers) - (rng.random() < 0.2))
        rest = f"{line.rest[: match.start(1)]}{','.join(numbers)}{line.rest[match.end(1) :]}"
        lines[at] = str(replace(line, rest=rest))


@_change
def _word(lines: list[str], rng: random.Random) -> None:
    """Another word as an attribute's value: a direction, a kind, true or false."""
    words = re.compile(r"=([A-Za-z_]+)\b")
    found = _some_line(lines, rng, lambda line: words.search(line.rest))
    if found:
        at, line = found
        match = rng.choice(list(words.finditer(line.rest)))
        rest = f"{line.rest[: match.start(1)]}{rng.choice(_WORDS)}{line.rest[match.end(1) :]}"
        lines[at] = str(replace(line, rest=rest))


@_change
def _attribute(lines: list[str], rng: random.Random) -> None:
    """An attribute less, or those of another instruction."""
    found, other = (_some_line(lines, rng, lambda line: line.rest) for _ in range(2))
    if found and other:
        at, line = found
        fewer = re.sub(r", [\w\-]+=(?:\{[^{}]*\}|[^{},]+)$", "", line.rest)
        rest = other[1].rest if rng.random() < 0.5 else fewer
        lines[at] = str(replace(line, rest=rest))


@_change
def _operands(lines: list[str], rng: random.Random) -> None:
    """Another value as an operand, from before in the same computation."""
    found = _some_line(lines, rng, lambda line: "%" in line.inside)
    if found:
        at, line = found
        match = rng.choice(list(_NAME.finditer(line.inside)))
        new = rng.choice(_defined_before(lines, at))
        inside = f"{line.inside[: match.start()]}{new}{line.inside[match.end() :]}"
        lines[at] = str(replace(line, inside=inside))


def _defined_before(lines: list[str], at: int) -> list[str]:
    """The names of the values of the same computation that come before a line."""
    names = []
    for text in reversed(lines[:at]):
        start = _START.match(text)
        if start is None:
            break
        names.append(f"%{start[1]}")
    return names or ["%none"]


@_change
def _temporary(lines: list[str], rng: random.Random) -> None:
    """An elementwise operation on an operand, or its transpose and back, before it is used."""
    found = _some_line(lines, rng, lambda line: "%" in line.inside)
    if not found:
        return
    at, line = found
    match = rng.choice(list(_NAME.finditer(line.inside)))
    operand = match[0]
    made = next((d for t in lines[:at] if (d := line_of(t)) and f"{operand} =" in d.start), None)
    if made is None or made.shape.startswith("("):
        return
    name, added = f"%added.{len(lines)}", []
    order = rng.sample(range(rank := made.shape.count(",", 0, made.shape.find("]")) + 1), rank)
    back = [order.index(d) for d in range(rank)]
    if rng.random() < 0.5 and re.search(r"\d,\d", made.shape):
        for suffix, dimensions in (("a", order), ("b", back)):
            listed = ",".join(map(str, dimensions))
            shape = made.shape  # set right when the text is repaired
            added.append(
                f"  {name}{suffix} = {shape} transpose({operand}), dimensions={{{listed}}}"
            )
            operand = name + suffix
    added.append(f"  {name} = {made.shape} {rng.choice(('negate', 'copy', 'not'))}({operand})")
    inside = f"{line.inside[: match.start()]}{name}{line.inside[match.end() :]}"
    lines[at : at + 1] = [*added, str(replace(line, inside=inside))]


@_change
def _root(lines: list[str], rng: random.Random) -> None:
    """Another value of the entry as its result."""
    start = next((n for n, text in enumerate(lines) if text.startswith("ENTRY")), None)
    if start is None:
        return
    body = [n for n in range(start + 1, len(lines)) if line_of(lines[n])]
    if body:
        for n in body:
            lines[n] = lines[n].replace("  ROOT ", "  ", 1)
        at = rng.choice(body)
        lines[at] = lines[at].replace("  ", "  ROOT ", 1)
