"""The catalogue of operations: what each means, and which parts of tfc have it.

`rows` derives the coverage table from the registries themselves, so that it cannot claim what is
not there; `reference_page` writes docs/operations.md from the definitions and reference.toml.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tfc.backends.cpu.kernels import SEQUENTIAL
from tfc.backends.mlir.bodies import BODIES
from tfc.frontend.differentiation.reverse import NONDIFFERENTIABLE, RULES
from tfc.hlo.absent import ABSENT
from tfc.hlo.ir import Module
from tfc.hlo.lexer import Lexer
from tfc.hlo.literal import Literal
from tfc.hlo.op import OPS, Attribute, Op
from tfc.hlo.shape import leaves
from tfc.hlo.text.literal_text import parse_literal
from tfc.hlo.text.parser import parse
from tfc.passes.expand.expand import EXPANSIONS

# What the program, not a kernel, does on CPU.
_PROGRAM = {
    "while": "loop",
    "conditional": "branch",
    "call": "inlined",
    "fusion": "kernel",
    "tuple": "buffers",
    "get-tuple-element": "buffers",
    "parameter": "buffers",
    "after-all": "buffers",
    "opt-barrier": "buffers",
}

# Why the results of an operation are not compared with XLA's, op by op.
_OUTSIDE = "it talks to the host; compared with what the host gave and got"
_REPLICAS = "XLA's CPU backend runs it on many devices only; compared with NumPy's formulas"
_APART = "XLA's CPU backend has no code for it; compared with what it begins"
NOT_COMPARED = {
    **dict.fromkeys(
        ("custom-call", "infeed", "outfeed", "send", "send-done", "recv", "recv-done"), _OUTSIDE
    ),
    **dict.fromkeys(
        (
            "all-gather",
            "all-gather-start",
            "all-gather-done",
            "all-reduce",
            "all-reduce-start",
            "all-reduce-done",
            "all-to-all",
            "collective-broadcast",
            "collective-permute",
            "collective-permute-start",
            "collective-permute-done",
            "reduce-scatter",
        ),
        _REPLICAS,
    ),
    **dict.fromkeys(
        ("async-start", "async-update", "async-done", "copy-start", "copy-done"), _APART
    ),
    "parameter": "it is what the others are applied to",
    "get-tuple-element": "compared with tuple",
    "mulhi": "StableHLO, through which XLA takes programs, has no such operation",
    "ragged-dot": "XLA's CPU backend has code for few of its forms; compared with JAX's",
    "rng": "its results are random; their distribution is tested",
    "rng-get-and-update-state": "its result is a state of the process",
    **dict.fromkeys(
        ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh"),
        "XLA's CPU backend has no code for it; compared with exact arithmetic",
    ),
}


@dataclass(frozen=True)
class Row:
    """Where one operation stands; an entry is empty for what is not there, and `note` says why."""

    opcode: str
    text: str
    evaluator: str
    cpu: str
    gradient: str
    xla: str
    note: str = ""


def rows() -> Iterator[Row]:
    """The coverage of every operation of tfc, then of those of XLA that tfc does not have."""
    for op in sorted(OPS.values(), key=lambda op: op.name):
        note = NOT_COMPARED.get(op.name, "")
        xla = "" if note else "compared"
        yield Row(op.name, "yes", "yes", cpu_form(op), gradient_form(op.name), xla, note)
    for opcode, reason in sorted(ABSENT.items()):
        yield Row(opcode, "", "", "", "", "", reason)


def cpu_form(op: Op) -> str:
    """How the CPU backend makes an operation: the registry that has it, or "" if none does."""
    if op.name in EXPANSIONS:
        return "expanded"
    if op.name in _PROGRAM:
        return _PROGRAM[op.name]
    if op.on_host:
        return "host"
    if op.name in SEQUENTIAL or op.name in BODIES:
        return "kernel"
    return "element" if op.elementwise or op.is_movement else ""


def gradient_form(opcode: str) -> str:
    """ "rule", "none" where nothing flows back through the operation, or "" if neither."""
    if opcode in NONDIFFERENTIABLE:
        return "none"
    return "rule" if opcode in RULES else ""


def coverage() -> str:
    """The rows as a table of plain text, and how many operations there are."""
    headings = ("operation", "text", "evaluator", "cpu", "gradient", "XLA", "")
    lines = [headings, *(tuple(vars(r).values()) for r in rows())]
    widths = [max(len(line[n]) for line in lines) for n in range(len(headings) - 1)]
    shown = ["  ".join([*map(str.ljust, line, widths), line[-1]]).rstrip() for line in lines]
    counted = f"{len(OPS)} operations; {len(ABSENT)} more of XLA's that tfc does not have"
    return "\n".join([*shown, "", counted])


# --- docs/operations.md -------------------------------------------------------------------------


@cache
def reference() -> dict[str, dict]:
    """For each opcode its `meaning`, `constraints`, `example` (HLO text), and its `result`."""
    return tomllib.loads(files("tfc.hlo").joinpath("reference.toml").read_text("utf-8"))


def example(opcode: str) -> Module:
    """The module of an operation's example."""
    return parse(reference()[opcode]["example"])


