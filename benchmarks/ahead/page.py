"""The figures as tables, and what they are to reach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.ahead.measuring import Figures, Row
from benchmarks.ahead.programs import PROGRAMS

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
_OWN, _NATIVE = "tfc", "tfc, native"
_PEER, _PEER_NATIVE = "tfcompile", "tfcompile, native"

_TEXT = """\
Written by `python benchmarks/aot.py --docs docs/aot.md`, in one run on one core of the machine
below. Each program is stated once, over operations that all libraries have, with the same random
weights as constants; values are compared with NumPy's in f64 before anything is timed. Latencies
are medians of samples that all take in turns, of the time that the core spent on the process, so
that other work on the machine counts for less.

tfcompile is `saved_model_cli aot_compile_cpu` of TensorFlow. The sources that it needs at run
time are compiled with -O3, and for "native" with -march=native (convolutions for x86-64-v3 where
the compiler refuses them). Its programs take Abseil from TensorFlow's library, which is not
counted. tfc's classes and tfcompile's run in the same loop in C++, IREE in its own benchmark
program, ONNX Runtime in a loop of Python with bound arguments, which adds some microseconds.

Artefacts are all files that the compiler writes for the first batch, "program" is the measuring
program with them, stripped, and compiling a process of its own, the better of two
where it is short. ONNX Runtime compiles when it loads, which is not counted.
"""


@dataclass(frozen=True)
class Run:
    """All that was measured.

    machine, versions: properties and libraries by name.
    """

    machine: Mapping[str, str]
    versions: Mapping[str, str]
    rows: Sequence[Row]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "machine": dict(self.machine), "versions": dict(self.versions),
            "rows": [row.as_dict() for row in self.rows],
        }  # fmt: skip

    @staticmethod
    def of(found: Mapping[str, Any]) -> "Run":
        """What `as_dict` gave."""
        return Run(found["machine"], found["versions"], [Row.of(row) for row in found["rows"]])


def section(run: Run) -> str:
    """The text between the marks in docs/aot.md."""
    lines = [_TEXT, "| | |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in {**run.machine, **run.versions}.items()]
    for key in dict.fromkeys(row.program for row in run.rows):
        lines += ["", *_table([row for row in run.rows if row.program == key])]
    reached = aims(run)
    if reached:
        lines += ["", "### Aims", "", "| aim | at most | found |", "|---|---:|---:|"]
        lines += [aim.line() for aim in reached]
    return "\n".join(lines) + "\n"


def with_section(page: str, run: Run) -> str:
    """A page with the figures of this run in place of those before."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{section(run)}{END}{after}"


def _table(rows: Sequence[Row]) -> list[str]:
    """A program: a line for each contender, a column of latencies for each batch."""
    program = PROGRAMS[rows[0].program]
    weights = rows[0].weight_bytes
    is_large = weights > 1000
    share = ["÷ weights"] if is_large else []
    latencies = [f"batch {row.batch}" for row in rows]
    heads = ["artefacts", *share, "program", "linked with", "compiling", *latencies]
    said = f", weights of {size(weights)}" if is_large else ""
    lines = [f"### {program.name}{said}", "", f"| | {' | '.join(heads)} |"]
    lines.append("|---" + "|---:" * len(heads) + "|")
    for name, first in rows[0].found.items():
        if isinstance(first, str):
            lines.append(f"| {name} | {first.replace('|', '/')} |" + " |" * (len(heads) - 1))
            continue
        share = [f"{first.artefact_bytes / weights:.2f}"] if is_large else []
        linked = size(first.program_bytes) if first.program_bytes else ""
        cells = [size(first.artefact_bytes), *share, linked, ", ".join(first.libraries) or "–",
                 f"{first.seconds:.2f} s" if first.seconds else "",
                 *(_latency(row, name) for row in rows)]  # fmt: skip
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _latency(row: Row, name: str) -> str:
    figures = row.found[name]
    if isinstance(figures, str):
        return figures.replace("|", "/")
    own = row.found[_OWN]
    if name == _OWN or isinstance(own, str):
        return duration(figures.microseconds)
    return f"{duration(figures.microseconds)} ({figures.microseconds / own.microseconds:.2f} ×)"


