"""Every rule of the table proves itself: both sides are evaluated on special and random values.

An exact rule must give the same bits (any NaN for any NaN) for every element type it applies to; a
rule marked inexact must differ somewhere, or it should be marked exact.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from comparing import same

from tfc.errors import InternalError, ShapeError
from tfc.hlo import builder
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import op_named
from tfc.hlo.shape import ELEMENT_TYPES, F32, PRED, S32, ElementType, Shape
from tfc.passes.rewriting.patterns import Pattern, Rule, op, substitute, variable
from tfc.passes.rewriting.rewriter import Rewriter, RuleTable
from tfc.passes.simplify.arithmetic import ARITHMETIC

# NumPy has no bitwise operations on 4-bit integers.
TYPES = [t for t in ELEMENT_TYPES.values() if not t.is_complex and t.bits >= 8]


def values_of(element_type: ElementType, count: int = 6) -> np.ndarray:
    """Special values of a type, then random ones of each kind, random bits among them."""
    rng = np.random.default_rng(7)
    dtype = element_type.dtype
    if element_type == PRED:
        return np.array([False, True])
    if element_type.is_integer:
        low = -(2 ** (element_type.bits - 1)) if element_type.kind == "signed" else 0
        high = low + 2**element_type.bits - 1
        some = [low, low + 1, -1, 0, 1, 2, 3, 5, 7, high // 2, high - 1, high]
        return np.array([v for v in some if low <= v <= high], dtype)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-8, np.inf, -np.inf, np.nan, 1e-40, -5e-324]
    with np.errstate(all="ignore"):
        normal = rng.normal(size=count)
        wide = rng.normal(size=count) * np.exp2(rng.integers(-130, 127, count))
        values = np.concatenate([special, normal, wide]).astype(dtype)
        bits = rng.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
        # Signalling NaNs are no values that a program can rely on: any operation may quiet them.
        return np.concatenate([values, bits[~np.isnan(bits.astype(np.float64))]])


def leaves_of(pattern: Pattern, kind: str) -> dict[str, Pattern]:
    found = {pattern.name: pattern} if pattern.kind == kind else {}
    for operand in pattern.operands:
        found |= leaves_of(operand, kind)
    return found


def instances(
    rule: Rule, element_type: ElementType, without: dict[str, str]
) -> list[tuple[Computation, Computation, Any]]:
    """(left, right, arguments) for a type, one for each choice of constants the guard accepts.

    `without` takes the reason if the type has no such operation or constant.
    """
    variables = leaves_of(rule.left, "variable")
    constants = leaves_of(rule.left, "constant")
    types = {n: PRED if v.pred else element_type for n, v in variables.items()}
    # Rare differences of one ulp take many values to find; grids of several variables stay small.
    count = 10_000 if len(types) == 1 and not constants else 6
    grid = np.meshgrid(*(values_of(t, count) for t in types.values()), indexing="ij")
    arguments = [g.reshape(-1) for g in grid]
    shapes = [Shape(t, (arguments[0].size,)) for t in types.values()]
    parameters = [builder.parameter(i, s, n) for i, (n, s) in enumerate(zip(types, shapes))]
    found = []
    every = values_of(element_type)[: 15 if len(constants) > 1 else None]
    for chosen in itertools.product(every, repeat=len(constants)):
        bound: dict[str, Any] = dict(zip(variables, parameters)) | dict(zip(constants, chosen))
        if rule.guard is not None and not rule.guard(bound):
            continue
        try:
            like = builder.instruction("copy", [parameters[0]])
            left = substitute(rule.left, bound, like)
        except ShapeError as error:  # the left side has no meaning for the type
            without[element_type.name] = str(error)
            return []
        right = rule(left)
        if right is None:  # its constants do not exist in the type, or are not its values
            continue
        sides = (Computation.make("side", parameters, side) for side in (left, right))
        found.append((*sides, arguments))
    return found


def value_of(side: Computation, arguments: list[np.ndarray]) -> np.ndarray:
    """The value of a computation, each op applied to arrays that lie in memory in full.

    NumPy takes shortcuts for repeated operands (x ** 2 as a product), which hides differences.
    """
    values = dict(zip(side.parameters, arguments))
    for i in side.instructions:
        if i not in values:
            operands = [np.array(values[o], order="C") for o in i.operands]
            values[i] = op_named(i.opcode).evaluate(i, operands, evaluate_computation)
    return values[side.root]


@pytest.mark.parametrize("rule", ARITHMETIC, ids=lambda r: f"{r.name}{'' if r.exact else ' ~'}")
def test_rule_is_exact_or_marked(rule: Rule, record_property: Callable[..., None]) -> None:
    applied, differs, without = 0, [], dict[str, str]()
    record_property("types without the left side", without)
    for element_type in TYPES:
        for left, right, arguments in instances(rule, element_type, without):
            applied += 1
            values = [value_of(side, arguments) for side in (left, right)]
            equal = same(*values)
            if not equal.all():
                at = int(np.argmin(equal))
                differs.append((element_type, [a[at] for a in arguments], [v[at] for v in values]))
    assert applied, f"{rule.name} applies to no element type: {without}"
    if rule.exact:
        assert not differs, f"{rule.name} is not exact: {differs[0]}"
    else:
        assert differs, f"{rule.name} is exact: mark it so"


def simplified(rule: Rule, root: Instruction, *parameters: Instruction) -> Instruction:
    module = Module("m", Computation.make("main", parameters, root))
    return Rewriter(RuleTable([rule], {})).run(module).entry.root


def test_constants_match_scalar_and_repeated() -> None:
    x, a = variable("x"), builder.parameter(0, Shape(F32, (2, 3)))
    rule = Rule(x * 1, x)
    assert simplified(rule, builder.binary("multiply", a, builder.constant(1.0, F32)), a) is a
    s = builder.parameter(0, Shape(F32))
    assert simplified(rule, builder.binary("multiply", builder.constant(1.0, F32), s), s) is s
    half = builder.binary("multiply", s, builder.constant(0.5, F32))
    assert simplified(rule, half, s) is half


def test_a_variable_that_appears_twice_matches_one_instruction() -> None:
    x = variable("x")
    rule = Rule(op("maximum", x, x), x)
    a, b = (builder.parameter(i, Shape(S32)) for i in range(2))
    assert simplified(rule, builder.binary("maximum", a, a), a) is a
    other = builder.binary("maximum", a, b)
    assert simplified(rule, other, a, b) is other


def test_rules_that_undo_one_another_are_named() -> None:
    x, y = variable("x"), variable("y")
    rules = [Rule(x - y, x + -y), Rule(x + -y, x - y)]
    a, b = (builder.parameter(i, Shape(F32)) for i in range(2))
    module = Module("m", Computation.make("main", [a, b], builder.binary("subtract", a, b)))
    with pytest.raises(InternalError, match=r"does not settle.*add\(x, negate\(y\)\)"):
        Rewriter(RuleTable(rules, {})).run(module)


def test_a_chosen_layout_is_kept() -> None:
    shape = Shape(F32, (2, 3))
    a = builder.parameter(0, shape)
    copy = builder.unary("copy", a)
    other = copy.with_(shape=shape.with_layout(type(shape.layout)((0, 1))))
    x = variable("x")
    assert simplified(Rule(op("copy", x), x), other, a) is other
    assert simplified(Rule(op("copy", x), x), copy, a) is a


def test_the_parts_of_a_replacement_are_rewritten_in_the_same_run() -> None:
    x, y = variable("x"), variable("y")
    a, b = (builder.parameter(i, Shape(F32), n) for i, n in enumerate("ab"))
    twice = -op("negate", x - x)
    rules = [Rule(op("negate", x - y), y - x), Rule(x - x, x), Rule(op("abs", x), twice)]
    module = Module("m", Computation.make("main", [a, b], builder.unary("abs", a)))
    rewriter = Rewriter(RuleTable(rules, {}))
    root = rewriter.run(module).entry.root
    assert [root.opcode, root.operands[0].opcode, root.operands[0].operands[0]] == [
        "negate", "negate", a,
    ]  # fmt: skip
    assert rewriter.run(module).entry.root.opcode == "negate"


def test_comparisons_by_total_order_are_no_others() -> None:
    x, y = variable("x"), variable("y")
    rule = Rule(~op("compare", x, y, direction="EQ"), op("compare", x, y, direction="NE"))
    a, b = (builder.parameter(i, Shape(F32)) for i in range(2))
    for kind, same_root in (("FLOAT", False), ("TOTALORDER", True)):
        equal = builder.instruction("compare", [a, b], direction="EQ", type=kind)
        root = builder.unary("not", equal)
        assert (simplified(rule, root, a, b) is root) == same_root


def test_a_module_of_many_instructions_takes_one_look_at_each() -> None:
    x, looks = builder.parameter(0, Shape(F32, (4,))), []
    value: Instruction = x
    for _ in range(2_000):
        value = builder.unary("tanh", builder.unary("negate", value))
    module = Module("m", Computation.make("main", [x], value))
    rewriter = Rewriter(RuleTable([], {"tanh": [looks.append]}))  # type: ignore[list-item]
    assert rewriter.run(module) is module
    assert len(looks) == len(set(looks)) == 2_000
