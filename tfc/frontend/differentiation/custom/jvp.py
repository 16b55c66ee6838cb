"""custom_jvp: functions that say how tangents pass through them, from which cotangents follow.

@tfc.custom_jvp
def f(x): ...

@f.defjvp
def rule(primals, tangents): return f(*primals), tangent of f(*primals)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.errors import TraceError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import Names, Numbers, call_python
from tfc.frontend.differentiation.custom.calls import Call, Custom, called, fitted
from tfc.frontend.differentiation.reverse import (
    Cotangent,
    added,
    is_differentiable,
    transposed,
    zeros,
)
from tfc.frontend.marked import CallRule
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor, evaluable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape


class custom_jvp(Custom):
    """A function with a derivative of its own, in both modes: reverse mode transposes it.

    Args:
        fun: the function; keyword arguments become positional ones.
        nondiff_argnums: arguments that hold no arrays, such as functions; the rule is given them
            first.
        nondiff_argnames: the same by name.
    """

    kind = "custom_jvp"

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Numbers = (), nondiff_argnames: Names = ()
    ):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Say how the function is differentiated; may decorate the rule, which it returns.

        Args:
            jvp: (primals, tangents), tuples with an element for each argument -> (result, tangent
                of the result), linear in the tangents; the arguments of `nondiff_argnums` come
                first.
            symbolic_zeros: not supported.

        Raises:
            UnsupportedError: symbolic_zeros is asked for.
        """
        if symbolic_zeros:
            raise UnsupportedError("custom_jvp does not support symbolic_zeros: leave it out")
        self.jvp = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Say what each argument's tangent adds to the result's.

        Args:
            jvps: for each argument (tangent, result, *arguments) -> tangent of the result, or None
                for zero.

        Raises:
            TraceError: the function has nondiff_argnums.
        """
        if self.nondiff_argnums:
            raise TraceError("can't use defjvps with nondiff_argnums; use defjvp")

        def jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            result = self(*primals)
            leaves, structure = tree.flatten(result)
            totals: list[Cotangent] = [None] * len(leaves)
            for rule, tangent in zip(jvps, tangents):
                if rule is not None:
                    parts, _ = tree.flatten(rule(tangent, result, *primals))
                    totals = [added(t, as_tensor(p)) for t, p in zip(totals, parts)]
            made = [t if t is not None else ops.full_like(0, as_tensor(leaf))
                    for t, leaf in zip(totals, leaves)]  # fmt: skip
            return result, tree.unflatten(structure, made)

        self.jvp = jvp

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function.

        Raises:
            TraceError: defjvp was not called, or an argument cannot be passed by place.
        """
        if self.jvp is None:
            raise TraceError(f"no JVP defined for custom_jvp function {self.name} using defjvp")
        return evaluable(self.call)(*args, **named)

    def rule(self, call: Call) -> CallRule:
        """What defjvp was given."""
        return _JvpRule(self, call)


@dataclass(frozen=True, eq=False)
class _JvpRule(CallRule):
    """The rule of a custom_jvp function, for one call."""

    custom: custom_jvp
    known: Call

    def forward(
        self, call: Instruction, operands: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor], Any]:
        """The call as it is: whoever differentiates again meets the rule again."""
        return called(call, operands), operands, None

    def backward(
        self,
        call: Instruction,
        residuals: Sequence[Tensor],
        note: Any,
        cotangent: list[Cotangent],
        active: Sequence[bool],
    ) -> Sequence[Cotangent]:
        """The rule, transposed."""
        count = len(self.known.weak)
        if any(active[count:]):
            raise self.custom.refuse_captured("the rule")
        flows = [is_differentiable(o.array_shape) for o in residuals[:count]]
        shapes = [o.array_shape for o, flow in zip(residuals, flows) if flow]

        def linear(given: list[Tensor]) -> Sequence[Cotangent]:
            made = iter(given)
            _, slopes = self._results(residuals, [next(made) if f else None for f in flows])
            return slopes

        found = iter(transposed(linear, shapes, cotangent))
        captured = [None] * (len(active) - count)
        return [*(next(found) if flow else None for flow in flows), *captured]

    def push(
        self, call: Instruction, operands: Sequence[Tensor], tangents: Sequence[Cotangent]
    ) -> tuple[Tensor, Cotangent]:
        """What the rule gives."""
        count = len(self.known.weak)
        if any(t is not None for t in tangents[count:]):
            raise self.custom.refuse_captured("the rule")
        results, slopes = self._results(operands, tangents[:count])
        return ops.make_tuple(results), list(slopes)

    def _results(
        self, operands: Sequence[Tensor], tangents: Sequence[Cotangent]
    ) -> tuple[Sequence[Tensor], Sequence[Cotangent]]:
        """The leaves of the rule's results and their tangents."""
        known, jvp = self.known, self.custom.jvp
        assert jvp is not None, "calls are made after defjvp"
        primals = known.nested(operands[: len(known.weak)])
        directions = known.nested([
            t if isinstance(t, Tensor) else zeros(o.array_shape)
            for o, t in zip(operands, tangents)
        ])  # fmt: skip
        fixed = [known.fixed[n] for n in sorted(known.fixed)]
        pair = call_python(jvp, *fixed, primals, directions)
        rule = getattr(jvp, "__name__", "jvp")
        must = f"custom JVP rule {rule} for function {self.custom.name} must produce"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TraceError(
                f"{must} a pair (list or tuple of length two) representing primal and tangent "
                f"outputs, got {pair}"
            )
        (leaves, structure), (slopes, other) = map(tree.flatten, pair)
        for got in (structure, other):
            if got != known.results:
                raise TraceError(
                    f"{must} primal and tangent outputs of the structure of its result "
                    f"{known.results}, got {structure} and {other}"
                )

        def fit(leaf: Any, shape: Shape) -> Tensor:
            return fitted(leaf, shape, lambda want, got: (
                f"{must} primal and tangent outputs with the shapes and dtypes of its result: "
                f"expected {want}, got {got}"
            ))  # fmt: skip

        results = [fit(leaf, shape) for leaf, shape in zip(leaves, known.shapes)]
        made = [
            fit(slope, shape) if is_differentiable(shape) else None
            for slope, shape in zip(slopes, known.shapes)
        ]
        return results, made
