"""What a GPU program does, as data: launches, copies, calls of the host, loops and branches.

A loop whose turns are counted ahead asks the host nothing: it is one with the launches around it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tfc.backends.gpu.driver.interface import Boxes, Dimensions
from tfc.hlo.ir import Instruction
from tfc.hlo.op import Value
from tfc.hlo.shape import Shape
from tfc.passes.memory.buffers import Slice
from tfc.runtime.functions import GpuBuffer


@dataclass(frozen=True)
class Launch:
    """A kernel: its function, the buffers that it takes, then numbers, and how many threads run it.

    shared: bytes of memory that the threads of a block share, besides what the code states.
    boxes: (number of a buffer, how boxes of it are copied) of what the function takes last.
    beside: further instructions whose equal kernels the launch runs, each with buffers of its own.
    """

    instruction: Instruction
    function: str
    buffers: tuple[Slice, ...]
    blocks: Dimensions
    threads: Dimensions
    numbers: tuple[int, ...] = ()
    shared: int = 0
    boxes: tuple[tuple[int, Boxes], ...] = ()
    beside: tuple[Instruction, ...] = ()

    @property
    def thread_count(self) -> int:
        """All threads of the launch."""
        return prod(self.blocks) * prod(self.threads)


@dataclass(frozen=True)
class Copy:
    """Bytes of one buffer to another."""

    source: Slice
    target: Slice
    size: int

    @property
    def buffers(self) -> tuple[Slice, ...]:
        """What it reads and writes."""
        return self.source, self.target


@dataclass(frozen=True)
class HostCall:
    """An instruction that the host runs, by a function of its operands' values.

    operands, results: the leaves of each operand, and of the result.
    """

    instruction: Instruction
    function: Callable[[Sequence[Value]], Value]
    operands: tuple[tuple[Slice, ...], ...]
    results: tuple[Slice, ...]


@dataclass(frozen=True)
class DeviceCall:
    """A custom call whose target asks the GPU for its work in the stream that it is given.

    buffers: the leaves of the operands, then of the result; shapes: what lies there.
    """

    instruction: Instruction
    function: Callable[[int, Sequence[GpuBuffer], bytes], None]
    buffers: tuple[Slice, ...]
    shapes: tuple[Shape, ...]
    opaque: bytes = b""


@dataclass(frozen=True)
class Meeting:
    """A collective, in which the GPU meets those of other processes; else a call of the host.

    instruction: what stands in the program: the collective, or the async-start that begins it.
    call: the collective, as the host runs it.
    aside: it is in one order with collectives that go on while later steps run; what is begun does
        so until the `Joining` of its beginning.
    """

    instruction: Instruction
    call: HostCall
    aside: bool = False

    @property
    def begins(self) -> bool:
        """Whether later steps do not wait for it."""
        return self.instruction.opcode == "async-start"

    @property
    def buffers(self) -> tuple[Slice, ...]:
        """What it reads, then what it writes."""
        return *(s for places in self.call.operands for s in places), *self.call.results


@dataclass(frozen=True)
class Joining:
    """What comes after it waits for the collective that its operand has begun."""

    instruction: Instruction

    @property
    def buffers(self) -> tuple[Slice, ...]:
        """None of its own."""
        return ()


@dataclass(frozen=True)
class Loop:
    """Steps that compute whether to go on, a pred that they leave, and the steps of a round."""

    condition: "Steps"
    selector: Slice
    body: "Steps"


@dataclass(frozen=True)
class Repeat:
    """Steps that run a number of times, one or more."""

    body: "Steps"
    count: int


@dataclass(frozen=True)
class Branch:
    """One of several lists of steps: that of the index, else the last; for a pred true is first."""

    selector: Slice
    by_index: bool
    branches: "tuple[Steps, ...]"


Step = Launch | Copy | HostCall | DeviceCall | Meeting | Joining | Loop | Repeat | Branch
Steps = tuple[Step, ...]


def launches_of(steps: Steps) -> Iterator[Launch]:
    """All launches, also those of loops and branches."""
    for step in steps:
        match step:
            case Launch():
                yield step
            case Loop():
                yield from launches_of((*step.condition, *step.body))
            case Repeat():
                yield from launches_of(step.body)
            case Branch():
                yield from launches_of(tuple(s for branch in step.branches for s in branch))
            case _:
                pass
