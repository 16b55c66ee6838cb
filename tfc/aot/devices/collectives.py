"""Collectives of programs that are compiled ahead of time: calls of one C function that is linked.

    y = f32[8] all-reduce(x), …  -->  d = s64[12] constant({0, 1, …})
                                      y = f32[8] custom-call(d, x), …="tfc_collective"

The constant describes the collective: kind, element type, reduction, bytes, groups (`_described`).
share/mpi/tfc_mpi.h defines the function over MPI; a program may bring another. replica-id and
partition-id are calls of it too. Does nothing to a module for one device.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from tfc.errors import UnsupportedError
from tfc.hlo import builder
from tfc.hlo.attributes.devices import device_counts
from tfc.hlo.attributes.replica_groups import device_groups, is_collective
from tfc.hlo.ir import Attributes, Instruction, Module, laid_out, map_computations, rebuild
from tfc.hlo.ops.outside.asynchronous import sync
from tfc.hlo.ops.outside.collectives import reducer_of
from tfc.hlo.shape import AnyShape, Shape, TupleShape

TARGET = "tfc_collective"
# The numbers that tfc_mpi.h knows them by: their places in these tuples.
KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute",
         "collective-broadcast", "replica-id", "partition-id")  # fmt: skip
ELEMENTS = ("", "f32", "f64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "pred")
REDUCTIONS = ("", "add", "multiply", "minimum", "maximum", "and", "or", "xor")


def linked(module: Module) -> Module:
    """The module with calls of the C function for its collectives.

    Raises:
        UnsupportedError: a collective is begun and ended apart, exchanges several arrays, or
            reduces elements or by a function that the C function does not know.
    """
    replicas, partitions = device_counts(module)
    if replicas * partitions == 1:
        return module

    def replace(x: Instruction) -> Instruction:
        if x.opcode in ("replica-id", "partition-id"):
            here = [KINDS.index(x.opcode), replicas, partitions]
            return _call(x.array_shape, np.array(here, np.int64))
        return _linked(x, replicas, partitions) if is_collective(x) else x

    return map_computations(module, lambda c: rebuild(c, replace))


def _linked(x: Instruction, replicas: int, partitions: int) -> Instruction:
    if x.opcode == "all-reduce-start":
        x = sync(x)  # its -done gives what it gives
    splits = x.opcode == "all-to-all" and "dimensions" not in x.attributes
    if x.opcode not in KINDS or splits:
        raise UnsupportedError(
            f"{x.opcode} {x.name} cannot be compiled ahead of time: begin and end it in one "
            "instruction, on one array"
        )
    groups = device_groups(x, replicas, partitions)
    results = x.shape.elements if isinstance(x.shape, TupleShape) else (x.shape,)
    calls = [
        laid_out(_call(_plain(result), _described(x, o.array_shape, groups), o), result)
        for o, result in zip(x.operands, results)
    ]
    return builder.instruction("tuple", calls) if isinstance(x.shape, TupleShape) else calls[0]


def _plain(shape: AnyShape) -> Shape:
    assert isinstance(shape, Shape)
    return Shape(shape.element_type, shape.dims)


def _call(shape: Shape, description: np.ndarray, *operands: Instruction) -> Instruction:
    attributes = Attributes(custom_call_target=TARGET, custom_call_has_side_effect=True)
    given = (builder.constant(description), *operands)
    return Instruction("custom-call", given, shape, attributes, TARGET)


def _described(x: Instruction, operand: Shape, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """[kind, element type, reduction, elements, bytes, runs, bytes of a run, groups, devices of
    each, the devices]: a part along the dimension is so many runs of bytes. Devices that are not
    there are -1; those of a collective-permute are pairs (source, target)."""
    kind, element = KINDS.index(x.opcode), str(operand.element_type)
    size = len(groups[0])
    dimension = x["dimensions"][0] if x.attributes.get("dimensions") else 0
    runs = prod(operand.dims[:dimension])
    parts = size if x.opcode in ("reduce-scatter", "all-to-all") else 1
    reduction = 0
    if "to_apply" in x.attributes:
        name = reducer_of(x)
        if name not in REDUCTIONS[1:] or element not in ELEMENTS:
            raise UnsupportedError(
                f"{x.opcode} {x.name} of {element} by {name or 'a function'} cannot be compiled "
                "ahead of time: convert to f32 before, and reduce by add, maximum or the like"
            )
        reduction = REDUCTIONS.index(name)
    if x.opcode == "collective-permute":
        groups = [(g[s], g[t]) for g in groups for s, t in x["source_target_pairs"]]
    widest = max(map(len, groups), default=0)
    devices = [d for g in groups for d in (*g, *[-1] * (widest - len(g)))]
    run = operand.byte_size // (runs * parts) if runs else 0
    number = ELEMENTS.index(element) if element in ELEMENTS else 0
    head = [kind, number, reduction, operand.size, operand.byte_size, runs, run]
    return np.array([*head, len(groups), widest, *devices], np.int64)
