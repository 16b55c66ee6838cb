"""Collectives in which a GPU meets those of other processes, as steps of its stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tfc.backends.gpu.driver import Driver
from tfc.backends.gpu.memory import GpuMemory, new_memory
from tfc.backends.gpu.running.recording import Bases, Writer
from tfc.backends.gpu.steps import Joining, Meeting
from tfc.errors import UnsupportedError
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.outside.collectives import collective_of
from tfc.hlo.shape import leaves
from tfc.passes.memory.buffers import Slice
from tfc.runtime.arrays import ArraySpec
from tfc.runtime.collectives import Collective, GpuEngine
from tfc.runtime.replicas import current

UnderWay = dict[Instruction, Callable[[], None]]  # what waits for the end of what was begun


class ReadyMeeting:
    """A collective of the GPU with those of other processes.

    name, group: what it is in messages, and who meets, once it has run; no name where nobody does.
    """

    name, group = "", ()

    def __init__(self, step: Meeting, gpus: GpuEngine, under_way: UnderWay):
        self.step, self._gpus, self._under_way = step, gpus, under_way
        instruction = step.call.instruction
        shapes = [s for o in instruction.operands for s in leaves(o.shape)]
        results = list(leaves(instruction.shape))
        if not all(s.has_default_layout for s in (*shapes, *results)):
            raise UnsupportedError(
                f"{instruction.opcode} '{instruction.name}' takes and gives row-major arrays on a "
                "GPU: do not disable the pass dense-collectives"
            )
        self._specs = [ArraySpec(s.element_type.dtype, s.dims) for s in shapes]
        self._sizes = [s.byte_size for s in results]
        self._zeros: GpuMemory | None = None

    @property
    def buffers(self) -> Sequence[Slice]:
        """What it reads, then what it writes."""
        return self.step.buffers

    def run(self, driver: Driver, bases: Bases) -> None:
        """Ask for it; others see that the GPU is in it, if it is not only begun."""
        self._ask(driver, bases)
        if not self.step.begins:
            self.tell(driver)

    def record(self, writer: Writer) -> None:
        """The same, while it is recorded."""
        self._ask(writer.driver, writer.bases)

    def _ask(self, driver: Driver, bases: Bases) -> None:
        step = self.step
        addresses = [bases[b.space, b.index] + b.offset for b in step.buffers]
        given, results = addresses[: len(self._specs)], addresses[len(self._specs) :]
        here = current()
        collective = collective_of(step.call.instruction, here, evaluate_computation)
        if collective is None or len(collective.group) == 1:
            self._alone(driver, collective, given, results)
            return
        if collective.kind == "collective-permute" and collective.source is None:
            self._clear(driver, results)
        ask = self._gpus.bind(collective, given, results, self._specs, driver)
        self.name, self.group = collective.name, collective.group
        if not step.aside:
            driver.ask(ask)
            return
        join = driver.aside(ask)
        if step.begins:
            self._under_way[step.instruction] = join
        else:
            join()

    def tell(self, driver: Driver, more: str = "") -> None:
        """Let others see that the GPU is in it, until it comes to where the host asked so far."""
        if self.name:
            self._gpus.asked(f"{self.name}{more}", self.group, driver)

    def _alone(
        self,
        driver: Driver,
        collective: Collective | None,
        given: Sequence[int],
        results: Sequence[int],
    ) -> None:
        """What a device does that meets no other: zeros where it has no part, else its operands."""
        if collective is None or (collective.kind == "collective-permute" and not collective.pairs):
            self._clear(driver, results)
            return
        for source, target, size in zip(given, results, self._sizes, strict=True):
            if size:
                driver.copy(target, source, size)

    def _clear(self, driver: Driver, results: Sequence[int]) -> None:
        most = max(self._sizes)
        if self._zeros is None:  # made in the first run, which is not recorded
            self._zeros = new_memory(driver, most)
            driver.write(self._zeros.address, np.zeros(most, np.uint8))
        for target, size in zip(results, self._sizes, strict=True):
            if size:
                driver.copy(target, self._zeros.address, size)


@dataclass(frozen=True)
class ReadyJoining:
    """Where later steps wait for what was begun."""

    step: Joining
    under_way: UnderWay

    @property
    def buffers(self) -> Sequence[Slice]:
        """None of its own."""
        return self.step.buffers

    def run(self, driver: Driver, bases: Bases) -> None:
        """Let what is asked from now on wait for it."""
        join = self.under_way.pop(self.step.instruction.operands[0], None)
        if join is not None:  # what began in an earlier stretch was waited for at its end
            join()

    def record(self, writer: Writer) -> None:
        """The same, while it is recorded."""
        self.run(writer.driver, writer.bases)


class Meetings:
    """The collectives of a stretch of steps."""

    def __init__(self, meetings: Sequence[ReadyMeeting], under_way: UnderWay):
        self._all, self._under_way = meetings, under_way

    def join(self) -> None:
        """Let what is asked from now on wait for all that was begun."""
        while self._under_way:
            self._under_way.popitem()[1]()

    def tell(self, driver: Driver) -> None:
        """Let others see that the GPU is in them, until it comes to where the host asked so far."""
        met = [m for m in self._all if m.name]
        if met:
            more = f" or one of {len(met) - 1} after it" if len(met) > 1 else ""
            met[0].tell(driver, more)

    def tell_begun(self, driver: Driver) -> None:
        """The same, if some were only begun when they were asked for."""
        if any(m.step.begins for m in self._all):
            self.tell(driver)
