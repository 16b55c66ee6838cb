"""The most memory that a device needs at one time: arguments, constants, and values in between.

Values are counted from the step that makes them to the last that reads them, in the order of the
text; a step may write over what it is the last to read. What an asynchronous start reads is needed
until its -done.
"""

from dataclasses import dataclass

from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.shape import leaves
from tfc.passes.analysis.aliases import unchanging_leaves
from tfc.passes.analysis.called import CONTROL
from tfc.passes.analysis.cost import has_kernel
from tfc.passes.analysis.in_place import overwritable
from tfc.passes.memory.execution_graph import Steps

_RUNNING = (*CONTROL, "call")


@dataclass(frozen=True)
class Memory:
    """Bytes of a device. temporaries: of values, results included, when these need most."""

    arguments: int
    constants: int
    temporaries: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.arguments + self.constants + self.temporaries


def peak_memory(module: Module) -> Memory:
    """The memory of one device that runs a module for parts of arrays."""
    running = _running(module)
    unchanging, needed = unchanging_leaves(module), dict[Computation, int]()
    for computation in module.computations:  # callees first
        if computation in running:
            steps = Steps(computation, unchanging, needed)
            for number, x in enumerate(steps.instructions):
                steps.set_overwrites(number, x.opcode == "while" or bool(_pairs(x)))
            _join_starts(steps)
            needed[computation] = steps.peak(range(len(steps.instructions)))
    arguments = sum(_bytes(p) for p in module.entry.parameters)
    constants = {x for c in running for x in c.instructions if x.opcode == "constant"}
    return Memory(arguments, sum(map(_bytes, constants)), needed[module.entry])


def _pairs(x: Instruction) -> list[tuple[int, int]]:
    """What of its operands a kernel may write over."""
    return overwritable(x) if has_kernel(x) else []


def _running(module: Module) -> set[Computation]:
    """The computations whose instructions run as steps, not as parts of kernels."""
    found, pending = {module.entry}, [module.entry]
    while pending:
        for x in pending.pop().instructions:
            if x.opcode in _RUNNING:
                new = [c for c in x.called_computations if c not in found]
                found.update(new)
                pending += new
    return found


def _bytes(x: Instruction) -> int:
    return sum(shape.byte_size for shape in leaves(x.shape))


def _join_starts(steps: Steps) -> None:
    """A start makes its result alone, a -done hands it on, and both hold what is read."""
    for number, x in enumerate(steps.instructions):
        if x.opcode.endswith(("-done", "-update")):
            start = steps.numbers.get(x.operands[0])
            if start is None:
                continue
            result = sum(_bytes_of(steps, number))
            for value in steps.made[start]:
                steps.sizes[value] = 0
            if steps.made[start]:
                steps.sizes[steps.made[start][0]] = result
            held = [v for v in steps.reads[start] if v not in steps.reads[number]]
            steps.reads[number] += held
            for value in held:
                steps.uses[value] += 1
            steps.set_overwrites(number, True)


def _bytes_of(steps: Steps, number: int) -> list[int]:
    return [steps.sizes[value] for value in steps.made[number]]
