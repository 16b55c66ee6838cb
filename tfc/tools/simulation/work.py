"""How long a kernel runs on a device: its work by the cost analysis, by the rates of the table.

The time is that of its arithmetic or that of its bytes, whichever is longer, and the launch. An
update in place, of an array that nobody else reads, moves only what is new.
"""

from dataclasses import dataclass

from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.loops.trip_counts import trip_count
from tfc.hlo.op import op_named
from tfc.hlo.shape import F32, ElementType, Shape, leaves
from tfc.hlo.traits import Category
from tfc.passes.analysis.cost import kernel_cost
from tfc.passes.analysis.in_place import overwritable
from tfc.tools.simulation.speeds import Speeds


@dataclass(frozen=True)
class Work:
    """One run of a kernel.

    seconds: with the launch. limit: what it waits for: "arithmetic", "memory" or "launch".
    """

    seconds: float
    limit: str
    operations: int
    bytes: int


def kernel_work(instruction: Instruction, computation: Computation, speeds: Speeds) -> Work:
    """The work of the kernel that an instruction of a computation becomes.

    Raises:
        TfcError: the table has no rate for an element type.
    """
    cost = kernel_cost(instruction, _in_place(instruction, computation))
    products = _products(instruction)
    rest = max(cost.flops - sum(products.values()), 0)
    arithmetic = sum(count / speeds.product_rate(kind) for kind, count in products.items() if count)
    if rest:
        arithmetic += rest / speeds.vector_rate(_element(instruction))
    arithmetic += cost.transcendentals / speeds.transcendentals
    moved = speeds.memory_seconds(cost.bytes_accessed) if cost.bytes_accessed else 0.0
    longest = max(arithmetic, moved)
    limit = "arithmetic" if arithmetic > moved else "memory"
    return Work(
        longest + speeds.launch,
        "launch" if speeds.launch > longest else limit,
        cost.flops + cost.transcendentals,
        cost.bytes_accessed,
    )


def _products(instruction: Instruction) -> dict[ElementType, int]:
    """The operations of products by the type of what is multiplied."""
    found: dict[ElementType, int] = {}
    pending = [(instruction, 1)]
    while pending:
        x, times = pending.pop()
        if op_named(x.opcode).category is Category.PRODUCT:
            kind = x.operands[0].array_shape.element_type
            found[kind] = found.get(kind, 0) + times * kernel_cost(x).flops
        elif x.opcode == "fusion":
            pending += [(inner, times) for inner in x["calls"].instructions]
        elif x.opcode == "while":
            times *= trip_count(x) or 1
            pending += [(inner, times) for inner in x["body"].instructions]
    return found


def _element(instruction: Instruction) -> ElementType:
    """The element type of a kernel's widest result, by which its other arithmetic goes."""
    shapes = [s for s in leaves(instruction.shape) if isinstance(s, Shape)]
    numbers = [s.element_type for s in shapes if s.element_type.kind != "pred"]
    given = [o.shape.element_type for o in instruction.operands if isinstance(o.shape, Shape)]
    numbers = numbers or [e for e in given if e.kind != "pred"]
    return max(numbers, key=lambda element: element.component.bits, default=F32)


def _in_place(instruction: Instruction, computation: Computation) -> bool:
    """Whether an update can lie where the array does that it changes."""
    whole = instruction["calls"].root if instruction.opcode == "fusion" else instruction
    if whole.opcode not in ("dynamic-update-slice", "scatter"):
        return False
    changed = [instruction.operands[number] for number, _ in overwritable(instruction)]
    return any(
        len(computation.users[x]) == 1
        and (x.opcode != "parameter" or computation.root.opcode == "tuple")
        for x in changed
    )
