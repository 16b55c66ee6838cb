"""A program run step by step, with marks of the GPU around each step.

On the interpreter of PTX, whose time says nothing of a GPU, what each launch does is counted.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tfc.backends.gpu.driver import Driver
from tfc.backends.gpu.driver.interface import Mark, Resources
from tfc.backends.gpu.loaded import Loadable, LoadedProgram
from tfc.backends.gpu.measuring.occupancy import occupancy
from tfc.backends.gpu.running.recording import Bases, Part
from tfc.backends.gpu.running.runner import Runner
from tfc.backends.gpu.running.stretches import nodes_of
from tfc.backends.gpu.steps import (
    Copy,
    DeviceCall,
    HostCall,
    Joining,
    Launch,
    Loop,
    Meeting,
    Step,
    Steps,
)
from tfc.backends.interfaces import KernelTimes, LaunchFigures, TimedKernel
from tfc.hlo.ir import Instruction
from tfc.runtime.collectives import GpuEngine

_MOST_EVENTS = 10_000


@dataclass
class _Place:
    """What is timed as one: the launches of an instruction, or a copy."""

    instruction: Instruction
    function: str
    copied: int = 0
    launch: Launch | None = None


@dataclass(frozen=True)
class _Event:
    """That a step of a place ran. A place's first step begins one run of it.

    part, parts: of a launch that runs several equal kernels, which of as many parts is the place's.
    """

    place: int
    is_first: bool
    begin: Mark
    end: Mark
    counted: Sequence[Any] = ()
    part: int = 0
    parts: int = 1

    def span(self, first: Mark, start: int) -> tuple[int, int, int]:
        """Its place, and when it began and ended, in nanoseconds.

        Args:
            first, start: a mark, and when it was.
        """
        begin = start + _nanoseconds(first, self.begin)
        whole = _nanoseconds(self.begin, self.end)
        own = (begin + whole * n // self.parts for n in (self.part, self.part + 1))
        return self.place, next(own), next(own)


@dataclass
class Observations:
    """The places of a program, and what happened in the last run."""

    root: Instruction
    places: list[_Place] = field(default_factory=list)
    events: list[_Event] = field(default_factory=list)
    numbers: dict[Instruction, int] = field(default_factory=dict)

    def place(
        self, step: Launch | Copy | HostCall | DeviceCall | Meeting | Joining
    ) -> list[tuple[int, bool]]:
        """The numbers of a step's places, and whether the step is the first there."""
        match step:
            case Launch():
                every = (step.instruction, *step.beside)
                return [self._place(_Place(i, step.function, launch=step)) for i in every]
            case Copy():
                self.places.append(_Place(self.root, "", step.size))
                return [(len(self.places) - 1, True)]
            case HostCall() | DeviceCall() | Meeting() | Joining():
                return [self._place(_Place(step.instruction, step.instruction.opcode))]

    def _place(self, made: _Place) -> tuple[int, bool]:
        is_first = made.instruction not in self.numbers
        if is_first:
            self.numbers[made.instruction] = len(self.places)
            self.places.append(made)
        return self.numbers[made.instruction], is_first


class ObservedRunner(Runner):
    """A runner that marks begin and end of each step."""

    def __init__(
        self,
        driver: Driver,
        functions: Callable[[str], Any],
        steps: Steps,
        observations: Observations,
        gpus: GpuEngine | None = None,
    ):
        self.observations = observations
        super().__init__(driver, functions, steps, gpus)

    def _prepare(self, steps: Steps) -> list[Part]:
        return [self._observed(step) for step in steps]

    def _turn(self, loop: Loop, condition: Sequence[Part]) -> Sequence[Part]:
        return [*self._prepare(loop.body), *condition]  # of which each step has one place

    def _observed(self, step: Step) -> Part:
        if not isinstance(step, (Launch, Copy, HostCall, DeviceCall, Meeting, Joining)):
            return self._slow(step)
        places = self.observations.place(step)
        is_call = nodes_of(step, self._takes) is None
        run = self._slow(step) if is_call else self._once(step)

        def observed(bases: Bases) -> None:
            driver = self._driver
            before, begin = len(driver.reports or ()), driver.mark()
            run(bases)
            counted = [report for _, report in (driver.reports or ())[before:]]
            end = driver.mark()
            self.observations.events += [
                _Event(number, is_first, begin, end, counted, part, len(places))
                for part, (number, is_first) in enumerate(places)
            ]

        return observed

    def _once(self, step: Step) -> Part:
        (ready,) = self._quick([step])
        return lambda bases: ready.run(self._driver, bases)


class ObservedProgram:
    """A program that runs with the arguments of a call, and gives what that took.

    Args:
        root: the instruction that copies to the results belong to.
        resources: what each kernel takes; asked of the driver where it is not there.
    """

    def __init__(
        self, code: Loadable, root: Instruction, driver: Driver, resources: Mapping[str, Resources]
    ):
        self._observations, self._driver, self._resources = Observations(root), driver, resources
        self._program = LoadedProgram(code, driver, self._runner)

    def __call__(self, *arguments: Any) -> KernelTimes:
        """Run with the arguments of a call."""
        seen, driver = self._observations, self._driver
        seen.events.clear()
        start, first = time.monotonic_ns(), driver.mark()
        self._program.run(arguments)
        ended = start + _nanoseconds(first, driver.mark())
        by_place = [[e for e in seen.events if e.place == n] for n in range(len(seen.places))]
        kernels = [
            TimedKernel(
                place.instruction,
                place.function,
                place.copied,
                sum(e.is_first for e in own),
                sum(_nanoseconds(e.begin, e.end) // e.parts for e in own),
                self._figures(place, own),
            )
            for place, own in zip(seen.places, by_place)
        ]
        spans = [event.span(first, start) for event in seen.events[:_MOST_EVENTS]]
        is_counted = driver.reports is not None
        return KernelTimes(tuple(kernels), tuple(spans), start, ended, is_counted)

    def _runner(
        self,
        driver: Driver,
        functions: Callable[[str], Any],
        steps: Steps,
        gpus: GpuEngine | None,
    ) -> Runner:
        return ObservedRunner(driver, functions, steps, self._observations, gpus)

    def _figures(self, place: _Place, events: Sequence[_Event]) -> LaunchFigures | None:
        launch = place.launch
        if launch is None:
            return None
        taken = self._resources.get(launch.function)
        if taken is None:
            taken = self._driver.resources(self._program.function(launch.function))
        threads, shared = prod(launch.threads), taken.shared + launch.shared
        kind, registers = self._driver.multiprocessor, taken.registers
        kernels = 1 + len(launch.beside)
        return LaunchFigures(
            prod(launch.blocks) // kernels,
            threads,
            registers,
            shared,
            taken.local,
            occupancy(kind, threads, registers, shared) if registers else None,
            _counts([report for event in events for report in event.counted], kernels),
        )


def _nanoseconds(begin: Mark, end: Mark) -> int:
    return round(1e9 * end.seconds_since(begin))


def _counts(reports: Sequence[Any], kernels: int) -> dict[str, int]:
    """What an interpreter counted in some launches of so many equal kernels, added up, for one."""
    total: Counter[str] = Counter()
    for report in reports:
        total["instructions"] += report.total
        for traffic in (report.loads, report.stores, report.bulk_loads, report.bulk_stores):
            total["sectors"] += traffic.transactions
            total["ideal sectors"] += traffic.ideal
        total["bank conflicts"] += report.bank_conflicts
        total["divergent branches"] += report.divergent_branches
    return {name: count // kernels for name, count in total.items()}
