"""Which devices take part in a collective together: replica_groups, and what its numbers mean.

    {{0,1},{2,3}}      two groups, written out
    [2,2]<=[4]         the same: 0 … 3 in rows of two
    [2,2]<=[2,2]T(1,0) {{0,2},{1,3}}: of the transposed array
    mesh['x'=2,'y'=2] {'x'}   the same: devices of a mesh that differ along the axis x only
    mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'x'}   of one whose devices are in another order

Semantics: XLA's CollectiveOpGroupMode. The numbers are replicas, partitions or devices, by the
attributes channel_id and use_global_device_ids; a device is replica · partitions + partition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from tfc.hlo.ir import Instruction
from tfc.hlo.lexer import Lexer
from tfc.hlo.op import require

MOST_DEVICES = 1 << 20  # of groups written as an array, so that short text cannot mean endless work


@dataclass(frozen=True)
class ReplicaGroups:
    """Groups of numbers; none stands for one group of all.

    `notation` is the form as an array, such as "[2,4]<=[8]", if they were written so.
    """

    groups: tuple[tuple[int, ...], ...] = ()
    notation: str = ""

    def __str__(self) -> str:
        listed = ",".join("{" + ",".join(map(str, g)) + "}" for g in self.groups)
        return self.notation or "{" + listed + "}"


def parse_replica_groups(lexer: Lexer) -> ReplicaGroups:
    """The groups at the lexer's current token.

    Raises:
        ParseError: they are malformed, or of named axes.
    """
    start = lexer.start
    if lexer.is_symbol("{"):
        return ReplicaGroups(parse_groups(lexer))
    if lexer.kind == "shape" and lexer.text.startswith("mesh"):
        lexer.seek(start + len("mesh"))  # it looks like a shape of that type
        return _parse_mesh(lexer, start)
    if not lexer.is_symbol("["):
        wanted = "{{0,1},{2,3}}, [2,2]<=[4] or mesh['x'=2,'y'=2] {'x'}"
        lexer.error(f"replica_groups must be written {wanted}", start)
    shape = _numbers(lexer, "[", "]")
    lexer.expect("<=")
    dims = _numbers(lexer, "[", "]")
    order = tuple(range(len(dims)))
    notation = f"[{','.join(map(str, shape))}]<=[{','.join(map(str, dims))}]"
    if lexer.accept_word("T"):
        order = _numbers(lexer, "(", ")")
        notation += f"T({','.join(map(str, order))})"
    if len(shape) != 2 or prod(shape) != prod(dims) or sorted(order) != list(range(len(dims))):
        lexer.error(f"{notation} is no rearrangement of devices into groups", start)
    _require_devices(lexer, notation, (*shape, *dims), prod(dims), start)
    rows = np.arange(prod(dims)).reshape(dims).transpose(order).reshape(shape)
    return ReplicaGroups(tuple(tuple(row) for row in rows.tolist()), notation)


def _require_devices(
    lexer: Lexer, notation: str, sizes: Sequence[int], count: int, start: int
) -> None:
    if min(sizes) < 1 or count > MOST_DEVICES:
        lexer.error(f"{notation} must name from 1 to {MOST_DEVICES} devices", start)


def _parse_mesh(lexer: Lexer, start: int) -> ReplicaGroups:
    """`['x'=2,'y'=2] {'x'}`: devices numbered in the order of the axes, the last the fastest."""
    sizes: dict[str, int] = {}
    lexer.expect("[")
    while not lexer.accept("]"):
        if sizes:
            lexer.expect(",")
        name = lexer.string()
        lexer.expect("=")
        if name in sizes:
            lexer.error(f"the mesh has the axis '{name}' twice", start)
        sizes[name] = lexer.integer("the size of an axis")
    dims, names = list(sizes.values()), list(sizes)
    if not sizes:
        lexer.error("a mesh must have axes such as ['x'=2,'y'=2]", start)
    axes = ",".join(f"'{n}'={size}" for n, size in sizes.items())
    _require_devices(lexer, f"mesh[{axes}]", dims, prod(dims), start)
    order, shown = _parse_mesh_devices(lexer, prod(dims))
    named: list[str] = []
    lexer.expect("{")
    while not lexer.accept("}"):
        if named:
            lexer.expect(",")
        at, name = lexer.start, lexer.string()
        if name not in sizes or name in named or lexer.is_symbol(":"):
            lexer.error(
                f"the groups must go along whole axes of the mesh, once each, got '{name}'", at
            )
        named.append(name)
    notation = f"mesh[{axes}]{shown} {{{','.join(repr(n) for n in named)}}}"
    along = [names.index(n) for n in named]
    outer = [k for k in range(len(dims)) if k not in along]
    devices = order.reshape(dims).transpose([*outer, *along])
    rows = devices.reshape(-1, prod(dims[k] for k in along))
    return ReplicaGroups(tuple(tuple(row) for row in rows.tolist()), notation)


def _parse_mesh_devices(lexer: Lexer, count: int) -> tuple[np.ndarray, str]:
    """The devices of a mesh in its order, and their text: `, device_ids=([2,2]T(1,0))`, or none."""
    numbers, start = np.arange(count), lexer.start
    if not lexer.accept(","):
        return numbers, ""
    if not lexer.accept_word("device_ids"):
        lexer.error("a mesh must have devices such as device_ids=([2,2]T(1,0)), or none", start)
    lexer.expect("=")
    lexer.expect("(")
    if lexer.is_symbol("["):
        dims = _numbers(lexer, "[", "]")
        order = _numbers(lexer, "(", ")") if lexer.accept_word("T") else tuple(range(len(dims)))
        shown = f"[{','.join(map(str, dims))}]T({','.join(map(str, order))})"
        fits = prod(dims) == count and sorted(order) == list(range(len(dims)))
        numbers = numbers.reshape(dims).transpose(order).ravel() if fits else numbers[:0]
        lexer.expect(")")
    else:
        listed = [lexer.integer()]
        while lexer.accept(","):
            listed.append(lexer.integer())
        lexer.expect(")")
        numbers, shown = np.array(listed), ",".join(map(str, listed))
    if sorted(numbers.tolist()) != list(range(count)):
        lexer.error(f"device_ids=({shown}) must name each of {count} devices once", start)
    return numbers, f", device_ids=({shown})"


def parse_groups(lexer: Lexer) -> tuple[tuple[int, ...], ...]:
    """`{{0,1},{2,3}}`."""
    groups: list[tuple[int, ...]] = []
    lexer.expect("{")
    while not lexer.accept("}"):
        if groups:
            lexer.expect(",")
        groups.append(_numbers(lexer, "{", "}"))
    return tuple(groups)


def _numbers(lexer: Lexer, opening: str, closing: str) -> tuple[int, ...]:
    numbers: list[int] = []
    lexer.expect(opening)
    while not lexer.accept(closing):
        if numbers:
            lexer.expect(",")
        numbers.append(lexer.integer())
    return tuple(numbers)


def require_groups(op: str, groups: Sequence[Sequence[int]]) -> None:
    """Check that groups are not empty and no number occurs twice.

    Raises:
        ShapeError: they are not as required.
    """
    numbers = [n for group in groups for n in group]
    distinct = len(set(numbers)) == len(numbers) and all(n >= 0 for n in numbers)
    require(
        distinct and all(groups),
        op,
        "replica_groups that name each device at most once",
        ReplicaGroups(tuple(map(tuple, groups))),
    )


REDUCING = frozenset({"all-reduce", "all-gather", "reduce-scatter"})
COLLECTIVES = REDUCING | {"all-to-all", "collective-permute", "collective-broadcast"}


def is_collective(x: Instruction) -> bool:
    """True if devices meet in the instruction."""
    return x.opcode.removesuffix("-start") in COLLECTIVES


def device_groups(x: Instruction, replicas: int, partitions: int) -> tuple[tuple[int, ...], ...]:
    """The devices that take part in a collective together.

    Raises:
        ShapeError: a group names a device that the program does not have.
    """
    opcode = x.opcode.removesuffix("-start")
    has_channel = x.attributes.get("channel_id", 0) > 0
    if opcode == "collective-permute":
        # Every device meets all that it could get something from or give something to.
        across = partitions if has_channel else replicas
        groups: tuple[tuple[int, ...], ...] = (tuple(range(across)),)
        named = [n for pair in x["source_target_pairs"] for n in pair]
    else:
        across = replicas
        if opcode in REDUCING and x.attributes.get("use_global_device_ids", False):
            across = replicas * partitions
        elif opcode not in REDUCING and has_channel:
            across = partitions
        groups = x.attributes.get("replica_groups", ReplicaGroups()).groups
        groups = groups or (tuple(range(across)),)
        named = [n for group in groups for n in group]
    require(
        all(0 <= n < across for n in named),
        x.opcode,
        f"device numbers below {across}, as the module has {replicas} replicas and {partitions} "
        "partitions",
        sorted({n for n in named if not 0 <= n < across}),
    )
    require(
        opcode in ("collective-permute", "collective-broadcast") or len(named) == across,
        x.opcode,
        f"replica_groups with all of the {across} devices",
        x.attributes.get("replica_groups"),
    )
    if opcode in REDUCING:
        if x.attributes.get("use_global_device_ids", False):
            return groups
        if has_channel:
            every = range(partitions)
            return tuple(tuple(r * partitions + p for r in g for p in every) for g in groups)
    elif has_channel:
        every = range(replicas)
        return tuple(tuple(r * partitions + p for p in g) for r, g in product(every, groups))
    every = range(partitions)
    return tuple(tuple(r * partitions + p for r in g) for p, g in product(every, groups))
