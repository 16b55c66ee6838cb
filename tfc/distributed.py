"""Programs on several processes: `mpiexec -n 4 python train.py`.

    tfc.distributed.initialize()              # mpiexec's variables say which process this is
    exe = tfc.compile(module)                 # a module with num_partitions=4 (or replica_count)
    mine = exe(*arguments_of_this_rank)       # every process calls; collectives join them

A module for N devices (replica_count · num_partitions of its header) with collectives runs in two
ways, with the same values:

- in one process, by N threads: `exe.run_replicas([arguments of device 0, …])` gives a list of the
  results' leaves for each device;
- in a job of N processes that called `initialize`, by MPI: every process calls `exe(*arguments)`,
  or the jitted function that the module is made from, with the arguments of its own device and
  gets that device's results. Process r is device r: replica r // num_partitions, partition
  r % num_partitions, which replica-id and partition-id give.

A module for another number of devices than the job has processes runs in each process by itself.
All processes must run the same programs in the same order, from one thread.
"""

from importlib import import_module
from typing import Any

from tfc.errors import TfcError, UnsupportedError
from tfc.options import JobOptions
from tfc.runtime import replicas
from tfc.tracebacks import api_boundary

__all__ = ["initialize", "process_count", "process_index"]


@api_boundary
def initialize(engine: str | None = None) -> None:
    """Join the processes that mpiexec, or a batch system in its place, started with this one.

    Must be called by all of them, before programs with collectives run. Does nothing where there
    is one process, or if it was called before.

    Args:
        engine: "mpi", "threads" (each process is by itself), or None for what the environment
            says: MPI in processes that a launcher started.

    Raises:
        UnsupportedError: mpi4py or an MPI library is not there.
        TfcError: there is no such engine.
    """
    if engine not in (None, "mpi", "threads"):
        raise TfcError(f"the engine must be 'mpi' or 'threads', got {engine!r}")
    options = JobOptions.from_environment()
    if engine == "threads" or (engine is None and not options.is_launched):
        replicas.join(None)
    elif replicas.world() is None:
        replicas.join(_mpi().Job(options.check_collectives))


def process_index() -> int:
    """The number of this process in its job; 0 where there is no job."""
    found = replicas.world()
    return 0 if found is None else found.rank


def process_count() -> int:
    """How many processes the job has; 1 where there is no job."""
    found = replicas.world()
    return 1 if found is None else found.size


def _mpi() -> Any:
    try:
        return import_module("tfc.runtime.engines.mpi.engine")
    except (ImportError, RuntimeError) as error:
        raise UnsupportedError(
            f"a job of several processes needs mpi4py and an MPI library ({error}): "
            "pip install 'tfc[mpi]'"
        ) from None
