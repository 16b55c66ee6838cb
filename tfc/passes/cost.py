"""Cost analysis: how much work a module is, counted from its instructions.

A dot or convolution is two operations for each product; a reduction one application of its
computation for each element; an elementwise op one for each result element, or one transcendental
where it is a function such as exp. Bytes are those that each kernel reads and writes, so fusion
lowers them. A loop counts as often as it is known to run, or once if that is not known; of a
conditional, every branch.
"""

from dataclasses import dataclass
from math import prod

from tfc.hlo.contraction import dot_dimensions
from tfc.hlo.convolution import product_count
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import op_named
from tfc.hlo.shape import leaves
from tfc.hlo.windows import window_of
from tfc.passes.trip_counts import trip_count

TRANSCENDENTAL = frozenset({
    "acos", "acosh", "asin", "asinh", "atan2", "atanh", "cbrt", "cosh", "cosine", "erf",
    "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "power", "rsqrt",
    "sine", "sinh", "sqrt", "tan", "tanh",
})  # fmt: skip
_FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "while", "conditional",
                   "call"})  # fmt: skip


@dataclass(frozen=True)
class CostAnalysis:
    """Counts for one run: arithmetic operations, transcendental functions, bytes moved."""

    flops: int = 0
    transcendentals: int = 0
    bytes_accessed: int = 0

    def __add__(self, other: "CostAnalysis") -> "CostAnalysis":
        return CostAnalysis(
            self.flops + other.flops,
            self.transcendentals + other.transcendentals,
            self.bytes_accessed + other.bytes_accessed,
        )

    def __mul__(self, times: int) -> "CostAnalysis":
        return CostAnalysis(
            self.flops * times, self.transcendentals * times, self.bytes_accessed * times
        )


def cost_analysis(module: Module) -> CostAnalysis:
    """The cost of one run of a module."""
    return _computation_cost(module.entry)


def _computation_cost(computation: Computation) -> CostAnalysis:
    total = CostAnalysis()
    for instruction in computation.instructions:
        total += _arithmetic(instruction)
        if instruction.opcode in _FREE:
            total += _called_cost(instruction)
        else:
            arrays = [s for o in instruction.operands for s in leaves(o.shape)]
            arrays += leaves(instruction.shape)
            total += CostAnalysis(bytes_accessed=sum(s.byte_size for s in arrays))
    return total


def _called_cost(instruction: Instruction) -> CostAnalysis:
    """What the computations of control flow cost, a loop's as often as they run."""
    if instruction.opcode == "while":
        count = trip_count(instruction)
        body, test = (_computation_cost(instruction[name]) for name in ("body", "condition"))
        return body + test if count is None else body * count + test * (count + 1)
    return sum(map(_computation_cost, instruction.called_computations), CostAnalysis())


def _arithmetic(instruction: Instruction) -> CostAnalysis:
    """The operations of one instruction, not counting the bytes."""
    size = sum(s.size for s in leaves(instruction.shape))
    match instruction.opcode:
        case "fusion":
            inner = [_arithmetic(i) for i in instruction["calls"].instructions]
            return sum(inner, CostAnalysis())
        case "dot":
            _, contracting, _, _ = dot_dimensions(instruction.attributes)
            dims = instruction.operands[0].array_shape.dims
            return CostAnalysis(flops=2 * size * prod(dims[d] for d in contracting))
        case "convolution":
            return CostAnalysis(flops=2 * product_count(instruction))
        case "reduce":
            return CostAnalysis(flops=instruction.operands[0].array_shape.size)
        case "reduce-window" | "select-and-scatter":
            return CostAnalysis(flops=_window_work(instruction))
        case "map":
            return _repeated(instruction["to_apply"], size)
        case "scan":
            length = instruction.operands[0].array_shape.dims[instruction["dimensions"][0]]
            return _repeated(instruction["to_apply"], length)
        case opcode if opcode in TRANSCENDENTAL:
            return CostAnalysis(transcendentals=size)
        case opcode if op_named(opcode).elementwise:
            return CostAnalysis(flops=size)
        case _:
            return CostAnalysis()


def _window_work(instruction: Instruction) -> int:
    """How often windows combine elements; one pass over the array where they are cumulative."""
    window, operand = window_of(instruction), instruction.operands[0].array_shape
    if instruction.opcode == "reduce-window" and window.cumulative(operand.dims) is not None:
        return operand.size
    return prod(window.counts(operand.dims)) * prod(window.size)


def _repeated(computation: Computation, times: int) -> CostAnalysis:
    """The operations of a computation that runs several times."""
    return sum((_arithmetic(i) for i in computation.instructions), CostAnalysis()) * times
