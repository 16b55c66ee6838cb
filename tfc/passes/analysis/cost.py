"""Cost analysis: how much work a module is, counted from its instructions.

A dot or convolution is two operations for each product; a reduction one application of its
computation for each element; an elementwise op one for each result element, or one transcendental
where it is a function such as exp. Bytes are those that each kernel reads and writes, so fusion
lowers them; of an array that is only sliced or gathered from, those of the pieces count. The body
of a loop counts as often as it is known to run, once if that is not known; of a conditional,
every branch. What is begun and ended apart counts where it begins.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from math import prod

from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.loops.trip_counts import trip_count
from tfc.hlo.op import op_named
from tfc.hlo.ops.contraction import dot_dimensions
from tfc.hlo.ops.convolution import product_count
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import Shape, leaves
from tfc.hlo.text.printer import instruction_names
from tfc.hlo.traits import Cost
from tfc.passes.analysis.aliases import is_alias

_CALLERS = frozenset({"while", "conditional", "call"})
_PICKERS = frozenset({"slice", "dynamic-slice", "gather"})
_UPDATERS = {"dynamic-update-slice": 1, "scatter": 2}  # which operand has the new elements


@dataclass(frozen=True)
class KernelCost:
    """The work of one kernel each time it runs.

    name: that of the instruction in the module's text, after that of its computation unless that
        is the entry.
    kind: the opcode, and for a fusion its kind.
    runs: how often it runs in one run of the module, as far as trip counts are known.
    """

    instruction: Instruction = field(repr=False)
    name: str
    kind: str
    runs: int
    flops: int
    transcendentals: int
    bytes_read: int
    bytes_written: int

    @property
    def bytes_accessed(self) -> int:
        """The bytes read and written."""
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True)
class CostAnalysis:
    """Counts for one run: arithmetic operations, transcendental functions, bytes moved.

    kernels: the work of each kernel, those of the entry first.
    """

    flops: int = 0
    transcendentals: int = 0
    bytes_accessed: int = 0
    kernels: tuple[KernelCost, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class _Work:
    flops: int = 0
    transcendentals: int = 0

    def __add__(self, other: "_Work") -> "_Work":
        return _Work(self.flops + other.flops, self.transcendentals + other.transcendentals)


def cost_analysis(module: Module, in_place: Container[Instruction] = ()) -> CostAnalysis:
    """The cost of one run of a module.

    Args:
        in_place: the instructions whose result lies where the array does that they update, so that
            only the new elements are written.
    """
    kernels = tuple(
        _kernel_cost(instruction, names[instruction], prefix, runs, instruction in in_place)
        for computation, prefix, runs in _runs(module)
        for names in [instruction_names(computation)]
        for instruction in computation.instructions
        if has_kernel(instruction)
    )
    return CostAnalysis(
        sum(k.runs * k.flops for k in kernels),
        sum(k.runs * k.transcendentals for k in kernels),
        sum(k.runs * k.bytes_accessed for k in kernels),
        kernels,
    )


def has_kernel(instruction: Instruction) -> bool:
    """Whether an instruction runs as a kernel: it moves or computes something itself."""
    free = op_named(instruction.opcode).cost is Cost.FREE
    return not free and instruction.opcode not in _CALLERS and not is_alias(instruction)


def kernel_cost(instruction: Instruction, in_place: bool = False) -> KernelCost:
    """The cost of one run of the kernel that an instruction becomes.

    Args:
        in_place: its result lies where the array does that it updates.
    """
    return _kernel_cost(instruction, "", "", 1, in_place)


def _runs(module: Module) -> list[tuple[Computation, str, int]]:
    """(computation, prefix of its kernels' names, how often it runs) for each that runs as steps,
    callers first; one with several callers is there for each of them.
    """
    found = [(module.entry, "", 1)]
    for computation, _, runs in found:
        for instruction in computation.instructions:
            if instruction.opcode in _CALLERS:
                known = trip_count(instruction) if instruction.opcode == "while" else 1
                for called in instruction.called_computations:
                    is_test = called is instruction.attributes.get("condition")
                    times = 1 if known is None else known + is_test
                    found.append((called, f"{called.name}/", runs * times))
    return found


def _kernel_cost(
    instruction: Instruction, name: str, prefix: str, runs: int, in_place: bool
) -> KernelCost:
    kind = instruction.opcode
    if kind == "fusion":
        kind = f"fusion {instruction['kind']}"
    if kind == "async-done":
        return KernelCost(instruction, prefix + name, kind, runs, 0, 0, 0, 0)
    # What is begun has its operands in its shape, too.
    whole = instruction["calls"].root if kind == "async-start" else instruction
    read = _bytes_read(whole)
    written = sum(s.byte_size for s in leaves(whole.shape))
    root = instruction["calls"].root if instruction.opcode == "fusion" else instruction
    if in_place and root.opcode in _UPDATERS and isinstance(root.shape, Shape):
        new = root.operands[_UPDATERS[root.opcode]].array_shape.byte_size
        read, written = max(read - written, 0) + new, new
    work = _arithmetic(instruction)
    return KernelCost(
        instruction, prefix + name, kind, runs, work.flops, work.transcendentals, read, written
    )


def _bytes_read(instruction: Instruction) -> int:
    """The bytes of each operand, or of the pieces that are taken of it."""
    if instruction.opcode == "fusion":
        called = instruction["calls"]
        return sum(_bytes_wanted(p, called.users[p]) for p in called.parameters)
    return sum(_bytes_wanted(o, [instruction]) for o in dict.fromkeys(instruction.operands))


def _bytes_wanted(value: Instruction, users: Sequence[Instruction]) -> int:
    whole = sum(s.byte_size for s in leaves(value.shape))
    pieces = [u.array_shape.byte_size for u in users if _only_picks(u, value)]
    return min(whole, sum(pieces)) if len(pieces) == len(users) else whole


def _only_picks(user: Instruction, value: Instruction) -> bool:
    return user.opcode in _PICKERS and value is user.operands[0] and value not in user.operands[1:]


def _arithmetic(instruction: Instruction) -> _Work:
    """The operations of one instruction, not counting the bytes."""
    size = sum(s.size for s in leaves(instruction.shape))
    match instruction.opcode:
        case "fusion":
            inner = [_arithmetic(i) for i in instruction["calls"].instructions]
            return sum(inner, _Work())
        case "dot":
            _, contracting, _, _ = dot_dimensions(instruction.attributes)
            dims = instruction.operands[0].array_shape.dims
            return _Work(flops=2 * size * prod(dims[d] for d in contracting))
        case "convolution":
            return _Work(flops=2 * product_count(instruction))
        case "reduce":
            return _Work(flops=instruction.operands[0].array_shape.size)
        case "reduce-window" | "select-and-scatter":
            return _Work(flops=_window_work(instruction))
        case "map":
            return _repeated(instruction["to_apply"], size)
        case "while":
            return _repeated(instruction["body"], trip_count(instruction) or 1)
        case "conditional":
            once = (_repeated(c, 1) for c in instruction.called_computations)
            return sum(once, _Work())
        case "scan":
            length = instruction.operands[0].array_shape.dims[instruction["dimensions"][0]]
            return _repeated(instruction["to_apply"], length)
    op = op_named(instruction.opcode)
    if op.transcendental:
        return _Work(transcendentals=size)
    return _Work(flops=size) if op.elementwise else _Work()


def _window_work(instruction: Instruction) -> int:
    """How often windows combine elements; one pass over the array where they are cumulative."""
    window, operand = window_of(instruction), instruction.operands[0].array_shape
    if instruction.opcode == "reduce-window" and window.cumulative(operand.dims) is not None:
        return operand.size
    return prod(window.counts(operand.dims)) * prod(window.size)


def _repeated(computation: Computation, times: int) -> _Work:
    """The operations of a computation that runs several times."""
    once = sum((_arithmetic(i) for i in computation.instructions), _Work())
    return _Work(once.flops * times, once.transcendentals * times)
