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
from tfc.backends.gpu.memory import GpuMemory, new_memory
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
from tfc.errors import UnsupportedError
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Instruction
from tfc.hlo.op import Value
from tfc.hlo.ops.outside.collectives import collective_of
from tfc.hlo.shape import AnyShape, Shape, from_memory, leaves, to_memory
from tfc.passes.memory.buffers import Slice
from tfc.runtime.arrays import ArraySpec
from tfc.runtime.collectives import Collective, GpuEngine
from tfc.runtime.functions import GpuBuffer
from tfc.runtime.replicas import current

MOST_GRAPHS = 16  # that a stretch of steps keeps, for as many sets of addresses
MOST_NODES = 4096  # launches and copies of a graph

Bases = Mapping[tuple[str, int], int]  # where each space of memory begins
_Nodes = Callable[[Step], int | None]
_UnderWay = dict[Instruction, Callable[[], None]]  # what waits for the end of what was begun


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
        self._under_way: _UnderWay = {}
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
        for some in _stretches(steps, self._nodes):
            if self._nodes(some[0]) is None:
                parts += [self._slow(step) for step in some]
            else:
                ready = list(self._quick(some))
                parts.append(_Stretch(self._driver, ready, self._under_way).run)
        return parts

    def _nodes(self, step: Step) -> int | None:
        """How many nodes of a graph a step is; None if the host has a part in it, or of too many.

        NCCL says of no collective how many it is; most are a few.
        """
        match step:
            case Launch() | Copy():
                return 1
            case Meeting() | Joining() if self._gpus is not None:
                return 4
            case Repeat():
                inside = [self._nodes(s) for s in step.body]
                known = [n for n in inside if n is not None]
                total = sum(known) * step.count
                return total if len(known) == len(inside) and total <= MOST_NODES else None
        return None

    def _quick(self, steps: Sequence[Step]) -> "Iterator[_Ready]":
        for step in steps:
            match step:
                case Launch():
                    yield _ReadyLaunch(self._functions(step.function), step)
                case Copy():
                    yield _ReadyCopy(step)
                case Meeting():
                    assert self._gpus is not None
                    yield _ReadyMeeting(step, self._gpus, self._under_way)
                case Joining():
                    yield _ReadyJoining(step, self._under_way)
                case Repeat():
                    yield from list(self._quick(step.body)) * step.count

    def _slow(self, step: Step) -> Callable[[Bases], None]:
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


def _stretches(steps: Steps, nodes: _Nodes) -> Iterator[Steps]:
    """Steps in stretches, each of as many as one graph may have, or one in which the host has a
    part."""
    held: list[Step] = []
    total = 0
    for step in (part for each in steps for part in _divided(each, nodes)):
        count = nodes(step)
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


def _divided(step: Step, nodes: _Nodes) -> Steps:
    """A repetition of too many steps as one of repetitions that are graphs, and what is left."""
    if not isinstance(step, Repeat) or nodes(step) is not None:
        return (step,)
    once = nodes(Repeat(step.body, 1))
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


class _ReadyMeeting:
    """A collective of the GPU with those of other processes.

    name, group: what it is in messages, and who meets, once it has run; no name where nobody does.
    """

    name, group = "", ()

    def __init__(self, step: Meeting, gpus: GpuEngine, under_way: _UnderWay):
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

    def run(self, driver: Driver, bases: Bases) -> None:
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
class _ReadyJoining:
    step: Joining
    under_way: _UnderWay

    def run(self, driver: Driver, bases: Bases) -> None:
        join = self.under_way.pop(self.step.instruction.operands[0], None)
        if join is not None:  # what began in an earlier stretch was waited for at its end
            join()


_Ready = _ReadyLaunch | _ReadyCopy | _ReadyMeeting | _ReadyJoining


class _Stretch:
    """Launches, copies and collectives of GPUs without a decision of the host between them.

    What is begun in a stretch is waited for at its end at the latest: a graph must not leave behind
    what another graph, or the steps one by one, would have to wait for.
    """

    def __init__(self, driver: Driver, steps: Sequence[_Ready], under_way: _UnderWay):
        self._driver, self._steps, self._under_way = driver, steps, under_way
        self._meetings = [s for s in steps if isinstance(s, _ReadyMeeting)]
        self._spaces = sorted({(s.space, s.index) for r in steps for s in r.step.buffers})
        self._graphs: dict[tuple[int, ...], Graph | None] = {}

    def run(self, bases: Bases) -> None:
        """Run them: step by step with new addresses, as a graph with known ones."""
        key = self._key(bases)
        graph = self._graphs.get(key)
        if graph is None and key in self._graphs:
            graph = self._graphs[key] = self._recorded(bases)
        if graph is not None:
            graph.launch()
            self._tell()
            return
        if len(self._graphs) >= MOST_GRAPHS:
            # Another thread may have removed it, or all of them.
            self._graphs.pop(next(iter(self._graphs), key), None)
        self._graphs[key] = None
        for step in self._steps:
            step.run(self._driver, bases)
            if isinstance(step, _ReadyMeeting) and not step.step.begins:
                step.tell(self._driver)
        self._join()
        if any(m.step.begins for m in self._meetings):
            self._tell()

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
            for step in self._steps:
                step.run(self._driver, bases)
            self._join()
        assert recording.graph is not None
        return recording.graph

    def _join(self) -> None:
        while self._under_way:
            self._under_way.popitem()[1]()

    def _tell(self) -> None:
        """Let others see that the GPU is in the collectives of this stretch."""
        met = [m for m in self._meetings if m.name]
        if met:
            more = f" or one of {len(met) - 1} after it" if len(met) > 1 else ""
            met[0].tell(self._driver, more)
