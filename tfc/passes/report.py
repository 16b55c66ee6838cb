"""What passes did: a Step for each run, and the table of all of them.

pass        runs  changed        ms  instructions  taken  refused
simplify       3        1      1.20      10 -> 8       2        0
fusion         1        1      0.80       8 -> 12      0        1

  2 x  simplify  multiply(x, 1) -> x
       fusion    refused exponential into dot: dot needs its operand in memory
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from tfc.hlo.ir import Module
from tfc.passes.rewriting.decisions import Decisions, Refused, Taken

_COLUMNS = ("pass", "runs", "changed", "ms", "instructions", "taken", "refused")
_MOST_NOTES = 40  # of one pass


@dataclass(frozen=True)
class Step:
    """One run of one pass: the module before it and after it, and what it took.

    decisions: what the pass did and refused, when asked for by Options.time.
    """

    name: str
    seconds: float
    source: Module = field(repr=False)
    result: Module = field(repr=False)
    decisions: Decisions = ()

    @property
    def changed(self) -> bool:
        """True if the pass changed the module."""
        return self.result is not self.source

    @cached_property
    def before(self) -> int:
        """How many instructions the module had."""
        return size(self.source)

    @cached_property
    def after(self) -> int:
        """How many instructions it has after the pass."""
        return size(self.result) if self.changed else self.before

    @property
    def taken(self) -> Counter[str]:
        """What the pass did, and how often."""
        counts = Counter[str]()
        for decision in self.decisions:
            if isinstance(decision, Taken):
                counts[str(decision)] += decision.count
        return counts

    @property
    def refused(self) -> tuple[Refused, ...]:
        """What the pass refused, each refusal once."""
        return tuple(dict.fromkeys(d for d in self.decisions if isinstance(d, Refused)))


@dataclass
class PipelineReport:
    """What each pass did; filled in while a pipeline runs."""

    steps: list[Step] = field(default_factory=list)

    def seconds(self) -> dict[str, float]:
        """The time taken by each pass, over all its runs."""
        total: dict[str, float] = {}
        for step in self.steps:
            total[step.name] = total.get(step.name, 0.0) + step.seconds
        return total

    def __str__(self) -> str:
        """The table, and below it what each pass did and refused."""
        rows: list[tuple[str, ...]] = [_COLUMNS]
        notes: list[str] = []
        for name in self.seconds():
            steps = [s for s in self.steps if s.name == name]
            taken = sum((s.taken for s in steps), Counter[str]())
            # A pass that runs again refuses the same again.
            refused = dict.fromkeys(r for s in steps for r in s.refused)
            rows.append((name, *_cells(steps), str(taken.total()), str(len(refused))))
            notes += _notes(name, taken, refused)
        if self.steps:
            rows.append(("total", *_cells(self.steps), "", ""))
        widths = [max(len(row[c]) for row in rows) for c in range(len(_COLUMNS))]
        table = [
            "  ".join(
                cell.rjust(width) if column else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*table, *([""] if notes else []), *notes])


def size(module: Module) -> int:
    """The number of instructions of a module."""
    return sum(len(c.instructions) for c in module.computations)


def _cells(steps: list[Step]) -> tuple[str, str, str, str]:
    """Runs, changes, time and sizes of some steps in order."""
    changes = [s for s in steps if s.changed]
    sizes = f"{changes[0].before} -> {changes[-1].after}" if changes else "unchanged"
    spent = sum(s.seconds for s in steps) * 1e3
    return str(len(steps)), str(len(changes)), f"{spent:.2f}", sizes


def _notes(name: str, taken: Counter[str], refused: Iterable[Refused]) -> list[str]:
    lines = [f"{count:5} x  {name}  {what}" for what, count in taken.most_common()]
    lines += [f"{'':9}{name}  {what}" for what in refused]
    if len(lines) > _MOST_NOTES:
        rest = len(lines) - _MOST_NOTES
        lines[_MOST_NOTES:] = [f"{'':9}{name}  … and {rest} more like these"]
    return lines
