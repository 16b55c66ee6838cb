"""checkpoint: reverse mode computes values again instead of keeping them.

    y = tfc.checkpoint(block)(x)        the gradient keeps x and computes the block again

Going back, the operands pass an optimization barrier together with the cotangents: what is computed
of them again is not what was computed before to any pass, and waits for the cotangents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import Names, Numbers, call_python, choose, signature_of
from tfc.frontend.differentiation.custom.calls import called
from tfc.frontend.differentiation.custom.policies import (
    Name,
    Policy,
    everything_saveable,
    nothing_saveable,
)
from tfc.frontend.differentiation.forward import (
    float_leaves,
    leaves_of,
    push,
    with_leaves,
)
from tfc.frontend.differentiation.reverse import (
    Cotangent,
    Values,
    backward,
    forward,
    inline_calls,
)
from tfc.frontend.marked import CallRule, call_marked, marked, rule_of
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor, evaluable
from tfc.frontend.trace import Trace
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import Shape, TupleShape


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
) -> Callable[..., Any]:
    """The function, of which reverse mode keeps the arguments and computes the rest again.

    Also called `remat`. Memory for time: a gradient through n checkpointed blocks needs the memory
    of the blocks' arguments and of one block. Effects are part of what is computed again: a
    `debug.print` shows its values on the way back, too.

    Args:
        prevent_cse: keep what is computed again apart from what was computed first; False leaves it
            to passes, which may make one of the two.
        policy: which intermediate values are kept all the same; one of
            `tfc.checkpoint_policies`, by default none is.
        static_argnums: arguments that are no arrays.
        static_argnames: the same by name.
    """
    name = getattr(fun, "__name__", "function")
    static = choose("static", name, signature_of(fun), static_argnums, static_argnames)
    if policy is everything_saveable:
        return evaluable(fun)
    rule = _Checkpoint(policy or nothing_saveable, prevent_cse)

    @evaluable
    @wraps(fun)
    def checkpointed(*args: Any, **named: Any) -> Any:
        places = [n for n in static.numbers if n < len(args)]
        chosen = [a for n, a in enumerate(args) if n not in places]
        fixed = {k: v for k, v in named.items() if k in static.names}
        moving = {k: v for k, v in named.items() if k not in static.names}
        leaves, structure = tree.flatten((chosen, moving))

        def of_leaves(*tensors: Tensor) -> Any:
            filled, by_name = tree.unflatten(structure, tensors)
            for place in places:
                filled.insert(place, args[place])
            return call_python(fun, *filled, **by_name, **fixed)

        operands = [as_tensor(leaf) for leaf in leaves]
        program, results = call_marked(name, of_leaves, operands, lambda _: rule)
        return tree.unflatten(program.structure, results)

    return checkpointed


@evaluable
def checkpoint_name(x: Any, name: str) -> Any:
    """The same values under a name, by which policies of `checkpoint` know them.

    Args:
        x: a nested structure of arrays.
    """
    if not isinstance(name, str):
        raise TraceError(f"checkpoint_name requires a text as name, got {name!r}")
    leaves, structure = tree.flatten(x)
    named = [
        call_marked("named", lambda value: value, [as_tensor(leaf)], lambda _: _Named(name))[1][0]
        for leaf in leaves
    ]
    return tree.unflatten(structure, named)


@dataclass(frozen=True, eq=False)
class _Named(Name):
    """A value that has a name: the operand, unchanged."""

    of_any_computation = True

    def forward(
        self, call: Instruction, operands: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor], Any]:
        """The call as it is, so that the name stays."""
        return called(call, operands), (), None

    def backward(
        self,
        call: Instruction,
        residuals: Sequence[Tensor],
        note: Any,
        cotangent: list[Cotangent],
        active: Sequence[bool],
    ) -> Sequence[Cotangent]:
        """The cotangent, unchanged."""
        return cotangent

    def push(
        self, call: Instruction, operands: Sequence[Tensor], tangents: Sequence[Cotangent]
    ) -> tuple[Tensor, Cotangent]:
        """The tangent, unchanged."""
        return called(call, operands), list(tangents)


@dataclass(frozen=True, eq=False)
class _Checkpoint(CallRule):
    """A computation of which only the operands and what the policy says are kept."""

    of_any_computation = True

    policy: Policy
    prevent_cse: bool

    def forward(
        self, call: Instruction, operands: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor], Any]:
        """The result; residuals are the operands, then the values that are kept."""
        computation = inline_calls(call["to_apply"])
        kept = [i for i in computation.instructions if self._keeps(i)]
        if not kept:
            return called(call, operands), operands, (computation, [])
        values: Values = dict(zip(computation.parameters, map(ops.adopt, operands)))
        for old in computation.instructions:
            if old not in values:
                values[old] = ops.again(old, [values[o] for o in old.operands])
        residuals = [*operands, *(_array(values[i]) for i in kept)]
        return values[computation.root], residuals, _with_places(computation, kept)

    def _keeps(self, instruction: Instruction) -> bool:
        """Whether the policy keeps a value: of arrays, and of what has a name."""
        if isinstance(rule_of(instruction), Name):
            return self.policy(instruction)
        is_value = instruction.opcode not in ("parameter", "constant", "get-tuple-element")
        return is_value and isinstance(instruction.shape, Shape) and self.policy(instruction)

    def backward(
        self,
        call: Instruction,
        residuals: Sequence[Tensor],
        note: Any,
        cotangent: list[Cotangent],
        active: Sequence[bool],
    ) -> Sequence[Cotangent]:
        """Backwards over values that are computed again, but for those that were kept."""
        computation, places = note
        flowing = [g for g in cotangent if isinstance(g, Tensor)]
        given = [*residuals, *flowing]
        if self.prevent_cse:
            given = ops.elements(ops.operation("opt-barrier", ops.make_tuple(given)))
        count = len(call.operands)
        remaining = iter(given[len(residuals) :])
        taken: list[Cotangent] = [next(remaining) if isinstance(g, Tensor) else None
                                  for g in cotangent]  # fmt: skip
        known = {
            place: ops.make_tuple([value]) if isinstance(place.shape, TupleShape) else value
            for place, value in zip(places, given[count:])
        }
        wanted = [p for p, flag in zip(computation.parameters, active) if flag]
        values = forward(computation, given[:count], wanted, known)
        found = iter(backward(computation, values, taken, wanted))
        return [next(found) if flag else None for flag in active]

    def push(
        self, call: Instruction, operands: Sequence[Tensor], tangents: Sequence[Cotangent]
    ) -> tuple[Tensor, Cotangent]:
        """A checkpointed call of the computation with tangents."""
        computation = inline_calls(call["to_apply"])
        shapes = [p.shape for p in computation.parameters]
        flowing = [leaf for t, s in zip(tangents, shapes) for leaf in leaves_of(t, s)]
        both = marked(_with_tangents(computation), self)
        made = ops.elements(ops.operation("call", *operands, *flowing, to_apply=both))
        count = len(computation.root.operands)
        return ops.make_tuple(made[:count]), with_leaves(made[count:], call.shape)


def _array(value: Tensor) -> Tensor:
    """A value; of a marked call that names one, its only element."""
    return ops.elements(value)[0] if isinstance(value.instruction.shape, TupleShape) else value


def _with_places(
    computation: Computation, kept: Sequence[Instruction]
) -> tuple[Computation, list[Instruction]]:
    """The computation with an instruction for each value that is kept, which gives that value.

    A gradient rule reads the attributes of the instruction itself, which what was kept does not
    have; a copy of it, which takes the value's place, needs none.
    """
    new: dict[Instruction, Instruction] = {}
    places = []
    for old in computation.instructions:
        new[old] = old.renewed(new)
        if old in kept:
            if isinstance(old.shape, Shape):
                new[old] = Instruction("copy", (new[old],), old.shape, name=old.name)
            places.append(new[old])
    effects = [new[e] for e in computation.effects]
    parameters = computation.parameters
    made = Computation.make(computation.name, parameters, new[computation.root], effects)
    return made, places


def _with_tangents(computation: Computation) -> Computation:
    """A computation of (parameters, their tangents) that gives its results, then their tangents."""
    trace = Trace(f"{computation.name}_tangent")
    with trace:
        given = [ops.wrap(trace.parameter(p.shape)) for p in computation.parameters]
        tangents: list[Cotangent] = []
        for parameter in computation.parameters:
            made = [ops.wrap(trace.parameter(s)) for s in float_leaves(parameter.shape)]
            tangents.append(with_leaves(made, parameter.shape))
        duals = push(computation, given, tangents)
        root = computation.root
        results = ops.elements(duals.values[root])
        flowing = leaves_of(duals.tangents.get(root), root.shape)
        made = ops.make_tuple([*results, *flowing]).instruction
    return trace.computation(made)
