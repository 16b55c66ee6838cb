"""The page: at the left passes and kernels, at the right the pane that is chosen.

Everything is in the one file: style, script, pictures and texts. Its size is bounded: of a large
program, graphs become lists and texts are cut off, with a note that says so.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from tfc.hlo.ir import Instruction, Module
from tfc.hlo.text.printer import print_module
from tfc.passes import PipelineReport
from tfc.passes.report import Step, size
from tfc.tools.explore.code import KernelCode
from tfc.tools.explore.diff import diff_html
from tfc.tools.explore.kernels import KernelView
from tfc.tools.explore.roofline import Roofline
from tfc.tools.pictures.graph import module_graph
from tfc.tools.pictures.graph_svg import GRAPH_STYLE
from tfc.tools.pictures.page import graph_or_list, html_document
from tfc.tools.pictures.svg import bytes_text, quantity
from tfc.tools.profiling import Profile
from tfc.tools.profiling.figures import (
    COUNTED,
    NOT_TIMED,
    RUNNING,
    counted_cells,
    running_cells,
)

_HERE = Path(__file__).parent
_MOST_GRAPHS = 6_000_000  # characters of all graphs
_MOST_TEXT = 100_000  # characters of one text
_MOST_PANES = 200  # of kernels
_MOST_NOTES = 200  # of one pass


class Page:
    """The page in the making: its panes, and the links to them."""

    def __init__(self, title: str):
        self.title = title
        self._links: list[str] = []
        self._panes: list[str] = []
        self._graphs = 0

    def html(self) -> str:
        """The whole document."""
        side = f"<nav><h1>{escape(self.title)}</h1>{''.join(self._links)}</nav>"
        body = f"{side}<main>{''.join(self._panes)}</main>"
        style = GRAPH_STYLE + _read("page.css")
        return html_document(f"{self.title} · tfc explore", style, body, _read("page.js"))

    def heading(self, content: str) -> None:
        """A heading in the list of links."""
        self._links.append(f"<h2>{escape(content)}</h2>")

    def link(
        self, pane: str, label: str, facts: str = "", bar: float | None = None, names: str = ""
    ) -> None:
        """A link to a pane.

        Args:
            bar: a share of the width to be drawn.
            names: the instructions in the graph after the last pass that lead to the pane as well.
        """
        strip = "" if bar is None else f'<i style="width:{100 * min(bar, 1):.1f}%"></i>'
        also = f' data-names="{escape(names)}"' if names else ""
        inside = f"<b>{escape(label)}</b><small>{escape(facts)}</small>{strip}"
        self._links.append(f'<a href="#{pane}"{also}>{inside}</a>')

    def overview(
        self, facts: Sequence[tuple[str, str]], measured: Profile, chart: Roofline | None
    ) -> None:
        """The pane that is shown first: the program as a whole; no chart where nothing is timed."""
        taken = "not timed" if measured.is_counted else f"{measured.seconds * 1e3:.3g} ms"
        self.link("overview", "Overview", taken)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in measured.rows()[: 2 * _MOST_PANES]
        )
        head = "".join(f"<th>{escape(column)}</th>" for column in measured.columns)
        table = f'<table class="rows"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
        limits, roofs = NOT_TIMED, ""
        if chart is not None:
            limits, roofs = str(measured.peaks), f"<h3>Roofline</h3>{chart.svg()}"
        body = f'{cards(facts)}{roofs}<p class="soft">{escape(limits)}</p><h3>Kernels</h3>{table}'
        self._pane("overview", self.title, "what it takes, and what this machine could do", body)

    def passes(self, source: Module, report: PipelineReport) -> None:
        """A pane for the module as it came, and one for each pass that changed it."""
        self.heading("Passes")
        text = print_module(source, short=True)
        self.link("pass-0", "as it came", f"{size(source)} instructions")
        self._pass_pane("pass-0", "as it came", f"{size(source)} instructions", source, text)
        idle: list[str] = []
        for number, step in enumerate(report.steps, 1):
            if not step.changed:
                idle.append(step.name)
                continue
            self._idle(idle)
            idle = []
            text = self._changed(f"pass-{number}", step, text)
        self._idle(idle)

    def _idle(self, names: Sequence[str]) -> None:
        if names:
            listed = ", ".join(dict.fromkeys(names))
            self._links.append(f'<span class="idle">{escape(listed)} <em>unchanged</em></span>')

    def _changed(self, pane: str, step: Step, before: str) -> str:
        """The pane of a pass that changed the module; returns the module's text."""
        text = print_module(step.result, short=True)
        taken, refused = step.taken, step.refused
        sizes = f"{step.before} → {step.after}"
        self.link(pane, step.name, f"{sizes} · {step.seconds * 1e3:.2f} ms")
        notes = [f"{count} × {what}" for what, count in taken.most_common()]
        notes += map(str, refused)
        facts = (
            f"{sizes} instructions in {step.seconds * 1e3:.2f} ms; "
            f"{taken.total()} decisions taken, {len(refused)} refused"
        )
        self._pass_pane(pane, step.name, facts, step.result, text, before, notes)
        return text

    def _pass_pane(
        self,
        pane: str,
        name: str,
        facts: str,
        module: Module,
        text: str,
        before: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        listed = "".join(f"<li>{escape(note)}</li>" for note in notes[:_MOST_NOTES])
        rest = len(notes) - _MOST_NOTES
        more = f"<li>… and {rest} more</li>" if rest > 0 else ""
        tabs = [
            ("graph", f'<div class="canvas">{self._graph(module, name)}</div>'),
            *([("diff", diff_html(before, text))] if before is not None else []),
            ("text", code(text)),
            *([("decisions", f'<ul class="notes">{listed}{more}</ul>')] if notes else []),
        ]
        self._pane(pane, name, facts, tabbed(pane, tabs))

    def _graph(self, module: Module, name: str) -> str:
        if self._graphs > _MOST_GRAPHS:
            return '<p class="note">Left out, to keep this page small; the text is there.</p>'
        made = graph_or_list(module_graph(module), f"{module.name} after {name}")
        self._graphs += len(made)
        return made

    def kernels(
        self,
        views: Sequence[KernelView],
        codes: Mapping[str, KernelCode],
        lines: Mapping[Instruction, str],
        measured: Profile,
        chart: Roofline | None,
    ) -> None:
        """A pane for each kernel; `lines` are the texts of the instructions."""
        self.heading("Kernels")
        most = views[0].seconds if views else 0.0
        for view in views[:_MOST_PANES]:
            pane = f"kernel-{view.number}"
            times = f" × {len(view.profiles)}" if len(view.profiles) > 1 else ""
            share = view.seconds / most if most else 0.0
            names = " ".join(p.name for p in view.profiles)
            taken = "" if measured.is_counted else f"{view.seconds * 1e6:.1f} µs"
            self.link(pane, view.name + times, taken, share, names)
            found = codes.get(view.function, KernelCode())
            texts = [("HLO", view.hlo(lines)), ("MLIR", found.mlir), ("LLVM IR", found.llvm),
                     ("assembly", found.asm), ("PTX", found.ptx)]  # fmt: skip
            self._kernel_pane(pane, view, texts, measured, chart)
        rest = len(views) - _MOST_PANES
        if rest > 0:
            self._links.append(f'<span class="idle">{rest} more take the least time</span>')

    def _kernel_pane(
        self,
        pane: str,
        view: KernelView,
        texts: Sequence[tuple[str, str]],
        measured: Profile,
        chart: Roofline | None,
    ) -> None:
        share = view.seconds / measured.seconds if measured.seconds else 0.0
        per_second = 1 / view.seconds if view.seconds else 0.0
        facts = [
            ("runs", str(view.runs)),
            ("operations", f"{quantity(view.operations)}"),
            ("bytes", bytes_text(view.bytes)),
        ]
        if not measured.is_counted:
            facts = [
                ("time", f"{view.seconds * 1e6:.2f} µs"),
                ("of the run", f"{share:.1%}"),
                *facts,
                ("FLOP/s", quantity(view.operations * per_second)),
                ("bytes/s", f"{quantity(view.bytes * per_second)}B"),
                ("of the limit", f"{view.share_of_limit(measured):.0%}"),
            ]
        figures = view.profiles[0].figures
        if figures is not None:
            facts += [*zip(RUNNING, running_cells(figures)), *zip(COUNTED, counted_cells(figures))]
            facts = [(name, value) for name, value in facts if value]
        tabs = [(name, code(text)) for name, text in texts if text]
        drawn = "" if chart is None else chart.svg_of(view.point(measured))
        body = f'<div class="beside">{cards(facts)}{drawn}</div>{tabbed(pane, tabs)}'
        self._pane(pane, view.name, f"{view.kind} · {view.function or 'memory copies'}", body)

    def memory(self, picture: str, facts: Sequence[tuple[str, str]]) -> None:
        """The pane of the arena over time."""
        self.heading("Memory")
        self.link("memory", "Arena", dict(facts).get("temporaries", ""))
        body = f'{cards(facts)}<div class="canvas still">{picture}</div>'
        self._pane("memory", "Arena", "which buffer is where, from which step to which", body)

    def _pane(self, pane: str, title: str, facts: str, body: str) -> None:
        head = f"<header><h2>{escape(title)}</h2><p>{escape(facts)}</p></header>"
        self._panes.append(f'<section id="{pane}" class="pane">{head}{body}</section>')


def cards(facts: Sequence[tuple[str, str]]) -> str:
    """Figures with what they are."""
    made = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts
    )
    return f'<dl class="cards">{made}</dl>'


def code(text: str) -> str:
    """A text as it is, cut off where it is very long."""
    rest = len(text) - _MOST_TEXT
    note = f"\n… {rest} more characters" if rest > 0 else ""
    return f'<pre class="code">{escape(text[:_MOST_TEXT] + note)}</pre>'


def tabbed(pane: str, tabs: Sequence[tuple[str, str]]) -> str:
    """Contents of which one is shown, and buttons that choose."""
    buttons = "".join(
        f'<button type="button" role="tab" data-tab="{n}" aria-controls="{pane}-tab-{n}" '
        f'aria-selected="{"true" if n == 0 else "false"}">{escape(name)}</button>'
        for n, (name, _) in enumerate(tabs)
    )
    contents = "".join(
        f'<div class="tab{" shown" if n == 0 else ""}" role="tabpanel" id="{pane}-tab-{n}">'
        f"{content}</div>"
        for n, (_, content) in enumerate(tabs)
    )
    return f'<div class="tabs" role="tablist">{buttons}</div>{contents}'


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
