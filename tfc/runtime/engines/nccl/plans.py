"""What NCCL is asked for each collective on arrays that lie in a GPU's memory, dense and row-major.

    all-reduce, reduce-scatter   the call of that name
    all-gather                   AllGather of bytes
    all-to-all                   Send and Recv with each of the group, as one
    collective-permute           Send and Recv, as one
    collective-broadcast         Broadcast of bytes from the first

A dimension that is gathered, scattered or split is the outermost of more than one element: passes
see to that (passes/expand/dense_collectives.py). Data that is only moved goes as bytes.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from tfc.errors import UnsupportedError
from tfc.runtime.arrays import ArraySpec
from tfc.runtime.collectives import Collective
from tfc.runtime.engines.nccl.reductions import BYTE, native

Call = tuple[str, tuple[Any, ...]]


def calls(
    collective: Collective,
    communicator: Any,
    stream: int,
    given: Sequence[int],
    results: Sequence[int],
    specs: Sequence[ArraySpec],
) -> list[Call]:
    """The calls, by name and arguments, that together are the collective.

    Args:
        given, results: addresses. specs: what lies at those of `given`.

    Raises:
        UnsupportedError: NCCL does not reduce so, or along such a dimension.
    """
    end = (communicator, stream)
    sizes = [prod(s.dims) * s.dtype.itemsize for s in specs]
    filled = [(g, r, s, n) for g, r, s, n in zip(given, results, specs, sizes) if n]
    at = collective.dimension
    if at is not None and any(prod(s.dims[:at]) > 1 for _, _, s, _ in filled):
        raise UnsupportedError(
            f"{collective.name or collective.what} goes along dimension {at}, which is not the "
            "outermost: do not disable the pass dense-collectives"
        )
    match collective.kind:
        case "all-reduce" | "reduce-scatter":
            name = collective.kind.replace("-", "_")
            share = 1 if collective.kind == "all-reduce" else len(collective.group)
            return [
                (name, (g, r, prod(s.dims) * k.parts // share, k.datatype, k.operation, *end))
                for g, r, s, _ in filled
                for k in [_reduction(collective, s)]
            ]
        case "all-gather":
            return [("all_gather", (g, r, n, BYTE, *end)) for g, r, _, n in filled]
        case "all-to-all":
            return _exchanged(collective, given, results, sizes, end)
        case "collective-permute":
            return [c for g, r, _, n in filled for c in _permuted(collective, g, r, n, end)]
        case _:
            return [("broadcast", (g, r, n, BYTE, 0, *end)) for g, r, _, n in filled]


def _reduction(collective: Collective, spec: ArraySpec) -> Any:
    name = collective.reduction.name if collective.reduction is not None else ""
    found = native(name, spec.dtype)
    if found is None:
        raise UnsupportedError(
            f"NCCL does not reduce {spec.dtype.name} by {name or 'a function'} in "
            f"{collective.name or collective.what}: let its groups be of one size, of a module "
            "with replicas or with partitions, and do not disable the pass dense-collectives"
        )
    return found


def _exchanged(
    collective: Collective,
    given: Sequence[int],
    results: Sequence[int],
    sizes: Sequence[int],
    end: tuple[Any, int],
) -> list[Call]:
    """A part to, and one from, each of the group."""
    count = len(collective.group)
    if collective.dimension is None:
        parts = list(zip(given, results, sizes))
    else:
        size = sizes[0] // count
        parts = [(given[0] + k * size, results[0] + k * size, size) for k in range(count)]
    moved = [(k, *part) for k, part in enumerate(parts) if part[2]]
    sent = [("send", (g, n, BYTE, k, *end)) for k, g, _, n in moved]
    return sent + [("recv", (r, n, BYTE, k, *end)) for k, _, r, n in moved]


def _permuted(
    collective: Collective, given: int, result: int, size: int, end: tuple[Any, int]
) -> list[Call]:
    targets = [t for s, t in collective.pairs if s == collective.own]
    sent: list[Call] = [("send", (given, size, BYTE, t, *end)) for t in targets]
    source = collective.source
    return sent if source is None else [*sent, ("recv", (result, size, BYTE, source, *end))]
