"""Running a program's steps with a driver.

What lies between two decisions of the host (a call of Python; where graphs do not decide by
themselves also the end of a loop, or a branch) is recorded as one graph when the same addresses
come a second time, and launched at once from then on: memory comes from a pool, so they do. Of very
many turns as many as a graph may have are one graph, which is launched again and again.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfc.backends.gpu.driver import Driver, Graph
from tfc.backends.gpu.driver.interface import Decides
from tfc.backends.gpu.running.decisions import deciders_of
from tfc.backends.gpu.running.meetings import Meetings, ReadyJoining, ReadyMeeting, UnderWay
from tfc.backends.gpu.running.recording import Bases, Part
from tfc.backends.gpu.running.stretches import (
    Ready,
    ReadyBranch,
    ReadyCopy,
    ReadyLaunch,
    ReadyLoop,
    Recordable,
    Stretch,
    nodes_of,
    stretches_of,
)
from tfc.backends.gpu.steps import (
    Branch,
    Copy,
    DeviceCall,
    HostCall,
    Joining,
    Launch,
    Loop,
    Meeting,
    Repeat,
    Step,
    Steps,
)
from tfc.hlo.op import Value
from tfc.hlo.shape import AnyShape, Shape, from_memory, to_memory
from tfc.passes.memory.buffers import Slice
from tfc.runtime.collectives import GpuEngine
from tfc.runtime.functions import GpuBuffer


class Runner:
    """The steps of a program, ready to run on one driver.

    Args:
        functions: the kernels by name.
        gpus: what joins the GPU with others; without it devices meet in calls of the host.
    """

    def __init__(
        self,
        driver: Driver,
        functions: Callable[[str], Any],
        steps: Steps,
        gpus: GpuEngine | None = None,
    ):
        self._driver, self._functions, self._gpus = driver, functions, gpus
        decides = driver.decides if _has_decisions(steps) else Decides.NOTHING
        self._takes = Recordable(decides, gpus is not None)
        # Before anything is recorded, when nothing can be loaded.
        self._deciders = deciders_of(driver) if decides else None
        self._under_way: UnderWay = {}
        self._parts = self._prepare(steps)

    def run(self, bases: Bases) -> None:
        """Run all steps; those of the GPU go on when this returns."""
        for part in self._parts:
            part(bases)

    def graph(self, bases: Bases) -> Graph | None:
        """All steps as one, where they were recorded for these addresses; None where they were not,
        or the host decides among them."""
        only = self._parts[0] if len(self._parts) == 1 else None
        stretch = getattr(only, "__self__", None)
        return stretch.graph(bases) if isinstance(stretch, Stretch) else None

    def _prepare(self, steps: Steps) -> list[Part]:
        parts: list[Part] = []
        for some in stretches_of(steps, self._takes):
            if nodes_of(some[0], self._takes) is None:
                parts += [self._slow(step) for step in some]
            else:
                ready = list(self._quick(some))
                met = [each for each in ready if isinstance(each, ReadyMeeting)]
                meetings = Meetings(met, self._under_way)
                parts.append(Stretch(self._driver, ready, self._deciders, meetings).run)
        return parts

    def _quick(self, steps: Sequence[Step]) -> Iterator[Ready]:
        for step in steps:
            match step:
                case Launch():
                    yield ReadyLaunch(self._functions(step.function), step)
                case Copy():
                    yield ReadyCopy(step)
                case Meeting():
                    assert self._gpus is not None
                    yield ReadyMeeting(step, self._gpus, self._under_way)
                case Joining():
                    yield ReadyJoining(step, self._under_way)
                case Repeat():
                    yield from list(self._quick(step.body)) * step.count
                case Loop():
                    inside = [list(self._quick(s)) for s in (step.condition, step.body)]
                    yield ReadyLoop(inside[0], step.selector, inside[1], self._by_host(step))
                case Branch():
                    branches = [list(self._quick(steps)) for steps in step.branches]
                    yield ReadyBranch(step, branches, self._by_host(step))

    def _slow(self, step: Step) -> Part:
        match step:
            case HostCall():
                return lambda bases: self._call(step, bases)
            case Meeting():
                return lambda bases: self._call(step.call, bases)
            case Joining():
                return lambda bases: None  # the host did all of it at the beginning
            case DeviceCall():
                return lambda bases: self._call_on_device(step, bases)
            case Loop():
                first = self._prepare(step.condition)
                turn = self._turn(step, first)
                return lambda bases: self._loop(step, first, turn, bases)
            case Repeat():
                body = self._prepare(step.body)
                return lambda bases: _repeat(body, step.count, bases)
            case Branch():
                branches = [self._prepare(steps) for steps in step.branches]
                return lambda bases: self._branch(step, branches, bases)
        raise AssertionError(step)

    def _turn(self, loop: Loop, condition: Sequence[Part]) -> Sequence[Part]:
        """A round of a loop and what tells whether there is another, which lie in one stretch."""
        return self._prepare((*loop.body, *loop.condition))

    def _by_host(self, step: Step) -> Part:
        """A step as the host decides about it, which is prepared when it first is to."""
        made: list[Part] = []

        def run(bases: Bases) -> None:
            if not made:
                made.append(self._slow(step))
            made[0](bases)

        return run

    def _loop(
        self,
        loop: Loop,
        first: Sequence[Part],
        turn: Sequence[Part],
        bases: Bases,
    ) -> None:
        """Ask the host after each turn.

        Args:
            first: computes whether there is a turn.
            turn: that, and whether there is another.
        """
        for part in first:
            part(bases)
        while self._read(loop.selector, bases, np.dtype(np.bool_), ()):
            for part in turn:
                part(bases)

    def _branch(self, step: Branch, branches: Sequence[Sequence[Part]], bases: Bases) -> None:
        if step.by_index:
            index = int(self._read(step.selector, bases, np.dtype(np.int32), ()))
            number = index if 0 <= index < len(branches) else len(branches) - 1
        else:
            number = 0 if self._read(step.selector, bases, np.dtype(np.bool_), ()) else 1
        for part in branches[number]:
            part(bases)

    def _call(self, step: HostCall, bases: Bases) -> None:
        instruction = step.instruction
        operands = [
            self._fetch(o.shape, iter(slices), bases)
            for o, slices in zip(instruction.operands, step.operands)
        ]
        self._put(step.function(operands), instruction.shape, iter(step.results), bases)

    def _call_on_device(self, step: DeviceCall, bases: Bases) -> None:
        buffers = [
            GpuBuffer(bases[b.space, b.index] + b.offset, s.element_type.dtype, s.dims)
            for b, s in zip(step.buffers, step.shapes)
        ]
        # With the context in this thread, and not while another thread records the stream.
        self._driver.ask(lambda stream: step.function(stream, buffers, step.opaque))

    def _fetch(self, shape: AnyShape, slices: Iterator[Slice], bases: Bases) -> Value:
        if not isinstance(shape, Shape):
            return tuple(self._fetch(e, slices, bases) for e in shape.elements)
        place = next(slices)
        if shape.has_default_layout:
            return self._read(place, bases, shape.element_type.dtype, shape.dims)
        flat = self._read(place, bases, shape.element_type.dtype, (shape.storage_size,))
        return from_memory(flat, shape)

    def _read(self, place: Slice, bases: Bases, dtype: np.dtype, dims: Sequence[int]) -> np.ndarray:
        host = np.empty(dims, dtype)
        self._driver.read(host, bases[place.space, place.index] + place.offset)
        return host

    def _put(self, value: Value, shape: AnyShape, slices: Iterator[Slice], bases: Bases) -> None:
        if not isinstance(shape, Shape):
            for element, inner in zip(value, shape.elements):
                self._put(element, inner, slices, bases)
            return
        place, array = next(slices), np.ascontiguousarray(value, shape.element_type.dtype)
        held = array if shape.has_default_layout else to_memory(array, shape)
        self._driver.write(bases[place.space, place.index] + place.offset, held)


def _repeat(body: Sequence[Part], count: int, bases: Bases) -> None:
    for _ in range(count):
        for part in body:
            part(bases)


def _has_decisions(steps: Steps) -> bool:
    return any(
        isinstance(s, (Loop, Branch)) or (isinstance(s, Repeat) and _has_decisions(s.body))
        for s in steps
    )
