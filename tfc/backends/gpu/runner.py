"""Running a program's steps with a driver.

What lies between two decisions of the host (the end of a loop, a branch, a call of Python) is
recorded as one graph when the same addresses come a second time, and launched at once from then on:
memory comes from a pool, so they do. What is repeated is recorded that many times; of very many
turns as many as a graph may have are one graph, which is launched again and again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfc.backends.gpu.driver import Driver, Graph
from tfc.backends.gpu.steps import (
    Branch,
    Copy,
    DeviceCall,
    HostCall,
    Launch,
    Loop,
    Repeat,
    Step,
    Steps,
)
from tfc.hlo.op import Value
from tfc.hlo.shape import AnyShape, Shape, from_memory, to_memory
from tfc.passes.memory.buffers import Slice
from tfc.runtime.functions import GpuBuffer

MOST_GRAPHS = 16  # that a stretch of steps keeps, for as many sets of addresses
MOST_NODES = 4096  # launches and copies of a graph

Bases = Mapping[tuple[str, int], int]  # where each space of memory begins


class Runner:
    """The steps of a program, ready to run on one driver.

    Args:
        functions: the kernels by name.
    """

    def __init__(self, driver: Driver, functions: Callable[[str], Any], steps: Steps):
        self._driver, self._functions = driver, functions
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
        return stretch.graph(bases) if isinstance(stretch, _Stretch) else None

    def _prepare(self, steps: Steps) -> list[Callable[[Bases], None]]:
        parts: list[Callable[[Bases], None]] = []
        for some in _stretches(steps):
            if _nodes(some[0]) is None:
                parts += [self._slow(step) for step in some]
            else:
                parts.append(_Stretch(self._driver, list(self._quick(some))).run)
        return parts

    def _quick(self, steps: Sequence[Step]) -> "Iterator[_Ready]":
        for step in steps:
            match step:
                case Launch():
                    yield _ReadyLaunch(self._functions(step.function), step)
                case Copy():
                    yield _ReadyCopy(step)
                case Repeat():
                    yield from list(self._quick(step.body)) * step.count

    def _slow(self, step: Step) -> Callable[[Bases], None]:
        match step:
            case HostCall():
                return lambda bases: self._call(step, bases)
            case DeviceCall():
                return lambda bases: self._call_on_device(step, bases)
            case Loop():
                condition, body = self._prepare(step.condition), self._prepare(step.body)
                return lambda bases: self._loop(step, condition, body, bases)
            case Repeat():
                body = self._prepare(step.body)
                return lambda bases: _repeat(body, step.count, bases)
            case Branch():
                branches = [self._prepare(steps) for steps in step.branches]
                return lambda bases: self._branch(step, branches, bases)
        raise AssertionError(step)

    def _loop(
        self,
        loop: Loop,
        condition: Sequence[Callable[[Bases], None]],
        body: Sequence[Callable[[Bases], None]],
        bases: Bases,
    ) -> None:
        while True:
            for part in condition:
                part(bases)
            if not self._read(loop.selector, bases, np.dtype(np.bool_), ()):
                return
            for part in body:
                part(bases)

    def _branch(
        self, step: Branch, branches: Sequence[Sequence[Callable[[Bases], None]]], bases: Bases
    ) -> None:
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
        step.function(self._driver.stream_address, buffers, step.opaque)

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


def _repeat(body: Sequence[Callable[[Bases], None]], count: int, bases: Bases) -> None:
    for _ in range(count):
        for part in body:
            part(bases)


def _nodes(step: Step) -> int | None:
    """How many launches and copies a step is; None if the host has a part in it, or of too many."""
    match step:
        case Launch() | Copy():
            return 1
        case Repeat():
            inside = [_nodes(s) for s in step.body]
            known = [n for n in inside if n is not None]
            total = sum(known) * step.count
            return total if len(known) == len(inside) and total <= MOST_NODES else None
    return None


def _stretches(steps: Steps) -> Iterator[Steps]:
    """Steps in stretches, each of as many as one graph may have, or one in which the host has a
    part."""
    held: list[Step] = []
    total = 0
    for step in (part for each in steps for part in _divided(each)):
        count = _nodes(step)
        if held and (count is None or total + count > MOST_NODES):
            yield tuple(held)
            held, total = [], 0
        if count is None:
            yield (step,)
        else:
            held.append(step)
            total += count
    if held:
        yield tuple(held)


def _divided(step: Step) -> Steps:
    """A repetition of too many steps as one of repetitions that are graphs, and what is left."""
    if not isinstance(step, Repeat) or _nodes(step) is not None:
        return (step,)
    once = _nodes(Repeat(step.body, 1))
    if once is None or once > MOST_NODES // 2:
        return (step,)
    many, rest = divmod(step.count, MOST_NODES // once)
    whole = Repeat((Repeat(step.body, MOST_NODES // once),), many)
    return (whole, Repeat(step.body, rest)) if rest else (whole,)


@dataclass(frozen=True)
class _ReadyLaunch:
    function: Any
    step: Launch

    def prepared(self, driver: Driver, bases: Bases) -> Graph:
        """The launch with these addresses."""
        step = self.step
        arguments = self._arguments(driver, bases)
        return driver.prepare(self.function, step.blocks, step.threads, arguments, step.shared)

    def run(self, driver: Driver, bases: Bases) -> None:
        step = self.step
        arguments = self._arguments(driver, bases)
        driver.launch(self.function, step.blocks, step.threads, arguments, step.shared)

    def _arguments(self, driver: Driver, bases: Bases) -> list[int | bytes]:
        step = self.step
        addresses = [bases[b.space, b.index] + b.offset for b in step.buffers]
        described = [driver.describe(boxes, addresses[n]) for n, boxes in step.boxes]
        return [*addresses, *step.numbers, *described]


@dataclass(frozen=True)
class _ReadyCopy:
    step: Copy

    def run(self, driver: Driver, bases: Bases) -> None:
        source, target = self.step.source, self.step.target
        driver.copy(
            bases[target.space, target.index] + target.offset,
            bases[source.space, source.index] + source.offset,
            self.step.size,
        )


_Ready = _ReadyLaunch | _ReadyCopy


class _Stretch:
    """Launches and copies without a decision of the host between them."""

    def __init__(self, driver: Driver, steps: Sequence[_Ready]):
        self._driver, self._steps = driver, steps
        used = {
            (s.space, s.index)
            for ready in steps
            for s in (
                ready.step.buffers
                if isinstance(ready.step, Launch)
                else (ready.step.source, ready.step.target)
            )
        }
        self._spaces = sorted(used)
        self._graphs: dict[tuple[int, ...], Graph | None] = {}

    def run(self, bases: Bases) -> None:
        """Run them: step by step with new addresses, as a graph with known ones."""
        key = self._key(bases)
        graph = self._graphs.get(key)
        if graph is None and key in self._graphs:
            graph = self._graphs[key] = self._recorded(bases)
        if graph is not None:
            graph.launch()
            return
        if len(self._graphs) >= MOST_GRAPHS:
            # Another thread may have removed it, or all of them.
            self._graphs.pop(next(iter(self._graphs), key), None)
        self._graphs[key] = None
        self._step_by_step(bases)

    def graph(self, bases: Bases) -> Graph | None:
        """The graph for these addresses, if there is one."""
        return self._graphs.get(self._key(bases))

    def _key(self, bases: Bases) -> tuple[int, ...]:
        return tuple([bases[space] for space in self._spaces])

    def _recorded(self, bases: Bases) -> Graph:
        """All steps as one; a single launch is no faster as a graph."""
        first = self._steps[0]
        if len(self._steps) == 1 and isinstance(first, _ReadyLaunch):
            return first.prepared(self._driver, bases)
        with self._driver.record() as recording:
            self._step_by_step(bases)
        assert recording.graph is not None
        return recording.graph

    def _step_by_step(self, bases: Bases) -> None:
        for step in self._steps:
            step.run(self._driver, bases)
