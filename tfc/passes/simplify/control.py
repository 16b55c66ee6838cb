"""Tuples and control flow that is decided, and values without elements: functions from an
instruction to its replacement, or None. Each states itself as before --> after; all are exact.
"""

from typing import Any

from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, has_side_effect, inline
from tfc.hlo.op import OPS, Op
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import Shape, TupleShape
from tfc.hlo.traits import Cost
from tfc.passes.rewriting.patterns import Function, constant_value
from tfc.passes.rewriting.replacing import made
from tfc.passes.simplify.cse import Classes

_MOST_CHOSEN = 64  # elements of a conditional whose branches may both be computed


def element_of_tuple(x: Instruction) -> Instruction | None:
    """get-tuple-element(tuple(a, b)), index=1 --> b"""
    operand = x.operands[0]
    return operand.operands[x["index"]] if operand.opcode == "tuple" else None


def tuple_of_elements(x: Instruction) -> Instruction | None:
    """tuple(get-tuple-element(t, 0), get-tuple-element(t, 1)) --> t, if t has two elements"""
    if any(o.opcode != "get-tuple-element" or o["index"] != k for k, o in enumerate(x.operands)):
        return None
    wholes = {o.operands[0] for o in x.operands}
    if len(wholes) != 1:
        return None
    (whole,) = wholes
    assert isinstance(whole.shape, TupleShape)
    return whole if len(whole.shape.elements) == len(x.operands) else None


def conditional_on_constant(x: Instruction) -> Instruction | None:
    """conditional(true, a, b), true_computation=f, false_computation=g --> f(a)"""
    chosen: Any = constant_value(x.operands[0])
    if chosen is None:
        return None
    called = branches(x)
    if "branch_computations" in x.attributes:
        number = int(chosen) if 0 <= chosen < len(called) else len(called) - 1
    else:
        number = 0 if chosen else 1
    return inline(called[number], [x.operands[1 + number]])


def while_never(x: Instruction) -> Instruction | None:
    """while(a), condition={ROOT f = constant(false)} --> a"""
    runs = constant_value(x["condition"].root)
    never = runs is not None and not runs and not x["condition"].effects
    return x.operands[0] if never else None


def conditional_on_nothing(x: Instruction) -> Instruction | None:
    """conditional(p, a, a), true_computation=f, false_computation=f --> f(a)"""
    called = branches(x)
    if len(set(x.operands[1:])) > 1 or not _equal(called):
        return None
    return inline(called[0], [x.operands[1]])


def _equal(computations: tuple[Computation, ...]) -> bool:
    """True if the bodies are the same; those that call others are if they are one."""
    first, *others = computations
    if all(c is first for c in others):
        return True
    if any(len(c.instructions) != len(first.instructions) for c in others):
        return False
    if any(
        i.called_computations or has_side_effect(i) for c in computations for i in c.instructions
    ):
        return False
    classes = Classes()
    for computation in computations:
        classes.add(computation)
    return len({classes.first(c) for c in computations}) == 1


def conditional_of_little(x: Instruction) -> Instruction | None:
    """s32[] conditional(p, a, b), {f, g} of few scalar operations --> select(p, f(a), g(b))"""
    called = branches(x)
    if "branch_computations" in x.attributes or not all(_is_little(c) for c in called):
        return None
    values = [inline(c, [o]) for c, o in zip(called, x.operands[1:])]
    return _chosen(x.operands[0], values)


def _is_little(computation: Computation) -> bool:
    return len(computation.instructions) <= _MOST_CHOSEN and all(
        _is_plain(OPS[i.opcode]) and (_is_small(i) or i.opcode in _HELD)
        for i in computation.instructions
    )


def _is_plain(op: Op) -> bool:
    return op.elementwise or op.is_movement or op.cost is Cost.FREE


_HELD = frozenset({"parameter", "get-tuple-element", "tuple"})  # no work, whatever the size


def _is_small(x: Instruction) -> bool:
    return isinstance(x.shape, Shape) and x.shape.size <= _MOST_CHOSEN


def _chosen(pred: Instruction, values: list[Instruction]) -> Instruction | None:
    """select(pred, values[0], values[1]), for the elements of tuples each; None if one is large."""
    shape = values[0].shape
    if isinstance(shape, Shape):
        if values[0] is values[1]:
            return values[0]
        return builder.instruction("select", [pred, *values]) if _is_small(values[0]) else None
    if not isinstance(shape, TupleShape):
        return None
    chosen = []
    for index in range(len(shape.elements)):
        parts = [
            v.operands[index]
            if v.opcode == "tuple"
            else builder.instruction("get-tuple-element", [v], index=index)
            for v in values
        ]
        one = _chosen(pred, parts)
        if one is None:
            return None
        chosen.append(one)
    return builder.instruction("tuple", chosen)


def nothing_to_compute(x: Instruction) -> Instruction | None:
    """f32[0,3] add(a, b) --> f32[0,3] broadcast(0): a value without elements is a constant"""
    shape = x.shape
    if not isinstance(shape, Shape) or shape.size:
        return None
    if x.opcode in ("parameter", "constant") or has_side_effect(x):
        return None
    if x.opcode == "broadcast" and constant_value(x) is not None:
        return None
    return made(x, "broadcast", [builder.constant(0, shape.element_type)], dimensions=())


CONTROL_FLOW: dict[str, tuple[Function, ...]] = {
    "get-tuple-element": (element_of_tuple,),
    "tuple": (tuple_of_elements,),
    "conditional": (conditional_on_constant, conditional_on_nothing, conditional_of_little),
    "while": (while_never,),
}
