"""Where rows have their largest or smallest element: the element first, then its place.

    p = (f32[8,64], s32[8]) reduce(x, iota, -inf, 0), dimensions={1}, to_apply=larger
    i = s32[8] get-tuple-element(p), index=1

    -->  m = f32[8] reduce(x, -inf), dimensions={1}, to_apply=maximum
         h = pred[8,64] or(compare(x, broadcast(m)), EQ, compare(x, x), NE)
         i = s32[8] reduce(select(h, iota, 64), 64), dimensions={1}, to_apply=minimum

A reduction of pairs chooses between two of them by several conditions; the steps are one operation
each on whole vectors, and one kernel of rows goes along a row twice while it is in a cache.

What `to_apply` chooses is found by trying it. It may only compare the values with one another, or
the places, and choose by that; so it tells no more cases apart than are tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from tfc.hlo import builder
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.evaluation.scalar_computations import apply_to_elements
from tfc.hlo.ir import Computation, Instruction, Module, rebuild
from tfc.hlo.op import op_named
from tfc.hlo.shape import PRED, S32, ElementType, Shape
from tfc.passes.analysis.called import control_computations, map_some
from tfc.passes.rewriting.patterns import constant_value
from tfc.passes.simplify.reductions import is_neutral

_LEAST_LENGTH = 16  # of a row
_MOST_BYTES = 1 << 17  # of a row that is still in a cache when it is gone along again
_SIDES = ({0, 2}, {1, 3})  # the numbers of the parameters that are values, and places


@dataclass(frozen=True)
class ArgExtremes:
    """Find the places of extremes in two steps, in every computation that runs as steps."""

    name: ClassVar[str] = "arg-extremes"

    def __call__(self, module: Module) -> Module:
        """The module with the places of extremes found in two steps."""
        return map_some(module, control_computations(module), _split_all)


def _split_all(computation: Computation) -> Computation:
    places = {
        i.operands[0].name
        for i in computation.instructions
        if i.opcode == "get-tuple-element" and _is_of_rows(i.operands[0])
    }
    for instruction in computation.instructions:
        taken = instruction.opcode == "get-tuple-element" and instruction["index"] == 1
        places -= set() if taken else {o.name for o in instruction.operands}
    places.discard(computation.root.name)
    return rebuild(computation, lambda i: _split(i, places)) if places else computation


def _is_of_rows(x: Instruction) -> bool:
    """True for a reduction of values and their places along rows of an array."""
    if x.opcode != "reduce" or len(x.operands) != 4:
        return False
    values, places, _, first = x.operands
    shape = values.array_shape
    last = shape.rank - 1
    return (
        x["dimensions"] == (last,)
        and last > 0
        and shape.has_default_layout
        and _LEAST_LENGTH <= shape.dims[last] <= _MOST_BYTES // shape.element_type.bytes
        and places.opcode == "iota"
        and places["iota_dimension"] == last
        and constant_value(first) == 0
    )


def _split(x: Instruction, wanted: set[str]) -> Instruction:
    """The place that a reduction of rows gives, in two steps."""
    if x.opcode != "get-tuple-element" or not _is_of_rows(x.operands[0]):
        return x
    pair = x.operands[0]
    values, init = pair.operands[0], pair.operands[2]
    opcode = _extreme(pair["to_apply"])
    if pair.name not in wanted or opcode is None or not is_neutral(init, opcode, init):
        return x
    shape = values.array_shape
    of_values, of_places = (builder.scalar_computation(*c) for c in
                            ((opcode, shape.element_type), ("minimum", S32)))  # fmt: skip
    last = shape.rank - 1
    extreme = builder.reduce(values, init, [last], of_values)
    spread = builder.broadcast(extreme, shape.dims, range(last))
    hit = builder.compare("EQ", values, spread)
    if shape.element_type.is_float:
        hit = builder.binary("or", hit, builder.compare("NE", values, values))
    numbers = builder.iota(Shape(S32, shape.dims), last)
    size = builder.constant(shape.dims[last], S32)
    candidates = builder.instruction(
        "select", [hit, numbers, builder.broadcast(size, shape.dims, ())]
    )
    found = builder.reduce(candidates, size, [last], of_places)
    return builder.convert(found, x.array_shape.element_type)


@lru_cache(maxsize=64)
def _extreme(choose: Computation) -> str | None:
    """The op, maximum or minimum, by whose result a computation chooses one of two pairs, if any.

    NaN goes before numbers, and of equal values the one at the smaller place goes first.
    """
    parameters = choose.parameters
    if len(parameters) != 4 or not all(map(_is_choice, choose.instructions)):
        return None
    values, places = (p.array_shape.element_type for p in parameters[:2])
    if values.is_complex or not places.is_integer:
        return None
    left, right = np.array(_cases(values)).T.astype(values.dtype)
    with np.errstate(invalid="ignore"):
        return _tried(choose, left, right)


def _tried(choose: Computation, left: Any, right: Any) -> str | None:
    """The op by whose result `choose` chooses between values given in all orders."""
    for opcode, better in (("maximum", left > right), ("minimum", left < right)):
        wins = better | ((left != left) & (right == right))
        ties = (left == right) | ((left != left) & (right != right))
        if all(_chooses(choose, (left, i, right, 1 - i), wins | (ties & (i == 0)), ties)
               for i in range(2)):  # fmt: skip
            return opcode
    return None


def _cases(values: ElementType) -> Sequence[tuple[Any, Any]]:
    """Two values in every order that there is."""
    ordered = [(1, 0), (0, 1), (1, 1)]
    return ordered + [(np.nan, 1), (1, np.nan), (np.nan, np.nan)] if values.is_float else ordered


def _chooses(
    choose: Computation, given: tuple[Any, Any, Any, Any], left_wins: Any, ties: Any
) -> bool:
    """True if the computation chooses the left pair where that wins, and else the right one.

    Of two NaN it may choose either, as XLA's own does.
    """
    left, i, right, j = given
    arrays = [np.asarray(a, p.array_shape.element_type.dtype)
              for a, p in zip(given, choose.parameters)]  # fmt: skip
    value, place = apply_to_elements(choose, arrays, evaluate_computation)
    either = ties & (left != left)
    expected = np.where(left_wins, left, right)
    same_value = (value == expected) | ((value != value) & (expected != expected))
    return bool((same_value & (either | (place == np.where(left_wins, i, j)))).all())


def _is_choice(x: Instruction) -> bool:
    """True if an instruction compares parameters of one kind, or chooses by such comparisons."""
    if x.opcode in ("parameter", "tuple"):
        return True
    of_preds = [_is_pred(i) for i in (x, *x.operands)]
    if all(of_preds) or x.opcode == "select":
        return x.opcode == "constant" or op_named(x.opcode).elementwise
    numbers = {o.attributes.get("number", -1) for o in x.operands}
    is_ordered = x.opcode == "compare" and x.attributes.get("type") != "TOTALORDER"
    return is_ordered and any(numbers <= side for side in _SIDES)


def _is_pred(x: Instruction) -> bool:
    return isinstance(x.shape, Shape) and x.shape.element_type == PRED
