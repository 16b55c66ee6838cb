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

`all_reduce` and `barrier` join processes outside of programs.
"""

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tfc.errors import KindError, TfcError, UnsupportedError
from tfc.frontend import tree
from tfc.options import JobOptions
from tfc.runtime import replicas
from tfc.runtime.collectives import Collective, Reduction
from tfc.tracebacks import api_boundary

__all__ = ["all_reduce", "barrier", "initialize", "process_count", "process_index"]


@api_boundary
def initialize(engine: str | None = None) -> None:
    """Join the processes that mpiexec, or a batch system in its place, started with this one.

    Must be called by all of them, before programs with collectives run. Does nothing where there
    is one process, or if it was called before.

    Args:
        engine: None for what the environment says: in processes that a launcher started, MPI, by
            which collectives of GPU programs go from GPU to GPU through NCCL, looked for when the
            first of them runs; "nccl", the same, but looked for at once; "mpi", with collectives of
            GPU programs through the memory of the hosts, which is slow; "threads", each process by
            itself.

    Raises:
        UnsupportedError: mpi4py or an MPI library is not there, or with "nccl" NCCL.
        TfcError: there is no such engine.
    """
    if engine not in (None, "mpi", "nccl", "threads"):
        raise TfcError(f"the engine must be 'mpi', 'nccl' or 'threads', got {engine!r}")
    options = JobOptions.from_environment()
    if engine == "threads" or (engine is None and not options.is_launched):
        replicas.join(None)
    elif replicas.world() is None:
        job = _mpi().Job(options.timeout, options.check_collectives)
        if engine != "mpi":
            nccl = import_module("tfc.runtime.engines.nccl.engine")
            job.join_gpus(partial(nccl.NcclEngine, now=engine == "nccl"))
        replicas.join(job)


def process_index() -> int:
    """The number of this process in its job; 0 where there is no job."""
    found = replicas.world()
    return 0 if found is None else found.rank


def process_count() -> int:
    """How many processes the job has; 1 where there is no job."""
    found = replicas.world()
    return 1 if found is None else found.size


_REDUCTIONS = {"add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum}


@api_boundary
def all_reduce(values: Any, reduction: str = "add") -> Any:
    """Combine arrays of all processes, element by element: each gets the same bits.

    Args:
        values: an array, or a nested structure of arrays; in every process of the same structure,
            shapes and dtypes. All of them are under way at the same time.
        reduction: "add", "multiply", "minimum" or "maximum".

    Returns:
        The same structure of NumPy arrays. Where there is no job, the values themselves.

    Raises:
        KindError: there is no such reduction.
    """
    if reduction not in _REDUCTIONS:
        raise KindError(f"the reduction must be one of {list(_REDUCTIONS)}, got {reduction!r}")
    leaves, structure = tree.flatten(values)
    given = [np.array(leaf, order="C", copy=None) for leaf in leaves]
    found, results = replicas.world(), [np.empty_like(a) for a in given]
    if found is None:
        return tree.unflatten(structure, given)
    # MPI and NumPy agree on what these are; see engines/mpi/plans.py for who computes which.
    how = Reduction(reduction, _REDUCTIONS[reduction])
    everyone = tuple(range(found.size))
    collective = Collective("all-reduce", "all_reduce", everyone, found.rank, reduction=how)
    waiting = [found.engine.begin(collective, [a], [r]) for a, r in zip(given, results)]
    for wait in waiting:
        wait()
    return tree.unflatten(structure, results)


@api_boundary
def barrier() -> None:
    """Wait until all processes of the job have come here."""
    found = replicas.world()
    if found is not None:
        found.engine.barrier("barrier", range(found.size), found.rank)


def _mpi() -> Any:
    try:
        return import_module("tfc.runtime.engines.mpi.engine")
    except (ImportError, RuntimeError) as error:
        raise UnsupportedError(
            f"a job of several processes needs mpi4py and an MPI library ({error}): "
            "pip install 'tfc[mpi]'"
        ) from None
