"""Slices that need no code: parts of an array that lie together in memory, read where they are.

    c = f32[12,512,64] …                              c   arena [0, 1572864)
    s = f32[1,512,64] slice(c), slice={[3:4], …}      s   arena [393216, 524288), a view of c
    d = f32[1,1,512] dot(q, s), …

The array is then needed until its views have been read. So that this costs nothing, a slice is a
view only if the array is needed as long anyway, and nothing meanwhile has it as an operand that it
had better overwrite. It is read by kernels only, as the other places where a value may go (states
of loops, results) want memory of their own.
"""

from collections import defaultdict
from collections.abc import Mapping

from tfc.hlo.ir import Computation, Instruction
from tfc.passes.analysis.aliases import Leaf, before_bitcasts, is_alias, is_bitcast, resolve
from tfc.passes.analysis.in_place import overwritable

_READERS = frozenset({"fusion", "dot", "convolution"})
_CONTROL = frozenset({"while", "conditional", "call"})


def views_of(
    computation: Computation,
    unchanging: Mapping[Computation, frozenset[int]],
    alignment: int = 1,
) -> dict[Instruction, int]:
    """The views in a computation, and how many bytes after its operand's beginning each begins.

    Args:
        unchanging: for the bodies of whiles, the leaves of the state that they hand on.
        alignment: bytes of which each view begins at a multiple.
    """
    found: dict[Instruction, int] = {}
    slices = [i for i in computation.instructions if i.opcode == "slice"]
    if not slices:
        return found
    sources, uses = resolve(computation, unchanging), defaultdict[Leaf, list[Instruction]](list)
    place = {i: n for n, i in enumerate(computation.instructions)}
    for i in computation.instructions:
        for leaf in dict.fromkeys(leaf for o in i.operands for leaf in sources.of[o]):
            uses[leaf] += [] if is_alias(i) else [i]
    kept = set(sources.of[computation.root])

    def overwrites(user: Instruction, leaf: Leaf) -> bool:
        pairs = overwritable(user)
        return user.opcode in _CONTROL or any(
            leaf in sources.of[user.operands[n]] for n, _ in pairs
        )

    for each in slices:
        (leaf,), begin = sources.of[each.operands[0]], _begin(each)
        readers = _readers(each, computation)
        if (
            begin is None
            or begin % alignment
            or not readers
            or before_bitcasts(each.operands[0]) in found
        ):
            continue
        last = max(place[r] for r in readers)
        needed = leaf in kept or leaf[0].opcode == "parameter"
        needed |= any(place[user] >= last for user in uses[leaf])
        meanwhile = [u for u in uses[leaf] if place[each] < place[u] <= last]
        if needed and not any(overwrites(user, leaf) for user in meanwhile):
            found[each] = begin
    return found


def _begin(x: Instruction) -> int | None:
    """How many bytes of its operand come before a slice; None if it does not lie together in it."""
    shape, operand = x.array_shape, x.operands[0].array_shape
    plain = shape.layout == operand.layout and not shape.layout.padded_dimensions
    if not plain or not 0 < shape.size < operand.size:
        return None
    whole = True  # of the dimensions so far, from the fastest on
    for d in shape.layout.minor_to_major:
        *_, stride = x["slice"][d]
        if shape.dims[d] > 1 and (stride != 1 or not whole):
            return None
        whole &= shape.dims[d] == operand.dims[d]
    begin = sum(bounds[0] * step for bounds, step in zip(x["slice"], operand.strides))
    return begin * shape.element_type.bytes


def _readers(x: Instruction, computation: Computation) -> list[Instruction]:
    """The kernels that read a slice; none at all if anything else has it."""
    found, pending = [], [x]
    while pending:
        value = pending.pop()
        if value is computation.root:
            return []
        for user in computation.users[value]:
            if is_bitcast(user):
                pending.append(user)
            elif user.opcode in _READERS:
                found.append(user)
            else:
                return []
    return found
