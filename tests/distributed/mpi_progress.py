"""Run by mpiexec on several hosts: what is begun ends while its process does something else.

Prints "rank R: 2 programs agree" where results were there before anybody waited for them.
"""

import time

import numpy as np

import tfc
from tfc.runtime import replicas
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
print(f"rank {RANK}: 2 programs agree\n", end="", flush=True)
