"""Sinking: reshapes, transposes and converts move along elementwise operations to where they meet.

    r = f32[8,1] reshape(f32[8] a)            m = f32[8] multiply(a, halves)
    m = f32[8,1] multiply(r, halves)   -->    ROOT s = f32[8] ...   (with the two reshapes gone)
    ROOT s = f32[8] reshape(m)

A reshape or transpose sinks below an elementwise operation, towards the users, if every other
operand is moved in the same way or can be for nothing (a repeated scalar, a broadcast, an iota, a
small constant), and no more of them are left than before. It rises above one if that leaves fewer.
A convert to a wider type sinks below movement, so that less is moved; below one to a narrower type
the movement sinks. A slice rises above a dot, reduction or transpose, which then computes less.

Nothing is done where what would move has other users, since then both would stay.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, has_side_effect, map_computations, remake
from tfc.hlo.op import OPS
from tfc.hlo.ops.contraction import dot_dimensions, free_dimensions
from tfc.hlo.shape import ElementType, Shape
from tfc.hlo.traits import Category
from tfc.passes.rewriting.decisions import Decisions, Taken
from tfc.passes.rewriting.replacing import made
from tfc.passes.simplify.elementwise import widens
from tfc.passes.simplify.movement import chain_of, shorter_chain, shortest_chain
from tfc.passes.simplify.movement_chains import FREE

_MOVERS = ("reshape", "transpose")
_MOST_MOVED = 1 << 12  # elements of a constant that is moved when compiling
_LEAST_CUT = 4  # how much smaller a slice of a dot is, to be worth copying parts of its operands

Single = Callable[[Instruction], bool]  # whether the instruction at hand is the only user
Move = Callable[[Instruction, Single], Instruction | None]


@dataclass(frozen=True)
class Sinking:
    """Move reshapes, transposes, converts and slices to where there are fewer or smaller ones."""

    name: ClassVar[str] = "sinking"

    def __call__(self, module: Module) -> Module:
        """The module in which nothing more moves."""
        return map_computations(module, lambda c: _move(c, Counter()))

    def explain(self, module: Module) -> Decisions:
        """How often each move is made."""
        counts: Counter[str] = Counter()
        map_computations(module, lambda c: _move(c, counts))
        return tuple(Taken(name, count=n) for name, n in counts.most_common())


def _move(computation: Computation, counts: Counter[str]) -> Computation:
    new: dict[Instruction, Instruction] = {}
    uses: dict[Instruction, int] = {}
    differs = False

    def single(x: Instruction) -> bool:
        return uses.get(x) == 1

    for old in computation.instructions:
        now = old.renewed(new) if differs else old
        sunk: list[Instruction] = []
        while isinstance(now.shape, Shape) and now.shape.has_default_layout:
            now = _merged(now)
            moved = _once(now, single, counts)
            if moved is None:
                break
            if moved.opcode not in _MOVERS or moved.operands[0] in uses:
                now = moved
                break
            # It sank below `now`, and what it was applied to before may sink, too.
            sunk.append(moved)
            now = moved.operands[0]
        for mover in reversed(sunk):
            uses[now] = 1
            now = _merged(mover.with_(operands=(now,)))
        new[old] = now
        uses[now] = uses.get(now, 0) + len(computation.users[old]) + (old is computation.root)
        differs = differs or now is not old
    return remake(computation, new) if differs else computation


def _once(x: Instruction, single: Single, counts: Counter[str]) -> Instruction | None:
    """The instruction after the first move that it can make; None if there is none."""
    for move in MOVES:
        moved = move(x, single)
        if moved is not None and moved.shape == x.shape:
            counts[move.__name__] += 1
            return moved
    return None


def _merged(x: Instruction) -> Instruction:
    """Movements that met, as few as they can be."""
    while x.opcode in _MOVERS:
        merged = shorter_chain(x)
        if merged is None or merged.shape != x.shape:
            break
        x = merged
    return x


def _type(x: Instruction) -> ElementType:
    return x.array_shape.element_type


def _is_elementwise(x: Instruction) -> bool:
    """True for an operation element by element that is not part of the movement itself."""
    if not OPS[x.opcode].elementwise or not x.operands or x.opcode == "bitcast-convert":
        return False
    dims = x.array_shape.dims
    return not has_side_effect(x) and all(
        isinstance(o.shape, Shape) and o.shape.dims in ((), dims) and o.shape.has_default_layout
        for o in x.operands
    )


def _is_like(a: Instruction, b: Instruction) -> bool:
    """True if two instructions move their operands, which have the same dimensions, alike."""
    return (
        a.opcode == b.opcode
        and a.operands[0].array_shape.dims == b.operands[0].array_shape.dims
        and a.attributes == b.attributes
    )


def _moved(x: Instruction, mover: Instruction) -> Instruction:
    """An array moved as `mover` moves its operand."""
    if mover.opcode == "reshape":
        return builder.reshape(x, mover.array_shape.dims)
    return builder.instruction("transpose", [x], dimensions=mover["dimensions"])


def _unmoved(x: Instruction, mover: Instruction) -> Instruction:
    """An array moved back: what `mover` makes `x` of."""
    if mover.opcode == "reshape":
        return builder.reshape(x, mover.operands[0].array_shape.dims)
    order = mover["dimensions"]
    back = tuple(order.index(d) for d in range(len(order)))
    return builder.instruction("transpose", [x], dimensions=back)


def _freely(x: Instruction) -> Instruction | None:
    """A reshape or transpose as something that costs nothing, or None."""
    if x.opcode not in _MOVERS:
        return x
    operand = x.operands[0]
    if operand.opcode == "constant" and operand.array_shape.size <= _MOST_MOVED:
        return x  # folded when compiling
    shorter = shortest_chain(x)
    if shorter is None or not FREE.issuperset(s.opcode for s in shorter[0]):
        return None
    free = chain_of(x, *shorter)
    costs = shorter[0] and free.opcode == "reshape" and free.operands[0].array_shape.rank
    return None if costs else free


def sink_movement(x: Instruction, single: Single) -> Instruction | None:
    """multiply(reshape(a), broadcast(s)) --> reshape(multiply(a, broadcast(s)))"""
    mover = next((o for o in x.operands if o.opcode in _MOVERS), None)
    if mover is None or not mover.array_shape.rank or not _is_elementwise(x):
        return None
    if x.opcode == "convert" and widens(_type(mover), _type(x)):
        return None  # less is moved before
    operands, fewer = [], 0
    for operand in x.operands:
        if not operand.array_shape.rank:
            operands.append(operand)
        elif operand.opcode == mover.opcode and _is_like(operand, mover):
            fewer += single(operand)
            operands.append(operand.operands[0])
        else:
            free = _freely(_unmoved(operand, mover))
            if free is None:
                return None
            operands.append(free)
    if not fewer or not all(o.array_shape.has_default_layout for o in operands):
        return None
    inner = x.with_(
        operands=tuple(operands), shape=Shape(_type(x), mover.operands[0].array_shape.dims)
    )
    return _moved(inner, mover)


def raise_movement(x: Instruction, single: Single) -> Instruction | None:
    """transpose(add(transpose(a), b)) --> add(a, transpose(b)), if the two transposes cancel"""
    if x.opcode not in _MOVERS or not single(x.operands[0]) or not _is_elementwise(x.operands[0]):
        return None
    inner = x.operands[0]
    if not inner.array_shape.rank:
        return None  # operands of rank 0 are then no scalars beside arrays
    if inner.opcode == "convert" and widens(_type(inner.operands[0]), _type(inner)):
        return None
    operands, more, fewer = [], 0, 1
    for operand in inner.operands:
        if not operand.array_shape.rank:
            operands.append(operand)
            continue
        moved = _moved(operand, x)
        free = _freely(moved)
        # A reshape of a scalar is no movement, so that none is saved by it.
        is_moved = operand.opcode in _MOVERS and bool(operand.operands[0].array_shape.rank)
        fewer += free is not None and is_moved and single(operand)
        more += free is None
        operands.append(free or moved)
    if more >= fewer or not any(o.opcode in _MOVERS for o in inner.operands):
        return None
    return inner.with_(operands=tuple(operands), shape=Shape(_type(x), x.array_shape.dims))


def sink_convert(x: Instruction, single: Single) -> Instruction | None:
    """transpose(f32[2,3] convert(bf16[2,3] a)) --> convert(transpose(a)): less is moved"""
    if x.opcode == "concatenate":
        narrow = {_narrow(o) for o in x.operands}
        moved = list(x.operands)
    elif _takes_apart(x):
        narrow, moved = {_narrow(x.operands[0])}, [x.operands[0]]
    else:
        return None
    if len(narrow) > 1 or None in narrow or not all(single(o) for o in moved):
        return None
    sources = [o.operands[0] for o in moved]
    operands = (*sources, *x.operands[len(moved) :])
    (element_type,) = {_type(s) for s in sources}
    inner = x.with_(operands=operands, shape=Shape(element_type, x.array_shape.dims))
    return builder.convert(inner, _type(x))


def _takes_apart(x: Instruction) -> bool:
    """True for what moves elements of one array, without repeating it as a broadcast does."""
    op = OPS[x.opcode]
    return op.category is Category.MOVEMENT and op.moved == 1 and x.opcode != "broadcast"


def _narrow(x: Instruction) -> object:
    """The type that a convert widens, or None."""
    if x.opcode != "convert" or not widens(_type(x.operands[0]), _type(x)):
        return None
    return _type(x.operands[0]) if x.operands[0].array_shape.has_default_layout else None


def raise_slice(x: Instruction, single: Single) -> Instruction | None:
    """slice(dot(a, b)) --> dot(slice(a), b); likewise of a reduction or transpose"""
    if x.opcode != "slice" or not single(x.operands[0]):
        return None
    inner, bounds = x.operands[0], x["slice"]
    match inner.opcode:
        case "transpose":
            cuts = {d: bounds[k] for k, d in enumerate(inner["dimensions"])}
            return _over(inner, x, {0: cuts})
        case "reduce" if len(inner.operands) == 2:
            rank = inner.operands[0].array_shape.rank
            return _over(
                inner, x, {0: dict(zip(free_dimensions(rank, inner["dimensions"]), bounds))}
            )
        case "dot" if x.array_shape.size * _LEAST_CUT <= inner.array_shape.size:
            lhs_batch, lhs_summed, rhs_batch, rhs_summed = dot_dimensions(inner.attributes)
            ranks = [o.array_shape.rank for o in inner.operands]
            lhs_free = free_dimensions(ranks[0], lhs_batch, lhs_summed)
            rhs_free = free_dimensions(ranks[1], rhs_batch, rhs_summed)
            rows = len(lhs_batch) + len(lhs_free)
            lhs = dict(zip((*lhs_batch, *lhs_free), bounds))
            rhs = dict(zip(rhs_batch, bounds)) | dict(zip(rhs_free, bounds[rows:]))
            return _over(inner, x, {0: lhs, 1: rhs})
    return None


def _over(
    inner: Instruction, x: Instruction, cuts: dict[int, dict[int, tuple[int, int, int]]]
) -> Instruction:
    """`inner` over slices of its operands: the bounds in some dimensions of each."""
    operands = list(inner.operands)
    for number, bounds in cuts.items():
        dims = operands[number].array_shape.dims
        every = tuple(bounds.get(d, (0, n, 1)) for d, n in enumerate(dims))
        if every != tuple((0, n, 1) for n in dims):
            operands[number] = made(x, "slice", [operands[number]], slice=every)
    return inner.with_(operands=tuple(operands), shape=x.shape)


MOVES: tuple[Move, ...] = (sink_movement, raise_movement, sink_convert, raise_slice)
