"""Running a plan: its steps one after the other, each with what those before it made."""

import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.frontend.trace import outside_traces
from tfc.graph.evaluation import evaluate, row_of
from tfc.graph.operation import Tensor
from tfc.graph.running.clusters import Cluster, NotCompiledError
from tfc.graph.running.effects import Stored
from tfc.graph.running.plans import HostStep, Plan, Step, split
from tfc.graph.running.recording import Recorder
from tfc.graph.running.state import State


def execute(
    plan: Plan, arrays: Sequence[np.ndarray], state: State, recorder: Recorder | None = None
) -> list[Any]:
    """The values of what a plan fetches, for the values of what it is fed.

    Raises:
        OpError: an operation failed.
    """
    count = next(state.runs)
    only = plan.only
    if only is not None and recorder is None:
        try:
            return list(only.run(arrays, count))
        except NotCompiledError as failure:
            failed = failure
        values = {**plan.known, **dict(zip(plan.fed, arrays))}
        _Run(values, count, state, None).steps(_split_once(only, failed))
        return [np.array(values[x]) for x in plan.fetched]
    values = dict(plan.known)
    values.update(zip(plan.fed, arrays))
    _Run(values, count, state, recorder).steps(plan.steps)
    return [np.array(values[x]) if x in plan.copied else values[x] for x in plan.fetched]


class _Run:
    """One run: the values that are there, by tensor."""

    def __init__(
        self, values: dict[Tensor, Any], count: int, state: State, recorder: Recorder | None
    ):
        self._values, self._count, self._state = values, count, state
        self._recorder = recorder

    def steps(self, steps: Sequence[Step]) -> None:
        """Run steps."""
        for step in steps:
            if isinstance(step, HostStep):
                with outside_traces():
                    self._on_host(step)
                continue
            try:
                self._compiled(step)
            except NotCompiledError as failure:
                failed = failure
            else:
                continue
            self.steps(_split_once(step, failed))  # not within `except`, whose context would stay

    def _compiled(self, cluster: Cluster) -> None:
        arrays = [self._values[x] for x in cluster.inputs]
        arrays = [x if type(x) is np.ndarray else np.asarray(x) for x in arrays]
        began = time.perf_counter_ns()
        made = cluster.run(arrays, self._count)
        if self._recorder is not None:
            self._recorder.add(cluster.title, "_XlaLaunch", began, time.perf_counter_ns())
        self._values.update(zip(cluster.outputs, made))

    def _on_host(self, step: HostStep) -> None:
        effects = Stored(self._state.variables, np.uint32(self._count))
        for op in step.operations:
            began = time.perf_counter_ns()
            if row_of(op).takes_context and not row_of(op).on_host:
                with self._state.lock:  # what it reads is what it replaces
                    evaluate((op,), self._values, effects)
            else:
                evaluate((op,), self._values, effects)
            if self._recorder is not None:
                self._recorder.add(op.name, op.type, began, time.perf_counter_ns())
            if op in step.reasons:
                self._say(op.name, op.type, step.reasons[op], row_of(op).on_host)

    def _say(self, name: str, kind: str, reason: str, is_expected: bool) -> None:
        text = f"operation {name!r} of type {kind} is not compiled and runs on the host: {reason}"
        self._state.note(name, text, logging.INFO if is_expected else logging.WARNING)


def _split_once(cluster: Cluster, failure: NotCompiledError) -> tuple[Step, ...]:
    """The steps in place of a cluster, which are the same for the same failure."""
    with cluster.lock:
        found = cluster.splits.get(failure.operation)
        if found is None:
            found = cluster.splits[failure.operation] = split(cluster, failure)
        return found
