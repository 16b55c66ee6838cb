"""Stretches of steps without a decision of the host between them, which become graphs.

Launches and copies are recorded; what is repeated is recorded that many times. Where graphs decide
by themselves, loops and branches are part of a stretch too:

    loop      condition, go_on ─► while { body, condition, go_on }
    branch    choose ─► switch { the steps of each }, or for each is_chosen ─► if { its steps }
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from tfc.backends.gpu.driver import Driver, Graph
from tfc.backends.gpu.driver.interface import Decides, Decision
from tfc.backends.gpu.running.decisions import Deciders
from tfc.backends.gpu.running.meetings import Meetings, ReadyJoining, ReadyMeeting
from tfc.backends.gpu.running.recording import Bases, Part, Writer
from tfc.backends.gpu.steps import (
    Branch,
    Copy,
    Joining,
    Launch,
    Loop,
    Meeting,
    Repeat,
    Step,
    Steps,
)
from tfc.passes.memory.buffers import Slice

MOST_GRAPHS = 16  # that a stretch of steps keeps, for as many sets of addresses
MOST_NODES = 4096  # launches, copies and decisions of a graph

_MEETING = 4  # nodes: NCCL says of no collective how many it is, and most are a few


def make_room(graphs: dict[tuple[int, ...], Any]) -> None:
    """Let go of the oldest graphs, so that one more is no more than are kept."""
    if len(graphs) >= MOST_GRAPHS:
        # As a list, which is made at once: an iterator fails if another thread adds one meanwhile.
        for oldest in list(graphs)[: 1 - MOST_GRAPHS]:
            graphs.pop(oldest, None)


@dataclass(frozen=True)
class Recordable:
    """What graphs take beside launches and copies.

    decides: loops and branches about which they decide by themselves.
    meets: collectives of GPUs; but not where a graph decides whether they run.
    """

    decides: Decides = Decides.NOTHING
    meets: bool = False


def nodes_of(step: Step, takes: Recordable) -> int | None:
    """How many nodes of a graph a step is; None if the host has a part in it, or of too many."""
    match step:
        case Launch() | Copy():
            return 1
        case Meeting() | Joining() if takes.meets:
            return _MEETING
        case Repeat():
            return _sum(step.body, takes, step.count)
        case Loop() if takes.decides:
            decided = replace(takes, meets=False)
            return _limited([_sum(step.condition, decided, 2), _sum(step.body, decided), 3])
        case Branch() if takes.decides:
            inside = [_sum(steps, replace(takes, meets=False)) for steps in step.branches]
            return _limited([*inside, 2 * len(inside)])
    return None


def _sum(steps: Steps, takes: Recordable, count: int = 1) -> int | None:
    return _limited([nodes_of(s, takes) for s in steps], count)


def _limited(counts: Sequence[int | None], times: int = 1) -> int | None:
    known = [n for n in counts if n is not None]
    total = sum(known) * times
    return total if len(known) == len(counts) and total <= MOST_NODES else None


def stretches_of(steps: Steps, takes: Recordable) -> Iterator[Steps]:
    """Steps in stretches, each of as many as one graph may have, or one in which the host has a
    part."""
    held: list[Step] = []
    total = 0
    for step in (part for each in steps for part in _divided(each, takes)):
        count = nodes_of(step, takes)
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


def _divided(step: Step, takes: Recordable) -> Steps:
    """A repetition of too many steps as one of repetitions that are graphs, and what is left."""
    if not isinstance(step, Repeat) or nodes_of(step, takes) is not None:
        return (step,)
    once = nodes_of(Repeat(step.body, 1), takes)
    if once is None or once > MOST_NODES // 2:
        return (step,)
    many, rest = divmod(step.count, MOST_NODES // once)
    whole = Repeat((Repeat(step.body, MOST_NODES // once),), many)
    return (whole, Repeat(step.body, rest)) if rest else (whole,)


@dataclass(frozen=True)
class ReadyLaunch:
    """A launch, with its kernel as the driver has it."""

    function: Any
    step: Launch

    @property
    def buffers(self) -> Sequence[Slice]:
        """All that it reads and writes."""
        return self.step.buffers

    def prepared(self, driver: Driver, bases: Bases) -> Graph:
        """The launch with these addresses."""
        step = self.step
        arguments = self._arguments(driver, bases)
        return driver.prepare(self.function, step.blocks, step.threads, arguments, step.shared)

    def run(self, driver: Driver, bases: Bases) -> None:
        """Launch it."""
        step = self.step
        arguments = self._arguments(driver, bases)
        driver.launch(self.function, step.blocks, step.threads, arguments, step.shared)

    def record(self, writer: Writer) -> None:
        """The same, while it is recorded."""
        self.run(writer.driver, writer.bases)

    def _arguments(self, driver: Driver, bases: Bases) -> list[int | bytes]:
        step = self.step
        addresses = [bases[b.space, b.index] + b.offset for b in step.buffers]
        described = [driver.describe(boxes, addresses[n]) for n, boxes in step.boxes]
        return [*addresses, *step.numbers, *described]


@dataclass(frozen=True)
class ReadyCopy:
    """A copy."""

    step: Copy

    @property
    def buffers(self) -> Sequence[Slice]:
        """What it reads and writes."""
        return self.step.buffers

    def run(self, driver: Driver, bases: Bases) -> None:
        """Ask for it."""
        source, target = self.step.source, self.step.target
        driver.copy(
            bases[target.space, target.index] + target.offset,
            bases[source.space, source.index] + source.offset,
            self.step.size,
        )

    def record(self, writer: Writer) -> None:
        """The same, while it is recorded."""
        self.run(writer.driver, writer.bases)


@dataclass(frozen=True)
class ReadyLoop:
    """A loop that a graph decides about.

    by_host: the same with a host that decides, for addresses that nothing was recorded with.
    """

    condition: "Sequence[Ready]"
    selector: Slice
    body: "Sequence[Ready]"
    by_host: Part

    @property
    def buffers(self) -> Iterator[Slice]:
        """All that it reads and writes."""
        inside = (ready.buffers for ready in (*self.condition, *self.body))
        return chain([self.selector], *inside)

    def run(self, driver: Driver, bases: Bases) -> None:
        """Run it by the host."""
        self.by_host(bases)

    def record(self, writer: Writer) -> None:
        """Record the condition, and a round with what decides whether there is another."""
        writer.join()  # no capture of a second stream may be under way where one ends
        condition = writer.recording.condition()
        selector = writer.address(self.selector)

        def test() -> None:
            for ready in self.condition:
                ready.record(writer)
            writer.kernel("go_on", condition, selector, writer.stop)

        def turn() -> None:
            for ready in self.body:
                ready.record(writer)
            test()

        test()
        writer.recording.decide(Decision.WHILE, condition, [turn])


@dataclass(frozen=True)
class ReadyBranch:
    """A branch that a graph decides about."""

    step: Branch
    branches: "Sequence[Sequence[Ready]]"
    by_host: Part

    @property
    def buffers(self) -> Iterator[Slice]:
        """All that it reads and writes."""
        inside = (ready.buffers for branch in self.branches for ready in branch)
        return chain([self.step.selector], *inside)

    def run(self, driver: Driver, bases: Bases) -> None:
        """Run it by the host."""
        self.by_host(bases)

    def record(self, writer: Writer) -> None:
        """Record all branches, and what decides between them."""
        writer.join()
        if writer.driver.decides is Decides.SWITCH:
            condition = writer.recording.condition()
            writer.kernel("choose", condition, *self._numbers(writer))
            parts = [partial(self._part, writer, n) for n in range(len(self.branches))]
            writer.recording.decide(Decision.SWITCH, condition, parts)
            return
        wanted = [n for n, branch in enumerate(self.branches) if branch]
        conditions = [writer.recording.condition() for _ in wanted]
        # All are known before a branch runs, which may write where the choice lies.
        for number, condition in zip(wanted, conditions):
            writer.kernel("is_chosen", condition, *self._numbers(writer), number)
        for number, condition in zip(wanted, conditions):
            part = partial(self._part, writer, number)
            writer.recording.decide(Decision.IF, condition, [part])

    def _numbers(self, writer: Writer) -> tuple[int, int, int]:
        selector = writer.address(self.step.selector)
        return selector, int(self.step.by_index), len(self.branches)

    def _part(self, writer: Writer, number: int) -> None:
        for ready in self.branches[number]:
            ready.record(writer)
        if not self.branches[number]:
            writer.kernel("nothing")


Ready = ReadyLaunch | ReadyCopy | ReadyLoop | ReadyBranch | ReadyMeeting | ReadyJoining


class Stretch:
    """Steps without a decision of the host between them.

    Collectives that are begun in it are waited for at its end at the latest: a graph must not
    leave behind what another graph, or the steps one by one, would have to wait for.

    Args:
        meetings: its collectives with other GPUs.
    """

    def __init__(
        self,
        driver: Driver,
        steps: Sequence[Ready],
        deciders: Deciders | None,
        meetings: Meetings,
    ):
        self._driver, self._steps, self._deciders = driver, steps, deciders
        self._meetings = meetings
        self._spaces = sorted({(b.space, b.index) for ready in steps for b in ready.buffers})
        self._graphs: dict[tuple[int, ...], Graph | None] = {}

    def run(self, bases: Bases) -> None:
        """Run them: step by step with new addresses, as a graph with known ones."""
        key = self._key(bases)
        graph = self._graphs.get(key)
        if graph is None and key in self._graphs:
            graph = self._graphs[key] = self._recorded(bases)
        if graph is not None:
            graph.launch()
            self._meetings.tell(self._driver)
            return
        make_room(self._graphs)
        self._graphs[key] = None
        for step in self._steps:
            step.run(self._driver, bases)
        self._meetings.join()
        self._meetings.tell_begun(self._driver)

    def graph(self, bases: Bases) -> Graph | None:
        """The graph for these addresses, if there is one."""
        return self._graphs.get(self._key(bases))

    def _key(self, bases: Bases) -> tuple[int, ...]:
        return tuple([bases[space] for space in self._spaces])

    def _recorded(self, bases: Bases) -> Graph:
        """All steps as one; a single launch is no faster as a graph."""
        first = self._steps[0]
        if len(self._steps) == 1 and isinstance(first, ReadyLaunch):
            return first.prepared(self._driver, bases)
        with self._driver.record() as recording:
            join = self._meetings.join
            writer = Writer(self._driver, bases, recording, self._deciders, join)
            for step in self._steps:
                step.record(writer)
            join()
        assert recording.graph is not None
        return recording.graph
