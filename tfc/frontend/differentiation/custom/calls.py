"""What functions with rules of their own share: a call, its arguments, what rules must return."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import WRAPPER_ASSIGNMENTS
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import Names, Numbers, call_python, choose, signature_of
from tfc.frontend.marked import CallRule, call_marked
from tfc.frontend.program import Program
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.tensor import Tensor
from tfc.frontend.tree import Structure
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import Shape


@dataclass(frozen=True, eq=False)
class Call:
    """What is known of one call of a custom function while it is traced.

    arguments: the containers of the arguments that are differentiated by, a tuple.
    weak: which of their leaves are Python numbers.
    fixed: the other arguments, by their places.
    results: the leaves and containers of what the function returned.
    """

    arguments: Structure
    weak: list[bool]
    fixed: dict[int, Any]
    program: Program

    @property
    def results(self) -> Structure:
        """The containers of what the function returned."""
        return self.program.structure

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of what the function returned."""
        return [r.array_shape for r in self.program.results]

    def nested(self, leaves: Sequence[Tensor | None]) -> tuple[Any, ...]:
        """Leaves as the arguments are nested; weak where those were."""
        made = [
            leaf if leaf is None else Tensor(leaf.instruction, leaf.home, weak)
            for leaf, weak in zip(leaves, self.weak)
        ]
        return tree.unflatten(self.arguments, made)

    def filled(self, chosen: Sequence[Any]) -> list[Any]:
        """All arguments, in the order in which the function takes them."""
        return _with_fixed(chosen, self.fixed)


def _with_fixed(chosen: Sequence[Any], fixed: Mapping[int, Any]) -> list[Any]:
    """The arguments with others put in at their places."""
    found = list(chosen)
    for place in sorted(fixed):
        found.insert(place, fixed[place])
    return found


class Custom:
    """A function with rules of its own; what custom_vjp and custom_jvp share."""

    kind = ""

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Numbers = (), nondiff_argnames: Names = ()
    ):
        vars(self).update({n: getattr(fun, n) for n in WRAPPER_ASSIGNMENTS if hasattr(fun, n)})
        self.fun = self.__wrapped__ = fun
        self.name = getattr(fun, "__name__", "function")
        known = signature_of(fun)
        chosen = choose("nondiff", self.name, known, nondiff_argnums, nondiff_argnames)
        self.nondiff_argnums = chosen.numbers

    def call(self, *args: Any, **named: Any) -> Any:
        """Trace the function, and call it with its rule."""
        given = self._positional(args, named)
        places = self.nondiff_argnums
        fixed = {n: a for n, a in enumerate(given) if n in places}
        self._check_fixed(fixed)
        chosen = tuple(a for n, a in enumerate(given) if n not in places)
        leaves, structure = tree.flatten(chosen)
        operands = [as_tensor(leaf) for leaf in leaves]
        weak = [o.weak for o in operands]

        def make_rule(program: Program) -> CallRule:
            return self.rule(Call(structure, weak, fixed, program))

        def of_leaves(*tensors: Tensor) -> Any:
            return self.value(_with_fixed(tree.unflatten(structure, tensors), fixed))

        program, results = call_marked(self.name, of_leaves, operands, make_rule)
        return tree.unflatten(program.structure, results)

    def value(self, arguments: Sequence[Any]) -> Any:
        """What a call without derivative computes."""
        return call_python(self.fun, *arguments)

    def _positional(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The arguments by place, those that are left out by their defaults."""
        try:
            bound = signature_of(self.fun).bind(*args, **named)
        except TypeError as error:
            raise TraceError(
                f"the input arguments to the {self.kind}-decorated function {self.name} could not "
                f"be resolved to positional-only arguments: {error}"
            ) from None
        bound.apply_defaults()
        if bound.kwargs:
            raise TraceError(
                f"the input arguments to the {self.kind}-decorated function {self.name} could not "
                f"be resolved to positional-only arguments: {', '.join(bound.kwargs)} can only be "
                "passed by name"
            )
        return list(bound.args)

    def _check_fixed(self, fixed: dict[int, Any]) -> None:
        """Check that no argument that is not differentiated by is a Tensor.

        Raises:
            TraceError: one is, or holds one.
        """
        for place, value in fixed.items():
            if any(isinstance(leaf, Tensor) for leaf in tree.flatten(value)[0]):
                raise TraceError(
                    f"found a Tensor passed as argument {place} to the {self.kind} function "
                    f"{self.name}, which nondiff_argnums names: those are for arguments that hold "
                    "no Tensors, such as functions; leave it out of nondiff_argnums and give it "
                    "a cotangent or tangent of zero"
                )

    def rule(self, call: Call) -> CallRule:
        """The rule of one call."""
        raise NotImplementedError

    def refuse_captured(self, what: str) -> TraceError:
        """The error for a derivative by a value that is no argument, to be raised."""
        return TraceError(
            f"detected differentiation of the {self.kind} function {self.name} with respect to a "
            f"closed-over value, which its rule says nothing about: pass the value as an argument "
            f"and adapt {what}"
        )


def fitted(leaf: Any, shape: Shape, message: Callable[[str, str], str]) -> Tensor:
    """What a rule returned, as a Tensor of a shape; a Python number takes its dtype.

    Raises:
        TraceError: it is of another shape or dtype; `message(expected, got)` says so.
    """
    tensor = as_tensor(leaf)
    if tensor.weak and tensor.dtype != shape.element_type.dtype:
        tensor = cast(tensor, shape.element_type.dtype)
    if tensor.array_shape != shape:
        shown = [s.without_layout() for s in (shape, tensor.array_shape)]
        raise TraceError(message(*shown))
    return tensor


def called(call: Instruction, operands: Sequence[Tensor]) -> Tensor:
    """A marked call with other operands, in the current trace."""
    return ops.wrap(call.with_(operands=tuple(ops.adopt(o).instruction for o in operands)))
