"""Control flow that depends on data: cond, while_loop, fori_loop.

The branches and bodies are traced as inner computations. What they use of the function around them
is captured, and travels in the tuple that a conditional's branches and a loop's state are given.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.program import Abstract, Program, rebind, trace_function, union_of_captures
from tfc.frontend.promotion import as_tensor, cast, result_type
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.frontend.tree import Structure
from tfc.hlo.ir import Computation
from tfc.hlo.shape import PRED, Shape


@evaluable
def cond(
    pred: ArrayLike,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    *operands: Any,
) -> Any:
    """true_fn(*operands) if `pred` else false_fn(*operands); exactly one is executed (CND-4).

    Args:
        pred: a scalar; a number counts as true if it is not zero.
        operands: nested structures of arrays. The functions may use other Tensors as well.

    Raises:
        ShapeError: `pred` is no scalar, or the results differ in shape or dtype (CND-3).
        TraceError: the results differ in structure.
    """
    selector = cast(as_tensor(pred), np.bool_)
    if selector.ndim:
        raise ShapeError(f"cond requires a scalar predicate, got {selector!r} (CND-1)")
    leaves, structure = tree.flatten(operands)
    arguments = [as_tensor(leaf) for leaf in leaves]
    known = [Abstract.of(a) for a in arguments]
    branches = [
        trace_function(name, _on_leaves(function, structure), known)
        for name, function in (("true_branch", true_fn), ("false_branch", false_fn))
    ]
    _make_branches_agree(*branches)
    captures = union_of_captures(branches)
    state = [*arguments, *map(ops.wrap, captures)]
    computations = []
    for branch in branches:
        trace, _, results = rebind(branch, state, captures)
        with trace:
            root = ops.make_tuple(results).instruction
        computations.append(trace.computation(root))
    operand = ops.make_tuple(state)
    chosen = ops.operation(
        "conditional", selector, operand, operand,
        true_computation=computations[0], false_computation=computations[1],
    )  # fmt: skip
    weak = [a.weak and b.weak for a, b in zip(branches[0].results, branches[1].results)]
    return _with_structure(branches[0].structure, ops.elements(chosen), weak)


def _on_leaves(function: Callable[..., Any], structure: Structure) -> Callable[..., Any]:
    """The function of flat leaves that a function of nested arguments is."""
    return lambda *leaves: call_python(function, *tree.unflatten(structure, leaves))


def _with_structure(structure: Structure, values: Sequence[Tensor], weak: Sequence[bool]) -> Any:
    made = [Tensor(v.instruction, v.trace, w) for v, w in zip(values, weak)]
    return tree.unflatten(structure, made)


def _make_branches_agree(on_true: Program, on_false: Program) -> None:
    """Give weak results the dtype of the other branch's; refuse other differences.

    Raises:
        ShapeError: a result differs in shape or dtype.
        TraceError: the results differ in structure.
    """
    if on_true.structure != on_false.structure:
        raise TraceError(
            "cond requires branches that return the same structure, got "
            f"{on_true.structure} from true_fn and {on_false.structure} from false_fn"
        )
    names = tree.paths(on_true.structure, "result")
    for number, name in enumerate(names):
        x, y = on_true.results[number], on_false.results[number]
        common = result_type(x, y)
        may_change = (x.dtype == common or x.weak) and (y.dtype == common or y.weak)
        if x.shape != y.shape or not may_change:
            raise ShapeError(
                "cond requires branches that return the same shapes and dtypes, got "
                f"{_show(x)} from true_fn and {_show(y)} from false_fn for {name} (CND-3)"
            )
        for branch, value in ((on_true, x), (on_false, y)):
            if value.dtype != common:
                branch.convert_result(number, common)


def _show(tensor: Tensor) -> str:
    return tensor.array_shape.without_layout()


@evaluable
def while_loop(
    cond_fn: Callable[[Any], ArrayLike], body_fn: Callable[[Any], Any], init: Any
) -> Any:
    """Repeat state = body_fn(state) while cond_fn(state), from `init`; returns the last state.

    Args:
        cond_fn: state -> a scalar bool (WH-1).
        body_fn: state -> state of the same structure, shapes and dtypes (WH-2).
        init: a nested structure of arrays. Python numbers in it take the dtype that the body gives.

    Raises:
        ShapeError: the body changes a shape or dtype; names the leaf.
        TraceError: the body changes the structure, or the condition is no scalar bool.
    """
    leaves, structure = tree.flatten(init)
    tensors = [as_tensor(leaf) for leaf in leaves]
    tensors, body = _trace_body(body_fn, tensors, structure)
    known = [Abstract.of(t) for t in tensors]
    condition = trace_function("while_condition", _of_state(cond_fn, structure), known)
    _check_condition(condition)
    captures = union_of_captures([condition, body])
    state = [*tensors, *map(ops.wrap, captures)]
    looped = ops.operation(
        "while",
        ops.make_tuple(state),
        condition=_condition_computation(condition, state, captures),
        body=_body_computation(body, state, captures),
    )
    weak = [t.weak for t in tensors]
    return _with_structure(structure, ops.elements(looped)[: len(tensors)], weak)


def _of_state(function: Callable[[Any], Any], structure: Structure) -> Callable[..., Any]:
    return lambda *leaves: call_python(function, tree.unflatten(structure, leaves))


def _trace_body(
    body_fn: Callable[[Any], Any], tensors: list[Tensor], structure: Structure
) -> tuple[list[Tensor], Program]:
    """Trace the body until the state's weak leaves have the dtypes that it gives them."""
    while True:
        known = [Abstract.of(t) for t in tensors]
        body = trace_function("while_body", _of_state(body_fn, structure), known)
        if body.structure != structure:
            raise TraceError(
                "while_loop requires body_fn to return the structure of its argument "
                f"{structure}, got {body.structure} (WH-2)"
            )
        changed = [
            _settle(body, number, tensor, name)
            for number, (tensor, name) in enumerate(zip(tensors, tree.paths(structure, "state")))
        ]
        if [Abstract.of(t) for t in changed] == known:
            return tensors, body
        tensors = changed  # at most three rounds: weak, weak of another dtype, not weak


