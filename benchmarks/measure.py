"""One row: check every library's result, then take turns.

In each round every library gives one sample, the mean of as many calls as fill a few milliseconds,
so that whatever slows the machine down for a while slows all of them.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import ml_dtypes
import numpy as np

from benchmarks.case import Case, is_wide, leaves, map_leaves
from benchmarks.protocol import Failed, Prepared, Task
from benchmarks.results import OWN, Measured, Row


class Asked(Protocol):
    """What answers messages: see worker.py."""

    def ask(self, message: Any) -> Any:
        """The answer, or Failed."""
        ...


@dataclass(frozen=True)
class Plan:
    """How long to measure.

    rounds: the number of samples of a process.
    sample_seconds: what each takes at least.
    budget: seconds of calls after which a library gives no more samples.
    compile_rounds: the number of compilations in rows that measure these.
    processes: in how many each library is measured, one after the other.
    """

    rounds: int
    sample_seconds: float
    budget: float
    compile_rounds: int
    processes: int


FULL = Plan(rounds=7, sample_seconds=0.01, budget=2, compile_rounds=1, processes=5)
QUICK = Plan(rounds=7, sample_seconds=0.005, budget=2, compile_rounds=3, processes=1)


def task_of(case: Case, small: bool = False) -> Task:
    """A case with its arguments drawn and its program lowered."""
    arguments = case.small() if small else case.arguments()
    with jax.enable_x64(is_wide(arguments)):
        lowered = jax.jit(lambda *a: case.jax(jax, *a)).lower(*arguments)
    return Task(case.key, arguments, lowered.as_text())


def expected(case: Case, arguments: tuple[Any, ...]) -> list[np.ndarray]:
    """The results in f64: NumPy's, or JAX's where the case is not stated in NumPy."""
    wide = map_leaves(_widened, arguments)
    if case.numpy is not None:
        return [np.asarray(leaf) for leaf in leaves(case.numpy(np, *wide))]
    with jax.enable_x64(True):
        results = jax.jit(lambda *a: case.jax(jax, *a))(*wide)
        return [np.asarray(leaf) for leaf in leaves(results)]


def _widened(leaf: Any) -> np.ndarray:
    array = np.asarray(leaf)
    narrow = array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16
    return array.astype(np.float64) if narrow else array


def fault(case: Case, results: list[np.ndarray], wanted: list[np.ndarray]) -> str:
    """What is wrong with the results; "" if nothing is."""
    if [r.shape for r in results] != [w.shape for w in wanted]:
        return f"wrong: dimensions {[r.shape for r in results]}, not {[w.shape for w in wanted]}"
    for result, want in zip(results, wanted):
        error = np.max(np.abs(result.astype(np.float64) - want), initial=0.0)
        size = np.max(np.abs(want), initial=0.0)
        if not error <= case.tolerance * size:
            return f"wrong: off by {error / max(size, 1e-300):.1e} of the largest element"
    return ""


def measure(case: Case, workers: Mapping[str, Asked], absent: Mapping[str, str], plan: Plan) -> Row:
    """One row.

    Args:
        workers: the libraries that the case is stated for, by name.
        absent: why others are not measured, by name.
    """
    task = task_of(case)
    wanted = expected(case, task.arguments)
    outcomes: dict[str, Measured | str] = dict(absent)
    prepared: dict[str, Prepared] = {}
    for name, worker in workers.items():
        answer = worker.ask(task)
        why = _refused(case, name, answer, wanted)
        if why:
            outcomes[name] = f"failed: {why}"
            worker.ask(None)
        else:
            prepared[name] = answer
    del task, wanted
    message = "compile" if case.compiling else plan.sample_seconds
    rounds = plan.compile_rounds if case.compiling else plan.rounds
    samples, failures = _rounds({n: workers[n] for n in prepared}, message, rounds, plan.budget)
    outcomes.update(failures)
    for name, seconds in samples.items():
        first = prepared[name]
        outcomes[name] = Measured(
            [statistics.median(seconds)], min(seconds), first.compile_seconds, first.memory_bytes
        )
    for worker in workers.values():
        worker.ask(None)
    work = case.work
    amount, unit, limit = (work.amount, work.unit, work.limit) if work else (0.0, "", "")
    return Row(case.family, case.name, amount, unit, limit, case.aims, outcomes)


def _refused(case: Case, name: str, answer: Any, wanted: list[np.ndarray]) -> str:
    """Why a library is not measured; "" if it is."""
    if isinstance(answer, Failed):
        return answer.reason
    if name == OWN and not answer.steady:
        return "wrong: the second call gave other bits than the first"
    return fault(case, answer.results, wanted)


def _rounds(
    workers: dict[str, Asked], message: Any, rounds: int, budget: float
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """The samples of each worker, taken in turns; and why some gave none."""
    samples: dict[str, list[float]] = {name: [] for name in workers}
    failures: dict[str, str] = {}
    for _ in range(rounds):
        for name, found in list(samples.items()):
            if sum(found) > budget:
                continue
            answer = workers[name].ask(message)
            if isinstance(answer, Failed):
                failures[name] = f"failed: {answer.reason}"
                del samples[name]
            else:
                found.append(answer)
    return samples, failures
