"""What may be fused into what, and what it costs: the facts about single instructions.

`can_fuse` answers for one producer and consumer with a reason; fusion.py decides about groups.
"""

from dataclasses import dataclass

from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.op import op_named
from tfc.hlo.shape import Shape
from tfc.hlo.traits import Cost
from tfc.passes.analysis.aliases import before_bitcasts, is_bitcast
from tfc.passes.rewriting.decisions import Refused

# Of an element, by the cost that its op states: the bytes that memory moves meanwhile, and its code
# in units of some seven machine instructions. Measured on one core, with f32 elements in vectors
# and arrays beyond the caches.
_PRICES = {Cost.CHEAP: 1, Cost.MODERATE: 2, Cost.EXPENSIVE: 16, Cost.LONG: 16}
# Machine instructions of a GPU; functions of floats of 16 bits are computed to their precision.
_INSTRUCTIONS = {Cost.CHEAP: 1, Cost.MODERATE: 10, Cost.EXPENSIVE: 24, Cost.LONG: 120}
_NARROW_INSTRUCTIONS = {Cost.CHEAP: 1, Cost.MODERATE: 5, Cost.EXPENSIVE: 12, Cost.LONG: 60}
_SIZES = {Cost.CHEAP: 1, Cost.MODERATE: 1, Cost.EXPENSIVE: 6, Cost.LONG: 16}
_COMPLEX_SIZES = {Cost.CHEAP: 1, Cost.MODERATE: 24, Cost.EXPENSIVE: 80, Cost.LONG: 80}
# What goes through elements of its operands in loops of its own.
REDUCTIONS = frozenset({"reduce", "reduce-window", "scan"})


def is_elementwise(instruction: Instruction) -> bool:
    """True for elementwise ops on arrays (a select between tuples is not one)."""
    return isinstance(instruction.shape, Shape) and op_named(instruction.opcode).elementwise


def is_movement(instruction: Instruction) -> bool:
    """True if each element of the array is a copy of an operand's."""
    return isinstance(instruction.shape, Shape) and op_named(instruction.opcode).is_movement


def is_widening(instruction: Instruction) -> bool:
    """True for a float that becomes one of more bits."""
    if instruction.opcode != "convert":
        return False
    wide = instruction.array_shape.element_type
    narrow = instruction.operands[0].array_shape.element_type
    return wide.is_float and narrow.is_float and narrow.bits < wide.bits


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


def can_fuse(producer: Instruction, consumer: Instruction) -> Refused | None:
    """None if the producer's op may be computed where the consumer's needs its elements."""
    if not is_producer(producer):
        return Refused.of(
            producer, f"{producer.opcode} is not computed element by element", consumer
        )
    if consumer.opcode in REDUCTIONS:
        if producer in _init_values(consumer) and not is_scalar_constant(producer):
            return Refused.of(producer, f"it is the init value of a {consumer.opcode}", consumer)
    elif not is_loop(consumer):
        reason = f"{consumer.opcode} needs its operand in memory"
        return Refused.of(producer, reason, consumer)
    if is_bitcast(producer) and _is_stored(producer.operands[0]):
        reason = f"a {producer.opcode} of a stored value needs no code"
        return Refused.of(producer, reason, consumer)
    return None


def _init_values(reduction: Instruction) -> tuple[Instruction, ...]:
    """The operands that a reduction begins with, which follow those that it goes through."""
    count = reduction.attributes.get("num_carries", len(reduction.operands) // 2)
    return reduction.operands[len(reduction.operands) - count :]


def _is_stored(instruction: Instruction) -> bool:
    """True if the value is in memory whatever fusion decides."""
    return not is_producer(before_bitcasts(instruction))


def price(instruction: Instruction) -> int:
    """What computing an element takes, as the bytes that memory moves in that time."""
    return _PRICES[op_named(instruction.opcode).cost] if is_elementwise(instruction) else 0


def instructions_of(instruction: Instruction) -> int:
    """About how many machine instructions computing an element takes on a GPU."""
    if not is_elementwise(instruction):
        return 0
    element_type = instruction.array_shape.element_type
    is_narrow = element_type.is_float and element_type.bits <= 16
    return (_NARROW_INSTRUCTIONS if is_narrow else _INSTRUCTIONS)[op_named(instruction.opcode).cost]


def code_size(instruction: Instruction) -> int:
    """How much code an element takes, in units of some seven machine instructions.

    Kernels are limited by it: the time that LLVM takes for one grows faster than its code does.
    """
    if not is_elementwise(instruction):
        return len(instruction.operands) if instruction.opcode == "concatenate" else 1
    is_complex = instruction.array_shape.element_type.is_complex
    return (_COMPLEX_SIZES if is_complex else _SIZES)[op_named(instruction.opcode).cost]


def is_cheap(instruction: Instruction) -> bool:
    """True if computing an element again costs no more than loading it."""
    return price(instruction) <= 1


@dataclass(frozen=True)
class Sources:
    """What computing an instruction anew, instead of loading it, would cost.

    read: the bytes that it reads of values that no kernel can compute for another.
    price: the price of an element, those of the producers that it is computed from included.
    """

    read: dict[Instruction, int]
    price: dict[Instruction, float]

    def again(self, instruction: Instruction) -> float:
        """The cost of computing an instruction in one more kernel, in bytes moved."""
        return self.read[instruction] + self.price[instruction] * instruction.array_shape.size

    def duplicable(self, instruction: Instruction, kernels: int) -> bool:
        """True if computing the instruction in each of several kernels costs no more than storing
        it in one of them and loading it in the others."""
        return (kernels - 1) * self.again(instruction) <= kernels * _size(instruction)

    def shrinks(self, instruction: Instruction) -> bool:
        """True if computing it takes less than loading it, so that even a stored one is redone."""
        return self.again(instruction) < _size(instruction)


def _size(instruction: Instruction) -> int:
    return instruction.array_shape.byte_size


_MOST = 1 << 40  # costs beyond which nothing is computed again; sums stay small numbers


def sources(computation: Computation, instructions_a_byte: int = 0) -> Sources:
    """The Sources of a computation, in one pass.

    Args:
        instructions_a_byte: how many instructions take as long as moving a byte, where these are
            counted; else prices are those of a CPU.
    """
    read: dict[Instruction, int] = {}
    prices: dict[Instruction, float] = {}
    for instruction in computation.instructions:
        if not is_producer(instruction):
            is_array = isinstance(instruction.shape, Shape)
            read[instruction], prices[instruction] = _size(instruction) if is_array else 0, 0
            continue
        operands = dict.fromkeys(instruction.operands)
        total = min(sum(read[o] for o in operands), _MOST)
        read[instruction] = total if is_elementwise(instruction) else min(total, _size(instruction))
        below = (prices[o] for o in operands)
        rate = instructions_a_byte
        own = instructions_of(instruction) / rate if rate else price(instruction)
        prices[instruction] = min(own + sum(below), _MOST)
        if instruction.opcode == "broadcast":
            # What it repeats may be stored, as it is less.
            (operand,) = instruction.operands
            whole = read[instruction] + prices[instruction] * instruction.array_shape.size
            if 2 * _size(operand) < min(whole, _size(instruction)):
                read[instruction], prices[instruction] = _size(operand), 0
    return Sources(read, prices)
