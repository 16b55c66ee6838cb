"""The command `tfc`: run, optimise, show, compile and measure tensor programs. Tools are apart."""

import sys
import time
from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from importlib import import_module
from inspect import getdoc

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tfc import __version__, aot
from tfc.aot.batches.options import batch_options
from tfc.aot.batches.programs import Asked
from tfc.aot.bindings.languages import bindings_option
from tfc.aot.export import module_in, with_stored_weights
from tfc.aot.formats import read_module, read_program
from tfc.aot.gpu.options import GpuAsked, gpu_options
from tfc.aot.load import load, load_sized
from tfc.backends.registry import get_backend
from tfc.backends.target import Target
from tfc.cli.jobs import bench_collectives, join_for, reports
from tfc.cli.options import (
    backend_option,
    device_of,
    output_option,
    precision_option,
    seed_option,
    target_option,
    values_option,
)
from tfc.cli.simulate import measure_speeds, simulate
from tfc.cli.tools import TOOLS
from tfc.cli.tune import tune
from tfc.compiler import compile as compile_module
from tfc.compiler import emit_text
from tfc.console import (
    Commands,
    Reading,
    arguments_for,
    build_folders,
    reading_options,
    run_command,
    write_text,
)
from tfc.files import STANDARD_OUTPUT
from tfc.importers.inspection import inspection
from tfc.options import Options
from tfc.passes import PASSES, Pipeline, PipelineReport, parse_passes
from tfc.quantization.weights import Storage
from tfc.tools.profiling import profile as measure

_STAGES = ("hlo", "stablehlo", "optimized", "mlir", "llvm", "asm", "ptx", "sass")

_EXAMPLES = """\b
Examples:
  tfc run examples/softmax.hlo --time 100
  tfc opt examples/softmax.hlo --passes simplify,fusion
  tfc profile examples/softmax.hlo --trace softmax.json
  tfc run model.onnx --shape image=1,3,224,224
  tfc explore examples/transformer.py:layer -o report.html
  tfc emit examples/softmax.hlo --stage ptx --backend gpu
  tfc compile examples/softmax.hlo --cpp-class demo::Softmax --out-dir build
  tfc doctor
"""


@click.group(cls=Commands, epilog=_EXAMPLES, context_settings={"max_content_width": 100})
@click.version_option(__version__, message="tfc %(version)s")
@build_folders
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def tfc(debug: bool) -> None:
    """A compiler for tensor programs: just in time, or ahead of time to C++."""


def main() -> None:
    """The entry point of the command `tfc`."""
    run_command(tfc, "tfc")


def _target(text: str | None) -> Target | None:
    return Target.parse(text) if text else None


# --- run ----------------------------------------------------------------------------------------


@tfc.command()
@click.argument("file")
@backend_option
@values_option
@seed_option
@reading_options
@precision_option
@click.option(
    "--time", "calls", type=click.IntRange(1), metavar="N", help="Time N calls after the first."
)
def run(
    file: str,
    backend: str,
    texts: Sequence[str],
    seed: int,
    reading: Reading,
    calls: int | None,
) -> None:
    """Run FILE of any kind that tfc reads ("-" is the standard input), and print its results.

    Of results with many elements the range and the mean are printed, and how long it all took.
    A module for N devices runs on N threads, or on the processes that `mpiexec -n N` started.
    """
    module = read_module(file, reading)
    arguments_for(module, texts, seed)  # what is wrong with them is said before all else
    join_for(module)
    start = time.perf_counter()
    executable = compile_module(module, backend)
    compiled = time.perf_counter() - start
    for line in reports(executable, texts, seed, compiled, calls):
        click.echo(line)


# --- profile ------------------------------------------------------------------------------------


