"""How a product is cut up: tiles of blocks, of warps and threads, stages, shares of the sums."""

from dataclasses import dataclass

from tfc.backends.gpu.matrices import PIECE
from tfc.backends.gpu.warps import WARP


@dataclass(frozen=True)
class Schedule:
    """The tiles of a kernel.

    rows, columns: of the results that a block makes.
    warp_rows, warp_columns: of those that a warp of it makes.
    pieces: of 16 bytes along the sums, that a stage holds of each line.
    stages: tiles that are in shared memory at once: one is multiplied, the others are on the way.
    splits: blocks that share the sums of one result, to be added up in a second step.
    in_cluster: whether these are a cluster, which adds them up itself.
    """

    rows: int
    columns: int
    warp_rows: int
    warp_columns: int
    pieces: int = 4
    stages: int = 3
    splits: int = 1
    in_cluster: bool = False

    def __str__(self) -> str:
        """It in words; all that are different have different ones."""
        parts = [
            f"tiles of {self.rows} x {self.columns}",
            f"{self.warp_rows} x {self.warp_columns} a warp",
            f"{self.stages} stages of {self.pieces * PIECE} bytes",
        ]
        shares = f"{self.splits} shares" + " in a cluster" * self.in_cluster
        return ", ".join([*parts, *([shares] if self.splits > 1 else [])])

    @property
    def steps(self) -> int:
        """Launches: two where a second step adds up sums that blocks share."""
        return 2 if self.splits > 1 and not self.in_cluster else 1

    @property
    def cluster(self) -> int:
        """Blocks of a cluster; 1 without clusters."""
        return self.splits if self.in_cluster else 1

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return self.rows // self.warp_rows * (self.columns // self.warp_columns)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps * WARP

    def depth(self, element_bytes: int) -> int:
        """The sums of a stage."""
        return self.pieces * PIECE // element_bytes

    def stage_bytes(self) -> int:
        """Shared memory of a stage."""
        return (self.rows + self.columns) * self.pieces * PIECE
