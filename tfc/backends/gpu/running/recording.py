"""What steps are given to run and to be recorded: where memory lies, and who records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tfc.backends.gpu.driver import Driver
from tfc.backends.gpu.driver.interface import Recording
from tfc.backends.gpu.running.decisions import Deciders
from tfc.passes.memory.buffers import Slice

Bases = Mapping[tuple[str, int], int]  # where each space of memory begins
Part = Callable[[Bases], None]


@dataclass(frozen=True)
class Writer:
    """What steps are recorded with.

    bases: where each space of memory begins.
    deciders: the kernels that decide; None where nothing is to be decided.
    join: makes what is recorded from then on wait for what goes on in a second stream.
    """

    driver: Driver
    bases: Bases
    recording: Recording
    deciders: Deciders | None
    join: Callable[[], None]

    def address(self, place: Slice) -> int:
        """Where a buffer lies."""
        return self.bases[place.space, place.index] + place.offset

    def kernel(self, name: str, *numbers: int) -> None:
        """Record a kernel that decides."""
        assert self.deciders is not None
        self.deciders.launch(self.driver, name, *numbers)

    @property
    def stop(self) -> int:
        """Where a number lies that is not 0 while loops are to end."""
        assert self.deciders is not None
        return self.deciders.stop
