"""The state of a loop before its body is known: Python numbers in it take the body's dtypes.

    scan(lambda c, x: (c + x, None), 0.0, xs)    xs is f32: so is the 0.0 that the carry begins with

A body is traced with the state as it begins, and again where what it returns asks for another
dtype of what was a Python number.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.errors import ShapeError
from tfc.frontend import tree
from tfc.frontend.program import Abstract, Program, trace_function
from tfc.frontend.promotion import cast, result_type
from tfc.frontend.tensor import Tensor
from tfc.frontend.tree import Structure


def show(tensor: Tensor) -> str:
    """The element type and dimensions, for errors."""
    return tensor.array_shape.without_layout()


def with_structure(structure: Structure, values: Sequence[Tensor], weak: Sequence[bool]) -> Any:
    """Values nested as a structure says, those of Python numbers weak again."""
    made = [Tensor(v.instruction, v.home, w) for v, w in zip(values, weak)]
    return tree.unflatten(structure, made)


def trace_until_settled(
    name: str,
    body: Callable[..., Any],
    state: list[Tensor],
    more: Sequence[Abstract],
    check: Callable[[Program], None],
    requires: str,
    paths: Sequence[str],
) -> tuple[list[Tensor], Program]:
    """The state in the dtypes that the body gives it, and the body traced with that.

    Args:
        body: takes the state's leaves and `more`, and returns the state's leaves first.
        check: raises an error if what the body returns has another structure.
        requires: what the body is for, as the beginning of an error.
        paths: how each leaf of the state is called.

    Raises:
        ShapeError: the body changes the shape of a leaf, or its dtype where it is no Python
            number's.
    """
    while True:
        known = [Abstract.of(t) for t in state]
        traced = trace_function(name, body, [*known, *more])
        check(traced)
        changed = [
            _settle(traced, number, tensor, path, requires)
            for number, (tensor, path) in enumerate(zip(state, paths))
        ]
        if [Abstract.of(t) for t in changed] == known:
            return state, traced
        state = changed  # at most three rounds: weak, weak of another dtype, not weak


def _settle(body: Program, number: int, tensor: Tensor, path: str, requires: str) -> Tensor:
    """The initial value of one leaf in the dtype that the body asks for."""
    result = body.results[number]
    common = result_type(tensor, result)
    if result.shape == tensor.shape:
        if tensor.dtype == common:
            if result.dtype != common and result.weak:
                body.convert_result(number, common)
                return tensor
            if result.dtype == common:
                weak = tensor.weak and result.weak
                return Tensor(tensor.instruction, tensor.home, weak)
        elif tensor.weak and result.dtype == common:
            converted = cast(tensor, common)
            return Tensor(converted.instruction, converted.home, result.weak)
    raise ShapeError(f"{requires}: {path} is {show(tensor)} and becomes {show(result)} (WH-2)")
