"""custom_vjp: functions that say how cotangents go back through them.

@tfc.custom_vjp
def f(x): ...

def fwd(x): return f(x), residuals
def bwd(residuals, g): return (cotangent of x,)

f.defvjp(fwd, bwd)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfc.errors import TraceError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import Names, Numbers, call_python
from tfc.frontend.differentiation.custom.calls import Call, Custom, fitted
from tfc.frontend.differentiation.reverse import Cotangent, is_differentiable, zeros
from tfc.frontend.marked import CallRule
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor, evaluable
from tfc.frontend.tree import Structure
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape


class custom_vjp(Custom):
    """A function with a gradient of its own, in reverse mode; forward mode refuses it.

    Args:
        fun: the function; keyword arguments become positional ones.
        nondiff_argnums: arguments that hold no arrays, such as functions; `bwd` is given them
            first.
        nondiff_argnames: the same by name.
    """

    kind = "custom_vjp"

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Numbers = (), nondiff_argnames: Names = ()
    ):
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Say how the function is differentiated.

        Args:
            fwd: takes what the function takes, and returns (its result, residuals).
            bwd: (residuals, cotangent of the result) -> a tuple with the cotangent of each
                argument, None for zero; the arguments of `nondiff_argnums` come first.
            symbolic_zeros: not supported.
            optimize_remat: without effect, as what nothing uses is not computed anyway.

        Raises:
            UnsupportedError: symbolic_zeros is asked for.
        """
        if symbolic_zeros:
            raise UnsupportedError("custom_vjp does not support symbolic_zeros: leave it out")
        self.fwd, self.bwd = fwd, bwd

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function.

        Raises:
            TraceError: defvjp was not called, or an argument cannot be passed by place.
        """
        if self.fwd is None or self.bwd is None:
            raise TraceError(f"no VJP defined for custom_vjp function {self.name} using defvjp")
        return evaluable(self.call)(*args, **named)

    def rule(self, call: Call) -> CallRule:
        """fwd and bwd."""
        return _VjpRule(self, call)


@dataclass(frozen=True, eq=False)
class _VjpRule(CallRule):
    """The rules of a custom_vjp function, for one call."""

    custom: custom_vjp
    known: Call

    def forward(
        self, call: Instruction, operands: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor], Any]:
        """What fwd gives."""
        known, fwd = self.known, self.custom.fwd
        assert fwd is not None, "calls are made after defvjp"
        pair = call_python(fwd, *known.filled(known.nested(operands[: len(known.weak)])))
        name, rule = self.custom.name, getattr(fwd, "__name__", "fwd")
        must = f"custom VJP fwd rule {rule} for function {name} must produce a pair"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TraceError(
                f"{must} (list or tuple of length two) of the result and the residuals, got {pair}"
            )
        leaves, structure = tree.flatten(pair[0])
        if structure != known.results:
            raise TraceError(
                f"{must} whose first element is the result of {name}, of structure "
                f"{known.results}, got structure {structure}"
            )
        results = [
            fitted(leaf, shape, lambda want, got: (
                f"{must} whose first element is the result of {name}, with {want}, got {got}"
            ))
            for leaf, shape in zip(leaves, known.shapes)
        ]  # fmt: skip
        found, containers = tree.flatten(pair[1])
        residuals = [as_tensor(leaf) for leaf in found]
        return ops.make_tuple(results), residuals, (containers, [r.weak for r in residuals])

    def backward(
        self,
        call: Instruction,
        residuals: Sequence[Tensor],
        note: Any,
        cotangent: list[Cotangent],
        active: Sequence[bool],
    ) -> Sequence[Cotangent]:
        """What bwd gives."""
        known, custom = self.known, self.custom
        assert custom.bwd is not None, "calls are made after defvjp"
        count = len(known.weak)
        if any(active[count:]):
            raise custom.refuse_captured("fwd and bwd")
        containers, weak = note
        kept = [Tensor(r.instruction, r.home, w) for r, w in zip(residuals, weak)]
        given = [
            g if isinstance(g, Tensor) else zeros(shape)
            for g, shape in zip(cotangent, known.shapes)
        ]
        fixed = [known.fixed[n] for n in sorted(known.fixed)]
        made = call_python(
            custom.bwd, *fixed, tree.unflatten(containers, kept),
            tree.unflatten(known.results, given),
        )  # fmt: skip
        shapes = [o.array_shape for o in call.operands[:count]]
        return [*cotangents_of(known.arguments, made, shapes), *[None] * (len(active) - count)]

    def push(
        self, call: Instruction, operands: Sequence[Tensor], tangents: Sequence[Cotangent]
    ) -> tuple[Tensor, Cotangent]:
        """Refused, as in JAX."""
        raise TraceError(
            "can't apply forward-mode differentiation (jvp) to a custom_vjp function: "
            f"{self.custom.name} says how cotangents go back; use custom_jvp for both modes"
        )


def cotangents_of(arguments: Structure, made: Any, shapes: Sequence[Shape]) -> list[Cotangent]:
    """The leaves of what bwd returned, None for those of integers.

    Raises:
        TraceError: it does not have the structure, the shapes and dtypes of the arguments.
    """
    made = tuple(made) if isinstance(made, list) else made
    leaves, structure = tree.flatten(made)
    found: list[Any] = []
    if not isinstance(made, tuple) or not _spread(arguments, structure, iter(leaves), found):
        raise TraceError(
            "custom VJP bwd rule must produce an output with the same container structure as the "
            "args tuple of the primal function, and in particular must produce a tuple of length "
            "equal to the number of arguments to the primal function, but got bwd output "
            f"structure {structure} for primal input structure {arguments}"
        )
    return [
        None if leaf is None or not is_differentiable(shape)
        else fitted(leaf, shape, lambda want, got, place=place: (
            "custom VJP bwd rule must produce an output with the same type as the args tuple of "
            f"the primal function, but at output{place} it produced {got} for an input of {want}"
        ))
        for leaf, shape, place in zip(found, shapes, tree.paths(arguments))
    ]  # fmt: skip


def _spread(structure: Structure, given: Structure, leaves: Any, found: list[Any]) -> bool:
    """Put leaves in the order of a structure, None for all that a None stands for.

    Returns:
        False if they do not fit it.
    """
    if given.kind is type(None):
        found.extend([None] * len(tree.paths(structure)))
        return True
    if structure.is_leaf or given.is_leaf:
        if structure.is_leaf and given.is_leaf:
            found.append(next(leaves))
        return structure.is_leaf and given.is_leaf
    if structure.kind != given.kind or structure.keys != given.keys:
        return False
    pairs = zip(structure.children, given.children)
    return all(_spread(mine, other, leaves, found) for mine, other in pairs)
