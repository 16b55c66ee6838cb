"""custom_gradient: functions that return their result and the function that takes cotangents back.

@tfc.custom_gradient
def f(x): return result, lambda g: cotangent of x
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.differentiation.custom.calls import Call, Custom
from tfc.frontend.differentiation.custom.vjp import cotangents_of
from tfc.frontend.differentiation.reverse import Cotangent, zeros
from tfc.frontend.marked import CallRule
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor, evaluable
from tfc.hlo.ir import Instruction


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function of which `fun` computes the value and says how cotangents go back.

    Args:
        fun: returns (result, back); back(cotangent of the result) is a tuple with the cotangent of
            each argument, None for zero, or the cotangent alone where there is one argument. It may
            use whatever `fun` has computed.
    """
    custom = _CustomGradient(fun)

    @wraps(fun)
    def wrapper(*args: Any, **named: Any) -> Any:
        return evaluable(custom.call)(*args, **named)

    return wrapper


class _CustomGradient(Custom):
    """The function that custom_gradient is given."""

    kind = "custom_gradient"

    def value(self, arguments: Sequence[Any]) -> Any:
        """The result alone."""
        return self.pair(arguments)[0]

    def pair(self, arguments: Sequence[Any]) -> tuple[Any, Any]:
        """(result, back).

        Raises:
            TraceError: the function returned something else.
        """
        made = super().value(arguments)
        if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
            raise TraceError(
                f"custom_gradient requires {self.name} to return (result, function of its "
                f"cotangent), got {made}"
            )
        return made

    def rule(self, call: Call) -> CallRule:
        """What the function returns beside its result."""
        return _GradientRule(self, call)


@dataclass(frozen=True, eq=False)
class _GradientRule(CallRule):
    """The function once more, and what it returned, for one call.

    The function that takes cotangents back is traced at once; residuals are what it uses of the
    values around it.
    """

    custom: _CustomGradient
    known: Call

    def forward(
        self, call: Instruction, operands: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor], Any]:
        """The result, and what the function of cotangents uses."""
        known = self.known
        result, back = self.custom.pair(known.filled(known.nested(operands[: len(known.weak)])))
        leaves = [as_tensor(leaf) for leaf in tree.flatten(result)[0]]
        program = trace_function(
            f"{self.custom.name}_gradient",
            lambda *given: back(tree.unflatten(known.results, given)),
            [Abstract(shape) for shape in known.shapes],
        )
        residuals = [ops.wrap(c) for c in program.captures]
        return ops.make_tuple(leaves), residuals, (program.computation(), program.structure)

    def backward(
        self,
        call: Instruction,
        residuals: Sequence[Tensor],
        note: Any,
        cotangent: list[Cotangent],
        active: Sequence[bool],
    ) -> Sequence[Cotangent]:
        """What the function of cotangents gives."""
        known, (computation, structure) = self.known, note
        count = len(known.weak)
        if any(active[count:]):
            raise self.custom.refuse_captured("the function")
        given = [
            g if isinstance(g, Tensor) else zeros(shape)
            for g, shape in zip(cotangent, known.shapes)
        ]
        made = ops.elements(ops.inlined(computation, [*given, *residuals]))
        found = tree.unflatten(structure, made)
        found = (found,) if not isinstance(found, (tuple, list)) else found
        shapes = [o.array_shape for o in call.operands[:count]]
        return [*cotangents_of(known.arguments, found, shapes), *[None] * (len(active) - count)]

    def push(
        self, call: Instruction, operands: Sequence[Tensor], tangents: Sequence[Cotangent]
    ) -> tuple[Tensor, Cotangent]:
        """Refused, as in JAX."""
        raise TraceError(
            "can't apply forward-mode differentiation (jvp) to a custom_gradient function: "
            f"{self.custom.name} says how cotangents go back; use custom_jvp for both modes"
        )
