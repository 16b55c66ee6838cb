"""The kernels of a program as the page shows them: one for each function of its code."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tfc.hlo.ir import Instruction, Module
from tfc.hlo.text.printer import print_computation
from tfc.tools.explore.roofline import Point
from tfc.tools.pictures.categories import category
from tfc.tools.profiling import KernelProfile, Profile


@dataclass(frozen=True)
class KernelView:
    """One function and the instructions that run it; or all copies together.

    number: its place among all, the one that takes longest first.
    """

    number: int
    profiles: tuple[KernelProfile, ...]
    function: str

    @property
    def name(self) -> str:
        """The name of the first instruction."""
        return self.profiles[0].name if self.function else "copies"

    @property
    def kind(self) -> str:
        """What it is: an opcode, and for a fusion its kind."""
        return self.profiles[0].cost.kind

    @property
    def category(self) -> str:
        """Its colour."""
        return category(self.profiles[0].cost.instruction) if self.function else "copy"

    @property
    def seconds(self) -> float:
        """The time of all its runs."""
        return sum(p.seconds for p in self.profiles)

    @property
    def runs(self) -> int:
        """How often it runs."""
        return sum(p.runs for p in self.profiles)

    @property
    def operations(self) -> int:
        """Operations of all its runs."""
        return sum(p.operations for p in self.profiles)

    @property
    def bytes(self) -> int:
        """Bytes read and written by all its runs."""
        return sum(p.bytes for p in self.profiles)

    def share_of_limit(self, measured: Profile) -> float:
        """The least time that the machine would need for its runs, divided by what they took."""
        least = sum(p.share_of_limit(measured.peaks) * p.seconds for p in self.profiles)
        return least / self.seconds if self.seconds else 0.0

    def point(self, measured: Profile) -> Point:
        """Its place on the roofline."""
        return Point(
            self.name,
            self.category,
            self.operations / max(self.bytes, 1),
            self.operations / self.seconds if self.seconds else 0.0,
            self.seconds / measured.kernel_seconds if measured.kernel_seconds else 0.0,
        )

    def hlo(self, lines: Mapping[Instruction, str]) -> str:
        """The instructions that run it, and what they compute if they are fusions.

        Args:
            lines: the text of each instruction.
        """
        instructions = [p.cost.instruction for p in self.profiles]
        called = instructions[0].called_computations if self.function else ()
        texts = [print_computation(c, short=True) for c in called]
        return "\n\n".join([*texts, "\n".join(lines[i] for i in instructions)])


def instruction_lines(module: Module) -> dict[Instruction, str]:
    """The text of each instruction, with the names that it has in the text of the module."""
    return {
        instruction: line.strip().removeprefix("ROOT ")
        for computation in module.computations
        for instruction, line in zip(
            computation.instructions, print_computation(computation, short=True).split("\n")[1:]
        )
    }


def kernel_views(kernels: Iterable[KernelProfile]) -> list[KernelView]:
    """The kernels grouped by function, the group that takes longest first."""
    groups: dict[str, list[KernelProfile]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.function, []).append(kernel)
    order = sorted(groups.items(), key=lambda g: -sum(k.seconds for k in g[1]))
    return [KernelView(n, tuple(several), name) for n, (name, several) in enumerate(order)]
