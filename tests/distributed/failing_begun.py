"""Run by mpiexec: rank 1 is killed when all have begun a collective, before it waits for it."""

import os
import signal

import numpy as np

import tfc
from tfc.runtime import replicas
from tfc.runtime.collectives import Collective, Reduction

tfc.distributed.initialize()
world = replicas.world()
assert world is not None
x, result = np.ones(1 << 20, np.float32), np.empty(1 << 20, np.float32)
total = Collective("all-reduce", "total", (0, 1), world.rank, reduction=Reduction("add", np.add))
finish = world.engine.begin(total, [x], [result])
if world.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
finish()
