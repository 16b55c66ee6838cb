"""The speeds of the machine at hand, as a table: what programs of tfc reach on one core.

Products, functions and launches are timed in compiled programs, best of some runs; memory by the
probe of profiling. How many devices it is good for is what as many products as it has processors
take at once: of two that share a core, each has less.
An all-reduce among two devices gives latency and bandwidth: among threads of this process, or as
`tfc bench-collectives --json` found them in a job.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from tfc.compiler import compile as compile_module
from tfc.errors import TfcError
from tfc.hlo.text.parser import parse
from tfc.tools.profiling.probe import measure_peaks

_ROUNDS = 60
_SIDE, _ELEMENTS, _CHAIN = 512, 1 << 16, 64
_SMALL, _LARGE = 1 << 10, 1 << 20  # bytes of all-reduces


@dataclass(frozen=True)
class Reduced:
    """Seconds of an all-reduce of a small and of a large array among so many devices."""

    ranks: int
    sizes: tuple[int, int]
    seconds: tuple[float, float]

    def link(self) -> tuple[float, float]:
        """Latency and bandwidth with which a ring, 2(n-1) rounds of an n-th each, takes as long."""
        n, (small, large), (short, long) = self.ranks, self.sizes, self.seconds
        rounds = 2 * (n - 1)
        bandwidth = rounds * (large - small) / n / max(long - short, 1e-9)
        return max(short / rounds - small / n / bandwidth, 0.0), bandwidth


def measured_table(collectives: str | None = None) -> str:
    """The table as TOML; takes some seconds.

    Args:
        collectives: a file of `tfc bench-collectives --json`; threads are timed if left out.

    Raises:
        TfcError: the file has no all-reduces of two sizes.
    """
    peaks = measure_peaks()
    launch = _launch()
    products = {
        bits: 2 * _SIDE**3 / max(_seconds(_product_text(bits), bits) - launch, 1e-9)
        for bits in (32, 64)
    }
    functions = _ELEMENTS / max(_seconds(_function_text()) - launch, 1e-9)
    processors = _processors()
    reduced = _of_threads() if collectives is None else reduced_of_job(collectives)
    latency, bandwidth = reduced.link()
    levels = [
        f'[[device.memory]]\nname = "{level.name}"\n'
        + (f"capacity = {level.capacity:.4g}\n" if level.capacity < inf else "")
        + f"bandwidth = {level.bytes_per_second:.4g}\n"
        for level in peaks.levels
    ]
    how = "threads of one process" if collectives is None else f"a job of {reduced.ranks} processes"
    return "\n".join([
        f'name = "this machine, {os.cpu_count()} processors, {how}"',
        'source = "measured by tfc measure-speeds on one core; integers: half of floats"',
        f"processors = {processors:.3g}\n",
        "[device]", f"launch = {launch:.4g}", f"transcendentals = {functions:.4g}\n",
        *levels,
        "[device.matrix]", f"f32 = {products[32]:.4g}", f"f64 = {products[64]:.4g}\n",
        "[device.vector]", f"f32 = {peaks.flops[32]:.4g}", f"f64 = {peaks.flops[64]:.4g}",
        f"s32 = {peaks.flops[32] / 2:.4g}", f"s64 = {peaks.flops[64] / 2:.4g}\n",
        "[[links]]", 'name = "shared memory"', f"bandwidth = {bandwidth:.4g}",
        f"latency = {latency:.4g}\n",
        "[algorithms]", 'all-reduce = "ring"\n',
    ])  # fmt: skip


def _product_text(bits: int, side: int = _SIDE) -> str:
    shape = f"f{bits}[{side},{side}]"
    return (
        f"ENTRY e {{ a = {shape} parameter(0)\nb = {shape} parameter(1)\n"
        f"ROOT c = {shape} dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"
    )


def _function_text() -> str:
    return f"ENTRY e {{ a = f32[{_ELEMENTS}] parameter(0)\nROOT b = f32[{_ELEMENTS}] tanh(a) }}"


def _chain_text(length: int) -> str:
    lines = [
        f"x{k + 1} = f32[4,4] dot(x{k}, x{k}), lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={0}" for k in range(length)
    ]  # fmt: skip
    lines[-1] = f"ROOT {lines[-1]}"
    return "ENTRY e { x0 = f32[4,4] parameter(0)\n" + "\n".join(lines) + " }"


def _launch() -> float:
    """What each kernel of a program takes though it has next to nothing to do."""
    return max(_seconds(_chain_text(_CHAIN)) - _seconds(_chain_text(1)), 1e-9) / (_CHAIN - 1)


def _seconds(text: str, bits: int = 32) -> float:
    executable = compile_module(parse(text))
    generator = np.random.default_rng(0)
    given = [generator.random(s.dims).astype(f"f{bits // 8}") for s in executable.parameter_shapes]
    return _best(lambda: executable(*given))


def _best(call: Callable[[], Any]) -> float:
    call()
    found = []
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return min(found)


def _of_threads() -> Reduced:
    return Reduced(2, (_SMALL, _LARGE), (_reduced(_SMALL), _reduced(_LARGE)))


def _processors() -> float:
    """How many products of one core this machine computes at once."""
    count = os.cpu_count() or 1
    alone, together = _all_at_once(1), _all_at_once(count)
    return min(max(count * alone / together, 1.0), float(count))


def _all_at_once(count: int) -> float:
    """Seconds of as many products, each by a thread."""
    module = parse(f"HloModule m, replica_count={count}\n{_product_text(32, 2 * _SIDE)}")
    executable = compile_module(module)
    given = [np.ones(s.dims, np.float32) for s in executable.parameter_shapes]
    return _best(lambda: executable.run_replicas([given] * count))


def _reduced(size: int) -> float:
    """Seconds of one all-reduce among two threads: what a program takes for more of them."""
    few, many = 2, 66 if size <= _SMALL else 12
    shape = f"f32[{size // 4}]"

    def program(count: int) -> float:
        lines = [f"x{k + 1} = {shape} all-reduce(x{k}), to_apply=sum" for k in range(count)]
        executable = compile_module(parse(
            "HloModule m, replica_count=2\nsum { a = f32[] parameter(0)\nb = f32[] parameter(1)\n"
            f"ROOT c = f32[] add(a, b) }}\nENTRY e {{ x0 = {shape} parameter(0)\n"
            + "\n".join(lines) + f"\nROOT r = f32[1] slice(x{count}), slice={{[0:1]}} }}"
        ))  # fmt: skip
        given = np.zeros(size // 4, np.float32)
        return _best(lambda: executable.run_replicas([[given], [given]]))

    return max(program(many) - program(few), 1e-9) / (many - few)


def reduced_of_job(path: str) -> Reduced:
    """The all-reduces in a file of `tfc bench-collectives --json`.

    Raises:
        TfcError: there are none of two sizes.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        timings = sorted(
            (int(t["bytes"]), float(t["seconds"]))
            for t in found["timings"] if t["collective"] == "all-reduce"
        )  # fmt: skip
        ranks = int(found["ranks"])
    except (ValueError, KeyError, TypeError):
        raise TfcError(f"{path} is nothing that `tfc bench-collectives --json` wrote") from None
    if len({size for size, _ in timings}) < 2 or ranks < 2:
        raise TfcError(
            f"{path} has no all-reduces of two sizes: give bench-collectives --bytes twice"
        )
    (small, short), (large, long) = timings[0], timings[-1]
    return Reduced(ranks, (small, large), (short, long))