def duration(microseconds: float) -> str:
    """With three digits."""
    if microseconds >= 1000:
        return f"{microseconds / 1000:.3g} ms"
    return f"{microseconds:.3g} µs"


def size(count: int) -> str:
    """Bytes with three digits."""
    return f"{count / 1e6:.3g} MB" if count >= 1e6 else f"{count / 1e3:.3g} kB"


@dataclass(frozen=True)
class Aim:
    """What is to be reached: a figure that is not above a bound."""

    text: str
    bound: float
    found: float

    @property
    def is_reached(self) -> bool:
        """Whether it is."""
        return self.found <= self.bound

    def line(self) -> str:
        """In the table; what is missed is bold."""
        bound, found = (f"{x:.3g}" if x < 1000 else f"{x:.0f}" for x in (self.bound, self.found))
        return f"| {self.text} | {bound} | {found if self.is_reached else f'**{found}**'} |"


def aims(run: Run) -> list[Aim]:
    """Those whose figures were measured."""
    found = {(row.program, row.batch, name): f for row in run.rows for name, f in row.found.items()}
    weights = {row.program: row.weight_bytes for row in run.rows}
    made: list[Aim] = []

    def of(key: str, batch: int, name: str) -> Figures | None:
        figures = found.get((key, batch, name))
        return figures if isinstance(figures, Figures) else None

    def ratio(text: str, bound: float, one: tuple, other: tuple, field: str) -> None:
        first, second = of(*one), of(*other)
        if first and second:
            made.append(Aim(text, bound, getattr(first, field) / getattr(second, field)))

    mlp, resnet = of("mlp", 1, _OWN), of("resnet18", 1, _OWN)
    if mlp and mlp.program_bytes:
        size = weights["mlp"]
        made.append(Aim("MLP: bytes of artefacts", 1.05 * size + 24576, mlp.artefact_bytes))
        made.append(Aim("MLP: bytes of the stripped program", size + 40960, mlp.program_bytes))
        made.append(Aim("MLP: libraries beside C's and C++'s", 0, len(mlp.libraries)))
    time = "microseconds"
    ratio("MLP, batch 1: native ÷ tfcompile, native", 0.8,
          ("mlp", 1, _NATIVE), ("mlp", 1, _PEER_NATIVE), time)  # fmt: skip
    ratio("MLP, batch 32: native ÷ tfcompile, native", 0.85,
          ("mlp", 32, _NATIVE), ("mlp", 32, _PEER_NATIVE), time)  # fmt: skip
    for batch in (1, 32):
        ratio(f"MLP, batch {batch}: default ÷ native", 1.2,
              ("mlp", batch, _OWN), ("mlp", batch, _NATIVE), time)  # fmt: skip
    ratio("MLP, batch 32: default ÷ tfcompile's default", 1 / 3,
          ("mlp", 32, _OWN), ("mlp", 32, _PEER), time)  # fmt: skip
    if resnet:
        bound = 1.1 * weights["resnet18"] + 204800
        made.append(Aim("ResNet-18: bytes of artefacts", bound, resnet.artefact_bytes))
    for name in (_OWN, _NATIVE):
        ratio(f"ResNet-18: {name} ÷ ONNX Runtime", 1,
              ("resnet18", 1, name), ("resnet18", 1, "ONNX Runtime"), time)  # fmt: skip
    for row in run.rows:
        key = (row.program, row.batch)
        text = f"{PROGRAMS[row.program].name}, batch {row.batch}: compiling ÷ tfcompile's"
        ratio(text, 0.5, (*key, _OWN), (*key, _PEER), "seconds")
    return made
