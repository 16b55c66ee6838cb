"""Sorts of which only the first few elements are read: these are selected by a topk.

    s = (f32[n], s64[n]) sort(x, iota), by x     t = (f32[k], s32[k]) topk(x), k=k, largest=false
    i = get-tuple-element(s), index=1        --> p = s32[k] get-tuple-element(t), index=1
    a = slice(i), slice={[0:k]}                  a = s64[k] convert(p)

What is sorted along with the key is gathered at its positions. A topk orders floats by all bits;
where the comparator takes -0 for 0 and one NaN for another, so does the key that is selected by.
Rows must be long enough for a kernel that selects (`sort_keys.selects_few`), and lie along the last
dimension. A sort of which anything else is read stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, map_computations, remake
from tfc.hlo.shape import Shape, leaves
from tfc.passes.analysis.sort_keys import SortKey, selects_few, sort_keys
from tfc.passes.expand.split_operands import taken


@dataclass(frozen=True)
class Selections:
    """Select the elements of sorts of which only the first few are read."""

    name: ClassVar[str] = "selections"

    def __call__(self, module: Module) -> Module:
        """The module in which no more is sorted than is read."""
        return map_computations(module, _select)


@dataclass(frozen=True)
class _Selected:
    """A sort by one of its operands, and what is read of it.

    key, place: by what it sorts, and the number of that operand.
    slices: what is read -> the number of the operand that it is of.
    """

    sort: Instruction
    key: SortKey
    place: int
    slices: Mapping[Instruction, int]

    def made(self, new: Mapping[Instruction, Instruction]) -> dict[Instruction, Instruction]:
        """What takes the place of each slice."""
        operands = [new[o] for o in self.sort.operands]
        key = operands[self.place]
        topk = self.topk(key)
        values, positions = (
            builder.instruction("get-tuple-element", [topk], index=n) for n in range(2)
        )
        found = {}
        for x, number in self.slices.items():
            if number == self.place and self.key.total:
                whole = values
            elif _counts_rows(self.sort.operands[number]):
                whole = builder.convert(positions, operands[number].array_shape.element_type)
            else:
                whole = taken(operands[number], positions, key.array_shape.rank - 1)
            same = whole.shape == x.shape
            found[x] = whole if same else builder.instruction("slice", [whole], slice=x["slice"])
        return found

    def topk(self, key: Instruction) -> Instruction:
        """The topk of as many elements as are read."""
        most = max(x["slice"][-1][1] for x in self.slices)
        by = key if self.key.total else _canonical(key)
        return builder.instruction("topk", [by], k=most, largest=self.key.descending)


def _select(computation: Computation) -> Computation:
    found = [s for x in computation.instructions if (s := _selected(computation, x))]
    if not found:
        return computation
    of = {x: s for s in found for x in s.slices}
    new: dict[Instruction, Instruction] = {}
    for old in computation.instructions:
        if old not in new:
            if old in of:
                new |= of[old].made(new)
            else:
                new[old] = old.renewed(new)
    return remake(computation, new)


def _selected(computation: Computation, x: Instruction) -> _Selected | None:
    """A sort that can be a topk."""
    if x.opcode != "sort" or x is computation.root:
        return None
    keys, slices = sort_keys(x["to_apply"]), _slices(computation, x)
    if len(keys) != 1 or not slices or not _is_plain(x, slices):
        return None
    parameters = x["to_apply"].parameters
    if keys[0].value not in parameters:
        return None
    selected = _Selected(x, keys[0], parameters.index(keys[0].value) // 2, slices)
    key = x.operands[selected.place]
    return selected if selects_few(selected.topk(key)) else None


def _is_plain(x: Instruction, slices: Mapping[Instruction, int]) -> bool:
    """Whether rows lie along the last dimension, and nobody asks for a layout."""
    dims = x.operands[0].array_shape.dims
    shapes = [*leaves(x.shape), *(s.shape for s in slices), *(o.shape for o in x.operands)]
    plain = all(isinstance(s, Shape) and s.has_default_layout for s in shapes)
    return plain and x["dimensions"] == (len(dims) - 1,) and dims[-1] < 1 << 31


def _slices(computation: Computation, x: Instruction) -> dict[Instruction, int]:
    """The slices of first elements of its results, if all that is read of a sort is such."""
    users = computation.users
    arrays = {x: 0}
    if not isinstance(x.shape, Shape):
        if any(u.opcode != "get-tuple-element" for u in users[x]):
            return {}
        arrays = {u: u["index"] for u in users[x]}
    if computation.root in arrays:
        return {}
    found = {u: number for array, number in arrays.items() for u in users[array]}
    return found if all(_is_first(u) for u in found) else {}


def _is_first(x: Instruction) -> bool:
    """Whether it is a slice of the first elements of rows."""
    if x.opcode != "slice":
        return False
    start, limit, step = x["slice"][-1]
    return start == 0 and step == 1 and limit > 0


def _counts_rows(x: Instruction) -> bool:
    """Whether its elements are their positions in rows."""
    if x.opcode != "iota" or not x.array_shape.element_type.is_integer:
        return False
    return x["iota_dimension"] == x.array_shape.rank - 1


def _canonical(x: Instruction) -> Instruction:
    """A float with one zero and one NaN, as comparisons know them."""
    shape = x.array_shape
    zero, nan = (builder.full(v, shape) for v in (0, float("nan")))
    number = builder.instruction("select", [builder.compare("EQ", x, zero), zero, x])
    return builder.instruction("select", [builder.compare("NE", x, x), nan, number])