def expected(opcode: str) -> list[Literal]:
    """What an operation's example gives, an array for each leaf of its result."""
    shapes = leaves(example(opcode).entry.root.shape)
    lexer = Lexer(reference()[opcode]["result"], f"the result of {opcode}")
    return [parse_literal(lexer, shape) for shape in shapes]


def reference_page() -> str:
    """The page of all operations, in the order of their names, as Markdown."""
    parts = [
        "# Operations",
        "",
        "Made from the definitions by `tfc ops --markdown`. Names, attributes and text forms are "
        "those of XLA's HLO text; ids such as PAD-2 name the rules that the tests cite.",
    ]
    for op in sorted(OPS.values(), key=lambda op: op.name):
        parts += ["", *_entry(op)]
    parts += ["", "## What tfc does not have", ""]
    parts += [f"- `{opcode}`: {reason}." for opcode, reason in sorted(ABSENT.items())]
    return "\n".join(parts) + "\n"


def _entry(op: Op) -> Iterator[str]:
    written = reference()[op.name]
    yield f"## {op.name}"
    yield ""
    yield f"`{_signature(op)}`"
    yield ""
    yield written["meaning"].strip()
    if op.domain:
        yield ""
        yield f"Element types of the operands: {', '.join(sorted(op.domain))}."
    attributes = [a for a in op.attributes if a.kind != "operand"]
    if attributes:
        yield ""
        yield from (_attribute_line(a) for a in attributes)
    if written.get("constraints"):
        yield ""
        yield "Requires:"
        yield from (f"- {c}" for c in written["constraints"])
    yield ""
    yield f"Gradient: {_gradient_words(op.name)}. CPU: {cpu_form(op)}."
    if "example" in written:
        yield ""
        yield from ("```", *written["example"].strip().split("\n"), "```")
    if "result" in written:
        yield f"gives `{written['result'].strip()}`."


def _signature(op: Op) -> str:
    operands = "…" if op.arity is None else ", ".join("xyzuvw"[: op.arity])
    inside = [a.name for a in op.attributes if a.kind == "operand"]
    shown = [a.name if a.required else f"[{a.name}]" for a in op.attributes if a.kind != "operand"]
    arguments = ", ".join(inside) or operands
    return ", ".join([f"{op.name}({arguments})", *(f"{name}=…" for name in shown)])


def _attribute_line(a: Attribute) -> str:
    default = "" if a.required or a.default is None else f", {a.default!r} when left out"
    return f"- `{a.name}` ({a.kind}{'' if a.required else ', optional'}{default})"


def _gradient_words(opcode: str) -> str:
    return {"rule": "a rule", "none": "nothing flows back"}.get(gradient_form(opcode), "refused")
