"""The command `tfc tune`."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import click

from tfc.aot.formats import read_module
from tfc.cli.options import backend_option, device_of, precision_option, seed_option, values_option
from tfc.console import Reading, arguments_for, reading_options

if TYPE_CHECKING:
    from tfc.tools.tuning import Tuning


@click.command()
@click.argument("file")
@backend_option
@values_option
@seed_option
@reading_options
@precision_option
@click.option(
    "--trials", default=12, show_default=True, type=click.IntRange(1),
    help="Alternatives to try of a kernel.",
)  # fmt: skip
@click.option("-n", "--runs", default=10, show_default=True, type=click.IntRange(1))
def tune(
    file: str,
    backend: str,
    texts: Sequence[str],
    seed: int,
    reading: Reading,
    trials: int,
    runs: int,
) -> None:
    """Measure schedules for the kernels of FILE on this machine, and keep the best in TFC_CACHE.

    Programs that are compiled later with that folder get them, unless TFC_TUNED=0. --seed is also
    of the alternatives that are tried where a kernel has more than --trials.
    """
    tuning = import_module("tfc.tools.tuning")
    module = read_module(file, reading)
    with device_of(backend) as device:
        if backend == "gpu":
            tuning.require_clock(device)
        settings = tuning.Settings(trials, runs, seed)
        found = tuning.tune(module, arguments_for(module, texts, seed), backend, settings=settings)
    click.echo("\n".join(_lines(found)))


def _lines(found: "Tuning") -> Sequence[str]:
    """What was found, kernel by kernel, in words."""
    lines = []
    for kernel in found.kernels:
        lines.append(f"{', '.join(kernel.names)}: {kernel.tried} of {kernel.alternatives} tried")
        lines.append(f"  model: {kernel.model}")
        same = kernel.best == kernel.model
        lines.append(f"  best:  {'the same' if same else kernel.best}, {kernel.gain:.2f} x as fast")
    if found.others:
        lines.append(f"without alternatives: {', '.join(found.others)}")
    return lines or ["no kernel takes any time"]
