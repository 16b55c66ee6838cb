"""Directional derivatives of Python functions, in forward mode: jvp, linearize.

    value, slope = tfc.jvp(tnp.sin, (x,), (direction,))
    value, f_jvp = tfc.linearize(tnp.sin, x)

The function is traced, and its computation walked once with values and tangents together.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.differentiation.forward import Tangent, push
from tfc.frontend.differentiation.gradient import check_pair
from tfc.frontend.differentiation.reverse import (
    Values,
    forward,
    inline_calls,
    is_differentiable,
    zeros,
)
from tfc.frontend.program import Abstract, Program, trace_function
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.tensor import Tensor, evaluable
from tfc.frontend.trace import current_trace, inner_trace
from tfc.frontend.tree import Structure
from tfc.hlo.ir import Instruction
from tfc.tracebacks import api_boundary


class Traced:
    """A function applied to arguments in the current trace, ready to be pushed along directions."""

    def __init__(self, function: Callable[..., Any], primals: Any):
        leaves, structure = tree.flatten(primals)
        arguments = [as_tensor(leaf) for leaf in leaves]
        self.program: Program = trace_function(
            getattr(function, "__name__", "function"),
            lambda *given: call_python(function, *tree.unflatten(structure, given)),
            [Abstract.of(t) for t in arguments],
        )
        captured = [ops.wrap(c) for c in self.program.captures]
        self.arguments = [*arguments, *captured]
        self.computation = inline_calls(self.program.computation())

    def push(self, tangents: Sequence[Tangent]) -> tuple[list[Tensor], list[Tensor]]:
        """The leaves of the result, and their tangents.

        Args:
            tangents: one for each leaf of the arguments; None for zero.
        """
        rest = [None] * (len(self.arguments) - len(tangents))
        duals = push(self.computation, self.arguments, [*tangents, *rest])
        roots = self.computation.root.operands
        results = [
            Tensor(duals.values[r].instruction, duals.values[r].home, traced.weak)
            for r, traced in zip(roots, self.program.results)
        ]
        found = [duals.tangents.get(r) for r in roots]
        return results, [
            slope if isinstance(slope, Tensor) else zeros(result.array_shape)
            for slope, result in zip(found, results)
        ]

    @property
    def structure(self) -> Structure:
        """The containers of what the function returns."""
        return self.program.structure


@evaluable
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """The value of a function, and its derivative along `tangents`, of which nothing is kept.

    Args:
        primals: the arguments, a tuple or a list of nested structures of arrays.
        tangents: a direction for each, of its structure, shapes and dtypes; what belongs to an
            integer or a boolean is not looked at, whose tangent is zero.
        has_aux: `fun` returns (result, aux), of which the result alone is differentiated.

    Returns:
        (result, tangent of the result), and aux third where there is one. Integers in the result
        have zeros of their own dtype as tangents.

    Raises:
        TraceError: primals and tangents differ in structure or dtype.
        ShapeError: they differ in shape.
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TraceError(
            "primal and tangent arguments to tfc.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}"
        )
    directions = checked_tangents("jvp", tuple(primals), tuple(tangents))
    traced = Traced(fun, tuple(primals))
    results, slopes = traced.push(directions)
    value = tree.unflatten(traced.structure, results)
    slope = tree.unflatten(traced.structure, slopes)
    if not has_aux:
        return value, slope
    check_pair("jvp", value)
    return value[0], slope[0], value[1]


def checked_tangents(name: str, primals: Any, tangents: Any) -> list[Tangent]:
    """The leaves of tangents that fit primals; None for those of integers and booleans.

    Raises:
        TraceError: they differ in structure or dtype.
        ShapeError: they differ in shape.
    """
    leaves, structure = tree.flatten(primals)
    given, other = tree.flatten(tangents)
    if structure != other:
        raise TraceError(
            f"primal and tangent arguments to tfc.{name} must have the same structure; primals "
            f"have {structure} whereas tangents have {other}"
        )
    places = tree.paths(structure, "argument ")
    return [
        _checked_tangent(name, as_tensor(primal), tangent, place)
        for primal, tangent, place in zip(leaves, given, places)
    ]


