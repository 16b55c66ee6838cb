"""The graph of a computation: what its pictures show of each instruction, and of what it calls.

A fusion, a while and a conditional contain the graphs of their computations. Scalar constants are
no nodes: they stand in the labels of their users.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import op_named
from tfc.hlo.shape import Shape, TupleShape
from tfc.hlo.text.printer import instruction_names, print_instruction
from tfc.hlo.traits import Category
from tfc.tools.pictures.categories import category

_DETAILS = ("dimensions", "direction", "index", "iota_dimension", "custom_call_target")
_DEEPEST = 8
_LONGEST = 40  # characters of a line
_LONGEST_HINT = 600


@dataclass(frozen=True)
class Node:
    """One instruction.

    lines: its label. hint: its text. parts: the graphs of what it calls, if that is shown.
    """

    name: str
    opcode: str
    lines: tuple[str, ...]
    category: str
    hint: str
    parts: tuple["Graph", ...] = ()


@dataclass(frozen=True)
class Graph:
    """Nodes and the edges between them, from operand to user, as numbers of nodes.

    root: the number of the node whose value the computation has; -1 if it is a scalar constant.
    parameters: for each parameter, the number of its node.
    size: the number of nodes, those inside of others included.
    depth: of the nesting; 1 without any.
    """

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    root: int
    parameters: tuple[int, ...]
    size: int
    depth: int


def module_graph(module: Module) -> Graph:
    """The graph of a module's entry, with what it calls inside, to a depth of _DEEPEST."""
    made: dict[Computation, Graph] = {}
    for computation in module.computations:  # callees first
        made[computation] = _graph(computation, made)
    return made[module.entry]


def _graph(computation: Computation, known: Mapping[Computation, Graph]) -> Graph:
    names = instruction_names(computation)
    shown = [i for i in computation.instructions if not _is_scalar_constant(i)]
    number = {instruction: n for n, instruction in enumerate(shown)}
    edges = [
        (number[operand], number[user])
        for user in shown
        for operand in dict.fromkeys(user.operands)
        if operand in number
    ]
    nodes = tuple(_node(i, names[i], known) for i in shown)
    parts = [part for node in nodes for part in node.parts]
    return Graph(
        computation.name,
        nodes,
        tuple(edges),
        number.get(computation.root, -1),
        tuple(number[p] for p in computation.parameters),
        len(nodes) + sum(part.size for part in parts),
        1 + max((part.depth for part in parts), default=0),
    )


def _node(instruction: Instruction, name: str, known: Mapping[Computation, Graph]) -> Node:
    parts: tuple[Graph, ...] = ()
    if op_named(instruction.opcode).category is Category.CONTROL:
        parts = tuple(known[c] for c in instruction.called_computations)
        parts = () if any(part.depth >= _DEEPEST for part in parts) else parts
    return Node(
        name,
        instruction.opcode,
        tuple(_clip(line) for line in _label(instruction, name)),
        category(instruction),
        hint_of(instruction),
        parts,
    )


def hint_of(instruction: Instruction) -> str:
    """The instruction's text, short and cut off where it is long."""
    text = print_instruction(instruction, short=True)
    return text if len(text) <= _LONGEST_HINT else text[:_LONGEST_HINT] + " …"


def _label(instruction: Instruction, name: str) -> tuple[str, ...]:
    opcode = instruction.opcode
    shape = _shape_text(instruction)
    if opcode in ("parameter", "constant"):
        return name, shape
    if opcode == "fusion":
        return f"{name} · {instruction['kind']}", shape
    if opcode in ("while", "conditional", "call"):
        return f"{opcode} {name}", shape
    words = [opcode]
    if "to_apply" in instruction.attributes and opcode not in ("sort", "scan"):
        words.append(instruction["to_apply"].root.opcode)
    for key in _DETAILS:
        value = instruction.attributes.get(key)
        if value not in (None, ()):
            words.append(
                "{" + ",".join(map(str, value)) + "}" if isinstance(value, tuple) else str(value)
            )
    words += [_scalar_text(o) for o in instruction.operands if _is_scalar_constant(o)]
    return " ".join(words), shape


def _shape_text(instruction: Instruction) -> str:
    shape = instruction.shape
    if isinstance(shape, TupleShape):
        return f"({len(shape.elements)} values)"
    return shape.without_layout()


def _is_scalar_constant(instruction: Instruction) -> bool:
    shape = instruction.shape
    return instruction.opcode == "constant" and isinstance(shape, Shape) and shape.rank == 0


def _scalar_text(constant: Instruction) -> str:
    value = constant["literal"].array.item()
    return f"{value:.4g}" if isinstance(value, (float, complex)) else str(value)


def _clip(line: str) -> str:
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