def _settle(body: Program, number: int, tensor: Tensor, name: str) -> Tensor:
    """The initial value of one leaf in the dtype that the body asks for.

    Raises:
        ShapeError: the body changes its shape, or its dtype where neither is a Python number's.
    """
    result = body.results[number]
    common = result_type(tensor, result)
    if result.shape == tensor.shape:
        if tensor.dtype == common:
            if result.dtype != common and result.weak:
                body.convert_result(number, common)
                return tensor
            if result.dtype == common:
                weak = tensor.weak and result.weak
                return Tensor(tensor.instruction, tensor.trace, weak)
        elif tensor.weak and result.dtype == common:
            converted = cast(tensor, common)
            return Tensor(converted.instruction, converted.trace, result.weak)
    raise ShapeError(
        "while_loop requires body_fn to return the shapes and dtypes of its argument: "
        f"{name} is {_show(tensor)} and becomes {_show(result)} (WH-2)"
    )


def _check_condition(condition: Program) -> None:
    scalar = Shape(PRED)
    if not condition.structure.is_leaf or condition.results[0].array_shape != scalar:
        got = ", ".join(_show(r) for r in condition.results) or "nothing"
        raise TraceError(f"while_loop requires cond_fn to return a scalar bool, got {got} (WH-1)")


def _condition_computation(
    condition: Program, state: Sequence[Tensor], captures: Sequence[Any]
) -> Computation:
    trace, _, results = rebind(condition, state, captures)
    return trace.computation(results[0].instruction)


def _body_computation(
    body: Program, state: Sequence[Tensor], captures: Sequence[Any]
) -> Computation:
    trace, parts, results = rebind(body, state, captures)
    with trace:
        root = ops.make_tuple([*results, *parts[len(results) :]]).instruction
    return trace.computation(root)


@evaluable
def fori_loop(
    lower: ArrayLike, upper: ArrayLike, body_fn: Callable[[Any, Any], Any], init: Any
) -> Any:
    """value = body_fn(i, value) for i from `lower` to `upper` - 1, from `init`.

    Args:
        lower, upper: scalar integers, which need not be known while tracing.
        body_fn: (i, value) -> value of the same structure, shapes and dtypes.

    Raises:
        TraceError: a bound is no scalar integer.
        ShapeError: the body changes a shape or dtype (WH-2).
    """
    first, last = as_tensor(lower), as_tensor(upper)
    dtype = result_type(first, last)
    if first.ndim or last.ndim or not np.issubdtype(dtype, np.integer):
        raise TraceError(f"fori_loop requires scalar integer bounds, got {first!r} and {last!r}")
    weak = first.weak and last.weak
    start = cast(first, dtype)
    limit = cast(last, dtype)

    def advance(state: tuple[Tensor, Any]) -> tuple[Tensor, Any]:
        number, value = state
        return number + 1, call_python(body_fn, number, value)

    counter = Tensor(start.instruction, start.trace, weak)
    return while_loop(lambda state: state[0] < limit, advance, (counter, init))[1]
