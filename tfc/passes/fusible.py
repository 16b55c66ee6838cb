"""What may be fused into what, and what it costs: the facts about single instructions.

`can_fuse` answers for one producer and consumer with a reason; fusion.py decides about groups.
"""

from dataclasses import dataclass

from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import Shape
from tfc.passes.aliases import is_bitcast

# Elementwise ops of a few machine instructions; the others (division, roots, transcendental
# functions) cost more than reading a stored result.
# fmt: off
CHEAP = frozenset({
    "abs", "add", "and", "bitcast-convert", "ceil", "clamp", "compare", "convert",
    "count-leading-zeros", "floor", "is-finite", "maximum", "minimum", "multiply", "negate", "not",
    "or", "popcnt", "round-nearest-afz", "round-nearest-even", "select", "shift-left",
    "shift-right-arithmetic", "shift-right-logical", "sign", "subtract", "xor",
})
# fmt: on
# What goes through elements of its operands in loops of its own.
REDUCTIONS = frozenset({"reduce", "reduce-window", "scan"})


@dataclass(frozen=True)
class Refusal:
    """Why a producer is not computed inside a consumer's kernel."""

    producer: Instruction
    consumer: Instruction
    reason: str

    def __str__(self) -> str:
        return f"{self.producer.name} into {self.consumer.name}: {self.reason}"


def is_elementwise(instruction: Instruction) -> bool:
    """True for elementwise ops on arrays (a select between tuples is not one)."""
    return isinstance(instruction.shape, Shape) and op_named(instruction.opcode).elementwise


def is_movement(instruction: Instruction) -> bool:
    """True if each element of the array is a copy of an operand's."""
    return isinstance(instruction.shape, Shape) and op_named(instruction.opcode).is_movement


def is_scalar_constant(instruction: Instruction) -> bool:
    """True for constants that are written into the code rather than loaded."""
    return instruction.opcode == "constant" and instruction.array_shape.rank == 0


def is_loop(instruction: Instruction) -> bool:
    """True if code can make any one element of the result from elements of the operands."""
    return is_elementwise(instruction) or is_movement(instruction) or instruction.opcode == "iota"


def is_producer(instruction: Instruction) -> bool:
    """True if the instruction can be computed inside another kernel."""
    return is_loop(instruction) or is_scalar_constant(instruction)


def is_consumer(instruction: Instruction) -> bool:
    """True if the instruction can be the root of a fusion."""
    if is_bitcast(instruction):
        return False  # no code at all is better
    return is_loop(instruction) or instruction.opcode in REDUCTIONS


def is_cheap(instruction: Instruction) -> bool:
    """True if computing an element again costs no more than loading it."""
    return not is_elementwise(instruction) or instruction.opcode in CHEAP


def can_fuse(producer: Instruction, consumer: Instruction) -> Refusal | None:
    """None if the producer's op may be computed where the consumer's needs its elements."""
    if not is_producer(producer):
        return Refusal(producer, consumer, f"{producer.opcode} is not computed element by element")
    if consumer.opcode in REDUCTIONS:
        if producer in _init_values(consumer) and not is_scalar_constant(producer):
            return Refusal(producer, consumer, f"it is the init value of a {consumer.opcode}")
    elif not is_loop(consumer):
        reason = f"{consumer.opcode} needs its operand in memory"
        return Refusal(producer, consumer, reason)
    if is_bitcast(producer) and _is_stored(producer.operands[0]):
        reason = f"a {producer.opcode} of a stored value needs no code"
        return Refusal(producer, consumer, reason)
    return None


def _init_values(reduction: Instruction) -> tuple[Instruction, ...]:
    """The operands that a reduction begins with, which follow those that it goes through."""
    count = reduction.attributes.get("num_carries", len(reduction.operands) // 2)
    return reduction.operands[len(reduction.operands) - count :]


def _is_stored(instruction: Instruction) -> bool:
    """True if the value is in memory whatever fusion decides."""
    while is_bitcast(instruction):
        instruction = instruction.operands[0]
    return not is_producer(instruction)


@dataclass(frozen=True)
class Sources:
    """What computing an instruction anew, instead of loading it, would read.

    free: instructions that are movements (or one cheap op on movements) of stored values, so that
        computing them again needs no kernel but the one that wants them.
    bytes: how much such an instruction reads.
    """

    free: dict[Instruction, bool]
    bytes: dict[Instruction, int]

    def duplicable(self, instruction: Instruction) -> bool:
        """True if computing the instruction in each of its users' kernels reads no more."""
        return self.free[instruction] and self.bytes[instruction] <= _size(instruction)

    def shrinks(self, instruction: Instruction) -> bool:
        """True if computing it reads less than loading it, so that even a stored one is redone."""
        return self.bytes[instruction] < _size(instruction)


def _size(instruction: Instruction) -> int:
    return instruction.array_shape.byte_size


def sources(computation: Computation) -> Sources:
    """The Sources of a computation, in one pass."""
    free: dict[Instruction, bool] = {}
    read: dict[Instruction, int] = {}
    moved: dict[Instruction, bool] = {}  # a movement of stored values, however long the chain
    for instruction in computation.instructions:
        operands = dict.fromkeys(instruction.operands)
        total, near = sum(read[o] for o in operands), all(moved[o] for o in operands)
        if not is_producer(instruction):
            free[instruction] = moved[instruction] = True
            is_array = isinstance(instruction.shape, Shape)
            read[instruction] = _size(instruction) if is_array else 0
        elif is_elementwise(instruction):
            free[instruction], moved[instruction] = near and is_cheap(instruction), False
            read[instruction] = total
        else:
            free[instruction] = moved[instruction] = near
            read[instruction] = min(total, _size(instruction))
    return Sources(free, read)
