"""Batching a computation: its instructions in order, each for all batch elements at once.

    y = f32[3] tanh(x)          x is f32[n,3] now     y = f32[n,3] tanh(x)
    z = f32[] dot(y, w), …      w is the same         z = f32[n] dot(y, w), …
    c = f32[3] exponential(w)   nothing is batched    the same instruction

The rules are in the other files of this room, one row of RULES an op; elementwise ops need none. A
rule takes the batch, the instruction of one element and the operands' values, and gives the value
of the result. It is asked if an operand is batched, or if the instruction has an effect, which
may be each batch element's.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.errors import UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.batching.values import (
    Flags,
    Nest,
    Value,
    any_of,
    batched_shape,
    flags_for,
    flags_of,
    is_batched,
    pack,
    parts,
    shared,
    tensor_of,
    unpack,
)
from tfc.frontend.rule_tables import entering
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace, blame, refusal
from tfc.hlo.ir import Computation, Instruction, has_side_effect
from tfc.hlo.op import OPS
from tfc.hlo.shape import AnyShape, Shape, TupleShape

Rule = Callable[..., Nest]
RULES: dict[str, Rule] = {}
REFUSED: dict[str, str] = {}  # ops that cannot be batched, and what to do instead


# Enters a function as the batching rule of the ops named.
batches = entering(RULES, "batching rules")


def refused(advice: str, *opcodes: str, shared_too: bool = False) -> None:
    """List ops that cannot be batched, with what to do instead.

    Args:
        shared_too: what is the same for all batch elements is refused, too; else done once.
    """

    def refuse(_: "Batch", x: Instruction, *operands: Nest) -> Nest:
        if shared_too or any(map(is_batched, operands)):
            raise refusal(f"vmap cannot map {x.opcode}: {advice}")
        return shared(ops.again(x, [pack(o) for o in operands]))

    batches(*opcodes)(refuse)
    REFUSED.update(dict.fromkeys(opcodes, advice))


def missing_rules() -> list[str]:
    """For each op of the registry that has no rule, the sentence to act on."""
    return [
        f"{name} has no batching rule: add one in frontend/batching/."
        for name, op in OPS.items()
        if name not in RULES and not op.elementwise
    ]


class Batch:
    """A batch of elements, and the computations that were batched for it.

    size: how many elements there are.
    """

    def __init__(self, size: int):
        self.size = size
        self._made: dict[Any, tuple[Computation, Flags]] = {}

    def stacked(self, value: Nest) -> Tensor:
        """The arrays of all batch elements along dimension 0, repeated if they are the same."""
        assert isinstance(value, Value), "an array"
        if value.batched:
            return value.tensor
        dims = value.tensor.shape
        return ops.broadcast(value.tensor, (self.size, *dims), range(1, len(dims) + 1))

    def raised(self, value: Nest, flags: Flags) -> Nest:
        """The value with all that `flags` name batched."""
        if isinstance(flags, tuple):
            if not any_of(flags) and isinstance(value, Value):
                return value
            return tuple(self.raised(v, f) for v, f in zip(parts(value), flags))
        return Value(self.stacked(value), True) if flags else value

    def result(self, tensor: Tensor) -> Nest:
        """The value of a Tensor all of whose arrays are batched."""
        return unpack(tensor, flags_for(tensor.instruction.shape, True))

    def run(self, computation: Computation, arguments: Sequence[Nest]) -> Nest:
        """The value of a computation's root for these arguments, in the current trace.

        Raises:
            TraceError: it has an op that cannot be batched.
            UnsupportedError: it has an op without a rule.
        """
        values: dict[Instruction, Nest] = dict(zip(computation.parameters, arguments))
        for x in computation.instructions:
            if x not in values:
                values[x] = self.instruction(x, [values[o] for o in x.operands])
        return values[computation.root]

    def instruction(self, x: Instruction, operands: Sequence[Nest]) -> Nest:
        """The value of one instruction."""
        if not any(map(is_batched, operands)) and not has_side_effect(x):
            return shared(ops.again(x, [pack(o) for o in operands]))
        with blame(x.metadata):
            if not self.size:
                return self._nothing(x.shape)
            rule = RULES.get(x.opcode)
            if rule is None and not OPS[x.opcode].elementwise:
                raise UnsupportedError(f"{x.opcode} has no batching rule in this version")
            return (rule or elementwise)(self, x, *operands)

    def computation(
        self, computation: Computation, given: Sequence[Flags], wanted: Flags | None = None
    ) -> tuple[Computation, Flags]:
        """A computation for the whole batch, and what of its result is batched.

        Args:
            given: what of each parameter is batched.
            wanted: what of the result has to be batched besides what is.
        """
        key = computation, tuple(given), wanted
        if key not in self._made:
            trace = Trace(computation.name)
            with trace:
                arguments = [
                    unpack(ops.wrap(trace.parameter(self.shape(p.shape, f), p.name)), f)
                    for p, f in zip(computation.parameters, given)
                ]
                result = self.run(computation, arguments)
                if wanted is not None:
                    result = self.raised(result, wanted)
                root = pack(result).instruction
            self._made[key] = trace.computation(root), flags_of(result)
        return self._made[key]

    def shape(self, shape: AnyShape, flags: Flags) -> AnyShape:
        """The shape of what `flags` describe."""
        return batched_shape(shape, flags, self.size)

    def _nothing(self, shape: AnyShape) -> Nest:
        """The value of that shape for a batch without elements."""
        if isinstance(shape, TupleShape):
            return tuple(self._nothing(element) for element in shape.elements)
        if not isinstance(shape, Shape):
            return shared(ops.operation("after-all"))
        return Value(ops.full(0, (0, *shape.dims), shape.element_type), True)


def elementwise(batch: Batch, x: Instruction, *operands: Nest) -> Nest:
    """The rule of every elementwise op: its operands' elements still lie where its result's do."""
    dims, tensors = (batch.size, *x.array_shape.dims), []
    for operand, old in zip(operands, x.operands):
        goes_for_all = x.array_shape.rank and not old.array_shape.rank
        if not goes_for_all:
            tensors.append(batch.stacked(operand))
        elif is_batched(operand):
            tensors.append(ops.broadcast(tensor_of(operand), dims, (0,)))
        else:
            tensors.append(tensor_of(operand))
    shape = Shape(x.array_shape.element_type, dims)
    return Value(ops.operation(x.opcode, *tensors, shape=shape, **x.attributes), True)
