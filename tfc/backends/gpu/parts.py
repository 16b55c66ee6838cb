"""A kernel as functions that run one after the other: between them all threads have finished.

sort      sort tiles │ split runs, with number 2048 │ merge, with 2048 │ split, with 4096 │ …
scatter   put the operands in place │ combine the updates
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tfc.backends.gpu.driver.interface import Boxes, Dimensions
from tfc.backends.gpu.grid import THREADS
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.kernels import Kernel
from tfc.hlo.ir import Instruction


@dataclass(frozen=True)
class Work:
    """What a part's code is made of: the kernel, its buffers, its scratch memory if there is any,
    the numbers of the launch, of type `index`, and pointers to the descriptors of its boxes."""

    kernel: Kernel
    buffers: Sequence[Buffer]
    scratch: Any = None
    numbers: Sequence[Any] = ()
    boxes: Sequence[Any] = ()

    @property
    def root(self) -> Instruction:
        """The instruction whose value the kernel stores."""
        return self.kernel.root


@dataclass(frozen=True)
class Part:
    """One function, and its launches.

    emit: emits the body. Parts with the same one share the function, so they pass equally many
        numbers.
    count: how many threads are at work, or blocks if `by_block`.
    numbers: what each launch passes; one launch without numbers if left out.
    threads: of a block.
    shared: bytes of memory that the threads of a block share, besides what the code states.
    boxes: (number of a buffer, how boxes of it are copied), for kernels that copy such.
    resident: how many blocks one multiprocessor must have room for, so that threads may have all
        registers that are left then; 0 if the assembler weighs that.
    cluster: how many neighbouring blocks are one cluster, which divides their number.
    wide: numbers of buffers (arguments, results, scratch memory) of which LLVM is to make one
        access of neighbouring ones. It then reads three as four where these lie together, so the
        part must read these arrays only whole, after they were written.
    """

    emit: Callable[[Work], None]
    count: int
    by_block: bool = False
    numbers: Sequence[tuple[int, ...]] = ((),)
    threads: int = THREADS
    shared: int = 0
    boxes: Sequence[tuple[int, Boxes]] = ()
    resident: int = 0
    cluster: int = 1
    wide: Collection[int] = ()

    @property
    def blocks(self) -> Dimensions:
        """The blocks of a launch."""
        return (self.count if self.by_block else -(-self.count // self.threads), 1, 1)


def count_of(dims: Sequence[int]) -> int:
    """The number of points."""
    return prod(dims)