@tfc.command()
@click.argument("file")
@backend_option
@values_option
@seed_option
@reading_options
@precision_option
@click.option("-n", "--runs", default=10, show_default=True, type=click.IntRange(1))
@click.option(
    "--trace", metavar="FILE.json", help="Write a trace that Perfetto and chrome://tracing show."
)
def profile(
    file: str,
    backend: str,
    texts: Sequence[str],
    seed: int,
    reading: Reading,
    runs: int,
    trace: str | None,
) -> None:
    """Run FILE with a clock around each kernel, and print where the time goes.

    With --backend gpu times are the GPU's; where there is none, an interpreter counts instead.
    """
    module = read_module(file, reading)
    arguments = arguments_for(module, texts, seed)
    with device_of(backend):
        found = measure(compile_module(module, backend), *arguments, runs=runs)
    # What the trace goes to has nothing else in it.
    to_stderr = trace == STANDARD_OUTPUT
    stream = sys.stderr if to_stderr else sys.stdout
    # A table in a file or a pipe is as wide as it needs to be.
    console = Console(stderr=to_stderr, width=None if stream.isatty() else 140)
    table = Table(box=None, header_style="bold")
    for number, column in enumerate(found.columns):
        table.add_column(column, justify="left" if number < 2 else "right", no_wrap=number > 0)
    for row in found.rows():
        table.add_row(*map(escape, row))
    console.print(table)
    click.echo(found.summary(), err=to_stderr)
    if trace:
        found.save(trace)


# --- opt ----------------------------------------------------------------------------------------


@tfc.command()
@click.argument("file", required=False)
@click.option(
    "--passes",
    metavar="PASS,PASS{OPTION=N},…",
    help="The passes to run, in order; those of the backend when left out.",
)
@backend_option
@reading_options
@precision_option
@output_option
@click.option("--print-after-all", is_flag=True, help="Print the module after each change.")
@click.option("--print-before-all", is_flag=True, help="Print the module before each change.")
@click.option("--stats", is_flag=True, help="Say what each pass did, and how long it took.")
@click.option("--dump-dir", default="", metavar="DIR", help="Write the module after each change.")
@click.option(
    "--dump-as",
    metavar="text,dot,html",
    help="What to write there: text that every command reads, Graphviz text, pages with a graph; "
    "text when left out.",
)
@click.option("--list", "listed", is_flag=True, help="List the passes instead.")
def opt(
    file: str | None,
    passes: str | None,
    backend: str,
    reading: Reading,
    output: str | None,
    print_after_all: bool,
    print_before_all: bool,
    stats: bool,
    dump_dir: str,
    dump_as: str | None,
    listed: bool,
) -> None:
    """Run HLO passes over FILE ("-" is the standard input) and print the module."""
    if listed:
        Console().print(_pass_table())
        return
    if file is None:
        raise click.UsageError("missing argument 'FILE'")
    module = read_module(file, reading)
    optimize = get_backend(backend).compiler.optimize
    if passes is not None:
        optimize = Pipeline("chosen", parse_passes(passes)).run
    options = replace(Options.from_environment(), time=stats)
    if dump_dir:
        options = replace(options, dump_dir=dump_dir)
    if dump_as is not None:
        options = replace(options, dump_as=tuple(form.strip() for form in dump_as.split(",")))
    report = PipelineReport()
    try:
        result = optimize(module, options, report)
    finally:
        # When a pass fails, too: that is when one wants to see what led there.
        _print_steps(report, print_before_all, print_after_all)
    write_text(str(result), output)
    if stats:
        click.echo(str(report), err=True)


def _print_steps(report: PipelineReport, before: bool, after: bool) -> None:
    """Print the modules that passes were given, or made of them, where they differ."""
    for number, step in enumerate(report.steps, 1):
        if step.changed and before:
            click.echo(f"// before {number:02}.{step.name}\n{step.source}", err=True)
        if step.changed and after:
            click.echo(f"// after {number:02}.{step.name}\n{step.result}", err=True)


def _pass_table() -> Table:
    """The passes, the options they take with their defaults, and what they do."""
    table = Table("pass", "options", "what it does", box=None)
    for name, kind in PASSES.items():
        stated = [f for f in fields(kind) if f.default is not MISSING] if is_dataclass(kind) else []
        options = [f"{f.name}={f.default}" for f in stated]
        table.add_row(name, ", ".join(options), (getdoc(kind) or "").partition("\n")[0])
    return table


# --- emit ---------------------------------------------------------------------------------------


_shapes_option = click.option(
    "--arg",
    "shapes",
    multiple=True,
    metavar="SHAPE",
    help="The shape of the function's next argument, such as f32[2,3].",
)


