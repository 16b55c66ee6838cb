"""Which instruction's storage a value lives in.

A leaf is one array of an instruction's shape. tuple, get-tuple-element and opt-barrier only rename
leaves, and a reshape or transpose between arrays whose layouts agree leaves every byte where it is:
their leaves are their operands'. So are the leaves of a while that its body hands on as they are:
the loop never writes them. An async-start has its operands where they are, beside a result of its
own that async-done gives. Everything else owns its leaves, except that a parameter's are bound by
whoever runs it.
"""

from collections.abc import Container, Mapping
from itertools import accumulate
from types import MappingProxyType

from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.shape import AnyShape, TupleShape, leaves
from tfc.passes.analysis.dimension_orders import forward, order_of

Leaf = tuple[Instruction, int]  # (the owner, which array of its shape)
# What is an element of its operand, by number.
_ELEMENTS = {"get-tuple-element": lambda x: x["index"], "async-done": lambda _: 1}


def is_alias(instruction: Instruction) -> bool:
    """True if no code runs for the instruction: its value is where an operand's is."""
    match instruction.opcode:
        case "tuple" | "get-tuple-element" | "opt-barrier":
            return True
        case "reshape" | "transpose":
            return is_bitcast(instruction)
        case _:
            return False


def is_bitcast(instruction: Instruction) -> bool:
    """True for a reshape or transpose that keeps every element at its place in memory."""
    if instruction.opcode not in ("reshape", "transpose"):
        return False
    here, before = instruction.array_shape, instruction.operands[0].array_shape
    if instruction.opcode == "reshape" and here.has_default_layout and before.has_default_layout:
        return True
    if here.layout.padded_dimensions or before.layout.padded_dimensions:
        return False
    return forward(instruction, 0, order_of(before)) == order_of(here)


def before_bitcasts(instruction: Instruction) -> Instruction:
    """What a value was before it was reshaped and the like, with its bytes as they lie."""
    while is_bitcast(instruction):
        instruction = instruction.operands[0]
    return instruction


def own_leaves(instruction: Instruction) -> tuple[Leaf, ...]:
    """The leaves of the instruction's shape, owned by itself."""
    return tuple((instruction, i) for i, _ in enumerate(leaves(instruction.shape)))


class Sources:
    """The owner of every leaf, filled in as instructions are visited, operands first.

    Args:
        unchanging: for the bodies of whiles, the leaves of the state that they hand on.
        views: slices that are a part of their operand's memory; see views.py.
    """

    def __init__(
        self,
        unchanging: Mapping[Computation, frozenset[int]] = MappingProxyType({}),
        views: Container[Instruction] = (),
    ):
        self._unchanging, self._views = unchanging, views
        self.of: dict[Instruction, tuple[Leaf, ...]] = {}
        self._starts: dict[int, tuple[AnyShape, list[int]]] = {}

    def visit(self, instruction: Instruction) -> tuple[Leaf, ...]:
        """The owners of the instruction's leaves; parameters that were bound keep theirs."""
        if instruction not in self.of:
            self.of[instruction] = self._resolve(instruction)
        return self.of[instruction]

    def bind(self, parameter: Instruction, owners: tuple[Leaf, ...]) -> None:
        """Say where a parameter's leaves are."""
        self.of[parameter] = owners

    def _resolve(self, instruction: Instruction) -> tuple[Leaf, ...]:
        operands = instruction.operands
        if instruction.opcode == "while":
            kept = self._unchanging.get(instruction["body"], frozenset())
            pairs = zip(own_leaves(instruction), self.of[operands[0]])
            return tuple(b if k in kept else a for k, (a, b) in enumerate(pairs))
        if instruction.opcode == "async-start":
            given = [leaf for o in operands for leaf in self.of[o]]
            return *given, *own_leaves(instruction)[len(given) :]
        if instruction.opcode in _ELEMENTS:
            starts = self._leaf_starts(operands[0].shape)
            index = _ELEMENTS[instruction.opcode](instruction)
            return self.of[operands[0]][starts[index] : starts[index + 1]]
        if not is_alias(instruction) and instruction not in self._views:
            return own_leaves(instruction)
        return tuple(leaf for o in operands for leaf in self.of[o])

    def _leaf_starts(self, shape: AnyShape) -> list[int]:
        """For each element of a tuple the number of its first leaf, and the count of all."""
        found = self._starts.get(id(shape))
        if found is None:
            assert isinstance(shape, TupleShape)
            counts = (sum(1 for _ in leaves(e)) for e in shape.elements)
            # The shape is kept too, so that its id is not given to another object.
            found = self._starts[id(shape)] = (shape, [0, *accumulate(counts)])
        return found[1]


def resolve(computation: Computation, unchanging: Mapping[Computation, frozenset[int]]) -> Sources:
    """The owners of all leaves of a computation, its parameters owning theirs."""
    sources = Sources(unchanging)
    for instruction in computation.instructions:
        sources.visit(instruction)
    return sources


def kept_leaves(body: Computation, unchanging: Mapping[Computation, frozenset[int]]) -> set[int]:
    """Which leaves of its state the body of a while returns as it gets them.

    Args:
        unchanging: the same for the bodies of the whiles in it.
    """
    sources = resolve(body, unchanging)
    pairs = zip(sources.of[body.parameters[0]], sources.of[body.root])
    return {k for k, (a, b) in enumerate(pairs) if a == b}


def loop_bodies(module: Module) -> list[Computation]:
    """The bodies of all whiles, inner ones first."""
    bodies = {i["body"] for c in module.computations for i in c.instructions
              if i.opcode == "while"}  # fmt: skip
    return [c for c in module.computations if c in bodies]


def unchanging_leaves(module: Module) -> dict[Computation, frozenset[int]]:
    """For the body of each while, which leaves of the state it returns as it gets them."""
    found: dict[Computation, frozenset[int]] = {}
    for body in loop_bodies(module):
        found[body] = frozenset(kept_leaves(body, found))
    return found
