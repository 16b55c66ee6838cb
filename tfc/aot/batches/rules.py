"""Where the rows of a batch are in the result of an operation: a row of RULES each.

    y = f32[32,10] dot(x, w), rows of x along dimension 0    Plan(Rows(0, 1), {0: Rows(0, 1)})

A rule is asked about an instruction of which some operand has rows. It holds only if each row of
the result is made of the same row of the operands that have rows, of nothing in another row, and
of nothing that depends on which row it is. What has no such rule combines rows.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from tfc.hlo.attributes.window import WindowDimension
from tfc.hlo.ir import Instruction
from tfc.hlo.op import op_named
from tfc.hlo.ops.contraction import dot_dimensions, free_dimensions
from tfc.hlo.ops.indexed import gather_windows


@dataclass(frozen=True)
class Rows:
    """Which dimension the rows of a batch lie along, and how many of its entries are one row."""

    dimension: int
    count: int


@dataclass(frozen=True)
class Sizes:
    """How many rows a batch has in a program, and how many in the one that is made of it."""

    old: int
    new: int


@dataclass(frozen=True)
class Plan:
    """What an instruction is for a batch of another size.

    rows: where they are in each array of the result.
    operands: by number, where they must be in the operands that have or are to have them; others
        have none.
    attributes: those that are others.
    """

    rows: Rows
    operands: Mapping[int, Rows]
    attributes: Mapping[str, Hashable] = field(default_factory=dict)


class CombinesRows(Exception):
    """What an instruction computes of one row depends on others, as far as the rules can tell."""

    def __init__(self, instruction: Instruction):
        super().__init__(instruction)
        self.instruction = instruction


Rule = Callable[[Instruction, Sequence[Rows | None], Sizes], Plan | None]


def plan(x: Instruction, rows: Sequence[Rows | None], sizes: Sizes) -> Plan:
    """What an instruction is for a batch of another size.

    Args:
        rows: where they are in each operand; None where there are none.

    Raises:
        CombinesRows: no rule says it.
    """
    rule = _along_all if op_named(x.opcode).elementwise else RULES.get(x.opcode)
    found = rule(x, rows, sizes) if rule is not None else None
    if found is None or any(r is not None and n not in found.operands for n, r in enumerate(rows)):
        raise CombinesRows(x)
    return found


def _dims(x: Instruction, number: int) -> tuple[int, ...]:
    return x.operands[number].array_shape.dims


def _only(rows: Sequence[Rows | None]) -> Rows | None:
    """The place of the rows in all operands that have them; None if there are several."""
    found = {r for r in rows if r is not None}
    return found.pop() if len(found) == 1 else None


def _along_all(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    """All operands have the result's dimensions, but scalars that are used everywhere."""
    only = _only(rows)
    if only is None:
        return None
    rank = max(o.array_shape.rank for o in x.operands)
    numbers = [n for n, o in enumerate(x.operands) if o.array_shape.rank == rank]
    return Plan(only, dict.fromkeys(numbers, only))


def _unless(*names: str) -> Rule:
    """As elementwise, unless the rows lie along a dimension that attributes name."""

    def rule(x: Instruction, rows: Sequence[Rows | None], sizes: Sizes) -> Plan | None:
        found = _along_all(x, rows, sizes)
        taken = {d for name in names for d in x.attributes.get(name, ())}
        return None if found is None or found.rows.dimension in taken else found

    return rule


def _before_last(count: Callable[[Instruction], int]) -> Rule:
    """As elementwise, unless the rows lie along one of so many last dimensions."""

    def rule(x: Instruction, rows: Sequence[Rows | None], sizes: Sizes) -> Plan | None:
        found = _along_all(x, rows, sizes)
        first = x.operands[0].array_shape.rank - count(x)
        return None if found is None or found.rows.dimension >= first else found

    return rule


