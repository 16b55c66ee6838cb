"""What the backend asks of a driver: memory, code and launches on one GPU, in the order asked."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Protocol

import numpy as np

from tfc.backends.gpu.driver.loops import Loops
from tfc.errors import InternalError

Dimensions = tuple[int, int, int]


@dataclass(frozen=True)
class MemoryUse:
    """Bytes of a GPU's memory."""

    free: int
    total: int


@dataclass(frozen=True)
class Multiprocessor:
    """What each multiprocessor of a GPU has for the blocks that it runs at the same time.

    count: how many multiprocessors there are.
    threads, blocks, registers, shared: the most; shared memory in bytes.
    """

    count: int
    threads: int
    blocks: int
    registers: int
    shared: int


@dataclass(frozen=True)
class Resources:
    """What a kernel takes: registers of a thread, bytes that a block shares by the code's own
    statement, and bytes of a thread's own memory, where registers do not do."""

    registers: int
    shared: int
    local: int


class Mark(Protocol):
    """A place in the order of what was asked for."""

    def wait(self) -> None:
        """Wait until all that was asked before is done."""
        ...

    def seconds_since(self, earlier: Any) -> float:
        """How long after an earlier mark the GPU came to this one; waits for it."""
        ...

    def is_passed(self) -> bool:
        """Whether all that was asked before is done, without waiting for it."""
        ...


