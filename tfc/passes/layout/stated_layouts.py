"""Insert a copy wherever a value is passed on in another layout than the one that it is taken in.

    x = f32[2,3]{1,0} parameter(0)                 x = f32[2,3]{1,0} parameter(0)
    t = (f32[2,3]{0,1}) tuple(x)             -->   c = f32[2,3]{0,1} copy(x)
                                                   t = (f32[2,3]{0,1}) tuple(c)

    w = (f32[2,3]{1,0}) while(t), body=b           the state lies as the body's parameter does: so
                                             -->   do the initial value, what the condition takes
                                                   and what the body gives, through copies; then
                                                   the result is copied to what the while states

Programs from outside state any layout anywhere (JAX's loops transpose their state); no code runs
at these boundaries that could follow them. All passes after this one rely on it
(tfc.hlo.verification). A callee's parameters and root decide, except that the branches of a
conditional give what it states. Does nothing to a module whose values are taken as they are passed
on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from tfc.hlo.attributes.entry_layout import with_result
from tfc.hlo.ir import (
    Computation,
    Instruction,
    Module,
    laid_out,
    map_computations,
    postorder,
    rebuild,
)
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import AnyShape, TupleShape, lies_alike
from tfc.hlo.verification.boundaries import boundaries


@dataclass(frozen=True)
class StatedLayouts:
    """Copy values whose stated layouts differ between where they are passed on and taken."""

    name: ClassVar[str] = "stated-layouts"

    def __call__(self, module: Module) -> Module:
        """The module in which layouts agree at all boundaries."""
        conversion = _Conversion()
        return map_computations(module, lambda c: rebuild(c, conversion.agreeing))


class _Conversion:
    """One run of the pass; computations that several instructions call are converted once."""

    def __init__(self) -> None:
        self._results: dict[tuple[Computation, AnyShape], Computation] = {}
        self._taking: dict[tuple[Computation, AnyShape], Computation] = {}

    def agreeing(self, x: Instruction) -> Instruction:
        """The instruction with its operands and computations converted.

        Its own layout may then be another: `rebuild` copies it to what was stated.
        """
        if all(lies_alike(got, wanted) for _, got, wanted in boundaries(x)):
            return x
        return _ROWS[x.opcode](self, x)

    def tuple(self, x: Instruction) -> Instruction:
        """The tuple of its operands in the layouts that it states."""
        assert isinstance(x.shape, TupleShape)
        return x.with_(operands=tuple(map(laid_out, x.operands, x.shape.elements)))

    def element(self, x: Instruction) -> Instruction:
        """The element of a tuple, or a value after a barrier, as it lies."""
        whole = x.operands[0].shape
        if x.opcode == "opt-barrier":
            return x.with_(shape=whole)
        assert isinstance(whole, TupleShape)
        return x.with_(shape=whole.elements[x["index"]])

    def call(self, x: Instruction) -> Instruction:
        """A call or fusion whose operands lie as the callee's parameters."""
        (callee,) = x.called_computations
        shapes = [p.shape for p in callee.parameters]
        return x.with_(operands=tuple(map(laid_out, x.operands, shapes)), shape=callee.root.shape)

    def loop(self, x: Instruction) -> Instruction:
        """A while whose state always lies as the body's parameter."""
        state = x["body"].parameters[0].shape
        condition, body = self.taking(x["condition"], state), self.giving(x["body"], state)
        attributes = x.attributes.with_(condition=condition, body=body)
        start = laid_out(x.operands[0], state)
        return x.with_(operands=(start,), shape=state, attributes=attributes)

    def conditional(self, x: Instruction) -> Instruction:
        """A conditional whose branches take their operands and give its result."""
        taken = branches(x)
        shapes = [b.parameters[0].shape for b in taken]
        operands = (x.operands[0], *map(laid_out, x.operands[1:], shapes))
        given = tuple(self.giving(b, x.shape) for b in taken)
        if "branch_computations" in x.attributes:
            attributes = x.attributes.with_(branch_computations=given)
        else:
            true, false = given
            attributes = x.attributes.with_(true_computation=true, false_computation=false)
        return x.with_(operands=operands, attributes=attributes)

    def giving(self, computation: Computation, shape: AnyShape) -> Computation:
        """The computation with its result in a layout."""
        key = (computation, shape)
        if key not in self._results:
            self._results[key] = with_result(computation, shape)
        return self._results[key]

    def taking(self, computation: Computation, shape: AnyShape) -> Computation:
        """The computation of one parameter with that in another layout."""
        key, (old,) = (computation, shape), computation.parameters
        if old.shape == shape:
            return computation
        if key not in self._taking:
            parameter = old.with_(shape=shape)
            new = {old: laid_out(parameter, old.shape)}
            copies = postorder(new.values())
            for x in computation.instructions:
                if x is not old:
                    new[x] = x.renewed(new)
            others = (new[x] for x in computation.instructions if x is not old)
            self._taking[key] = replace(
                computation,
                parameters=(parameter,),
                instructions=(*copies, *others),
                root=new[computation.root],
            )
        return self._taking[key]


_ROWS: dict[str, Callable[[_Conversion, Instruction], Instruction]] = {
    "tuple": _Conversion.tuple,
    "get-tuple-element": _Conversion.element,
    "opt-barrier": _Conversion.element,
    "call": _Conversion.call,
    "fusion": _Conversion.call,
    "while": _Conversion.loop,
    "conditional": _Conversion.conditional,
}
