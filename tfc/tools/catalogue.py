"""The catalogue of operations: what each means, and which parts of tfc have it.

`rows` derives the coverage table from the registries themselves, so that it cannot claim what is
not there; `reference_page` writes docs/operations.md from the definitions and reference.toml.
"""

import tomllib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from tfc.backends.cpu.kernels import SEQUENTIAL
from tfc.backends.gpu.kernels import FORMS
from tfc.backends.mlir.arithmetic.elemental import EMISSION
from tfc.backends.mlir.bodies import BODIES
from tfc.frontend.differentiation.reverse import NONDIFFERENTIABLE, RULES
from tfc.hlo import builder
from tfc.hlo.absent import ABSENT
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Computation, Module
from tfc.hlo.lexer import Lexer
from tfc.hlo.literal import Literal
from tfc.hlo.op import OPS, Attribute, Op
from tfc.hlo.shape import C64, F32, PRED, S32, U32, leaves
from tfc.hlo.text.literal_text import parse_literal, print_literal
from tfc.hlo.text.parser import parse
from tfc.hlo.traits import Cost
from tfc.passes.expand.expand import EXPANSIONS

# What the program, not a kernel, does.
_PROGRAM = {"while": "loop", "conditional": "branch", "call": "inlined", "fusion": "kernel"}


@dataclass(frozen=True)
class CatalogueRow:
    """Where one operation stands; an entry is empty for what is not there, and `note` says why."""

    opcode: str
    text: str
    evaluator: str
    cpu: str
    gpu: str
    gradient: str
    xla: str
    note: str = ""


def rows() -> Iterator[CatalogueRow]:
    """The coverage of every operation of tfc, then of those of XLA that tfc does not have."""
    for op in sorted(OPS.values(), key=lambda op: op.name):
        note = entry(op.name).get("not_compared", "")
        xla = "" if note else "compared"
        cpu, gpu = form(op, SEQUENTIAL), form(op, FORMS)
        yield CatalogueRow(op.name, "yes", "yes", cpu, gpu, gradient_form(op.name), xla, note)
    for opcode, reason in sorted(ABSENT.items()):
        yield CatalogueRow(opcode, "", "", "", "", "", "", reason)


def form(op: Op, kernels: Container[str]) -> str:
    """How a backend makes an operation: the registry that has it, or "" if none does.

    Args:
        kernels: the operations that the backend has kernels of its own for.
    """
    if op.name in EXPANSIONS:
        return "expanded"
    if op.name in _PROGRAM:
        return _PROGRAM[op.name]
    if op.on_host:
        return "host"
    if op.cost is Cost.FREE:
        return "buffers"
    if op.name in kernels or op.name in BODIES:
        return "kernel"
    return "element" if op.is_movement or op.name in EMISSION else ""


def gradient_form(opcode: str) -> str:
    """ "rule", "none" where nothing flows back through the operation, or "" if neither."""
    if opcode in NONDIFFERENTIABLE:
        return "none"
    return "rule" if opcode in RULES else ""


def coverage() -> str:
    """The rows as a table of plain text, and how many operations there are."""
    headings = ("operation", "text", "evaluator", "cpu", "gpu", "gradient", "XLA", "")
    lines = [headings, *(tuple(vars(r).values()) for r in rows())]
    widths = [max(len(line[n]) for line in lines) for n in range(len(headings) - 1)]
    shown = ["  ".join([*map(str.ljust, line, widths), line[-1]]).rstrip() for line in lines]
    counted = f"{len(OPS)} operations; {len(ABSENT)} more of XLA's that tfc does not have"
    return "\n".join([*shown, "", counted])


# --- docs/operations.md -------------------------------------------------------------------------


@cache
def reference() -> dict[str, dict]:
    """What reference.toml says, by opcode; its first lines say what there is."""
    return tomllib.loads(files("tfc.hlo").joinpath("reference.toml").read_text("utf-8"))


def entry(opcode: str) -> dict[str, Any]:
    """What is written about an operation; an elementwise one brings its meaning itself, and needs
    no example of its own.
    """
    op, written = OPS[opcode], reference().get(opcode, {})
    if op.elementwise:
        made = {} if "example" in written else _made_example(op)
        return {"meaning": op.description} | made | written
    return written


def _made_example(op: Op) -> dict[str, str]:
    """An example of small numbers, if the operation takes any without being told more."""
    types = [t for t in (F32, S32, U32, PRED, C64) if t.kind in op.domain]
    if not types or op.needs_shape or any(a.required for a in op.attributes):
        return {}
    scale = 0.25 if types[0] in (F32, C64) else 1
    values = [np.array([1, 2, 3]) * scale * (n + 1) for n in range(op.arity or 1)]
    operands = [builder.constant(v.astype(types[0].dtype)) for v in values]
    root = builder.instruction(op.name, operands)
    lines = [f"  {n} = {o.shape.without_layout()} constant({print_literal(o['literal'])})"
             for n, o in zip("xyz", operands)]  # fmt: skip
    call = f"{op.name}({', '.join('xyz'[: len(operands)])})"
    lines.append(f"  ROOT result = {root.shape.without_layout()} {call}")
    result = evaluate_computation(Computation.make("example", (), root), ())
    written = "\n".join(["ENTRY example {", *lines, "}"])
    return {"example": written, "result": print_literal(Literal(result))}


def example(opcode: str) -> Module:
    """The module of an operation's example."""
    return parse(entry(opcode)["example"])


def expected(opcode: str) -> list[Literal]:
    """What an operation's example gives, an array for each leaf of its result."""
    shapes = leaves(example(opcode).entry.root.shape)
    lexer = Lexer(entry(opcode)["result"], f"the result of {opcode}")
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
    written = entry(op.name)
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
    made = f"CPU: {form(op, SEQUENTIAL)}. GPU: {form(op, FORMS)}."
    yield f"Gradient: {_gradient_words(op.name)}. {made}"
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
