"""The command that simulates programs for many devices."""

from collections.abc import Sequence
from importlib import import_module

import click

from tfc.aot.formats import read_module
from tfc.cli.options import output_option
from tfc.console import Command, Reading, reading_options, write_text
from tfc.errors import TfcError
from tfc.files import STANDARD_OUTPUT


@click.command(cls=Command)
@click.argument("file")
@click.option("--mesh", "mesh_text", required=True, metavar="NAME=N,NAME=N",
              help="The devices, such as data=8,model=4.")  # fmt: skip
@click.option("--speeds", required=True, metavar="NAME|FILE.toml",
              help="What devices and links do in a second: a100, h100, tpu_v4, or a file; "
              "`tfc measure-speeds` makes one for this machine.")  # fmt: skip
@click.option("--backend", default="cpu", show_default=True, metavar="cpu|gpu|none",
              help="Whose passes make kernels; none: each instruction is one.")  # fmt: skip
@click.option("--trips", multiple=True, metavar="N|LOOP=N",
              help="How often a loop runs of which that is not known.")  # fmt: skip
@click.option("--overlap", is_flag=True,
              help="Let every collective run until its result is first read.")  # fmt: skip
@click.option("--trace", metavar="FILE.json",
              help="Write the timeline, which Perfetto and chrome://tracing show.")  # fmt: skip
@click.option("--json", "figures", metavar="FILE.json", help="Write all figures.")
@reading_options
def simulate(
    file: str,
    mesh_text: str,
    speeds: str,
    backend: str,
    trips: Sequence[str],
    overlap: bool,
    trace: str | None,
    figures: str | None,
    reading: Reading,
) -> None:
    """Say how long FILE would run on many devices, what its links carry and what memory it needs.

    FILE is of any kind that tfc reads, for as many devices as the mesh has. A program over whole
    arrays with shardings is divided first. Nothing of it is run.
    """
    simulation = import_module("tfc.tools.simulation")
    mesh, table = simulation.parse_mesh(mesh_text), simulation.read_speeds(speeds)
    assumed = simulation.Assumptions(backend, dict(map(_trip, trips)), overlap)
    found = simulation.simulate(read_module(file, reading), mesh, table, assumed)
    click.echo(str(found), err=STANDARD_OUTPUT in (trace, figures))
    if trace:
        write_text(import_module("tfc.tools.simulation.traces").chrome_trace(found), trace)
    if figures:
        write_text(found.to_json(), figures)


def _trip(text: str) -> tuple[str, int]:
    """The loop and the count of `LOOP=N`; the loop is "" in `N`."""
    name, _, count = text.rpartition("=")
    if not (count.isascii() and count.isdigit() and len(count) <= 12):
        raise TfcError(f"--trips is written N or LOOP=N, got '{text}'")
    return name, int(count)


@click.command(cls=Command)
@click.option("--collectives", metavar="FILE.json",
              help="What `tfc bench-collectives --json` wrote; threads if left out.")  # fmt: skip
@output_option
def measure_speeds(collectives: str | None, output: str | None) -> None:
    """Measure what this machine does in a second, as a table for `tfc simulate --speeds`.

    A device is one core: set TFC_THREADS=1. What is measured is what programs of tfc reach.
    """
    measuring = import_module("tfc.tools.simulation.measuring")
    write_text(measuring.measured_table(collectives), output)
