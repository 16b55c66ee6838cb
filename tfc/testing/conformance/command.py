"""Building a pack from the command line: what is said meanwhile and at the end."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tfc.errors import TfcError
from tfc.testing.conformance.cases.units import all_units, chosen
from tfc.testing.conformance.packing import Forms, Packed, build_pack

_SHOWN = 8  # reasons why programs are left out


def build(
    folder: Path, architectures: Sequence[str], ptx: str, only: Sequence[str], scale: float,
    processes: int, every_ptx: bool,
) -> bool:  # fmt: skip
    """Build a pack and say what it has; whether the compiler took all that it should.

    Raises:
        TfcError: no unit has such a name, or a file cannot be written.
        UnsupportedError: there is no such architecture.
    """
    units = chosen(all_units(scale), only)
    if not units:
        names = ", ".join(sorted({u.name.partition("-")[0] for u in all_units(scale)}))
        raise TfcError(f"no unit of programs is named so: there are {names}")
    forms = Forms(tuple(architectures), ptx)
    if every_ptx:
        forms = Forms((), "", every_ptx=tuple(architectures))
    console, start, done = Console(stderr=True), time.monotonic(), 0
    with console.status("compiling") as status:

        def show(packed: Packed) -> None:
            nonlocal done
            done += 1
            status.update(f"{packed.programs} programs of {done} of {len(units)} units")

        packed = build_pack(folder, units, forms, processes, show)
    for defect in packed.defects:
        print(f"cannot be compiled: {defect}")
    for reason, count in packed.refused.most_common(_SHOWN):
        print(f"left out: {count} x {reason}")
    print(
        f"{folder}: {packed.programs} programs, {packed.size} bytes, "
        f"in {time.monotonic() - start:.0f} s"
    )
    return not packed.defects
