"""Control flow: calls put in place, segments between branches and barriers, and their order.

Threads run in the order of segments: of all threads that can run, those in the first segment do.
The order is topological but for the ways back of loops, and keeps each loop together; so threads
that part meet again as early as they can, at the immediate post-dominator of where they parted.
"""

from dataclasses import dataclass, field, replace

from tfc.errors import KindError
from tfc.testing.ptx.instructions.calls import call_parts
from tfc.testing.ptx.instructions.warpgroups import is_gathering
from tfc.testing.ptx.state.faults import UnknownInstructionError
from tfc.testing.ptx.text.syntax import (
    Address,
    Function,
    Instruction,
    Label,
    Operand,
    Pair,
    Register,
    Source,
    Symbol,
    Vector,
)

# Instructions that end a segment: control leaves, or threads wait for others.
_JUMPS = {"bra", "brx", "ret", "exit"}
MAX_INLINED = 20_000


@dataclass
class Segment:
    """Instructions that threads run through together, and the one that ends them, if any.

    `targets` are the numbers of the segments that a branch may lead to; `following` is where those
    go who do not take it, None at the end of the kernel.
    """

    instructions: list[Instruction] = field(default_factory=list)
    end: Instruction | None = None
    targets: tuple[int, ...] = ()
    following: int | None = None

    @property
    def successors(self) -> tuple[int, ...]:
        """All segments that may come next."""
        rest = () if self.following is None else (self.following,)
        return (*self.targets, *rest)


def segments_of(function: Function, source: Source) -> tuple[Function, list[Segment]]:
    """A kernel with what it calls put in place, and its segments in the order of running."""
    flat = Function(
        function.name, True, function.parameters, function.results, dict(function.registers),
        dict(function.variables), [], dict(function.tables), function.directives,
    )  # fmt: skip
    flat.body = _inlined(function, source, flat, ())
    segments = _cut(flat)
    order = _ordered(segments)
    number = {old: new for new, old in enumerate(order)}
    for segment in segments:
        segment.targets = tuple(number[t] for t in segment.targets)
        if segment.following is not None:
            segment.following = number[segment.following]
    return flat, [segments[old] for old in order]


# --- Calls ----------------------------------------------------------------------------------------


def _inlined(
    function: Function, source: Source, flat: Function, callers: tuple[str, ...]
) -> list[Instruction | Label]:
    body: list[Instruction | Label] = []
    for item in function.body:
        if not isinstance(item, Instruction) or item.opcode != "call":
            body.append(item)
            continue
        results, name, arguments = call_parts(item)
        callee = source.functions.get(name)
        if callee is None or not callee.is_defined:
            body.append(item)  # one of the functions that the machine has
            continue
        if name in (*callers, function.name):
            raise UnknownInstructionError(item.text, item.line, "a recursive call")
        prefix = f"{name}@{item.line}.{len(flat.registers)}."
        names = {r: prefix + r for r in callee.registers}
        names |= {v: prefix + v for v in callee.variables}
        names |= {i.name: prefix + i.name for i in callee.body if isinstance(i, Label)}
        names |= {t: prefix + t for t in callee.tables}
        formal = [*callee.parameters, *callee.results]
        names |= {
            v.name: a.name for v, a in zip(formal, (*arguments, *results)) if isinstance(a, Symbol)
        }
        flat.registers |= {names[r]: t for r, t in callee.registers.items()}
        flat.variables |= {names[n]: replace(v, name=names[n]) for n, v in callee.variables.items()}
        flat.tables |= {
            names[t]: tuple(names[label] for label in labels) for t, labels in callee.tables.items()
        }
        inner = _inlined(callee, source, flat, (*callers, function.name))
        body += _in_place(inner, names, item, prefix + "end")
        if len(body) > MAX_INLINED:
            raise KindError(f"the calls of {function.name} give more than {MAX_INLINED} lines")
    return body


def _in_place(
    inner: list[Instruction | Label], names: dict[str, str], call: Instruction, end: str
) -> list[Instruction | Label]:
    """A callee's body under the names that it has in the caller; its returns go to the end."""
    body: list[Instruction | Label] = []
    if call.predicate is not None:
        unless = Register(call.predicate.name, not call.predicate.negated)
        body.append(replace(call, opcode="bra", modifiers=(), operands=(Symbol(end),),
                            predicate=unless))  # fmt: skip
    for item in inner:
        if isinstance(item, Label):
            body.append(Label(names.get(item.name, item.name)))
            continue
        predicate = item.predicate and _renamed(item.predicate, names)
        assert predicate is None or isinstance(predicate, Register)
        operands = tuple(_renamed(o, names) for o in item.operands)
        if item.opcode == "ret":
            item = replace(item, opcode="bra", modifiers=("uni",))
            operands = (Symbol(end),)
        body.append(replace(item, predicate=predicate, operands=operands))
    return [*body, Label(end)]


