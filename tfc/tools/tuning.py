"""Measuring alternatives of schedule for the kernels of a program on this machine.

    compile with trial n ─► run in turns with the model's ─► time of each kernel ─► its best
    all kernels' best ─► in turns with the model's once more ─► kept in the cache

In a round every kernel takes another of its alternatives, so that there are as many rounds as one
kernel has trials. What is kept are choices by kernel, not by program: whatever has the same kernel
is compiled with them from then on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from tfc.backends.choices import Keeper, Question, Trial, asking
from tfc.backends.gpu.driver import Driver
from tfc.backends.interfaces import Executable
from tfc.backends.registry import get_backend
from tfc.compiler import compile as compile_module
from tfc.errors import TfcError, UnsupportedError
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.text.printer import instruction_names
from tfc.options import Options

Times = Mapping[str, float]
"""What each kernel took in one run of the program, by its name, in nanoseconds."""
Clock = Callable[[Executable, Sequence[np.ndarray]], Callable[[], Times]]
"""Makes what runs a program once and measures its kernels."""

_WORTH = 1.02  # gains below are noise
_NO_CLOCK = (
    "schedules are measured on a GPU, and the interpreter of PTX, which runs where there is none, "
    "only counts: tune on a machine that has one, or with --backend cpu"
)


@dataclass(frozen=True)
class TunedKernel:
    """What was measured for kernels that are the same.

    names: of the program's kernels that they are.
    alternatives: how many schedules there are beside the model's; `tried`: of these.
    model, best: the schedules, in words.
    gain: how many times as fast the best is as the model's; 1 where that is best.
    """

    names: tuple[str, ...]
    alternatives: int
    tried: int
    model: str
    best: str
    gain: float


@dataclass(frozen=True)
class Tuning:
    """What tuning a program gave: its kernels with alternatives, the names of those without."""

    kernels: tuple[TunedKernel, ...]
    others: tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """How to tune: alternatives to try of a kernel, runs of each, and a seed of which ones."""

    trials: int = 12
    runs: int = 10
    seed: int = 0


def require_clock(driver: Driver) -> None:
    """Refuse a driver that runs programs without taking the time that a GPU takes.

    Raises:
        UnsupportedError: it is an interpreter.
    """
    if driver.reports is not None:
        raise UnsupportedError(_NO_CLOCK)


def clocked(executable: Executable, arguments: Sequence[np.ndarray]) -> Callable[[], Times]:
    """What runs a program with a clock around its kernels."""
    run, names = executable.timed(), kernel_names(executable)

    def measured() -> Times:
        times = run(*arguments)
        if times.is_counted:
            raise UnsupportedError(_NO_CLOCK)
        return {names[k.instruction]: k.nanoseconds for k in times.kernels if k.function}

    measured()  # the first run brings code and data into caches
    return measured


def kernel_names(executable: Executable) -> dict[Instruction, str]:
    """The names of an optimised program's instructions, which are the same at each compilation."""
    entry = executable.hlo.entry
    return {
        i: name if c is entry else f"{c.name}/{name}"
        for c in executable.hlo.computations
        for i, name in instruction_names(c).items()
    }


def tune(
    module: Module,
    arguments: Sequence[np.ndarray],
    backend: str = "cpu",
    options: Options | None = None,
    settings: Settings | None = None,
    clock: Clock = clocked,
) -> Tuning:
    """Find the best schedules for the kernels of a program, and keep them in the cache.

    Args:
        options: how to compile; taken from the environment when left out. `cache_dir` is where
            choices are kept.
        clock: measures the kernels of a program; made while what tries alternatives is in use.

    Raises:
        TfcError: no folder keeps choices.
        UnsupportedError: the backend's kernels have no alternatives, or nothing can be timed.
    """
    options = options or Options.from_environment()
    if not options.cache_dir:
        raise TfcError(
            "what is measured is kept for later compilations: set TFC_CACHE to a folder for it"
        )
    keeper = get_backend(backend).compiler.choices(options)
    if keeper is None:
        raise UnsupportedError(
            f"kernels of the backend '{backend}' have no alternatives of schedule on this machine; "
            "use backend='cpu', or 'gpu' where there is a GPU"
        )
    return _Tuner(module, arguments, backend, options, settings or Settings(), clock).tune(keeper)


