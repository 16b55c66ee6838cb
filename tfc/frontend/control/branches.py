"""One of several computations, chosen by a value: cond and switch."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.control.emission import over_tuple, tuple_shape
from tfc.frontend.control.settling import show, with_structure
from tfc.frontend.program import Abstract, Program, apply_program, trace_function, union_of_captures
from tfc.frontend.promotion import as_tensor, cast, result_type
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.frontend.tree import Structure
from tfc.hlo.ir import Computation
from tfc.hlo.shape import S32


@evaluable
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
) -> Any:
    """true_fun(*operands) if `pred` else false_fun(*operands); exactly one is executed (CND-4).

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
    named = {"true_fun": true_fun, "false_fun": false_fun}
    state, branches, computations = _traced("cond", named, operands)
    operand = ops.make_tuple(state)
    chosen = ops.operation(
        "conditional", selector, operand, operand,
        true_computation=computations[0], false_computation=computations[1],
    )  # fmt: skip
    return _results(branches, chosen)


@evaluable
def switch(index: ArrayLike, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`; exactly one is executed (CND-4).

    Args:
        index: a scalar integer; one below 0 takes the first branch, one beyond the last the last.
        branches: functions whose results have the same structure, shapes and dtypes.
        operands: nested structures of arrays. The functions may use other Tensors as well.

    Raises:
        ShapeError: the results differ in shape or dtype (CND-3).
        TraceError: there is no branch, the index is no scalar integer, or the results differ in
            structure.
    """
    branches = list(branches)
    selector = as_tensor(index)
    if selector.ndim or not np.issubdtype(selector.dtype, np.integer):
        raise TraceError(f"switch requires a scalar integer to choose a branch, got {selector!r}")
    if not branches:
        raise TraceError("switch requires at least one branch, got none")
    if len(branches) == 1:
        return call_python(branches[0], *operands)
    named = {f"branches[{n}]": branch for n, branch in enumerate(branches)}
    state, programs, computations = _traced("switch", named, operands)
    chosen = ops.operation(
        "conditional", _clamped(selector, len(branches) - 1),
        *[ops.make_tuple(state)] * len(branches), branch_computations=tuple(computations),
    )  # fmt: skip
    return _results(programs, chosen)


def _clamped(index: Tensor, last: int) -> Tensor:
    """The index within 0..last, as s32."""
    low, high = ops.full_like(0, index), ops.full_like(min(last, np.iinfo(index.dtype).max), index)
    return ops.convert(ops.operation("clamp", low, index, high), S32)


def _traced(
    op: str, functions: dict[str, Callable[..., Any]], operands: Sequence[Any]
) -> tuple[list[Tensor], list[Program], list[Computation]]:
    """What the branches are given, the branches, and their computations of that as one tuple."""
    leaves, structure = tree.flatten(operands)
    arguments = [as_tensor(leaf) for leaf in leaves]
    known = [Abstract.of(a) for a in arguments]
    programs = {
        name: trace_function(_identifier(name), _on_leaves(function, structure), known)
        for name, function in functions.items()
    }
    _make_branches_agree(op, programs)
    made = list(programs.values())
    captures = union_of_captures(made)
    state = [*arguments, *map(ops.wrap, captures)]
    count = len(arguments)

    def results(branch: Program, parts: Sequence[Tensor]) -> Tensor:
        captured = dict(zip(captures, parts[count:]))
        return ops.make_tuple(apply_program(branch, parts[:count], captured))

    shape = tuple_shape(state)
    computations = [over_tuple(b.trace.name, shape, partial(results, b)) for b in made]
    return state, made, computations


def _identifier(name: str) -> str:
    """true_fun → true_branch, branches[1] → branch_1."""
    return name.replace("fun", "branch").replace("branches[", "branch_").rstrip("]")


def _results(branches: Sequence[Program], chosen: Tensor) -> Any:
    weak = [all(r.weak for r in results) for results in zip(*(b.results for b in branches))]
    return with_structure(branches[0].structure, ops.elements(chosen), weak)


def _on_leaves(function: Callable[..., Any], structure: Structure) -> Callable[..., Any]:
    """The function of flat leaves that a function of nested arguments is."""
    return lambda *leaves: call_python(function, *tree.unflatten(structure, leaves))


def _make_branches_agree(op: str, branches: dict[str, Program]) -> None:
    """Give weak results the dtype of the other branches'; refuse other differences.

    Raises:
        ShapeError: a result differs in shape or dtype.
        TraceError: the results differ in structure.
    """
    (first, one), *others = branches.items()
    for name, other in others:
        if other.structure != one.structure:
            raise TraceError(
                f"{op} requires branches that return the same structure, got "
                f"{one.structure} from {first} and {other.structure} from {name}"
            )
    for number, path in enumerate(tree.paths(one.structure, "result")):
        values = {name: branch.results[number] for name, branch in branches.items()}
        common = result_type(*values.values())
        misfit = _misfit(values, common)
        if misfit is not None:
            got = " and ".join(f"{show(values[name])} from {name}" for name in misfit)
            raise ShapeError(
                f"{op} requires branches that return the same shapes and dtypes, got {got} for "
                f"{path} (CND-3)"
            )
        for branch in branches.values():
            if branch.results[number].dtype != common:
                branch.convert_result(number, common)


def _misfit(values: dict[str, Tensor], common: np.dtype) -> tuple[str, ...] | None:
    """Two branches, in order, whose results cannot meet; None if all can."""
    names = list(values)
    fixed = [n for n in names if not values[n].weak]
    for name in names:
        wrong = name in fixed and values[name].dtype != common
        for other in names[:1] if not wrong else names:
            differs = values[other].dtype != values[name].dtype
            if values[other].shape != values[name].shape or (wrong and differs):
                return tuple(sorted((name, other), key=names.index))
    return None
