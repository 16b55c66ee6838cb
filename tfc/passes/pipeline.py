"""Run passes over a module: time, verify, dump, and blame by name.

A Pass maps a Module to a Module and returns the same object if nothing changed. A parameterised
pass is a frozen dataclass whose fields are its options in text: `fusion{max_instructions=64}`. A
Pipeline is passes and the order they must keep, with reasons; a Repeat runs passes until none of
them changes anything.
"""

import shlex
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from tfc.errors import InternalError, TfcError
from tfc.files import write_files
from tfc.hlo.ir import Computation, Module
from tfc.hlo.shape import TupleShape, lies_alike
from tfc.hlo.verification.boundaries import verify_boundaries
from tfc.hlo.verification.verifier import verify
from tfc.options import Options
from tfc.passes.report import PipelineReport, Step
from tfc.passes.rewriting.decisions import Decisions
from tfc.tools.pictures.dot import graph_dot
from tfc.tools.pictures.graph import module_graph
from tfc.tools.pictures.page import module_page

Ordering = tuple[str, str, str]  # (earlier, later, why)


class Pass(Protocol):
    """A pure function from module to module, with a name.

    A pass that leaves what it made as it is may say so by `idempotent: ClassVar[bool] = True`, and
    one whose result is a program over parts of the arrays by `takes_parts`.
    """

    name: ClassVar[str]  # on the command line, in dumps and in messages

    def __call__(self, module: Module) -> Module:
        """The changed module, or the same object."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A pass that can say what it would do to a module, and what it refuses and why."""

    def explain(self, module: Module) -> Decisions:
        """The decisions."""
        ...


@dataclass(frozen=True)
class Repeat:
    """Passes run in turn, again and again, until a whole round changes nothing."""

    name: ClassVar[str] = "repeat"
    passes: tuple[Pass, ...]
    limit: int = 32

    def __call__(self, module: Module) -> Module:
        """The module that none of the passes changes.

        Raises:
            InternalError: the passes still change the module after `limit` rounds.
        """
        return Pipeline(self.name, (self,)).run(module, Options(verify=False))


@dataclass(frozen=True)
class Pipeline:
    """Passes in order, and which must come before which.

    Raises:
        InternalError: the passes break one of the orderings.
    """

    name: str
    passes: tuple[Pass, ...]
    before: tuple[Ordering, ...] = ()

    def __post_init__(self) -> None:
        order = list(names(self.passes))
        for earlier, later, why in self.before:
            if earlier in order and later in order:
                last = len(order) - 1 - order[::-1].index(earlier)
                if last > order.index(later):
                    raise InternalError(
                        f"pipeline {self.name}: {earlier} must come before {later}: {why}"
                    )

    def run(
        self,
        module: Module,
        options: Options | None = None,
        report: PipelineReport | None = None,
    ) -> Module:
        """The module after all passes that are not disabled.

        Args:
            report: receives what each pass did.

        Raises:
            TfcError: a disabled pass does not exist; or what a pass raises, with a note that names
                the pass and the command that reproduces the failure.
        """
        return _Runner(self, options or Options(), report or PipelineReport()).run(module)

    def __str__(self) -> str:
        return ",".join(pass_text(p) for p in self.passes)


def names(passes: Sequence[Pass]) -> Iterator[str]:
    """The names of passes, those of a Repeat in the place of its own."""
    for each in passes:
        if isinstance(each, Repeat):
            yield from names(each.passes)
        else:
            yield each.name


def pass_text(each: Pass) -> str:
    """A pass as the command line has it: its name, and the options that are not the default."""
    if isinstance(each, Repeat):
        return f"repeat({','.join(pass_text(p) for p in each.passes)})"
    if not is_dataclass(each):
        return each.name
    # What has no default in text, such as an answer of the target, cannot be stated in text either.
    values = [(f, getattr(each, f.name)) for f in fields(each) if f.default is not MISSING]
    stated = [f"{f.name}={_value_text(value)}" for f, value in values if value != f.default]
    return f"{each.name}{{{','.join(stated)}}}" if stated else each.name


def _value_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# What a module can be written as: (suffix of the file, how it is written).
DUMP_FORMS: dict[str, tuple[str, Callable[[Module, str], str]]] = {
    "text": (".hlo", lambda module, _: f"{module}\n"),
    "dot": (".dot", lambda module, title: graph_dot(module_graph(module), title)),
    "html": (".html", module_page),
}


def dump(module: Module, path: Path, forms: Sequence[str] = ("text",)) -> None:
    """Write a module to a file for each form, all of which appear whole or none.

    Args:
        path: the file of the text; others differ in the suffix.
        forms: some of DUMP_FORMS.

    Raises:
        TfcError: there is no such form, or a file cannot be written.
    """
    _check_forms(forms)
    title = f"{module.name}: {path.stem}"
    made = [(path.with_suffix(DUMP_FORMS[f][0]), DUMP_FORMS[f][1](module, title)) for f in forms]
    write_files(*((place, content.encode()) for place, content in made))


