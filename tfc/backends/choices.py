"""Schedules that were measured rather than modelled: where backends ask which one to take.

    a kernel and its alternatives ──► chosen() ──► one of them, or None: the model decides

Who answers is the source in use: choices that were kept on this machine (`cache/kept_choices.py`),
or one that tries alternatives (`Trial`). Both name an alternative by its text, and what names none
that the backend lists is no answer: so what is kept can make no code of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tfc.hlo.ir import Instruction

T = TypeVar("T")


class Source(Protocol):
    """Who knows which alternatives to take."""

    @property
    def used(self) -> tuple[tuple[str, str], ...]:
        """What was answered so far, which the code depends on."""
        ...

    def answer(self, about: str, texts: Callable[[], Sequence[str]]) -> str | None:
        """The text of the alternative to take; None for the model's.

        Args:
            about: the kernel; see `chosen`.
            texts: gives those of the model's alternative, and of the others.
        """
        ...


class Keeper(Source, Protocol):
    """A source that is told what was measured, for later compilations on this machine."""

    def keep(self, about: str, text: str) -> None:
        """Keep the text of an alternative for a kernel, in place of an earlier one."""
        ...


_in_use: ContextVar[Source | None] = ContextVar("choices", default=None)


def source_in_use() -> Source | None:
    """Who is asked at present."""
    return _in_use.get()


@contextmanager
def asking(source: Source | None) -> Iterator[None]:
    """Have a source be asked; with None models decide alone."""
    token = _in_use.set(source)
    try:
        yield
    finally:
        _in_use.reset(token)


def chosen(
    about: object, model: Callable[[], object], others: Callable[[], Sequence[T]]
) -> T | None:
    """The alternative to take for a kernel, or None: the one that the model says.

    Args:
        about: its text stands for the kernel in any program, with all that its alternatives depend
            on but the machine.
        model: gives what the model says.
        others: gives the alternatives to it.
    """
    source = _in_use.get()
    if source is None:
        return None
    answer = source.answer(str(about), lambda: [str(model()), *map(str, others())])
    return None if answer is None else next((o for o in others() if str(o) == answer), None)


@dataclass(frozen=True)
class Preference:
    """A source that takes alternatives of these texts wherever there are such."""

    texts: frozenset[str]

    @property
    def used(self) -> tuple[tuple[str, str], ...]:
        """What is preferred."""
        return tuple(("preferred", text) for text in sorted(self.texts))

    def answer(self, about: str, texts: Callable[[], Sequence[str]]) -> str | None:
        """The one that is preferred, if there is one."""
        return next((text for text in texts() if text in self.texts), None)


@dataclass(frozen=True)
class Question:
    """A kernel that can be computed in several ways.

    about: what stands for it in any program.
    texts: the ways; the model's is the first.
    """

    about: str
    texts: tuple[str, ...]


class Trial:
    """A source that takes what it is told, and remembers what it was asked.

    answers: the texts of alternatives, by what they are for.
    questions: the kernels with alternatives, by what stands for them.
    """

    def __init__(self, answers: Mapping[str, str] | None = None):
        self.answers = dict(answers or {})
        self.questions: dict[str, Question] = {}

    @property
    def used(self) -> tuple[tuple[str, str], ...]:
        """What was answered so far."""
        return tuple(sorted((a, t) for a, t in self.answers.items() if a in self.questions))

    def answer(self, about: str, texts: Callable[[], Sequence[str]]) -> str | None:
        """What it was told."""
        if about not in self.questions:
            found = tuple(texts())
            if len(found) < 2:
                return None
            self.questions[about] = Question(about, found)
        return self.answers.get(about)


def questions_about(
    instructions: Iterable[Instruction], ask: Callable[[Instruction], object]
) -> dict[Instruction, tuple[Question, ...]]:
    """The questions that come up for each of some instructions, if any do.

    Args:
        ask: does what has `chosen` be asked about an instruction.
    """
    found: dict[Instruction, tuple[Question, ...]] = {}
    for instruction in instructions:
        trial = Trial()
        with asking(trial):
            ask(instruction)
        if trial.questions:
            found[instruction] = tuple(trial.questions.values())
    return found
