"""Operations of many operands in parts, so that no kernel goes over more arrays than a few dozen.

    c = concatenate(a0, … a99)     -->  p = concatenate(a0, … a31); … s = concatenate(a96, … a99)
                                        c = concatenate(p, q, r, s)

    s = sort(k, a1, … a99)         -->  t = sort(k, iota); i = get-tuple-element(t), index=1
      by the first of them              s = tuple(get-tuple-element(t), gather(a1, i), …)

LLVM takes the square of how many arrays a kernel has, and a sort moves each of them at every step.
What a comparator does not look at is therefore put in order afterwards, an array at a time, all by
the same code. Sorts of few such arrays stay, and those that were given a layout.
"""

from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, map_computations, rebuild
from tfc.hlo.shape import S32, S64, ElementType, Shape, leaves
from tfc.passes.rewriting.replacing import MOST_PARTS, made

_MOST_CARRIED = 8  # arrays that a sort moves without looking at them


@dataclass(frozen=True)
class SplitOperands:
    """Do in parts what has many operands."""

    name: ClassVar[str] = "split-operands"

    def __call__(self, module: Module) -> Module:
        """The module whose concatenates and sorts have few operands."""
        return map_computations(module, lambda c: rebuild(c, _split))


def _split(x: Instruction) -> Instruction:
    if x.opcode == "concatenate":
        return _concatenated(x)
    return _sorted(x) if x.opcode == "sort" else x


def _concatenated(x: Instruction) -> Instruction:
    """A concatenate as a tree of some."""
    parts = list(x.operands)
    if len(parts) <= MOST_PARTS or not x.array_shape.has_default_layout:
        return x
    while len(parts) > MOST_PARTS:
        groups = [parts[n : n + MOST_PARTS] for n in range(0, len(parts), MOST_PARTS)]
        parts = [
            builder.instruction("concatenate", group, dimensions=x["dimensions"])
            if len(group) > 1
            else group[0]
            for group in groups
        ]
    return made(x, "concatenate", parts, dimensions=x["dimensions"])


def _sorted(x: Instruction) -> Instruction:
    """A sort of what its comparator looks at, and gathers of the rest."""
    comparator, users = x["to_apply"], x["to_apply"].users
    looked = [
        bool(users[left] or users[right])
        for left, right in zip(comparator.parameters[::2], comparator.parameters[1::2])
    ]
    plain = all(s.has_default_layout for s in leaves(x.shape) if isinstance(s, Shape))
    if looked.count(False) <= _MOST_CARRIED or not plain:
        return x
    (dimension,), dims = x["dimensions"], x.operands[0].array_shape.dims
    index_type = S32 if dims[dimension] < 1 << 31 else S64
    keys = [o for o, wanted in zip(x.operands, looked) if wanted]
    sort = builder.instruction(
        "sort", [*keys, builder.iota(Shape(index_type, dims), dimension)],
        dimensions=(dimension,), is_stable=True, to_apply=_of_some(comparator, looked, index_type),
    )  # fmt: skip
    parts = [
        builder.instruction("get-tuple-element", [sort], index=n) for n in range(len(keys) + 1)
    ]
    sorted_keys, places = iter(parts[:-1]), parts[-1]
    results = [
        next(sorted_keys) if wanted else taken(o, places, dimension)
        for o, wanted in zip(x.operands, looked)
    ]
    return builder.instruction("tuple", results)


def _of_some(comparator: Computation, looked: list[bool], index_type: ElementType) -> Computation:
    """The comparator without the pairs that it does not look at, and with one more pair."""
    kept = [p for n, p in enumerate(comparator.parameters) if looked[n // 2]]
    parameters = [p.with_(attributes=p.attributes.with_(number=n)) for n, p in enumerate(kept)]
    new = dict(zip(kept, parameters))
    for old in comparator.instructions:
        if old.opcode != "parameter":
            new[old] = old.renewed(new)
    places = [builder.parameter(len(kept) + n, Shape(index_type)) for n in range(2)]
    return Computation.make(comparator.name, [*parameters, *places], new[comparator.root])


def taken(array: Instruction, places: Instruction, dimension: int) -> Instruction:
    """The elements of an array at places along a dimension, line by line."""
    rank = array.array_shape.rank
    others = tuple(d for d in range(rank) if d != dimension)
    return builder.instruction(
        "gather", [array, places], offset_dims=(), collapsed_slice_dims=(dimension,),
        start_index_map=(dimension,), operand_batching_dims=others,
        start_indices_batching_dims=others, index_vector_dim=rank, slice_sizes=(1,) * rank,
    )  # fmt: skip