def _checked_tangent(name: str, primal: Tensor, tangent: Any, place: str) -> Tensor | None:
    if not is_differentiable(primal.array_shape):
        return None
    direction = as_tensor(tangent)
    direction = cast(direction, primal.dtype) if direction.weak else direction
    if direction.dtype != primal.dtype:
        raise TraceError(
            f"primal and tangent arguments to tfc.{name} do not match: the tangent of {place} must "
            f"have dtype {primal.dtype}, got {direction.dtype}"
        )
    if direction.shape != primal.shape:
        raise ShapeError(
            f"tfc.{name} called with different primal and tangent shapes: {place} has shape "
            f"{primal.shape} and its tangent {direction.shape}"
        )
    return direction


@api_boundary
def linearize(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False
) -> tuple[Any, Callable[..., Any]] | tuple[Any, Callable[..., Any], Any]:
    """The value of a function, and its derivative there as a linear function of the tangents.

    In a function being traced, what does not depend on the tangents is computed once, however often
    the linear function is called; outside of any, each call evaluates the function again.

    Args:
        primals: the arguments: nested structures of arrays.
        has_aux: `fun` returns (result, aux).

    Returns:
        (result, f_jvp), and aux third where there is one; f_jvp(*tangents) is the result's tangent.

    Raises:
        TraceError, ShapeError (when f_jvp is called): the tangents do not fit the primals.
    """
    if current_trace() is None:
        value = evaluable(fun)(*primals)
        made = evaluable(lambda *tangents: _Linearized(fun, primals)(has_aux, *tangents))
    else:
        linearized = _Linearized(fun, primals)
        value = linearized.value
        made = evaluable(lambda *tangents: linearized(has_aux, *tangents))
    if not has_aux:
        return value, made
    check_pair("linearize", value)
    return value[0], made, value[1]


class _Linearized:
    """A function's derivative at a point, in the trace that is current when it is made.

    The derivative is traced as a function of the tangents. Of that computation, the instructions
    that depend on no tangent are values of the trace around; the others are made for each call.
    """

    def __init__(self, function: Callable[..., Any], primals: tuple[Any, ...]):
        self.primals = tree.map_leaves(as_tensor, primals)
        leaves, _ = tree.flatten(self.primals)
        self.trace = inner_trace(getattr(function, "__name__", "function"))
        with self.trace:
            self.tangents = [
                ops.wrap(self.trace.parameter(leaf.array_shape))
                if is_differentiable(leaf.array_shape)
                else None
                for leaf in leaves
            ]
            traced = Traced(function, self.primals)
            results, slopes = traced.push(self.tangents)
            root = ops.make_tuple([*results, *slopes]).instruction
        self.structure, self.weak = traced.structure, [r.weak for r in results]
        self.computation = inline_calls(self.trace.computation(root))
        count = len(self.trace.parameters)
        self.given = self.computation.parameters[:count]
        captured = [ops.wrap(c) for c in self.trace.captures]
        values = forward(self.computation, [*(zeros(p.array_shape) for p in self.given), *captured])
        made = [values[r] for r in self.computation.root.operands[: len(self.weak)]]
        self.value = tree.unflatten(
            self.structure,
            [Tensor(m.instruction, m.home, weak) for m, weak in zip(made, self.weak)],
        )
        moving = self._moving()
        self.fixed: Values = {i: v for i, v in values.items() if i not in moving}

    def _moving(self) -> set[Instruction]:
        """The instructions that depend on a tangent."""
        found = set(self.given)
        for instruction in self.computation.instructions:
            if any(o in found for o in instruction.operands):
                found.add(instruction)
        return found

    def __call__(self, has_aux: bool, *tangents: Any) -> Any:
        """The tangent of the result, nested as it is, in the current trace."""
        directions = checked_tangents("linearize", self.primals, tangents)
        values = dict(self.fixed)
        values.update(zip(self.given, (d for d in directions if isinstance(d, Tensor))))
        for old in self.computation.instructions:
            if old not in values:
                values[old] = ops.again(old, [values[o] for o in old.operands])
        slopes = [values[r] for r in self.computation.root.operands[len(self.weak) :]]
        slope = tree.unflatten(self.structure, slopes)
        return slope[0] if has_aux else slope
