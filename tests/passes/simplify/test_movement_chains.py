"""Random chains of data movement: what they become has the same elements and no more operations."""

import numpy as np
import pytest
from comparing import same

from tfc.hlo import Module, builder, evaluate, print_module, verify
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import ELEMENT_TYPES, Shape
from tfc.passes.rewriting.rewriter import Rewriter, RuleTable
from tfc.passes.simplify.movement import MOVEMENT
from tfc.passes.simplify.movement_chains import FREE, MOVERS
from tfc.passes.simplify.simplify import Simplify
from tfc.testing import arguments_for

CHAINS = RuleTable([], MOVEMENT)
TYPES = [ELEMENT_TYPES[name] for name in ("pred", "s8", "u32", "bf16", "f32", "f64", "c64")]
STEPS = (*sorted(MOVERS), "reshape", "transpose", "slice")  # these twice as often
Generator = np.random.Generator


def factors(size: int, rng: Generator) -> tuple[int, ...]:
    """Dimensions of that many elements, with some of size one among them."""
    dims: list[int] = []
    while size > 1:
        dims.append(int(rng.choice([n for n in range(2, size + 1) if size % n == 0])))
        size //= dims[-1]
    for _ in range(rng.integers(0, 3)):
        dims.insert(rng.integers(0, len(dims) + 1), 1)
    return tuple(dims if size else [0, 3])


def moved(opcode: str, x: Instruction, rng: Generator) -> Instruction:
    """An operation that moves an array, in one of the ways in which it can."""
    dims, rank = x.array_shape.dims, x.array_shape.rank
    some = tuple(d for d in range(rank) if rng.random() < 0.5)
    match opcode:
        case "reshape":
            return builder.reshape(x, factors(x.array_shape.size, rng))
        case "transpose":
            order = tuple(map(int, rng.permutation(rank)))
            return builder.instruction("transpose", [x], dimensions=order)
        case "broadcast":
            places = rng.permutation(rank + 1) if rng.random() < 0.2 else np.arange(rank + 1)
            left_out = int(rng.integers(0, rank + 1))
            kept = tuple(int(d) for d in places if d != left_out)
            sizes = dict(zip(kept, dims)) | {left_out: int(rng.integers(1, 4))}
            return builder.broadcast(x, [sizes[d] for d in range(rank + 1)], kept)
        case "reverse":
            return builder.instruction("reverse", [x], dimensions=some)
        case "slice":
            ends = [sorted(map(int, rng.integers(0, n + 1, 2))) for n in dims]
            whole = [(0, n, int(rng.integers(1, 3))) for n in dims]
            part = [(low, high, 1) if low < high else w for (low, high), w in zip(ends, whole)]
            bounds = tuple(p if d in some else (0, dims[d], 1) for d, p in enumerate(part))
            return builder.instruction("slice", [x], slice=bounds)
        case "pad":
            widths = [tuple(map(int, rng.integers(0, 3, 3))) for _ in dims]
            padding = tuple(w if d in some else (0, 0, 0) for d, w in enumerate(widths))
            value = builder.constant(1, x.array_shape.element_type)
            return builder.instruction("pad", [x, value], padding=padding)
        case _:
            if not rank:
                return x
            other = builder.instruction("reverse", [x], dimensions=tuple(range(rank)))
            operands = [x, other] if rng.random() < 0.5 else [other, x]
            dimensions = (int(rng.integers(0, rank)),)
            return builder.instruction("concatenate", operands, dimensions=dimensions)


def chain(rng: Generator, plain: bool) -> Module:
    """Up to seven operations on a parameter, an iota, or what repeats a scalar.

    plain: without those that join or pad, so that every operation is one of a chain.
    """
    element_type = TYPES[rng.integers(len(TYPES))]
    rank = int(rng.integers(0, 4))
    dims = tuple(map(int, rng.choice([0, 1, 2, 3, 4, 6], rank, p=[0.02, 0.2, 0.2, 0.2, 0.18, 0.2])))
    a = builder.parameter(0, Shape(element_type, dims))
    x = a
    if rank and element_type.kind != "pred" and rng.random() < 0.2:
        x = builder.iota(a.array_shape, int(rng.integers(0, rank)))
    for _ in range(rng.integers(1, 8)):
        opcode = STEPS[rng.integers(len(STEPS))]
        if x.array_shape.size < 400 and not (plain and opcode in ("concatenate", "pad")):
            x = moved(opcode, x, rng)
    return Module("m", Computation.make("main", [a], x))


def count(module: Module, opcodes: frozenset[str]) -> int:
    return sum(i.opcode in opcodes or i.opcode == "iota" for i in module.entry.instructions)


@pytest.mark.parametrize("seed", range(5))
def test_random_chains_move_the_same_elements_in_no_more_operations(seed: int) -> None:
    rng, shorter = np.random.default_rng(seed), 0
    for number in range(60):
        plain = number % 2 == 0
        module = chain(rng, plain)
        text = print_module(module)
        alone, whole = Rewriter(CHAINS).run(module), Simplify()(module)
        arguments = arguments_for(module, rng, "special")
        expected = np.asarray(evaluate(module, *arguments))
        for changed in (alone, whole):
            verify(changed)
            assert same(np.asarray(evaluate(changed, *arguments)), expected).all(), text
        # Of what has two users, each may get its own reshape and broadcast, which move nothing.
        opcodes = MOVERS if plain else MOVERS - FREE
        assert count(alone, opcodes) <= count(module, opcodes), text
        assert Rewriter(CHAINS).run(alone) is alone, text
        assert Simplify()(whole) is whole, text
        shorter += count(alone, MOVERS) < count(module, MOVERS)
    assert shorter > 20
