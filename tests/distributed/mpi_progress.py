"""Run by mpiexec on several hosts: what is begun ends while its process does something else.

Argument: a folder that all see, for what is said without MPI.

Prints "rank R: 3 programs agree" where results were there before anybody waited for them, and a
message was taken while the process that sent it did something else.
"""

import sys
import time
from pathlib import Path

import numpy as np

import tfc
from tfc.runtime import replicas
from tfc.runtime.arrays import ArraySpec
from tfc.runtime.collectives import Collective, Reduction

SECONDS = 60.0  # in which it must end; without progress it never does

tfc.distributed.initialize()
WORLD = replicas.world()
assert WORLD is not None
assert WORLD.engine.overlaps
GROUP, RANK = tuple(range(WORLD.size)), WORLD.rank
GIVEN = np.arange(1 << 19, dtype=np.float32) + RANK  # 2 MB: more than what sockets take at once
TOTAL = sum(np.arange(1 << 19, dtype=np.float32) + r for r in GROUP)
RING = tuple((r, (r + 1) % WORLD.size) for r in GROUP)
BEFORE = np.arange(1 << 19, dtype=np.float32) + (RANK - 1) % WORLD.size
for collective, expected in (
    (Collective("all-reduce", "total", GROUP, RANK, reduction=Reduction("add", np.add)), TOTAL),
    (Collective("collective-permute", "shift", GROUP, RANK, pairs=RING), BEFORE),
):
    result = np.full_like(GIVEN, -1)
    wait = WORLD.engine.begin(collective, [GIVEN], [result])
    events, until = ["begun"], time.monotonic() + SECONDS
    while time.monotonic() < until and not np.array_equal(result, expected):
        events.append("worked")
    events.append("there" if np.array_equal(result, expected) else "not there")
    wait()
    assert (events[0], events[-1]) == ("begun", "there"), collective.what
    assert np.array_equal(result, expected)
LAST, MESSAGE = WORLD.size - 1, np.arange(1 << 23, dtype=np.float32)
messages, taken = WORLD.engine.messages, Path(sys.argv[1]) / "taken"
assert messages is not None
if RANK == 0:
    messages.send("message", 5, MESSAGE, LAST)
    until = time.monotonic() + SECONDS
    while not taken.exists():  # and MPI is not called
        assert time.monotonic() < until, "the message does not go"
if RANK == LAST:
    got = messages.receive("message", 5, ArraySpec(MESSAGE.dtype, MESSAGE.shape), 0)()
    assert np.array_equal(got, MESSAGE)
    taken.touch()
print(f"rank {RANK}: 3 programs agree\n", end="", flush=True)
