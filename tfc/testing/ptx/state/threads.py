"""The threads of a batch of blocks: registers, where each thread is, and who it is."""

from typing import Any, TypeAlias

import numpy as np

from tfc.testing.ptx.state.memory import Space

WARP = 32
ALL = slice(None)
# Which threads do something: all of the batch, or those with these numbers, in rising order.
Lanes: TypeAlias = Any
Triple: TypeAlias = tuple[int, int, int]


class Threads:
    """State of the threads of the blocks `first … first + blocks - 1` of a grid.

    Lane n is thread n % block_size of block n // block_size; warps are 32 threads of one block,
    clusters `cluster` neighbouring blocks.
    """

    def __init__(self, grid: Triple, block: Triple, first: int, blocks: int, cluster: int = 1):
        self.grid, self.block, self.first, self.blocks = grid, block, first, blocks
        self.cluster = cluster
        self.block_size = block[0] * block[1] * block[2]
        self.count = blocks * self.block_size
        self.numbers = np.arange(self.count)
        self.slot = self.numbers // self.block_size
        self.thread = self.numbers - self.slot * self.block_size
        self.warps_per_block = -(-self.block_size // WARP)
        self.warp = self.slot * self.warps_per_block + self.thread // WARP
        self.lane = (self.thread % WARP).astype(np.uint32)
        self.warps = blocks * self.warps_per_block
        self.exited = np.zeros(self.count, bool)
        self.registers: list[np.ndarray] = []
        self.written: dict[int, np.ndarray] = {}
        self.spaces: dict[str, Space] = {}
        self.parameters = np.zeros(0, np.uint8)
        self.shared_bytes = 0
        self.static_shared_bytes = 0
        self.block_epoch = np.ones(blocks, np.int64)
        self.warp_epoch = np.ones(self.warps, np.int64)
        self.clock = 0
        self.report: Any = None
        self.races: Any = None
        self.copies: Any = None
        self.conditions: Any = None
        # Where something runs beside the threads: barriers of phases, bulk copies, products.
        self.phases: Any = None
        self.bulk: Any = None
        self.proxies: Any = None
        self.warpgroups: Any = None
        self.seen: Any = None
        self.clusters: Any = None

    def how_many(self, lanes: Lanes) -> int:
        """How many threads these are."""
        return self.count if isinstance(lanes, slice) else len(lanes)

    def lane_numbers(self, lanes: Lanes) -> np.ndarray:
        """The numbers of these threads."""
        return self.numbers if isinstance(lanes, slice) else lanes

    def rows(self, space: str, lanes: Lanes) -> np.ndarray | None:
        """The rows of these threads in an address space; None where there is only one row."""
        match space:
            case "shared":
                return self.slot[lanes]
            case "local":
                return self.numbers[lanes]
        return None

    def within(self, lanes: Lanes, mask: np.ndarray) -> Lanes:
        """Those of `lanes` for which the mask is set; the same object if all are."""
        if mask.all():
            return lanes
        return np.flatnonzero(mask) if isinstance(lanes, slice) else lanes[mask]

    def position(self, number: int) -> tuple[Triple, Triple]:
        """(thread, block) of a lane, each as x, y, z."""
        return (
            _triple(int(self.thread[number]), self.block),
            _triple(self.first + int(self.slot[number]), self.grid),
        )

    def special(self, name: str, lanes: Lanes) -> Any:
        """The value of a special register such as 'tid.x', as an unsigned integer or array.

        Raises:
            KeyError: there is no such register.
        """
        stem, _, axis = name.partition(".")
        if axis in ("x", "y", "z"):
            return self._of_axis(stem, "xyz".index(axis), lanes)
        return self._of_warp(stem, lanes)

    def _of_axis(self, stem: str, axis: int, lanes: Lanes) -> Any:
        match stem:
            case "tid":
                return _part(self.thread[lanes], self.block, axis)
            case "clusterid" | "nclusterid" if axis == 0:
                return (self._of_axis("ctaid" if stem == "clusterid" else "nctaid", 0, lanes)
                        // np.uint32(self.cluster))  # fmt: skip
            case "cluster_ctaid" if axis == 0:
                return self._of_warp("cluster_ctarank", lanes)
            case "cluster_nctaid" if axis == 0:
                return np.uint32(self.cluster)
            case "ctaid" | "clusterid":
                return _part(self.first + self.slot[lanes], self.grid, axis)
            case "ntid":
                return np.uint32(self.block[axis])
            case "nctaid" | "nclusterid":
                return np.uint32(self.grid[axis])
            case "cluster_ctaid":
                return np.uint32(0)
            case "cluster_nctaid":
                return np.uint32(1)
        raise KeyError(stem)

    def _of_warp(self, stem: str, lanes: Lanes) -> Any:
        bit = np.uint32(1) << self.lane[lanes]
        match stem:
            case "laneid":
                return self.lane[lanes]
            case "warpid":
                return (self.thread[lanes] // WARP).astype(np.uint32)
            case "nwarpid":
                return np.uint32(self.warps_per_block)
            case "lanemask_eq":
                return bit
            case "lanemask_lt":
                return bit - np.uint32(1)
            case "lanemask_le":
                return (bit - np.uint32(1)) | bit
            case "lanemask_gt":
                return ~((bit - np.uint32(1)) | bit)
            case "lanemask_ge":
                return ~(bit - np.uint32(1))
            case "cluster_ctarank":
                return (self.slot[lanes] % self.cluster).astype(np.uint32)
            case "cluster_nctarank":
                return np.uint32(self.cluster)
            case "smid" | "gridid":
                return np.uint32(0)
            case "nsmid":
                return np.uint32(1)
            case "clock" | "clock_hi":
                return np.uint32(self.clock % (1 << 32))
            case "clock64" | "globaltimer":
                return np.uint64(self.clock)
            case "dynamic_smem_size":
                return np.uint32(self.shared_bytes - self.static_shared_bytes)
            case "total_smem_size":
                return np.uint32(self.shared_bytes)
        raise KeyError(stem)


def _triple(number: int, sizes: Triple) -> Triple:
    return number % sizes[0], number // sizes[0] % sizes[1], number // (sizes[0] * sizes[1])


def _part(numbers: np.ndarray, sizes: Triple, axis: int) -> np.ndarray:
    if sizes[1] == sizes[2] == 1 and axis == 0:
        return numbers.astype(np.uint32)
    return np.asarray(_axes(numbers, sizes)[axis], np.uint32)


def _axes(numbers: np.ndarray, sizes: Triple) -> tuple[np.ndarray, ...]:
    plane = sizes[0] * sizes[1]
    return numbers % sizes[0], numbers // sizes[0] % sizes[1], numbers // plane
