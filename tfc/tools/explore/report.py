"""explore: compile a module, run it on random arguments, and make the page of it."""

from dataclasses import replace

import numpy as np

from tfc.backends.interfaces import MemoryAnalysis
from tfc.backends.registry import get_backend
from tfc.compiler import compile as compile_module
from tfc.hlo.ir import Module
from tfc.hlo.text.fill import random_array
from tfc.options import Options
from tfc.passes import PipelineReport
from tfc.tools.explore.code import kernel_code
from tfc.tools.explore.kernels import instruction_lines, kernel_views
from tfc.tools.explore.page import Page
from tfc.tools.explore.roofline import Roofline
from tfc.tools.pictures.svg import bytes_text, quantity
from tfc.tools.profiling import Profile, profile
from tfc.tools.profiling.figures import COUNTED


def explore(
    module: Module, runs: int = 10, options: Options | None = None, backend: str = "cpu"
) -> str:
    """The page of a module, compiled and measured on random arguments: HTML.

    Raises:
        UnsupportedError: the backend cannot compile the module or time its kernels, or it is for
            several devices.
    """
    chosen = options or Options.from_environment()
    executable = compile_module(module, backend, chosen)
    report = PipelineReport()
    # Once more, to see the passes at work: what they make is the same.
    watched = replace(chosen, time=True, verify=False, dump_dir="")
    get_backend(backend).compiler.optimize(module, watched, report)
    generator = np.random.default_rng(0)
    arguments = [random_array(s, generator) for s in executable.parameter_shapes]
    measured = profile(executable, *arguments, runs=runs)
    views = kernel_views(measured.kernels)
    codes = kernel_code(executable, [v.function for v in views if v.function])
    memory = executable.memory_analysis()
    points = [v.point(measured) for v in views]
    chart = None if measured.is_counted else Roofline(points, measured.peaks)
    page = Page(module.name)
    page.overview(_facts(measured, memory, len(views)), measured, chart)
    page.passes(module, report)
    page.kernels(views, codes, instruction_lines(executable.hlo), measured, chart)
    page.memory(memory.to_svg(standalone=False), _sizes(memory))
    return page.html()


def _facts(measured: Profile, memory: MemoryAnalysis, functions: int) -> list[tuple[str, str]]:
    operations = sum(k.operations for k in measured.kernels)
    moved = sum(k.bytes for k in measured.kernels)
    seconds = max(measured.seconds, 1e-12)
    if measured.is_counted:
        counts = [k.figures.counts for k in measured.kernels if k.figures is not None]
        return [
            ("kernels", f"{sum(k.runs for k in measured.kernels)} runs of {functions}"),
            *((name, quantity(sum(c.get(name, 0) for c in counts))) for name in COUNTED),
            ("operations", quantity(operations)),
            ("bytes moved", bytes_text(moved)),
            ("peak memory", bytes_text(memory.peak)),
        ]
    return [
        ("one run", f"{measured.seconds * 1e3:.3f} ms"),
        ("in kernels", f"{measured.kernel_seconds / seconds:.0%}"),
        ("kernels", f"{sum(k.runs for k in measured.kernels)} runs of {functions}"),
        ("operations", quantity(operations)),
        ("FLOP/s", quantity(operations / seconds)),
        ("bytes moved", bytes_text(moved)),
        ("peak memory", bytes_text(memory.peak)),
    ]


def _sizes(memory: MemoryAnalysis) -> list[tuple[str, str]]:
    bound = memory.lower_bound
    return [
        ("arguments", bytes_text(memory.argument_bytes)),
        ("results", bytes_text(memory.result_bytes)),
        ("temporaries", bytes_text(memory.temporary_bytes)),
        ("constants", bytes_text(memory.constant_bytes)),
        ("of the live-set bound", f"{memory.temporary_bytes / bound:.3g} ×" if bound else "—"),
    ]
