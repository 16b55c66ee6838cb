"""Computations on scalars inside of kernels, such as a reduction's `to_apply`.

Control flow in them stays control flow: a conditional becomes branches, a loop carries its state in
registers. Each computation has a scope of its own, whose values are emitted where it runs.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from tfc.backends.mlir.arithmetic.value import Scalar, mlir_type, select
from tfc.backends.mlir.elements import Elements, Indices
from tfc.backends.mlir.loops import while_loop
from tfc.backends.mlir.provider import ir, scf
from tfc.hlo.ir import Computation, Instruction, postorder
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import PRED, ElementType, Shape, TupleShape, leaves


def emit_scalar_computation(
    computation: Computation, arguments: Sequence[Scalar]
) -> tuple[Scalar, ...]:
    """The leaves of a computation's result, for the leaves of its parameters.

    Raises:
        UnsupportedError: an op of the computation has no emission as part of a kernel.
    """
    return _ScalarComputation(computation, arguments).whole(computation.root)


def emit_scalar(
    computation: Computation, arguments: Sequence[Scalar], instruction: Instruction
) -> Scalar:
    """The scalar that one of a computation's instructions gives."""
    (scalar,) = _ScalarComputation(computation, arguments).whole(instruction)
    return scalar


class _ScalarComputation(Elements):
    """The scope of one computation. `leaves` gives values of any shape, `element` scalars."""

    def __init__(self, computation: Computation, arguments: Sequence[Scalar]):
        super().__init__({}, {})
        self._leaves: dict[Instruction, tuple[Scalar, ...]] = {}
        given = iter(arguments)
        for parameter in computation.parameters:
            self._leaves[parameter] = tuple(next(given) for _ in leaves(parameter.shape))

    def whole(self, root: Instruction) -> tuple[Scalar, ...]:
        """The leaves of a value, after all that it is made of: the computation may be any size."""
        for instruction in postorder([root]):
            if not isinstance(instruction.shape, Shape):
                self.leaves(instruction)
            elif not instruction.shape.rank:
                self.element(instruction, ())
        return self.leaves(root)

    def leaves(self, instruction: Instruction) -> tuple[Scalar, ...]:
        """The scalars of a value, those of tuples depth first."""
        if instruction not in self._leaves:
            self._leaves[instruction] = self._emit_leaves(instruction)
        return self._leaves[instruction]

    def _emit(self, instruction: Instruction, index: Indices) -> Scalar:
        if instruction in self._leaves or instruction.opcode in _OF_LEAVES:
            (scalar,) = self.leaves(instruction)
            return scalar
        return super()._emit(instruction, index)

    def _emit_leaves(self, instruction: Instruction) -> tuple[Scalar, ...]:
        operands = instruction.operands
        match instruction.opcode:
            case "tuple" | "opt-barrier":
                return tuple(leaf for o in operands for leaf in self.leaves(o))
            case "get-tuple-element":
                tuple_shape = operands[0].shape
                assert isinstance(tuple_shape, TupleShape)
                counts = [sum(1 for _ in leaves(e)) for e in tuple_shape.elements]
                starts = [0, *accumulate(counts)]
                number = instruction["index"]
                return self.leaves(operands[0])[starts[number] : starts[number + 1]]
            case "conditional":
                index, *given = (self.leaves(o) for o in operands)
                return _emit_conditional(index[0], list(zip(branches(instruction), given)))
            case "while":
                return _emit_while(instruction, self.leaves(operands[0]))
            case _:
                return (self.element(instruction, ()),)


_OF_LEAVES = frozenset({"get-tuple-element", "opt-barrier", "conditional", "while"})
_Branch = tuple[Computation, Sequence[Scalar]]  # and its arguments


def _emit_conditional(index: Scalar, some: Sequence[_Branch]) -> tuple[Scalar, ...]:
    """The branch whose number `index` is (the first, for pred, if true); else the last one."""
    if index.element_type is PRED:
        return _emit_branches(some, lambda _: index)
    last = len(some) - 1
    inside = select((index >= 0) & (index < last), index, last)
    return _emit_branches(some, lambda middle: inside < middle)


def _emit_branches(
    some: Sequence[_Branch], is_below: Callable[[int], Scalar], first: int = 0
) -> tuple[Scalar, ...]:
    """One of the branches, found by halves: blocks nest only as deep as the logarithm of many.

    Args:
        is_below: whether the wanted number is less than another.
        first: the number of the first of the branches.
    """
    if len(some) == 1:
        return emit_scalar_computation(*some[0])
    half = len(some) // 2
    types = _types(some[0][0])
    chosen = scf.IfOp(is_below(first + half).value, [mlir_type(t) for t in types], has_else=True)
    with ir.InsertionPoint(chosen.then_block):
        scf.yield_(_values(_emit_branches(some[:half], is_below, first)))
    with ir.InsertionPoint(chosen.else_block):
        scf.yield_(_values(_emit_branches(some[half:], is_below, first + half)))
    return _scalars(chosen.results, types)


def _emit_while(instruction: Instruction, start: Sequence[Scalar]) -> tuple[Scalar, ...]:
    condition, body = instruction["condition"], instruction["body"]
    types = _types(body)

    def goes_on(state: Sequence[Any]) -> Any:
        (wanted,) = emit_scalar_computation(condition, _scalars(state, types))
        return wanted.value

    def following(state: Sequence[Any]) -> list[Any]:
        return _values(emit_scalar_computation(body, _scalars(state, types)))

    return _scalars(while_loop(_values(start), goes_on, following), types)


def _types(computation: Computation) -> list[ElementType]:
    return [s.element_type for s in leaves(computation.root.shape)]


def _values(scalars: Sequence[Scalar]) -> list[Any]:
    return [s.value for s in scalars]


def _scalars(values: Sequence[Any], types: Sequence[ElementType]) -> tuple[Scalar, ...]:
    return tuple(Scalar(v, t) for v, t in zip(values, types))
