"""A convolution to emit, the same for every algorithm: what it is, its memory, what finishes it."""

from dataclasses import dataclass
from typing import Any, Protocol

from tfc.backends.cpu.convolutions.spec import ConvolutionSpec
from tfc.backends.cpu.loops.nests import Chunk
from tfc.backends.cpu.products.word_tiles import WordVectors
from tfc.backends.mlir.vectors import Position, Vectors
from tfc.backends.target import Target


@dataclass(frozen=True)
class OutputBlock:
    """Results that are made together: those of members, for all features of a group.

    count: how many members; along: they are neighbours along the last spatial dimension from
        `places[-1]` on, else of all batches.
    features: the first of the group's features, and how many; None for all.
    """

    count: int
    along: bool
    group: Position
    batch: Position
    places: tuple[Position, ...]
    features: tuple[Position, int] | None = None


class Finish(Protocol):
    """Emits what makes results of a block of sums: all features of a group, for some members."""

    def __call__(self, block: OutputBlock, sums: tuple[Any, Position]) -> None:
        """Emit it; `sums` is where those of the first member begin, if they are made apart."""
        ...


@dataclass(frozen=True)
class ConvolutionWork:
    """What an algorithm is given.

    lhs, rhs, out, workspace: flat memrefs; the workspace is the chunk's own.
    finish: None if the sums are the results. Where the spec has the sums apart, the memory of the
        result is left to it.
    chunk: the share to emit of what the algorithm shares out (splits.py); None for all.
    """

    spec: ConvolutionSpec
    target: Target
    lhs: Any
    rhs: Any
    out: Any
    workspace: Any
    finish: Finish | None = None
    chunk: Chunk | None = None

    @property
    def lanes(self) -> int:
        """How many elements a vector of the target has."""
        return self.target.lanes(self.spec.lhs.element_type.bits)

    @property
    def vectors(self) -> Vectors:
        """Vectors of the element type, or of words."""
        if self.spec.words is not None:
            return WordVectors(self.spec.lhs.element_type, self.lanes, self.spec.words, lying=True)
        return Vectors(self.spec.lhs.element_type, self.lanes)

    @property
    def registers(self) -> int:
        """How many vectors hold sums where the algorithm has no tile of its own."""
        return 24 if self.target.vector_registers >= 32 else 12

    @property
    def sums(self) -> Any:
        """The memory in which the sums are made."""
        return self.workspace if self.spec.apart else self.out
