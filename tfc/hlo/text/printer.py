"""Canonical text of a module: XLA's HLO text in its long form, constants in full.

    HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

    ENTRY %main (x: f32[2]) -> f32[2] {
      %x = f32[2]{0} parameter(0)
      ROOT %add = f32[2]{0} add(%x, %x)
    }

Parsing the text and printing it again gives the same text. Names are made unique here: an
instruction's within its computation, a computation's within the module.
"""

import re
from collections.abc import Iterable, Sequence

from tfc.hlo.attributes.annotations import MODULE_ATTRIBUTES, STACK_FRAME_TABLES, in_order
from tfc.hlo.ir import Computation, Instruction, Metadata, Module
from tfc.hlo.lexer import KEYWORDS, TYPE_NAMES, quote
from tfc.hlo.literal import Literal
from tfc.hlo.op import op_named
from tfc.hlo.printable import text_of
from tfc.hlo.shape import TupleShape
from tfc.hlo.text.literal_text import print_literal
from tfc.hlo.text.value_text import FORMS, NameOf

_NOT_NAME = re.compile(r"[^A-Za-z0-9_.\-]")
_FEW = 16  # elements of a constant that a short text shows
_NUMBERED = re.compile(r"\.\d+$")
# XLA's order of what may follow an op's own attributes.
_ORDER = ("parameter_replication", "sharding", "frontend_attributes", "control-predecessors",
          "statistics", "result_accuracy", "origin", "metadata", "backend_config")  # fmt: skip


@text_of.register
def print_module(module: Module, short: bool = False) -> str:
    """The text of a module, its computations in the order callees before callers.

    Args:
        short: to be read by people: no metadata, and {...} for constants of many elements, as XLA
            prints them.
    """
    computations = module.computations
    names = dict(zip(computations, unique_names(c.name or "computation" for c in computations)))
    texts = [_print_header(module)]
    for computation in computations:
        prefix = "ENTRY " if computation is module.entry else ""
        texts.append(prefix + _print_computation(computation, names.__getitem__, short))
    return "\n\n".join(texts) + "\n"


@text_of.register
def print_computation(computation: Computation, short: bool = False) -> str:
    """The text of one computation; those it calls are only named. `short` as for a module."""
    return _print_computation(computation, lambda c: clean_name(c.name), short)


@text_of.register
def print_instruction(instruction: Instruction, short: bool = False) -> str:
    """The text of one instruction, with the names that it and its operands have."""
    involved = [instruction, *instruction.operands, *instruction.control_predecessors]
    names = {i: clean_name(i.name or i.opcode) for i in involved}
    return _print_instruction(instruction, names, lambda c: clean_name(c.name), names, short)


def clean_name(name: str) -> str:
    """The name as an identifier of HLO text: other characters become underscores."""
    cleaned = _NOT_NAME.sub("_", name)
    if not cleaned or not (cleaned[0].isalpha() or cleaned[0] == "_"):
        cleaned = "_" + cleaned
    return cleaned + "_" if cleaned in TYPE_NAMES else cleaned


def unique_names(wanted: Iterable[str]) -> list[str]:
    """Distinct identifiers; a name wanted once stays as it is, others are numbered."""
    cleaned = [clean_name(name) for name in wanted]
    reserved, used, counts = set(cleaned), set(), {}
    names = []
    for name in cleaned:
        if name in used:
            base = _NUMBERED.sub("", name)
            number = counts.get(base, 1)
            while f"{base}.{number}" in reserved:
                number += 1
            counts[base] = number + 1
            name = f"{base}.{number}"
            reserved.add(name)
        used.add(name)
        names.append(name)
    return names


def instruction_names(computation: Computation) -> dict[Instruction, str]:
    """The names that the instructions have in the text of their computation."""
    wanted = (i.name or i.opcode for i in computation.instructions)
    return dict(zip(computation.instructions, unique_names(wanted)))


def _print_header(module: Module) -> str:
    parameters = TupleShape(tuple(p.shape for p in module.entry.parameters))
    layout = f"{{{parameters}->{module.entry.root.shape}}}"
    attributes = {**dict(module.attributes), "entry_computation_layout": layout}
    tables = [
        f"{name}\n{attributes.pop(name)}" for name in STACK_FRAME_TABLES if name in attributes
    ]
    name = clean_name(module.name)
    name = f"{name}_" if name in KEYWORDS else name  # without the % that an instruction's has
    header = ", ".join([f"HloModule {name}", *in_order(attributes, MODULE_ATTRIBUTES)])
    return "\n\n".join([header, *tables]) + ("\n" if tables else "")


def _print_computation(computation: Computation, name_of: NameOf, short: bool) -> str:
    names = instruction_names(computation)
    parameters = ", ".join(
        f"{names[p]}: {p.shape.without_layout()}" for p in computation.parameters
    )
    result = computation.root.shape.without_layout()
    lines = [f"%{name_of(computation)} ({parameters}) -> {result} {{"]
    # A control predecessor that a pass has removed or moved behind is no longer named.
    earlier: dict[Instruction, str] = {}
    for instruction in computation.instructions:
        root = "ROOT " if instruction is computation.root else ""
        lines.append("  " + root + _print_instruction(instruction, names, name_of, earlier, short))
        earlier[instruction] = names[instruction]
    lines.append(", ".join(["}", *(f"{name}={text}" for name, text in computation.annotations)]))
    return "\n".join(lines)


def _print_instruction(
    instruction: Instruction,
    names: dict[Instruction, str],
    name_of: NameOf,
    earlier: dict[Instruction, str],
    short: bool,
) -> str:
    op, attributes = op_named(instruction.opcode), instruction.attributes
    inside = _mark([f"%{names[o]}" for o in instruction.operands])
    listed = []
    for attribute in op.attributes:
        if attribute.name not in attributes:
            continue
        value = attributes[attribute.name]
        if attribute.kind == "operand":
            inside = _print_operand(value, short)
        elif attribute.required or value != attribute.default:
            listed.append(f"{attribute.name}={FORMS[attribute.kind].print(value, name_of)}")
    annotations = dict(instruction.annotations)
    predecessors = [f"%{earlier[p]}" for p in instruction.control_predecessors if p in earlier]
    if predecessors:
        annotations["control-predecessors"] = "{" + ", ".join(predecessors) + "}"
    if instruction.metadata is not None and not short:
        annotations["metadata"] = print_metadata(instruction.metadata)
    listed += in_order(annotations, _ORDER)
    call = f"%{names[instruction]} = {instruction.shape} {instruction.opcode}({inside})"
    return ", ".join([call, *listed])


def _print_operand(value: object, short: bool) -> str:
    """What stands between the parentheses in place of operands."""
    if not isinstance(value, Literal):
        return str(value)
    return "{...}" if short and value.array.size > _FEW else print_literal(value)


def _mark(operands: Sequence[str]) -> str:
    """The operands, every fifth with its number in a comment."""
    if len(operands) <= 5:
        return ", ".join(operands)
    marked = [f"/*index={i}*/{o}" if i and i % 5 == 0 else o for i, o in enumerate(operands)]
    return ", ".join(marked)


def print_metadata(metadata: Metadata) -> str:
    """The fields that are set, in braces."""
    strings = ("op_type", "op_name", "source_file")
    fields = [f"{n}={quote(getattr(metadata, n))}" for n in strings if getattr(metadata, n)]
    if metadata.source_line:
        fields.append(f"source_line={metadata.source_line}")
    return "{" + " ".join([*fields, *(f"{name}={text}" for name, text in metadata.extra)]) + "}"
