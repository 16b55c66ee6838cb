"""Batching of calls that carry a rule of their own: what the rule says, for each batch element.

The batched call carries a rule again, so that a gradient of a mapped function is that of the rule:

    y = call(x), to_apply=f with rule r   becomes   ys = call(xs), to_apply=F with BatchedRule(r)

Whenever the batched rule is asked, r is traced for one element and what it made is batched.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.frontend import operations as ops
from tfc.frontend.batching.values import (
    Flags,
    Nest,
    flags_for,
    flags_of,
    pack,
    parts,
    shared,
    unpack,
)
from tfc.frontend.batching.walk import Batch
from tfc.frontend.marked import CallRule, Flow
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import inner_trace
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import AnyShape, TupleShape


@dataclass(frozen=True, eq=False)
class BatchedRule(CallRule):
    """The rule of a batched call. All of its results are batched.

    rule, call: those of one batch element.
    size: of the batch.
    given: what of each operand is batched.
    """

    rule: CallRule
    call: Instruction
    size: int
    given: Sequence[Flags]

    def forward(
        self, call: Instruction, operands: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor], Any]:
        """The result, the residuals, and (the rule's note, the residuals' shapes and flags)."""
        found: list[Any] = []

        def of_one(*given: Tensor) -> list[Tensor]:
            result, residuals, note = self.rule.forward(self.call, given)
            found.append((note, [r.instruction.shape for r in residuals]))
            return [result, *residuals]

        batch = Batch(self.size)
        result, *residuals = self._for_all(batch, of_one, self._operands(operands))
        note, shapes = found[0]
        known = [(shape, flags_of(r)) for shape, r in zip(shapes, residuals)]
        return self._whole(batch, result), [pack(r) for r in residuals], (note, known)

    def backward(
        self,
        call: Instruction,
        residuals: Sequence[Tensor],
        note: Any,
        cotangent: list[Flow],
        active: Sequence[bool],
    ) -> Sequence[Flow]:
        """The cotangents of the operands; of one that all elements share, their sum."""
        own, known = note
        given = _arguments(self.call.shape, flags_for(self.call.shape, True), cotangent)
        forms: list[Flow] = []

        def of_one(*tensors: Tensor) -> list[Tensor]:
            kept, flowing = tensors[: len(known)], iter(tensors[len(known) :])
            taken = [_refilled(g, flowing) for g in cotangent]
            forms.extend(self.rule.backward(self.call, kept, own, taken, active))
            return list(_arrays(forms))

        batch = Batch(self.size)
        values = [(s, unpack(r, f)) for r, (s, f) in zip(residuals, known)]
        made = self._for_all(batch, of_one, [*values, *given])
        stacked = iter([batch.stacked(m) for m in made])
        each = [_refilled(form, stacked) for form in forms]
        return [_summed(e, flags) for e, flags in zip(each, self.given)]

    def push(
        self, call: Instruction, operands: Sequence[Tensor], tangents: Sequence[Flow]
    ) -> tuple[Tensor, Flow]:
        """The result and its tangent."""
        forms: list[Flow] = []
        values = self._operands(operands)

        def of_one(*tensors: Tensor) -> list[Tensor]:
            count = len(values)
            flowing = iter(tensors[count:])
            taken = [_refilled(t, flowing) for t in tangents]
            result, tangent = self.rule.push(self.call, tensors[:count], taken)
            forms.append(tangent)
            return [result, *_arrays([tangent])]

        along = [
            argument
            for operand, flags, tangent in zip(self.call.operands, self.given, tangents)
            for argument in _arguments(operand.shape, flags, tangent)
        ]
        batch = Batch(self.size)
        result, *moved = self._for_all(batch, of_one, [*values, *along])
        stacked = iter([batch.stacked(m) for m in moved])
        return self._whole(batch, result), _refilled(forms[0], stacked)

    def _operands(self, operands: Sequence[Tensor]) -> list["_Argument"]:
        each = zip(self.call.operands, operands, self.given)
        return [(old.shape, unpack(operand, flags)) for old, operand, flags in each]

    def _for_all(
        self,
        batch: Batch,
        of_one: Callable[..., Sequence[Tensor]],
        arguments: Sequence["_Argument"],
    ) -> list[Nest]:
        """What a function of one element's Tensors gives, for all elements."""
        trace = inner_trace(self.call.name)
        with trace:
            given = [ops.wrap(trace.parameter(shape)) for shape, _ in arguments]
            root = ops.make_tuple(of_one(*given)).instruction
        captured = [shared(ops.wrap(c)) for c in trace.captures]
        values = [value for _, value in arguments]
        return list(parts(batch.run(trace.computation(root), [*values, *captured])))

    def _whole(self, batch: Batch, result: Nest) -> Tensor:
        return pack(batch.raised(result, flags_for(self.call.shape, True)))


_Argument = tuple[AnyShape, Nest]  # the shape of one element's, and the value


def _arguments(shape: AnyShape, flags: Flags, flow: Flow) -> list[_Argument]:
    """The arrays in a cotangent or tangent of a value of that shape."""
    if flow is None:
        return []
    if isinstance(flow, Tensor):
        return [(shape, unpack(flow, flags))]
    assert isinstance(shape, TupleShape), "lists are of tuples"
    assert isinstance(flags, tuple), "flags have the form of the shape"
    each = zip(shape.elements, flags, flow)
    return [argument for s, f, part in each for argument in _arguments(s, f, part)]


def _arrays(flows: Sequence[Flow]) -> Iterator[Tensor]:
    """The arrays in cotangents or tangents, depth first."""
    for flow in flows:
        if isinstance(flow, Tensor):
            yield flow
        elif flow is not None:
            yield from _arrays(flow)


def _refilled(flow: Flow, tensors: Iterator[Tensor]) -> Flow:
    """A cotangent or tangent with other arrays in the places of its own."""
    if isinstance(flow, list):
        return [_refilled(part, tensors) for part in flow]
    return None if flow is None else next(tensors)


def _summed(flow: Flow, flags: Flags) -> Flow:
    """The cotangent of an operand: the sum over the batch of what all elements share."""
    if isinstance(flow, list):
        assert isinstance(flags, tuple), "lists are of tuples"
        return [_summed(part, f) for part, f in zip(flow, flags)]
    return flow if flow is None or flags else ops.reduce_sum(flow, [0])
