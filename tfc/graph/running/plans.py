"""Plans: what runs, in which steps, for the same fetches and feeds.

    a ─► b ─► py_func ─► c        steps: cluster (a, b, d), on the host (py_func), cluster (c, e)
    └──► d ───────────► e

Operations that can be compiled are in as few clusters as their order allows. An operation's stage
is the number of times that one must go from compiled code to the host or back to reach it, along
what it takes and along what must be before it; the compiled operations of one stage are a cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from tfc.graph import errors
from tfc.graph.evaluation import apply, as_failure, order, required, row_of
from tfc.graph.operation import Operation, Tensor
from tfc.graph.running.clusters import Cluster, NotCompiledError
from tfc.graph.running.devices import Placement
from tfc.graph.running.effects import Effects
from tfc.graph.running.placing import Placing
from tfc.graph.running.state import State
from tfc.graph.types.handles import Handle

_LARGE = 1 << 20  # bytes of a constant that is not compiled into programs
_SHAPES_ALONE = ("Shape", "ShapeN", "Size", "Rank")  # known without their inputs' values


@dataclass(frozen=True, eq=False)
class HostStep:
    """Operations that run one by one, by eager calls.

    reasons: why some of them are not compiled though they were to be.
    """

    operations: tuple[Operation, ...]
    reasons: Mapping[Operation, str]


Step = Cluster | HostStep


@dataclass(eq=False)
class Plan:
    """The steps of runs that fetch and are fed the same tensors.

    fed: the tensors whose values a run is given, in this order.
    fetched: those whose values it gives.
    known: values that never change: constants, handles.
    steps: what it does, in order.
    checked: the shapes of feeds that were found to fit.
    """

    fed: tuple[Tensor, ...]
    fetched: tuple[Tensor, ...]
    known: dict[Tensor, Any]
    steps: tuple[Step, ...]
    copied: frozenset[Tensor]
    checked: set[Any] = field(default_factory=set)

    @cached_property
    def only(self) -> Cluster | None:
        """The cluster that is all there is to do: it takes the feeds and gives what is fetched."""
        if len(self.steps) != 1 or not isinstance(self.steps[0], Cluster):
            return None
        found = self.steps[0]
        return found if (found.inputs, found.outputs) == (self.fed, self.fetched) else None


def make_plan(
    operations: Iterable[Operation],
    fed: Sequence[Tensor],
    fetched: Sequence[Tensor],
    state: State,
    placing: Placing,
    placement: Placement,
) -> Plan:
    """The plan of runs.

    Raises:
        InvalidArgumentError: operations wait for each other in a circle, a placeholder is not fed,
            or the device of an operation is not there.
    """
    ordered = order(operations, frozenset(fed))
    placement.check(ordered)
    _check_placeholders(ordered)
    known = _known(ordered, frozenset(fed), state)
    left = [op for op in ordered if not op.outputs or any(x not in known for x in op.outputs)]
    steps = Division(left, tuple(fed), tuple(fetched), known, state, placing).steps()
    compiled = {x for step in steps if isinstance(step, Cluster) for x in step.outputs}
    copied = frozenset(x for x in fetched if x not in compiled or x in fed)
    return Plan(tuple(fed), tuple(fetched), known, steps, copied)


def _check_placeholders(operations: Sequence[Operation]) -> None:
    for op in operations:
        if op.type in ("Placeholder", "PlaceholderV2"):
            x = op.outputs[0]
            raise errors.InvalidArgumentError(
                op,
                op,
                f"You must feed a value for placeholder tensor {op.name!r} with dtype "
                f"{x.dtype.name} and shape {x.shape}",
            )


def _known(ordered: Sequence[Operation], fed: frozenset[Tensor], state: State) -> dict[Tensor, Any]:
    """The values of constants, and of handles, which say what operations read and write."""
    known: dict[Tensor, Any] = {}
    effects = Effects({}, np.zeros((), np.uint32))
    for op in ordered:
        row = row_of(op)
        is_handle = bool(op.outputs) and all(x.dtype.name == "resource" for x in op.outputs)
        can_be = not row.effect and not row.on_host and not any(x in fed for x in op.outputs)
        if can_be and (op.type == "Const" or is_handle) and all(x in known for x in op.inputs):
            try:
                made = apply(op, [known[x] for x in op.inputs], effects)
            except Exception as error:
                raise as_failure(error, op) from error
            known.update(zip(op.outputs, made))
    return known


@dataclass(frozen=True)
class Division:
    """How operations, in an order in which they may run, become steps.

    fed: tensors whose values are given. fetched: those that are wanted afterwards.
    known: values that never change.
    """

    operations: Sequence[Operation]
    fed: tuple[Tensor, ...]
    fetched: tuple[Tensor, ...]
    known: Mapping[Tensor, Any]
    state: State
    placing: Placing

    def steps(self) -> tuple[Step, ...]:
        """The steps, in order."""
        given = frozenset(self.fed)
        constants = _constants(self.operations, given, self.known)
        on_host = {
            op
            for op in self.operations
            if not self.placing.is_compiled(op) or _needs_value(op, constants, given)
        }
        stages = _stages(_before(self.operations, given, self.known), on_host)

        def group(op: Operation) -> tuple[int, bool]:
            return stages[op], op in on_host

        groups = [
            (is_host, tuple(members))  # the sorting is stable: they stay in their order
            for (_, is_host), members in groupby(sorted(self.operations, key=group), group)
        ]
        made: list[Step] = []
        for place, (is_host, members) in enumerate(groups):
            if is_host:
                made.append(HostStep(members, self.placing.reasons(members)))
            else:
                others = (op for n, (_, ops) in enumerate(groups) if n != place for op in ops)
                wanted = {x for op in others for x in op.inputs} | set(self.fetched)
                made.append(self._cluster(members, wanted, constants))
        return tuple(made)

    def _cluster(
        self, members: tuple[Operation, ...], wanted: set[Tensor], constants: set[Tensor]
    ) -> Cluster:
        inside = dict.fromkeys(x for op in members for x in op.outputs if x not in self.fed)
        taken = dict.fromkeys(x for op in members for x in op.inputs)
        outside = [x for x in taken if x not in inside and not self._is_part(x)]
        # Feeds and fetches in the order of the run, so that it can pass them on as they are.
        inputs = dict.fromkeys([*(x for x in self.fed if x in outside), *outside])
        outputs = dict.fromkeys([*self.fetched, *inside])
        return Cluster(
            name=f"cluster_{next(self.state.clusters)}",
            operations=members,
            inputs=tuple(inputs),
            constants=tuple(n for n, x in enumerate(inputs) if x in constants),
            outputs=tuple(x for x in outputs if x in inside and x in wanted),
            variables=tuple(dict.fromkeys(n for op in members for n in touched(op, self.known))),
            known=self.known,
            state=self.state,
            placing=self.placing,
        )

    def _is_part(self, tensor: Tensor) -> bool:
        """Whether a value is a constant of programs: large ones are arguments, as others are."""
        return tensor in self.known and getattr(self.known[tensor], "nbytes", 0) < _LARGE


def split(cluster: Cluster, failure: NotCompiledError) -> tuple[Step, ...]:
    """The steps that do what a cluster does, where no program can be made of it."""
    refused = cluster.operations if failure.operation is None else (failure.operation,)
    placing = cluster.placing.without(refused, failure.reason)
    operations, known = cluster.operations, cluster.known
    return Division(
        operations, cluster.inputs, cluster.outputs, known, cluster.state, placing
    ).steps()


def touched(op: Operation, known: Mapping[Tensor, Any]) -> list[str]:
    """The names of the variables that an operation may read or write."""
    values = (known.get(x) for x in op.inputs)
    return [value.name for value in values if isinstance(value, Handle)]


def _constants(
    operations: Sequence[Operation], given: frozenset[Tensor], known: Mapping[Tensor, Any]
) -> set[Tensor]:
    """The tensors whose values decide shapes or axes, so that a compiler must know them."""
    found: set[Tensor] = set()
    for op in reversed(operations):
        row = row_of(op)
        found.update(op.inputs[n] for n in row.known if n < len(op.inputs))
        is_needed = any(x in found and x not in given for x in op.outputs)
        if is_needed and op.type not in _SHAPES_ALONE:
            found.update(op.inputs)
    return found.difference(known)


def _needs_value(op: Operation, constants: set[Tensor], given: frozenset[Tensor]) -> bool:
    """Whether a compiler must know what an operation gives, but only a run can tell."""
    is_needed = any(x in constants and x not in given for x in op.outputs)
    return is_needed and bool(row_of(op).effect)


def _before(
    operations: Sequence[Operation], given: frozenset[Tensor], known: Mapping[Tensor, Any]
) -> dict[Operation, set[Operation]]:
    """What must run before each operation, also so that reads and writes stay in their order."""
    found: dict[Operation, set[Operation]] = {}
    reads: dict[str, list[Operation]] = {}
    writes: dict[str, list[Operation]] = {}
    for op in operations:
        effect = row_of(op).effect
        names = touched(op, known) or ([""] if effect == "write" else [])
        before = required(op, given) & found.keys()
        for name in names:
            before.update(writes.get(name, ()))
            if effect == "write":
                before.update(reads.pop(name, ()))
                writes[name] = [op]
            else:
                reads.setdefault(name, []).append(op)
        found[op] = before
    return found


def _stages(
    before: dict[Operation, set[Operation]], on_host: set[Operation]
) -> dict[Operation, int]:
    """The stage of each operation: the first that it can be in, or a later one with a cluster that
    must be there in any case, if it is compiled and nothing needs it earlier."""

    def step(first: Operation, second: Operation) -> int:
        return (first in on_host) != (second in on_host)

    first: dict[Operation, int] = {}
    for op, others in before.items():
        first[op] = max((first[b] + step(b, op) for b in others), default=0)
    last = dict.fromkeys(first, max(first.values(), default=0))
    for op, others in reversed(before.items()):
        if op in on_host:
            last[op] = first[op]
        for b in others:
            last[b] = min(last[b], last[op] - step(b, op))
    clusters = sorted({n for op, n in first.items() if op not in on_host and n == last[op]})
    stages: dict[Operation, int] = {}
    for op, others in before.items():
        least = max((stages[b] + step(b, op) for b in others), default=0)
        fits = (n for n in clusters if least <= n <= last[op])
        stages[op] = least if op in on_host else next(fits, least)
    return stages