def _broadcast(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    (r,) = rows
    return r and Plan(Rows(x.attributes.get("dimensions", ())[r.dimension], r.count), {0: r})


def _transpose(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    (r,) = rows
    return r and Plan(Rows(x["dimensions"].index(r.dimension), r.count), {0: r})


def _reshape(x: Instruction, rows: Sequence[Rows | None], sizes: Sizes) -> Plan | None:
    """What lies before the rows must stay, and a row be whole steps of the new dimension."""
    (r,) = rows
    if r is None:
        return None
    before, dims = _dims(x, 0), x.array_shape.dims
    outer, row = prod(before[: r.dimension]), r.count * prod(before[r.dimension + 1 :])
    for dimension, size in enumerate(dims):
        step = prod(dims[dimension + 1 :])
        is_whole = step and row % step == 0 and size * step == sizes.old * row
        if is_whole and prod(dims[:dimension]) == outer:
            return Plan(Rows(dimension, row // step), {0: r})
    return None


def _bitcast_convert(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    (r,) = rows
    common = min(x.array_shape.rank, len(_dims(x, 0)))
    return Plan(r, {0: r}) if r is not None and r.dimension < common else None


def _slice(x: Instruction, rows: Sequence[Rows | None], sizes: Sizes) -> Plan | None:
    (r,) = rows
    if r is None or x["slice"][r.dimension] != (0, r.count * sizes.old, 1):
        return None
    taken = list(x["slice"])
    taken[r.dimension] = (0, r.count * sizes.new, 1)
    return Plan(r, {0: r}, {"slice": tuple(taken)})


def _pad(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    r = rows[0]
    is_whole = r is not None and x["padding"][r.dimension] == (0, 0, 0)
    return Plan(r, {0: r}) if r is not None and is_whole else None


def _reduce(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    only, count, taken = _only(rows), len(x.operands) // 2, x["dimensions"]
    if only is None or only.dimension in taken:
        return None
    dimension = only.dimension - sum(d < only.dimension for d in taken)
    return Plan(Rows(dimension, only.count), dict.fromkeys(range(count), only))


def _reduce_window(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    """Each window lies in one row."""
    only, count = _only(rows), len(x.operands) // 2
    if only is None or x["window"].dimensions[only.dimension] != WindowDimension(1):
        return None
    return Plan(only, dict.fromkeys(range(count), only))


def _dot(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    lhs_batch, lhs_summed, rhs_batch, rhs_summed = dot_dimensions(x.attributes)
    lhs, rhs = rows
    if lhs is not None and lhs.dimension in lhs_batch:
        place = lhs_batch.index(lhs.dimension)
        return Plan(Rows(place, lhs.count), {0: lhs, 1: Rows(rhs_batch[place], lhs.count)})
    if rhs is not None and rhs.dimension in rhs_batch:
        place = rhs_batch.index(rhs.dimension)
        return Plan(Rows(place, rhs.count), {0: Rows(lhs_batch[place], rhs.count), 1: rhs})
    free = (
        free_dimensions(len(_dims(x, 0)), lhs_batch, lhs_summed),
        free_dimensions(len(_dims(x, 1)), rhs_batch, rhs_summed),
    )
    only = _only(rows)
    if only is None or None not in rows or only.dimension in (lhs_summed, rhs_summed)[lhs is None]:
        return None
    number = 0 if lhs is not None else 1
    first = len(lhs_batch) + (len(free[0]) if number else 0)
    return Plan(Rows(first + free[number].index(only.dimension), only.count), {number: only})


def _convolution(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    labels, (r, weights) = x["dim_labels"], rows
    is_batch = r is not None and r.dimension == labels.lhs[0]
    if r is None or not is_batch or weights or x.attributes.get("batch_group_count", 1) != 1:
        return None
    return Plan(Rows(labels.out[0], r.count), {0: r})


def _normalization(x: Instruction, rows: Sequence[Rows | None], _: Sizes) -> Plan | None:
    r = rows[0]
    return None if r is None or r.dimension == x["feature_index"] else Plan(r, {0: r})


def _gather(x: Instruction, rows: Sequence[Rows | None], sizes: Sizes) -> Plan | None:
    """Rows of the indices alone; or of both, that run together; or whole rows of the operand."""
    windows, (operand, indices) = gather_windows(x), rows
    outer = [d for d in range(x.array_shape.rank) if d not in windows.window_dims]
    if indices is not None and indices.dimension in windows.batch_dims:
        place = Rows(outer[windows.batch_dims.index(indices.dimension)], indices.count)
        if indices.dimension in windows.indices_batch:
            number = windows.indices_batch.index(indices.dimension)
            together = Rows(windows.operand_batch[number], indices.count)
            return Plan(place, {0: together, 1: indices})
        return Plan(place, {1: indices}) if operand is None else None
    if operand is None or indices is not None or operand.dimension in windows.index_map:
        return None
    kept, taken = windows.kept(len(_dims(x, 0))), list(x["slice_sizes"])
    d = operand.dimension
    if d not in kept or taken[d] != operand.count * sizes.old:
        return None
    taken[d] = operand.count * sizes.new
    place = Rows(windows.window_dims[kept.index(d)], operand.count)
    return Plan(place, {0: operand}, {"slice_sizes": tuple(taken)})


def _dynamic_slice(x: Instruction, rows: Sequence[Rows | None], sizes: Sizes) -> Plan | None:
    r, taken = rows[0], list(x["dynamic_slice_sizes"])
    if r is None or taken[r.dimension] != r.count * sizes.old:
        return None
    taken[r.dimension] = r.count * sizes.new
    return Plan(r, {0: r}, {"dynamic_slice_sizes": tuple(taken)})


def _dynamic_update_slice(x: Instruction, rows: Sequence[Rows | None], sizes: Sizes) -> Plan | None:
    only = _only(rows[:2])
    if only is None or _dims(x, 1)[only.dimension] != only.count * sizes.old:
        return None
    return Plan(only, {0: only, 1: only})


RULES: dict[str, Rule] = {
    "copy": _along_all,
    "map": _along_all,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "reshape": _reshape,
    "bitcast-convert": _bitcast_convert,
    "slice": _slice,
    "pad": _pad,
    "reverse": _unless("dimensions"),
    "concatenate": _unless("dimensions"),
    "sort": _unless("dimensions"),
    "topk": _before_last(lambda x: 1),
    "cholesky": _before_last(lambda x: 2),
    "triangular-solve": _before_last(lambda x: 2),
    "fft": _before_last(lambda x: len(x["fft_length"])),
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "dot": _dot,
    "convolution": _convolution,
    "batch-norm-inference": _normalization,
    "gather": _gather,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
}
