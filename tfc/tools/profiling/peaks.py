"""What one core or a GPU can do, in figures: arithmetic, and bytes through each level of memory."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """A level of memory: how many bytes it holds, and the bytes a second read and written."""

    name: str
    capacity: float
    bytes_per_second: float


@dataclass(frozen=True)
class Peaks:
    """The most that a machine does.

    flops: operations a second in fused multiply-adds, by bits of the type: 32, 64; 16 for what a
        GPU multiplies by matrices.
    levels: the levels of memory, the smallest first; the last holds everything.
    of: which machine.
    """

    flops: dict[int, float]
    levels: tuple[Level, ...]
    of: str = "one core"

    def level(self, size: float) -> Level:
        """The smallest level that holds most of so many bytes: half of them or more."""
        return next(level for level in self.levels if size <= 2 * level.capacity)

    def least_seconds(self, operations: float, size: float, bits: int = 32) -> float:
        """The least time for so many operations on so many bytes."""
        return max(operations / self.flops[bits], size / self.level(size).bytes_per_second)

    def __str__(self) -> str:
        arithmetic = ", ".join(
            f"{f / 1e9:.1f} GFLOP/s in f{bits}" for bits, f in self.flops.items()
        )
        memory = ", ".join(f"{x.name} {x.bytes_per_second / 1e9:.1f} GB/s" for x in self.levels)
        return f"{self.of}: {arithmetic}; {memory}"