@dataclass(frozen=True)
class _Kernel:
    """Kernels that ask the same question, by name, and the alternatives that are tried."""

    question: Question
    names: tuple[str, ...]
    trials: tuple[str, ...]

    @property
    def about(self) -> str:
        return self.question.about

    def time(self, times: Times) -> float:
        """What all of them take together."""
        return sum(times[name] for name in self.names)


@dataclass(frozen=True)
class _Tuner:
    module: Module
    arguments: Sequence[np.ndarray]
    backend: str
    options: Options
    settings: Settings
    clock: Clock

    def tune(self, keeper: Keeper) -> Tuning:
        """Measure, and keep what is best."""
        executable, model = self._program({})
        first, names = model(), kernel_names(executable)
        asked = executable.questions([i for i, name in names.items() if name in first])
        kernels = self._kernels({names[i]: questions for i, questions in asked.items()})
        best = {k.about: (1.0, k.question.texts[0]) for k in kernels}
        for answers in _rounds(kernels):
            for about, gain in self._gains(model, answers, kernels).items():
                best[about] = max(best[about], (gain, answers[about]))
        better = {about: text for about, (gain, text) in best.items() if gain >= _WORTH}
        # The least of many measurements is too good: what is kept proves itself once more.
        proved = self._gains(model, better, kernels) if better else {}
        tuned = []
        for kernel in kernels:
            gain, text = proved.get(kernel.about, 1.0), best[kernel.about][1]
            if gain < _WORTH:
                gain, text = 1.0, kernel.question.texts[0]
            keeper.keep(kernel.about, text)
            texts, tried = kernel.question.texts, len(kernel.trials)
            tuned.append(TunedKernel(kernel.names, len(texts) - 1, tried, texts[0], text, gain))
        known = {name for kernel in kernels for name in kernel.names}
        return Tuning(tuple(tuned), tuple(name for name in first if name not in known))

    def _program(self, answers: Mapping[str, str]) -> tuple[Executable, Callable[[], Times]]:
        """The program with alternatives for some kernels, and what measures it."""
        with asking(Trial(answers)):
            options = replace(self.options, cache_dir="")
            executable = compile_module(self.module, self.backend, options)
            return executable, self.clock(executable, self.arguments)

    def _kernels(self, asked: Mapping[str, Sequence[Question]]) -> list[_Kernel]:
        """The kernels, by what they are, with the alternatives to try."""
        questions = dict.fromkeys(q for found in asked.values() for q in found)
        return [
            _Kernel(q, tuple(n for n, found in asked.items() if q in found), self._trials(q))
            for q in questions
        ]

    def _trials(self, question: Question) -> tuple[str, ...]:
        """The alternatives to try: those nearest to the model's, and others that are drawn."""
        _, *others = question.texts
        most = self.settings.trials
        if len(others) <= most:
            return tuple(others)
        nearest = -(-most // 2)
        draw = Random(f"{self.settings.seed} {question.about}")
        return (*others[:nearest], *draw.sample(others[nearest:], most - nearest))

    def _gains(
        self, model: Callable[[], Times], answers: Mapping[str, str], kernels: Sequence[_Kernel]
    ) -> dict[str, float]:
        """How many times as fast kernels become by alternatives, run in turns with the model's."""
        _, tried = self._program(answers)
        runs = [(model(), tried()) for _ in range(self.settings.runs)]
        found = {}
        for kernel in kernels:
            if kernel.about in answers:
                before, after = (min(map(kernel.time, times)) for times in zip(*runs))
                found[kernel.about] = before / max(after, 1e-3)
        return found


def _rounds(kernels: Sequence[_Kernel]) -> Iterator[dict[str, str]]:
    """Which alternatives are tried together: of questions that no kernel has in common."""
    left = list(kernels)
    while left:
        together: list[_Kernel] = []
        for kernel in left:
            if all(set(kernel.names).isdisjoint(other.names) for other in together):
                together.append(kernel)
        for number in range(max(len(kernel.trials) for kernel in together)):
            yield {k.about: k.trials[number] for k in together if number < len(k.trials)}
        left = [kernel for kernel in left if kernel not in together]
