"""Run by mpiexec: a job of which one rank does what the argument says, while others go on summing.

Arguments: the fault, and the rank; 1 if left out. "elsewhere": no rank fails, and all go on for
long.
"""

import os
import signal
import sys
import time

import numpy as np

import tfc

SUM = """HloModule {name}, num_partitions={size}
sum {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }}
ENTRY e {{ p = f32[4] parameter(0)
  ROOT total = f32[4] {operation} }}"""
EVERYBODY = "all-reduce(p), channel_id=1, to_apply=sum"
RING = "collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,0}}"


def program(operation: str, name: str = "summing"):
    """A compiled module of one collective."""
    size = tfc.distributed.process_count()
    text = SUM.format(name=name, size=size, operation=operation)
    return tfc.compile(tfc.hlo.parse(text))


class SlowStream:
    """The standard error of a machine with much else to do."""

    def write(self, text: str) -> int:
        """Take longer, by a second for each line, than others wait."""
        for line in text.splitlines(keepends=True):
            time.sleep(1.0)
            os.write(2, line.encode())
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back."""

    def fileno(self) -> int:
        """The file of the system."""
        return 2


def main(fault: str, faulty: str = "1") -> None:
    """Sum three times, then let a rank fail, then go on."""
    tfc.distributed.initialize()
    is_faulty = tfc.distributed.process_index() == int(faulty)
    total, x = program(EVERYBODY), np.ones(4, np.float32)
    for _ in range(3):
        assert total(x)[0][0] == tfc.distributed.process_count()
    if is_faulty and fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if is_faulty and fault == "raised":
        raise KeyError("no such thing")
    if is_faulty and fault == "slowly said":
        sys.stderr = SlowStream()
        raise KeyError("no such thing")
    if is_faulty and fault == "stalled":
        time.sleep(1000)
    if is_faulty and fault == "ended":
        sys.exit(0)
    if is_faulty and fault == "program":
        total = program(EVERYBODY, "another")
    if not is_faulty and fault == "program":
        total = program(EVERYBODY, "one")
    if fault == "order":
        first, second = program(EVERYBODY, "first"), program(RING, "second")
        first(x), second(x)
        for run in (second, first) if is_faulty else (first, second):
            run(x)
    print("began to wait", time.time(), flush=True)
    for _ in range(100 if fault != "elsewhere" else 10_000_000):
        total(x)
    print("went on")


main(*sys.argv[1:])
