"""Commands that look at tfc itself and at the machine, and test both."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tfc.cli.options import backend_option, output_option
from tfc.console import duration, write_text
from tfc.errors import UnsupportedError

# --- ops ----------------------------------------------------------------------------------------


@click.command()
@click.option("--markdown", is_flag=True, help="Print the reference of all operations instead.")
@output_option
def ops(markdown: bool, output: str | None) -> None:
    """Show what tfc has of each operation: text, evaluator, code, gradient, comparison with XLA."""
    catalogue = import_module("tfc.tools.catalogue")
    write_text(catalogue.reference_page() if markdown else catalogue.coverage(), output)


# --- fuzz ---------------------------------------------------------------------------------------


@click.command()
@click.option(
    "--source", default="hlo", show_default=True, type=click.Choice(["hlo", "mutants", "jax"])
)
@click.option("--seconds", default=60.0, show_default=True, callback=duration)
@click.option("--seed", default=0, show_default=True, help="Of the random programs.")
@click.option("--out-dir", default="tfc-fuzz", show_default=True, metavar="DIR")
@click.option("--ops", "opcodes", metavar="OP,OP,…", help="Only these operations (hlo).")
@click.option("--size", type=click.IntRange(1), help="Of a program, about (hlo, jax).")
@click.option("--corpus", type=click.Path(exists=True, file_okay=False),
              help="Folder of .hlo files to change (mutants); tests/files by default.")  # fmt: skip
@backend_option
def fuzz(
    source: str,
    seconds: float,
    seed: int,
    out_dir: str,
    opcodes: str | None,
    size: int | None,
    corpus: str | None,
    backend: str,
) -> None:
    """Compile random programs and compare them with a reference.

    Programs are HLO grown at random (hlo), HLO that is there, changed at random (mutants), or JAX
    programs as StableHLO (jax). One that goes wrong is made small and written to DIR. The exit code
    is 1 if there is one.
    """
    command = _drawing("tfc.testing.command")
    folder = None if corpus is None else Path(corpus)
    settings = command.Settings(
        source, seconds, seed, Path(out_dir), backend, opcodes, size, folder
    )
    if not command.run(settings):
        raise click.exceptions.Exit(1)


def _drawing(name: str) -> Any:
    """A module that draws programs at random.

    Raises:
        UnsupportedError: hypothesis is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise UnsupportedError(
            "random testing needs hypothesis, which is not installed: run `pip install hypothesis`"
        ) from error


# --- conformance --------------------------------------------------------------------------------


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option("--gpu-arch", default="sm_90a", show_default=True, metavar="sm_90a,…",
              help="The GPUs to have machine code for.")  # fmt: skip
@click.option("--ptx", default="sm_80", show_default=True, metavar="sm_80",
              help="The architecture of the PTX of some programs; '' for none.")  # fmt: skip
@click.option("--ptx-only", is_flag=True, help="PTX of all programs and no machine code.")
@click.option("--only", default="", metavar="NAME,…", help="Units with this in their names.")
@click.option("--scale", default=1.0, show_default=True, type=click.FloatRange(0, min_open=True),
              help="How many programs are drawn at random.")  # fmt: skip
@click.option("--processes", type=click.IntRange(1), help="One for each CPU when left out.")
def conformance(
    folder: str,
    gpu_arch: str,
    ptx: str,
    ptx_only: bool,
    only: str,
    scale: float,
    processes: int | None,
) -> None:
    """Write programs for GPUs to DIR, with what they should give: python DIR/run.py runs them.

    DIR is taken to a machine with a GPU, on which neither tfc nor a compiler need be.
    """
    command = _drawing("tfc.testing.conformance.command")
    split = [tuple(filter(None, (t.strip() for t in text.split(",")))) for text in (gpu_arch, only)]
    processes = processes or os.cpu_count() or 1
    if not command.build(Path(folder), split[0], ptx, split[1], scale, processes, ptx_only):
        raise click.exceptions.Exit(1)


# --- doctor and demo ----------------------------------------------------------------------------

_cxx_option = click.option(
    "--cxx", envvar="CXX", default="", metavar="PROGRAM", help="The C++ compiler to use first."
)


@click.command()
@_cxx_option
def doctor(cxx: str) -> None:
    """Show what this machine offers, and test that compiled code runs on it."""
    if not import_module("tfc.tools.doctor").examine(Console(), cxx):
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--out-dir", default="tfc-demo", show_default=True, metavar="DIR")
@click.option("--epochs", default=40, show_default=True, type=click.IntRange(1))
@_cxx_option
def demo(out_dir: str, epochs: int, cxx: str) -> None:
    """Train a classifier of handwritten digits, and compile it into a C++ program."""
    if not import_module("tfc.tools.demo").demonstrate(Path(out_dir), epochs, cxx, Console()):
        raise click.exceptions.Exit(1)


TOOLS = (ops, fuzz, conformance, doctor, demo)