def _renamed(operand: Operand, names: dict[str, str]) -> Operand:
    match operand:
        case Register(name, negated):
            return Register(names.get(name, name), negated)
        case Symbol(name, offset):
            return Symbol(names.get(name, name), offset)
        case Address(base, offset, coordinates):
            renamed = None if base is None else _renamed(base, names)
            assert renamed is None or isinstance(renamed, Register | Symbol)
            return Address(renamed, offset, tuple(_renamed(c, names) for c in coordinates))
        case Vector(elements):
            return Vector(tuple(_renamed(e, names) for e in elements))
        case Pair(first, second):
            return Pair(_renamed(first, names), _renamed(second, names))
    return operand


# --- Segments -------------------------------------------------------------------------------------


def _ends(instruction: Instruction) -> bool:
    if instruction.opcode in ("bar", "barrier"):
        arrives = instruction.modifiers[:2] == ("cluster", "arrive")
        return "warp" not in instruction.modifiers and not arrives
    if instruction.opcode == "mbarrier":
        return "try_wait" in instruction.modifiers
    if is_gathering(instruction):
        return True
    return instruction.opcode in _JUMPS


def _cut(function: Function) -> list[Segment]:
    segments = [Segment()]
    labels: dict[str, int] = {}
    for item in function.body:
        if isinstance(item, Label):
            if segments[-1].instructions or segments[-1].end:
                segments.append(Segment())
            labels[item.name] = len(segments) - 1
        else:
            if segments[-1].end:
                segments.append(Segment())
            if _ends(item):
                segments[-1].end = item
            else:
                segments[-1].instructions.append(item)
    if segments[-1].instructions or segments[-1].end:
        segments.append(Segment())  # where labels at the end of the function lead
    for number, segment in enumerate(segments):
        _connect(segment, number, len(segments), labels, function)
    return segments


def _connect(
    segment: Segment, number: int, count: int, labels: dict[str, int], function: Function
) -> None:
    end = segment.end
    following = number + 1 if number + 1 < count else None
    segment.following = following
    if end is None or end.opcode not in _JUMPS:
        return
    names: tuple[str, ...] = ()
    if end.opcode == "bra" and isinstance(end.operands[0], Symbol):
        names = (end.operands[0].name,)
    elif end.opcode == "brx" and isinstance(end.operands[1], Symbol):
        names = function.tables.get(end.operands[1].name, ())
    unknown = [name for name in names if name not in labels]
    if unknown or (end.opcode in ("bra", "brx") and not names):
        raise UnknownInstructionError(end.text, end.line, "a branch to no label of the function")
    segment.targets = tuple(labels[name] for name in names)
    if end.predicate is None:
        segment.following = None


def _ordered(segments: list[Segment]) -> list[int]:
    """The numbers of all segments: topological, loops kept together, in the text's order else."""
    order: list[int] = []
    work: list[tuple[list[int], int | None]] = [(list(range(len(segments))), None)]
    while work:
        nodes, head = work.pop()
        if head is not None:
            order.append(head)
            nodes = [n for n in nodes if n != head]
        components = _components(nodes, segments)
        parts: list[tuple[list[int], int | None]] = []
        for component in components:
            if len(component) == 1:
                parts.append(([], component[0]))
            else:
                parts.append((component, _head(component, nodes, segments)))
        work += reversed(parts)
    return order


def _head(component: list[int], nodes: list[int], segments: list[Segment]) -> int:
    """Where a loop is entered: the first of its segments that one outside of it leads to."""
    inside = set(component)
    entered = {t for n in nodes if n not in inside for t in segments[n].successors if t in inside}
    return min(entered or inside)


def _components(nodes: list[int], segments: list[Segment]) -> list[list[int]]:
    """Strongly connected components in topological order (Tarjan, without recursion)."""
    inside, index, low = set(nodes), {}, {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in sorted(nodes, reverse=True):
        if root in index:
            continue
        work = [(root, iter(sorted(segments[root].successors, reverse=True)))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            step = next(
                (s for s in rest if s in inside and (s not in index or s in on_stack)), None
            )
            if step is not None and step not in index:
                index[step] = low[step] = len(index)
                stack.append(step)
                on_stack.add(step)
                work.append((step, iter(sorted(segments[step].successors, reverse=True))))
            elif step is not None:
                low[node] = min(low[node], index[step])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_popped(stack, on_stack, node))
    return found[::-1]


def _popped(stack: list[int], on_stack: set[int], node: int) -> list[int]:
    component = []
    while True:
        component.append(stack.pop())
        on_stack.discard(component[-1])
        if component[-1] == node:
            return sorted(component)
