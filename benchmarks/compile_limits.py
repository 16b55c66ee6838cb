"""What compiling costs as programs of extreme shapes grow: seconds, memory and the exponent.

    python -m benchmarks.compile_limits                every program, at its size and twice that
    python -m benchmarks.compile_limits sines sort     some of them
    python -m benchmarks.compile_limits --jax          XLA's time beside ours

Each compilation runs in a process of its own, whose time and memory are limited. The growth is the
exponent of the processors' time at the two sizes: 1 where it grows as the program does, 2 where it
grows as the program's square.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.compile_programs import PROGRAMS

_SECONDS = 120
_BYTES = 8 << 30


def main(arguments: Sequence[str]) -> None:
    """Print a row for each program."""
    parser = argparse.ArgumentParser(description="What compiling extreme programs costs.")
    parser.add_argument("names", nargs="*", help="the programs, as `--list` names them")
    parser.add_argument("--list", action="store_true", help="name the programs")
    parser.add_argument("--jax", action="store_true", help="compile with XLA, too")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="the most for each")
    stated = parser.parse_args(arguments)
    if stated.list:
        print("\n".join(PROGRAMS))
        return
    heads = f"{'seconds':>9}{'cpu':>8}{'(parse)':>9}{'MiB':>7}{'growth':>8}  note"
    print(f"{'program':<24}{'size':>10}{heads}")
    for name in stated.names or PROGRAMS:
        size = PROGRAMS[name][1]
        for library in ("tfc", *(("jax",) if stated.jax else ())):
            small = _apart(library, name, size, stated.seconds)
            large = _apart(library, name, 2 * size, stated.seconds)
            _print_row(name if library == "tfc" else "  XLA", size, small, None)
            _print_row("", 2 * size, large, small)


def _print_row(name: str, size: int, found: dict, before: dict | None) -> None:
    """A measurement, with the growth since the one at half the size."""
    seconds, cpu, parse = (found.get(key, math.nan) for key in ("seconds", "cpu", "parse"))
    growth = math.nan
    if before is not None and "cpu" in before and "cpu" in found:
        growth = math.log2(found["cpu"] / before["cpu"])
    print(
        f"{name:<24}{size:>10}{seconds:>9.2f}{cpu:>8.2f}{parse:>9.2f}"
        f"{found.get('mib', 0):>7.0f}{growth:>8.2f}  {found.get('note', '')}",
        flush=True,
    )


def _apart(library: str, name: str, size: int, seconds: int) -> dict:
    """The measurement of a program in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.compile_limits", "--measure"]
    try:
        done = subprocess.run(
            [*command, library, name, str(size)],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"note": f"more than {seconds} s"}
    try:
        return json.loads(done.stdout.strip().split("\n")[-1])
    except json.JSONDecodeError:
        return {"note": f"ended with {done.returncode}: {' '.join(done.stderr.split())[-160:]}"}


def measure(library: str, name: str, size: int) -> dict:
    """Compile a program, and say how long that took and how much memory; or how it ended."""
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    compile_text = _compile_with_tfc if library == "tfc" else _compile_with_xla
    compile_text(
        "HloModule warm\nENTRY e { p = f32[8]{0} parameter(0) ROOT n = f32[8]{0} negate(p) }"
    )
    text = PROGRAMS[name][0](size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, used = time.perf_counter(), time.process_time()
    found: dict = {}
    try:
        found["parse"] = compile_text(text)
    except BaseException as error:
        found["note"] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    found["seconds"], found["cpu"] = time.perf_counter() - started, time.process_time() - used
    found["mib"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return found


def _compile_with_tfc(text: str) -> float:
    """The seconds of parsing."""
    from tfc.compiler import compile
    from tfc.hlo.text.parser import parse

    started = time.perf_counter()
    module = parse(text)
    parsed = time.perf_counter() - started
    compile(module)
    return parsed


def _compile_with_xla(text: str) -> float:
    """The seconds of parsing."""
    import jax
    from jax._src.lib import xla_client
    from jaxlib import _hlo

    started = time.perf_counter()
    module = _hlo.hlo_module_from_text(text)
    parsed = time.perf_counter() - started
    computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    program = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    client = jax.devices("cpu")[0].client
    client.compile_and_load(program, xla_client.DeviceList(tuple(client.local_devices()[:1])))
    return parsed


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    else:
        main(sys.argv[1:])