@dataclass(frozen=True)
class Pixels:
    """Which pixels of images a copy goes through, one after the other: those of a window of each.

    Images lie in the dimensions of an array between the innermost, the features of a pixel, and the
    outermost, in which one image follows the other. What is said of each is innermost first.

    lower: the first place of the window.
    upper: how far its last place is beyond the last one of the image; negative if it is before it.
    steps: from one pixel to the next.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def numbers(self) -> tuple[tuple[int, ...], ...]:
        """All of it, in this order."""
        return self.lower, self.upper, self.steps


@dataclass(frozen=True)
class Boxes:
    """How boxes of an array are copied between global and shared memory; innermost sizes first.

    itemsize: bytes of an element.
    dims: sizes of the array.
    strides: bytes between neighbours along each dimension but the first, whose elements lie side by
        side; multiples of 16.
    box: sizes of what one copy moves; elements beyond the array are zeros, and are not stored.
    pixels: which pixels are moved, if these are copied: then `box` is how many features and pixels.
        A copy begins at a pixel and may move the window for that.
    swizzle: 0, or how many bytes a row of the box has, whose 16-byte pieces are exchanged.
    """

    itemsize: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    pixels: Pixels | None = None


class Graph(Protocol):
    """Launches and copies that were recorded, and run as one."""

    def launch(self) -> None:
        """Run them once more, after what was asked before."""
        ...


class Decides(IntEnum):
    """What graphs decide by themselves, without asking the host."""

    NOTHING = 0
    IF_AND_WHILE = 1  # CUDA 12.4
    SWITCH = 2  # one of several, too: CUDA 12.8


class Decision(Enum):
    """How a condition, a number of 32 bits, decides over parts of a graph."""

    IF = 0  # the only part runs if it is not 0
    WHILE = 1  # the only part runs as long as it is not 0
    SWITCH = 2  # the part of that number runs


class Recording(Protocol):
    """What is being recorded; `graph` is there once the recording has ended.

    Where the driver decides by graphs, parts of it can depend on conditions.
    """

    graph: Graph | None

    def condition(self) -> int:
        """A condition, which kernels are given and set by `cudaGraphSetConditional`, in each run of
        the graph before it decides. It decides once, in what is recorded now or within."""
        ...

    def decide(
        self, decision: Decision, condition: int, parts: Sequence[Callable[[], None]]
    ) -> None:
        """Record what each part asks for, which is launches, copies and other decisions, and none
        of them nothing."""
        ...


@dataclass
class Undecided:
    """A recording of a driver whose graphs decide nothing."""

    graph: Graph | None = None

    def condition(self) -> int:
        """There are none.

        Raises:
            InternalError: always; `Driver.decides` says so.
        """
        raise InternalError("graphs of this driver have no conditions")

    def decide(
        self, decision: Decision, condition: int, parts: Sequence[Callable[[], None]]
    ) -> None:
        """There are no conditions.

        Raises:
            InternalError: always.
        """
        raise InternalError("graphs of this driver have no conditions")


class Driver(Protocol):
    """One GPU, with one stream of work: everything happens in the order in which it is asked for.

    Addresses are numbers, of the GPU's memory. Calls may come from any thread. What goes wrong is a
    DriverError, and what there is no memory for an OutOfMemoryError; an error of a kernel may show
    in a later call.
    """

    @property
    def name(self) -> str:
        """What the GPU is called, such as "NVIDIA H100 80GB HBM3"."""
        ...

    @property
    def number(self) -> int:
        """Its number among the GPUs that programs see."""
        ...

    @property
    def architecture(self) -> str:
        """What its code is made for, such as "sm_90a"."""
        ...

    def load(self, code: bytes) -> Any:
        """Load PTX or a cubin; what is loaded lives as long as what is returned."""
        ...

    def function(self, module: Any, name: str) -> Any:
        """A kernel of loaded code."""
        ...

    def allocate(self, size: int) -> int:
        """The address of `size` bytes, which is a multiple of 256; not 0 even for no bytes."""
        ...

    def free(self, address: int) -> None:
        """Give memory back, once what was asked before is done."""
        ...

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array there. The array may change as soon as this returns."""
        ...

    def read(self, target: np.ndarray, address: int) -> None:
        """Copy from there to a contiguous array, and wait until it is done."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place of its memory to another, which do not overlap."""
        ...

    def launch(
        self,
        function: Any,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> None:
        """Run a kernel.

        Args:
            arguments: 64-bit numbers, most of them addresses, and what `describe` gives.
            shared: bytes of memory that the threads of a block share, besides what the code states.
        """
        ...

    def prepare(
        self,
        function: Any,
        blocks: Dimensions,
        threads: Dimensions,
        arguments: Sequence[int | bytes],
        shared: int = 0,
    ) -> Graph:
        """A launch that is made again and again, with the arguments of `launch`."""
        ...

    def gpu_of(self, address: int) -> int:
        """The number of the GPU in whose memory an address lies; its own if it cannot tell."""
        ...

    def describe(self, boxes: Boxes, address: int) -> bytes:
        """What a kernel takes to copy boxes of the array at an address, a multiple of 16."""
        ...

    def record(self) -> AbstractContextManager[Recording]:
        """Record what is launched and copied inside, instead of doing it."""
        ...

    def after_recording(self, action: Callable[[], object]) -> None:
        """Do something at once, or after what this thread records.

        It is for what is given back when Python finds that nothing refers to it, which may be in
        the middle of a recording: that ends with an error if something is waited for.
        """
        ...

    @property
    def decides(self) -> Decides:
        """What its graphs decide by themselves."""
        ...

    @property
    def loops(self) -> Loops:
        """The loops of such graphs."""
        ...

    @property
    def stop_address(self) -> int:
        """Where a number of 32 bits lies that is not 0 while loops of graphs are to end."""
        ...

    def synchronize(self) -> None:
        """Wait until all that was asked is done."""
        ...

    def mark(self) -> Mark:
        """This place in the order."""
        ...

    def wait_for(self, stream: int) -> None:
        """Do what is asked from now on after what another library's stream was asked for.

        Args:
            stream: its address; 1 and 2 are the streams that programs of CUDA use by default.
        """
        ...

    def hold(self, stream: int) -> None:
        """Make that stream do what it is asked from now on after what was asked here before."""
        ...

    def ask(self, work: Callable[[int], None]) -> None:
        """Let another library ask for work in the stream, whose address it is given."""
        ...

    def aside(self, work: Callable[[int], None]) -> Callable[[], None]:
        """Let it ask for work in a second stream, after what was asked here before.

        All such work is done in the order in which it is asked for. The function that is returned
        makes what is asked here from then on wait for it.
        """
        ...

    @property
    def identity(self) -> str:
        """Which GPU it is, among all of its host, whatever of them the process sees."""
        ...

    @property
    def stream_address(self) -> int:
        """The address of the stream, which other libraries can wait for."""
        ...

    @property
    def multiprocessor(self) -> Multiprocessor:
        """What the GPU's multiprocessors have."""
        ...

    def resources(self, function: Any) -> Resources:
        """What a kernel takes."""
        ...

    @property
    def reports(self) -> Sequence[tuple[str, Any]] | None:
        """What an interpreter counted, launch by launch, with the kernels' names; None of a GPU."""
        ...

    def version(self) -> str:
        """Which driver makes machine code of PTX; "" where nobody can keep that."""
        ...

    def assemble(self, ptx: bytes) -> bytes:
        """The machine code that the driver makes of PTX, to be loaded another time."""
        ...

    def memory(self) -> MemoryUse:
        """How much memory there is, and how much of it is free."""
        ...
