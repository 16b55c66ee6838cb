"""What a GPU program does, as data: launches, copies, calls of the host, loops and branches.

A loop whose turns are counted ahead asks the host nothing: it is one with the launches around it.
"""

from collections.abc import Callable, Sequence
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
    """

    instruction: Instruction
    function: str
    buffers: tuple[Slice, ...]
    blocks: Dimensions
    threads: Dimensions
    numbers: tuple[int, ...] = ()
    shared: int = 0
    boxes: tuple[tuple[int, Boxes], ...] = ()

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


Step = Launch | Copy | HostCall | DeviceCall | Loop | Repeat | Branch
Steps = tuple[Step, ...]
