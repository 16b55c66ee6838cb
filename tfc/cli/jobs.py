"""Programs for several devices on the command line: threads, or processes of mpiexec's."""

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from math import prod
from typing import Any

import click
import numpy as np

from tfc import distributed
from tfc.console import Command, arguments_for, report, show, write_text
from tfc.errors import TfcError
from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.ir import Module
from tfc.runtime import replicas


def join_for(module: Module) -> None:
    """Join the job that this process is in, if the module is for several devices.

    Raises:
        TfcError: the job has another number of processes.
    """
    devices = prod(device_counts(module))
    if devices == 1:
        return
    distributed.initialize()
    if distributed.process_count() not in (1, devices):
        raise TfcError(
            f"{module.name} runs on {devices} devices, and mpiexec started "
            f"{distributed.process_count()} processes: start {devices}, or none by mpiexec"
        )


def reports(
    executable: Any, texts: Sequence[str], seed: int, compiled: float, calls: int | None
) -> Iterator[str]:
    """What `console.report` says of each device, in their order, in the first process.

    Args:
        seed: device d draws the arguments that are not given from seed + d.
    """
    module, found = executable.source, replicas.world()
    devices = prod(executable.device_counts)
    if found is not None and found.size == devices > 1:
        own = arguments_for(module, texts, seed + found.rank)
        everybody = found.gather(list(report(executable, own, compiled, calls)))
        for rank, lines in enumerate(everybody or ()):
            yield from _titled(f"rank {rank}", lines)
    elif devices > 1:
        given = [arguments_for(module, texts, seed + d) for d in range(devices)]
        for device, results in enumerate(executable.run_replicas(given)):
            yield from _titled(f"device {device}", _shown(results, executable))
    else:
        yield from report(executable, arguments_for(module, texts, seed), compiled, calls)


def _shown(results: Sequence[np.ndarray], executable: Any) -> list[str]:
    pairs = zip(results, executable.result_shapes)
    return [show(number, *pair) for number, pair in enumerate(pairs)]


def _titled(title: str, texts: Sequence[str]) -> Iterator[str]:
    """Every line of the texts, after a title."""
    return (f"{title}: {line}" for text in texts for line in text.splitlines())


@click.command(cls=Command)
@click.option("--bytes", "sizes", multiple=True, type=click.IntRange(4), metavar="N",
              default=[1 << 10, 1 << 16, 1 << 26], show_default=True,
              help="The size of an array in each process; may be given several times.")  # fmt: skip
@click.option("--json", "figures", metavar="FILE.json", help="Write the figures as well.")
def bench_collectives(sizes: Sequence[int], figures: str | None) -> None:
    """Time collectives in a job beside mpi4py's own calls: mpiexec -n 4 tfc bench-collectives."""
    benchmark = import_module("tfc.tools.collectives.benchmark")
    found = benchmark.timings(list(sizes))
    timings = []
    for timing in found:
        if distributed.process_index():
            continue
        if not timings:
            click.echo(f"{'collective':20} {'bytes':>9} {'mpi4py µs':>11} {'tfc µs':>11}  ratio")
        timings.append(timing)
        click.echo(
            f"{timing.kind:20} {timing.size:9} {timing.own:11.2f} {timing.program:11.2f} "
            f"{timing.ratio:6.2f}"
        )
    if figures and timings:
        named = [{"collective": t.kind, "bytes": t.size, "seconds": t.program / 1e6,
                  "mpi4py_seconds": t.own / 1e6} for t in timings]  # fmt: skip
        write_text(json.dumps({"ranks": distributed.process_count(), "timings": named}), figures)
