"""A process that runs programs of a pack one after the other, each asked for by a line of JSON."""

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tfc.aot.gpu.loader.bundles import BundleError
from tfc.aot.gpu.loader.drivers import Driver, DriverError, open_driver
from tfc.aot.gpu.loader.programs import Program
from tfc.testing.conformance.runner.checking import check_result, first_difference, units_off
from tfc.testing.conformance.runner.packs import Pack, PackError, PackGroup

_RUNS = ("the first run", "the second run", "the run as a graph")
_POISONS = (0xFF, 0x5A, 0xA5)  # bytes that memory holds before each run: NaN, and numbers
ENDED_BY_ERROR = 3  # the exit code after an error of the driver that stays


def work(folder: Path, device: int, poison: bool) -> int:
    """Answer lines until there are no more; the exit code."""
    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever else is printed is no answer
    try:
        pack, driver = Pack(folder), open_driver(device)
    except (PackError, DriverError) as error:
        print(json.dumps({"refused": str(error)}), file=say)
        return 2
    print(json.dumps({"ready": list(driver.capability)}), file=say)
    groups: dict[int, PackGroup] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        program = pack.programs[asked["program"]]
        try:
            if program["group"] not in groups:
                groups.clear()
                groups[program["group"]] = pack.group(program["group"])
            row = run_program(groups[program["group"]], program, asked["variant"], driver, poison)
        except (PackError, BundleError, DriverError, ValueError, TypeError, MemoryError) as error:
            row = {
                "outcome": "failed", "why": f"{type(error).__name__}: {error}",
                "ended": isinstance(error, DriverError) and _is_lost(driver),
            }  # fmt: skip
        print(json.dumps(row), file=say)
        if row.get("ended"):
            say.flush()
            os._exit(ENDED_BY_ERROR)  # nothing of the context can be given back
    return 0


def _is_lost(driver: Driver) -> bool:
    """Whether nothing can be run any more: an error of a kernel stays with its context."""
    try:
        driver.free(driver.allocate(1))
        driver.wait(None)
    except DriverError:
        return True
    return False


def run_program(
    group: PackGroup, about: dict, variant: str, driver: Driver, poison: bool = True
) -> "dict[str, Any]":
    """Run a program three times, once of them as a graph, and say what came of it."""
    start = time.perf_counter()
    program = Program(group.bundle(about, variant), driver)
    driver.wait(None)
    loaded = time.perf_counter()
    arrays = group.arguments(about)
    runs = []
    try:
        for number, byte in enumerate(_POISONS):
            if poison:
                program.fill(byte)
            if number == 0:
                found = program(*arrays)
            else:  # the second time that it is run so, it is recorded
                program.put(*arrays)
                program.run()
                found = program.results()
            several = found if isinstance(found, list) else [found]
            runs.append([np.ascontiguousarray(r).tobytes() for r in several])
    except DriverError:
        with contextlib.suppress(DriverError):  # what came first is what is told
            program.close()
        raise
    program.close()
    row: dict[str, Any] = {"outcome": "passed", "architecture": program.architecture}
    row["load"], row["run"] = round(loaded - start, 5), round(time.perf_counter() - loaded, 5)
    found_wrong = [check_result(group, about, n, raw) for n, raw in enumerate(runs[0])]
    wrong = [w for w in found_wrong if w is not None]
    differs = first_difference(runs, lambda n: f"{_RUNS[n]} differs from {_RUNS[0]}")
    if differs:
        row["outcome"], row["why"] = "unsteady", differs
    if wrong:
        row["outcome"], row["wrong"] = "wrong", wrong
    if about.get("measured"):
        row["units"] = [
            units_off(group, about, n, raw, variant.partition(".")[0])
            for n, raw in enumerate(runs[0])
        ]
    return row
