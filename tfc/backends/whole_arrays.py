"""Running a partitioned program on whole arrays: cut into parts, run by each device, joined.

    y = executable(x)     x ─cut─► a part for each partition ─run─► parts of y ─join─► y

Partitions are threads; in a job of as many processes (tfc.distributed), each process runs its own,
and all of them get y.

The entry's parameters and root state by their shardings what parts they are, as the pass `spmd`
leaves them. The last parts of a dimension whose size does not divide are filled up with zeros.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from tfc.backends.interfaces import Executable, MemoryAnalysis
from tfc.hlo.attributes.sharding import Sharding, sharding_of
from tfc.hlo.ir import Instruction, Module
from tfc.hlo.shape import leaves
from tfc.runtime.collectives import Collective
from tfc.runtime.replicas import World, job_of
from tfc.tracebacks import api_boundary


class WholeArrays(Executable):
    """A program for several partitions as a function of whole arrays."""

    def __init__(self, module: Module, partitioned: Module, executable: Executable):
        """Run `executable`, compiled of `partitioned`, as `module` says.

        Args:
            module: over whole arrays.
            partitioned: what the pass `spmd` made of it.
        """
        super().__init__(module, executable.hlo)
        self.parts = executable
        self._given = [s for p in partitioned.entry.parameters for s in stated_shardings(p)]
        self._made = list(
            zip(stated_shardings(partitioned.entry.root), leaves(module.entry.root.shape))
        )

    @api_boundary
    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        """Run on whole arrays, each partition in a thread or in a process of its own.

        Raises:
            ShapeError: the arguments do not fit the parameters.
        """
        arrays = [np.asarray(a) for a in arguments]
        self.check_arguments(arrays)
        job = job_of(*self.device_counts)
        if job is not None:
            return self._in_job(job, arrays)
        given = [
            [cut(a, s, device) for a, s in zip(arrays, self._given)]
            for device in range(self.device_counts[1])
        ]
        made = [[np.asarray(p) for p in parts] for parts in self.parts.run_replicas(given)]
        return [
            joined([parts[n] for parts in made], sharding, shape.dims)
            for n, (sharding, shape) in enumerate(self._made)
        ]

    def _in_job(self, job: World, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The whole results, of which this process computes its part."""
        given = [cut(a, s, job.rank) for a, s in zip(arrays, self._given)]
        made = [np.asarray(part) for part in self.parts(*given)]
        everyone, waiting, results = tuple(range(job.size)), [], []
        meeting = Collective("all-gather", "parts of results", everyone, job.rank, dimension=0)
        for part in made:
            results.append(np.empty((job.size, *part.shape), part.dtype))
            waiting.append(job.engine.begin(meeting, [part[None]], [results[-1]]))
        for wait in waiting:
            wait()
        return [joined(list(p), s, shape.dims) for p, (s, shape) in zip(results, self._made)]

    @property
    def stages(self) -> tuple[str, ...]:
        """Those of the program of each partition."""
        return self.parts.stages

    def _text(self, stage: str) -> str:
        return self.parts.as_text(stage)

    def memory_analysis(self) -> MemoryAnalysis:
        """What each partition takes."""
        return self.parts.memory_analysis()


def stated_shardings(x: Instruction) -> list[Sharding]:
    """The sharding of each array of an instruction's value."""
    stated = sharding_of(x)
    assert stated is not None, "spmd states what parts the entry takes and gives"
    return list(stated) if isinstance(stated, tuple) else [stated]


def _place(dims: Sequence[int], sharding: Sharding, device: int) -> tuple[slice, ...]:
    """Where a device's part is, of an array with parts of these dims."""
    return tuple(
        slice(k * n, (k + 1) * n) for k, n in zip(sharding.place(device), dims, strict=True)
    )


def cut(
    array: np.ndarray, sharding: Sharding, device: int, filler: np.ndarray | None = None
) -> np.ndarray:
    """A device's part of an array, filled up where sizes do not divide.

    Args:
        filler: a scalar; zero if None.
    """
    if prod(sharding.tiles) == 1:
        return array
    dims = [-(-n // t) for n, t in zip(array.shape, sharding.tiles, strict=True)]
    found = array[_place(dims, sharding, device)]
    if found.shape == tuple(dims):
        return np.ascontiguousarray(found)
    part = np.zeros(dims, array.dtype) if filler is None else np.full(dims, filler, array.dtype)
    part[tuple(map(slice, found.shape))] = found
    return part


def joined(parts: Sequence[np.ndarray], sharding: Sharding, dims: Sequence[int]) -> np.ndarray:
    """The array of these dims of which each device has a part."""
    if prod(sharding.tiles) == 1:
        return parts[0]
    whole = np.empty(dims, parts[0].dtype)
    for device in sharding.devices[:: sharding.copies]:
        place = whole[_place(parts[0].shape, sharding, device)]
        place[...] = parts[device][tuple(map(slice, place.shape))]
    return whole
