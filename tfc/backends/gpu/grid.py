"""The GPU's way through a space: a thread for each point, in blocks of `THREADS`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from typing import Any

from tfc.backends.gpu.warps import WARP
from tfc.backends.mlir import provider
from tfc.backends.mlir.kernels import Stores
from tfc.backends.mlir.provider import arith, ir, scf
from tfc.backends.mlir.vectors import index_value

THREADS = 256
LARGEST_GRID = (1 << 31) - 1  # blocks of a launch

gpu: Any = provider.gpu()

_BLOCKS: ContextVar[int | None] = ContextVar("blocks of a kernel beside others", default=None)


class Grid:
    """Loops whose points are threads; threads beyond the space do nothing."""

    flat = True

    def store(self, work: Stores, points: Sequence[Any]) -> None:
        """Emit what a thread stores: an element of each value."""
        work.emit_each(self, points)

    def each(self, sizes: Sequence[int], body: Callable[[Sequence[Any]], None]) -> None:
        """Emit `body` for the point whose row-major number is the thread's."""
        number = thread_number()
        inside = arith.cmpi(arith.CmpIPredicate.ult, number, index_value(prod(sizes)))
        with ir.InsertionPoint(scf.IfOp(inside).then_block):
            body(point_of(number, sizes))
            scf.yield_([])


def thread_number() -> Any:
    """The number of the thread in the grid, of type `index`."""
    return arith.addi(arith.muli(block_number(), index_value(THREADS)), thread_in_block())


def block_number() -> Any:
    """The number of the thread's block, of those of its kernel."""
    number = gpu.block_id(gpu.Dimension.x)
    count = _BLOCKS.get()
    return number if count is None else arith.remui(number, index_value(count))


@contextmanager
def beside_others(blocks: int) -> Iterator[Any]:
    """A context in which the code of a kernel is emitted that runs in so many blocks, beside others
    that have as many; gives the number of the kernel."""
    token = _BLOCKS.set(blocks)
    try:
        yield arith.divui(gpu.block_id(gpu.Dimension.x), index_value(blocks))
    finally:
        _BLOCKS.reset(token)


def thread_in_block() -> Any:
    """The number of the thread in its block."""
    return gpu.thread_id(gpu.Dimension.x)


def point_of(number: Any, sizes: Sequence[int]) -> list[Any]:
    """The point of a space with this row-major number."""
    points: list[Any] = []
    for size in reversed(sizes[1:]):
        points.append(arith.remui(number, index_value(size)))
        number = arith.divui(number, index_value(size))
    return [*([number] if sizes else []), *reversed(points)]


def threads_for(elements: int) -> int:
    """The threads of a block that works on a tile of so many elements."""
    return min(THREADS, max(WARP, elements))


def divided(number: Any, count: Any) -> tuple[Any, Any]:
    """Quotient and remainder of values of type `index`."""
    return arith.divui(number, count), arith.remui(number, count)


def below(x: Any, limit: Any) -> Any:
    """An i1: x < limit."""
    return arith.cmpi(arith.CmpIPredicate.ult, index_value(x), index_value(limit))


def within(*tests: Any) -> Any:
    """An i1: all of these hold."""
    found = tests[0]
    for test in tests[1:]:
        found = arith.andi(found, test)
    return found