@tfc.command()
@click.argument("program")
@click.option("--stage", type=click.Choice(_STAGES), required=True)
@backend_option
@target_option
@_shapes_option
@reading_options
@precision_option
@output_option
def emit(
    program: str,
    stage: str,
    backend: str,
    target: str | None,
    shapes: Sequence[str],
    reading: Reading,
    output: str | None,
) -> None:
    """Print PROGRAM at a stage of its compilation, for this machine or another.

    PROGRAM is a file of any kind that tfc reads, "-", or a function written module:function.
    """
    module = load(program, shapes, reading)
    options = Options.from_environment()
    write_text(emit_text(module, stage, backend, options, _target(target)), output)


# --- explore ------------------------------------------------------------------------------------


@tfc.command()
@click.argument("program")
@backend_option
@_shapes_option
@reading_options
@precision_option
@click.option("-n", "--runs", default=10, show_default=True, type=click.IntRange(1))
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    metavar="FILE.html",
    help="Where to write the page.",
)
def explore(
    program: str, backend: str, shapes: Sequence[str], reading: Reading, runs: int, output: str
) -> None:
    """Write a page that shows what each pass does to PROGRAM, and its kernels: code and speed.

    PROGRAM is a file of any kind that tfc reads, "-", or a function written module:function
    or file.py:function. It runs on random arguments; with --backend gpu where there is no GPU, an
    interpreter counts what kernels do instead of timing them.
    """
    module = load(program, shapes, reading)
    with device_of(backend):
        page = import_module("tfc.tools.explore").explore(module, runs, backend=backend)
    write_text(page, output)


# --- compile ------------------------------------------------------------------------------------


@tfc.command("compile")
@click.argument("program")
@click.option("--cpp-class", metavar="NS::NAME", help="The C++ class to generate.")
@click.option("--out-dir", default=".", show_default=True, metavar="DIR")
@gpu_options
@click.option(
    "--target",
    metavar="TRIPLE[,CPU[,FEATURES]]|native",
    help="The machine to make code for, such as aarch64-linux-gnu; of this kind when left out.",
)
@click.option("--cpu", metavar="NAME,…", default="", help="Its processors, as tfcompile has them.")
@batch_options
@bindings_option
@_shapes_option
@reading_options
@precision_option
@click.option(
    "--quantize-weights",
    type=click.Choice(["int8", "f16"]),
    help="Store weights of products in so few bits, and say what that changes.",
)
def compile_command(
    program: str,
    cpp_class: str | None,
    out_dir: str,
    gpu: GpuAsked | None,
    target: str | None,
    cpu: str,
    asked: Asked | None,
    bindings: Sequence[str],
    shapes: Sequence[str],
    reading: Reading,
    quantize_weights: Storage | None,
) -> None:
    """Compile PROGRAM, a file of any kind that tfc reads, "-" or module:function, for C++.

    With --backend gpu the code is for NVIDIA GPUs: a bundle NAME.gpu and its loader NAME_gpu.py.
    """
    found = load_sized(program, shapes, asked, reading)
    if quantize_weights is not None:
        found, changed = with_stored_weights(found, quantize_weights)
        click.echo(changed)
    if gpu is not None:
        if target or cpu or bindings or asked:
            raise click.UsageError("--target, --cpu, --bindings and sizes of batch are for CPUs")
        click.echo(gpu.write(module_in(found), cpp_class))
        return
    if cpp_class is None:
        raise click.UsageError("missing option '--cpp-class', the C++ class to generate")
    made = aot.compile(
        found, cpp_class=cpp_class, out_dir=out_dir, target=target, cpus=cpu, bindings=bindings
    )
    machine = f"{made.target.triple}, {' or '.join(made.signature.cpus)}"
    click.echo(f"{made.header}\n{made.object} ({made.object_size} bytes, for {machine})")


# --- inspect ------------------------------------------------------------------------------------


@tfc.command()
@click.argument("file")
@reading_options
@output_option
def inspect(file: str, reading: Reading, output: str | None) -> None:
    """Show what FILE has: inputs, outputs, operators (which are unsupported), parameters, FLOPs."""
    write_text(inspection(read_program(file, reading), file), output)


for _tool in (tune, simulate, measure_speeds, *TOOLS, bench_collectives):
    tfc.add_command(_tool)
