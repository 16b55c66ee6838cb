"""What of a product's schedule a measurement may choose instead of the model."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ProductChoice:
    """Parts of a schedule, each None where the model decides.

    Attributes:
        stream: whether the matrix is read once, for products with few vectors.
        tile: the most rows, and vectors per row, of a tile.
        panel: bytes of a panel of the right operand.
        pack_lhs, pack_rhs: whether to pack the operand.
        share: along what threads share it ("rows", "columns", "batch"), and in how many chunks.
    """

    stream: bool | None = None
    tile: tuple[int, int] | None = None
    panel: int | None = None
    pack_lhs: bool | None = None
    pack_rhs: bool | None = None
    share: tuple[str, int] | None = None

    def __str__(self) -> str:
        """What is stated, in words; all that are different have different ones."""
        parts = []
        if self.stream is not None:
            parts.append("matrix read once" if self.stream else "in tiles")
        if self.tile is not None:
            parts.append(f"tiles of {self.tile[0]} x {self.tile[1]} vectors")
        if self.panel is not None:
            parts.append(f"panels of {self.panel} bytes")
        for name, packed in (("left", self.pack_lhs), ("right", self.pack_rhs)):
            if packed is not None:
                parts.append(f"{name} {'packed' if packed else 'in place'}")
        if self.share is not None:
            parts.append(f"{self.share[1]} chunks of {self.share[0]}")
        return ", ".join(parts) or "as modelled"


AS_MODELLED = ProductChoice()
