"""Products of four warps under way: the registers and the shared memory that they use meanwhile."""

from dataclasses import dataclass

import numpy as np

from tfc.testing.ptx.state.faults import Violation
from tfc.testing.ptx.state.threads import WARP, Lanes, Threads

WARPGROUP = 4 * WARP
REGISTERS = 65_536  # that the blocks of a multiprocessor have together
_ALLOCATED = 8  # registers of a thread come by so many
_MOST = 255


@dataclass
class Product:
    """One that is under way: its warpgroup, its group, and the pieces of shared memory it reads."""

    warpgroup: int
    group: int
    pieces: np.ndarray


class Warpgroups:
    """The products under way of a batch of blocks.

    Args:
        fragile: the numbers of the registers that products have.
        at_first: registers that each thread has when it begins; None if that is not stated.
    """

    def __init__(self, threads: Threads, fragile: set[int], at_first: int | None):
        self.threads = threads
        self.per_block = -(-threads.block_size // WARPGROUP)
        self.number = threads.slot * self.per_block + threads.thread // WARPGROUP
        self.closed = np.zeros(threads.count, np.int64)
        self.busy = {r: np.zeros(threads.count, np.int64) for r in fragile}
        self.touched = {r: np.ones(threads.count, bool) for r in fragile}
        self.products: list[Product] = []
        share = REGISTERS // (threads.warps_per_block * WARP) // _ALLOCATED * _ALLOCATED
        self.held = np.full(threads.warps, at_first or min(share, _MOST), np.int64)

    def touch(self, registers: tuple[int, ...], lanes: Lanes) -> None:
        """Note that threads use registers.

        Raises:
            Violation: a product under way has one of them.
        """
        for register in registers:
            busy = self.busy[register][lanes] != 0
            if busy.any():
                raise Violation("async", "a register of a product under way is used before "
                                "wgmma.wait_group", int(np.flatnonzero(busy)[0]))  # fmt: skip
            self.touched[register][lanes] = True

    def fence(self, lanes: Lanes) -> None:
        """What these threads did with registers comes before the products that follow."""
        for touched in self.touched.values():
            touched[lanes] = False

    def begin(
        self, sums: list[int], others: list[int], lanes: np.ndarray, pieces: list[np.ndarray]
    ) -> None:
        """A product begins: with the registers of its sums, those of A, and pieces to read.

        Raises:
            Violation: a register was used since the last fence, or another product writes A.
        """
        for register in (*sums, *others):
            touched = self.touched[register][lanes]
            if touched.any():
                raise Violation("async", "a register of a product was used since the last "
                                "wgmma.fence", int(np.flatnonzero(touched)[0]))  # fmt: skip
        for register in others:
            if (self.busy[register][lanes] > 0).any():
                raise Violation("async", "a product's A is in registers of one under way", 0)
        group = self.closed[lanes] + 1
        for register in sums:
            self.busy[register][lanes] = group
        for register in others:
            self.busy[register][lanes] = -group
        warpgroups = self.number[lanes[::WARPGROUP]]
        for n, warpgroup in enumerate(warpgroups.tolist()):
            self.threads.proxies.begin_reads(pieces[n])
            first = int(self.closed[lanes[n * WARPGROUP]])
            self.products.append(Product(warpgroup, first, pieces[n]))

    def commit(self, lanes: Lanes) -> None:
        """Close a group of products."""
        self.closed[lanes] += 1

    def wait(self, lanes: Lanes, left: int) -> None:
        """Wait until all but the last `left` groups are done."""
        limit = self.closed[lanes] - left
        for busy in self.busy.values():
            own = busy[lanes]
            if own.any():
                busy[lanes] = np.where(np.abs(own) <= limit, 0, own)
        last = np.full(self.per_block * self.threads.blocks, -1)
        np.maximum.at(last, self.number[lanes], limit - 1)
        stay: list[Product] = []
        for product in self.products:
            if product.group > last[product.warpgroup]:
                stay.append(product)
            else:
                self.threads.proxies.end_reads(product.pieces)
        self.products = stay

    def hold(self, warps: np.ndarray, count: int) -> None:
        """setmaxnreg: the threads of these warps have as many registers from now on."""
        self.held[warps] = count

    def finish(self) -> None:
        """All threads have ended.

        Raises:
            Violation: a product is still under way; or there were never as many registers as some
                asked for.
        """
        if self.products:
            raise Violation("async", "a thread ends while a product of its warpgroup is under way "
                            "(wgmma.wait_group is missing)")  # fmt: skip
        per_block = self.held.reshape(self.threads.blocks, -1).sum(1) * WARP
        if (per_block > REGISTERS).any():
            raise Violation("barrier", "setmaxnreg.inc waits for registers that no warp gives up: "
                            f"{int(per_block.max())} of {REGISTERS} are wanted")  # fmt: skip