def _check_forms(forms: Sequence[str]) -> None:
    unknown = [f for f in forms if f not in DUMP_FORMS]
    if unknown:
        raise TfcError(
            f"there is no form '{unknown[0]}' of a dump; there are {', '.join(DUMP_FORMS)}"
        )


class _Runner:
    """One run of a pipeline."""

    def __init__(self, pipeline: Pipeline, options: Options, report: PipelineReport):
        self.pipeline, self.options, self.report = pipeline, options, report
        self.number = 0  # how many passes have run: the number of the next dump
        self.where = ""
        self.dumped: Path | None = None  # the file that holds the current module
        self.verified: dict[Hashable, object] = {}
        self.agreeing: set[Computation] = set()  # whose layouts agree at all boundaries
        self.settled: dict[Pass, Module] = {}  # the last module that each pass would not change

    def run(self, module: Module) -> Module:
        """The module after all passes."""
        known = set(names(self.pipeline.passes))
        for name in self.options.disabled:
            if name not in known:
                listed = ", ".join(sorted(known))
                raise TfcError(f"there is no pass '{name}' to disable; there are {listed}")
        _check_forms(self.options.dump_as)
        if self.options.verify and "stated-layouts" not in known:
            verify_boundaries(module, self.agreeing)
        self._dump(module, "input")
        count = len(self.pipeline.passes)
        for position, each in enumerate(self.pipeline.passes, 1):
            self.where = f"{position} of {count}"
            module = self._any(each, module)
        return module

    def _any(self, each: Pass, module: Module) -> Module:
        return self._repeat(each, module) if isinstance(each, Repeat) else self._step(each, module)

    def _repeat(self, repeat: Repeat, module: Module) -> Module:
        inner = [p for p in repeat.passes if p.name not in self.options.disabled]
        changed: list[str] = []
        for _ in range(repeat.limit):
            changed = []
            for each in inner:
                result = self._any(each, module)
                if result is not module:
                    changed.append(each.name)
                module = result
            if not changed:
                return module
        raise InternalError(
            f"{pass_text(repeat)} does not settle on module {module.name} "
            f"in {repeat.limit} rounds: a cycle of {', '.join(changed)}"
        )

    def _step(self, each: Pass, module: Module) -> Module:
        # Passes are pure: what one left as it is, it would leave again.
        if each.name in self.options.disabled or self.settled.get(each) is module:
            return module
        self.number += 1
        started = time.perf_counter()
        try:
            result = each(module)
            seconds = time.perf_counter() - started
            if result is not module and self.options.verify:
                verify(result, self.verified)
                verify_boundaries(result, self.agreeing)
                if not getattr(each, "takes_parts", False):
                    _require_one_signature(module, result)
        except Exception as error:
            error.add_note(self._blame(each, module))
            raise
        explain = self.options.time and isinstance(each, Explains)
        decisions = each.explain(module) if explain else ()  # type: ignore[union-attr]
        changed = result is not module
        self.report.steps.append(Step(each.name, seconds, module, result, decisions))
        if changed:
            self._dump(result, each.name)
        if not changed or getattr(each, "idempotent", False):
            self.settled[each] = result
        return result

    def _dump(self, module: Module, name: str) -> None:
        self.dumped = None
        if self.options.dump_dir:
            path = Path(self.options.dump_dir) / f"{self.number:02}.{name}.hlo"
            dump(module, path, self.options.dump_as)
            self.dumped = path if "text" in self.options.dump_as else None

    def _blame(self, each: Pass, module: Module) -> str:
        """The note for a failure: which pass, and the command that runs it again."""
        note = f"while running {each.name} ({self.where}) on module {module.name}"
        try:
            path = self.dumped or Path(tempfile.mkdtemp(prefix="tfc-")) / f"{each.name}.input.hlo"
            if self.dumped is None:
                dump(module, path)
        except Exception as failure:  # the first error matters more than its reproduction
            return f"{note}; its input could not be written: {failure}"
        command = ["tfc", "opt", str(path), "--passes", pass_text(each)]
        return f"{note}; reproduce: {shlex.join(command)}"


def _require_one_signature(before: Module, after: Module) -> None:
    """Callers rely on what arguments and results are and how they lie: no pass may change it."""
    old, new = (
        TupleShape((*(p.shape for p in m.entry.parameters), m.entry.root.shape))
        for m in (before, after)
    )
    if not old.is_compatible(new) or not lies_alike(old, new):
        raise InternalError(f"the pass makes the entry's arguments and result {new}, from {old}")
