"""Calls of functions that transformations treat in a way of their own.

    y = call(x), to_apply=f        f is a MarkedComputation: a computation with a CallRule

To everything but transformations such a call is a plain one: it has the same text, is inlined as
any other, and nothing of the rule is part of a module. Transformations leave it in place where they
inline calls, and ask the rule instead.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.frontend import operations as ops
from tfc.frontend.program import Abstract, Program, trace_function
from tfc.frontend.tensor import Tensor
from tfc.hlo.ir import Computation, Instruction

Flow = Tensor | list["Flow"] | None  # a cotangent or a tangent: see differentiation.reverse


class CallRule(ABC):
    """How a marked call is differentiated. Its result is a tuple.

    of_any_computation: whether the rule asks the call for all that it has to know of the
        computation, so that it is as good for the computation of a whole batch.
    """

    of_any_computation = False

    @abstractmethod
    def forward(
        self, call: Instruction, operands: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor], Any]:
        """The result, for reverse mode to go on with: (result, residuals, note).

        Residuals are values that `backward` needs; the note is known while tracing.
        """

    @abstractmethod
    def backward(
        self,
        call: Instruction,
        residuals: Sequence[Tensor],
        note: Any,
        cotangent: list[Flow],
        active: Sequence[bool],
    ) -> Sequence[Flow]:
        """The cotangents of the operands; only those that are active are asked for."""

    @abstractmethod
    def push(
        self, call: Instruction, operands: Sequence[Tensor], tangents: Sequence[Flow]
    ) -> tuple[Tensor, Flow]:
        """The result and its tangent."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MarkedComputation(Computation):
    """A computation whose calls have a rule, which stays behind where it is pickled."""

    rule: CallRule

    def __reduce__(self) -> tuple[Any, ...]:
        parts = self.name, self.parameters, self.instructions, self.root, self.annotations
        return Computation, parts


def rule_of(instruction: Instruction) -> CallRule | None:
    """The rule of a marked call; None for every other instruction."""
    if instruction.opcode != "call":
        return None
    called = instruction["to_apply"]
    return called.rule if isinstance(called, MarkedComputation) else None


def marked(computation: Computation, rule: CallRule) -> MarkedComputation:
    """The computation with a rule for its calls."""
    return MarkedComputation(
        computation.name, computation.parameters, computation.instructions, computation.root,
        computation.annotations, rule=rule,
    )  # fmt: skip


def call_marked(
    name: str,
    function: Callable[..., Any],
    operands: Sequence[Tensor],
    make_rule: Callable[[Program], CallRule],
) -> tuple[Program, list[Tensor]]:
    """Trace a function of flat Tensors and call it, marked; what it captures is passed along.

    Args:
        make_rule: gives the rule, once the function's results are known.

    Returns:
        The traced function, and the leaves of the call's result.
    """
    program = trace_function(name, function, [Abstract.of(o) for o in operands])
    computation = marked(program.computation(), make_rule(program))
    captured = [ops.wrap(c) for c in program.captures]
    made = ops.elements(ops.operation("call", *operands, *captured, to_apply=computation))
    weak = [r.weak for r in program.results]
    return program, [Tensor(m.instruction, m.home, w) for m, w in zip(made, weak)]
