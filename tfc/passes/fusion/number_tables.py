"""Kernels that differ only in numbers take these from tables, so that one function serves all.

    f { p = f32[8] parameter(0)                   f { p = f32[8] parameter(0)
        c = f32[] constant(0.5)                       t = f32[1] parameter(1)
        b = f32[8] broadcast(c)                       c = f32[] reshape(slice(t), slice={[0:1]})
        m = f32[8] multiply(p, b)                     b = f32[8] broadcast(c)
        ROOT s = f32[8] sine(m) }                     m = f32[8] multiply(p, b)
    g { … constant(0.7) … }               -->         ROOT s = f32[8] sine(m) }
    x = f32[8] fusion(v), calls=f                 k = f32[1] constant({0.5})
    y = f32[8] fusion(x), calls=g                 x = f32[8] fusion(v, k), calls=f
                                                  l = f32[1] constant({0.7})
                                                  y = f32[8] fusion(x, l), calls=f

A sine is a hundred instructions in vectors, and hundreds of them with their own frequencies in one
expression took LLVM ten seconds. Only numbers that differ become part of a table, and only those
that f32 or f64 arrays are multiplied by, that are added to them or subtracted: what else is done
with a number may be done in fewer instructions if it is known. A kernel reads its numbers once,
before its loop.

Nothing is done where it saves less code than `min_code`: kernels then hold their numbers.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, Module, rebuild
from tfc.hlo.shape import F32, F64
from tfc.passes.analysis.called import control_computations, map_some
from tfc.passes.analysis.fusible import code_size, is_loop, is_scalar_constant
from tfc.passes.rewriting.decisions import Decisions, Taken

_TAKES_ANY = frozenset({"add", "multiply", "subtract"})


@dataclass(frozen=True)
class NumberTables:
    """Give kernels that are equal but for numbers one computation, and tables of their numbers.

    min_code: the least code that this saves, in the units of `fusible.code_size`.
    """

    name: ClassVar[str] = "number-tables"
    min_code: int = 256

    def __call__(self, module: Module) -> Module:
        """The module whose kernels share what they can."""
        plans = self._plans(module)
        if not plans:
            return module
        return map_some(
            module,
            control_computations(module),
            lambda c: rebuild(c, lambda x: _with_tables(x, plans)),
        )

    def explain(self, module: Module) -> Decisions:
        """The kernels that get tables."""
        plans = self._plans(module).items()
        return tuple(Taken(f"{len(p.numbers)} numbers in a table", c.name) for c, p in plans)

    def _plans(self, module: Module) -> dict[Computation, "_Plan"]:
        """What to do with the computations of kernels that share code once they have tables."""
        control = control_computations(module)
        kinds: dict[Hashable, dict[Computation, tuple[Instruction, ...]]] = {}
        for computation in (c for c in module.computations if c in control):
            for instruction in computation.instructions:
                called = instruction["calls"] if instruction.opcode == "fusion" else None
                if called is not None and _is_plain(called):
                    numbers = _numbers(called)
                    if numbers:
                        kinds.setdefault(_kind(called, numbers), {})[called] = numbers
        found: dict[Computation, _Plan] = {}
        for kernels in kinds.values():
            found |= self._shared(kernels)
        return found

    def _shared(
        self, kernels: Mapping[Computation, tuple[Instruction, ...]]
    ) -> dict[Computation, "_Plan"]:
        """The plans for kernels that are equal but for numbers; none if they are to stay."""
        values = [tuple(n["literal"] for n in numbers) for numbers in kernels.values()]
        varying = [len(set(column)) > 1 for column in zip(*values)]
        first = next(iter(kernels))
        saved = (len(set(values)) - 1) * sum(map(code_size, first.instructions))
        if saved < self.min_code:
            return {}
        shared = _taking_tables(first, [n for n, v in zip(kernels[first], varying) if v])
        return {
            computation: _Plan(shared, tuple(n for n, v in zip(numbers, varying) if v))
            for computation, numbers in kernels.items()
        }


@dataclass(frozen=True)
class _Plan:
    """The computation to use in place of another, and the other's numbers for its tables."""

    computation: Computation
    numbers: tuple[Instruction, ...]


def _is_plain(computation: Computation) -> bool:
    """True for a kernel of loops over elements."""
    root = computation.root
    return all(
        i.opcode == "parameter"
        or is_scalar_constant(i)
        or is_loop(i)
        or (i is root and i.opcode == "tuple")
        for i in computation.instructions
    )


def _numbers(computation: Computation) -> tuple[Instruction, ...]:
    """The constants that may as well be read from memory."""
    users = computation.users
    return tuple(
        i
        for i in computation.instructions
        if is_scalar_constant(i)
        and i.array_shape.element_type in (F32, F64)
        and all(
            user.opcode == "broadcast" and all(u.opcode in _TAKES_ANY for u in users[user])
            for user in users[i]
        )
    )


def _kind(computation: Computation, numbers: tuple[Instruction, ...]) -> Hashable:
    """A value that is equal for kernels that are the same up to names and `numbers`."""
    place = {x: n for n, x in enumerate(computation.instructions)}
    left_out = set(numbers)
    stated = [None if x in left_out else x.attributes for x in computation.instructions]
    steps = tuple([
        (x.opcode, x.shape, attributes, *[place[o] for o in x.operands])
        for x, attributes in zip(computation.instructions, stated)
    ])  # fmt: skip
    return steps, place[computation.root]


def _by_type(numbers: tuple[Instruction, ...] | list[Instruction]) -> list[list[Instruction]]:
    """The constants of each element type, in their order."""
    groups = [[n for n in numbers if n.array_shape.element_type is t] for t in (F32, F64)]
    return [g for g in groups if g]


def _table(numbers: list[Instruction]) -> Instruction:
    """The values of constants of one type, as an array."""
    return builder.constant(np.array([n["literal"].array for n in numbers]))


def _taking_tables(computation: Computation, numbers: list[Instruction]) -> Computation:
    """The computation with a parameter for each type of `numbers`, which holds their values."""
    new = {p: p.with_() for p in computation.parameters}
    parameters = list(new.values())
    for group in _by_type(numbers):
        table = builder.parameter(len(parameters), _table(group).shape)
        parameters.append(table)
        for place, number in enumerate(group):
            piece = builder.instruction("slice", [table], slice=((place, place + 1, 1),))
            new[number] = builder.reshape(piece, ())
    for old in computation.instructions:
        if old not in new:
            made = old.renewed(new)
            new[old] = old.with_() if made is old else made
    return Computation.make(computation.name, parameters, new[computation.root])


def _with_tables(instruction: Instruction, plans: Mapping[Computation, _Plan]) -> Instruction:
    """A kernel that reads its numbers from tables, if it is one of the plans."""
    plan = plans.get(instruction["calls"]) if instruction.opcode == "fusion" else None
    if plan is None:
        return instruction
    tables = [_table(group) for group in _by_type(plan.numbers)]
    attributes = instruction.attributes.with_(calls=plan.computation)
    return instruction.with_(operands=(*instruction.operands, *tables), attributes=attributes)
