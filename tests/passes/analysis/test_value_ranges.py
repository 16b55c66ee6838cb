"""What is claimed of values holds: for all numbers of small types, and in random programs."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tfc.hlo import Module, builder
from tfc.hlo.evaluation.evaluator import evaluate_computation, walk
from tfc.hlo.ir import Attributes, Computation, Instruction
from tfc.hlo.op import OPS, Call, Value, op_named
from tfc.hlo.ops.elementwise.selection import COMPARISONS
from tfc.hlo.shape import (
    BF16,
    ELEMENT_TYPES,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F16,
    F32,
    F64,
    PRED,
    S4,
    S8,
    S32,
    S64,
    U4,
    U8,
    U64,
    ElementType,
    Shape,
)
from tfc.passes.analysis.float_classes import (
    ALL,
    MINUS_ZERO,
    NAN,
    POSITIVE,
    classes_of,
    order,
    outcome,
)
from tfc.passes.analysis.loop_ranges import module_ranges
from tfc.passes.analysis.value_ranges import (
    Range,
    Tuple,
    computation_ranges,
    range_of,
    seen,
)
from tfc.testing import arguments_for, modules

# --- classes of floats ----------------------------------------------------------------------------


def test_every_float_is_of_one_class_and_the_classes_are_in_order():
    numbers = [np.nan, -np.inf, -1e-40, -0.0, 0.0, 3e38, np.inf]
    classes = [classes_of(np.array(n, np.float32)) for n in numbers]
    assert classes == [1 << k for k in range(7)]
    assert sum(classes) == classes_of(np.array(numbers)) == ALL
    assert order(NAN) is None
    places = [order(c) or (0, 0) for c in classes[1:]]
    assert all(a[1] < b[0] for a, b in itertools.pairwise(places))
    assert order(NAN | MINUS_ZERO | POSITIVE) == (places[2][0], places[4][1])


def every_value(element_type: ElementType) -> np.ndarray:
    """All values of an element type of 8 or 16 bits."""
    bits = np.arange(2**element_type.bits).astype(f"u{element_type.bytes}")
    return bits.view(element_type.dtype)


SAMPLED = {op.name for op in OPS.values() if op.monotone}
CASES = [(name, Attributes()) for name in sorted(SAMPLED - {"compare", "convert", "clamp"})]
CASES += [("compare", Attributes(direction=direction)) for direction in COMPARISONS]


def computed(opcode: str, attributes: Attributes, to: ElementType, values: Sequence[Any]) -> Any:
    """The values of an operation, as the evaluator has them."""
    shapes = [Shape(ELEMENT_TYPES_BY_DTYPE[v.dtype], v.shape) for v in values]
    parameters = [builder.parameter(n, shape) for n, shape in enumerate(shapes)]
    root = Instruction(
        opcode, tuple(parameters), shapes[0].with_element_type(to), attributes, opcode
    )
    return evaluate_computation(Computation.make("f", parameters, root), list(values))


ELEMENT_TYPES_BY_DTYPE = {t.dtype: t for t in ELEMENT_TYPES.values()}


def by_class(values: np.ndarray) -> dict[int, np.ndarray]:
    wide = values.astype(np.float64)
    minus, zero, finite = np.signbit(wide), wide == 0, np.isfinite(wide)
    kinds = np.where(np.isnan(wide), -1, 4 * minus + 2 * zero + finite)
    return {classes_of(values[kinds == k]): values[kinds == k] for k in np.unique(kinds)}


@pytest.mark.parametrize(("opcode", "attributes"), CASES, ids=str)
@pytest.mark.parametrize("kind", [F8E5M2, F8E4M3FN, F8E4M3FNUZ], ids=str)
def test_samples_show_all_that_an_operation_makes_of_a_class(
    kind: ElementType, opcode: str, attributes: Attributes
):
    groups, arity = by_class(every_value(kind)), op_named(opcode).arity or 1
    to = PRED if opcode in ("compare", "is-finite") else kind
    for chosen in itertools.product(groups, repeat=arity):
        grid = [a.reshape(-1) for a in np.meshgrid(*(groups[c] for c in chosen))]
        given_ = tuple((kind, c) for c in chosen)
        claimed = outcome(opcode, attributes, to, given_, False)
        assert includes(claimed, computed(opcode, attributes, to, grid)), chosen
    for chosen, values in groups.items() if arity == 2 else ():
        claimed = outcome(opcode, attributes, to, ((kind, chosen),) * 2, True)
        assert includes(claimed, computed(opcode, attributes, to, [values, values])), chosen


@pytest.mark.parametrize(("source", "to"), [
    *itertools.product([F8E5M2, F8E4M3FNUZ, F16], [F8E4M3FN, BF16, F32, S4, S8, U8, S32, PRED]),
    *itertools.product([S8, U8, PRED], [F8E4M3FN, F16]),
], ids=str)  # fmt: skip
def test_samples_show_all_that_a_conversion_makes(source: ElementType, to: ElementType):
    if source.is_float:
        several: Any = by_class(every_value(source))
    else:
        whole = np.arange(source.limits[0], source.limits[1] + 1).astype(source.dtype)
        several = {(0, 1): whole[whole >= 0][:2], source.limits: whole}
    for known, values in several.items():
        claimed = outcome("convert", Attributes(), to, ((source, known),), False)
        assert includes(claimed, computed("convert", Attributes(), to, [values]))


@pytest.mark.parametrize("to", [F32, F64], ids=str)
@pytest.mark.parametrize("source", [S64, U64], ids=str)
def test_a_conversion_of_64_bits_goes_to_both_ends(source: ElementType, to: ElementType):
    low, high = source.limits
    ends = np.array([low]).astype(source.dtype), np.array([high]).astype(source.dtype)
    claimed = outcome("convert", Attributes(), to, ((source, source.limits),), False)
    for end in ends:
        assert includes(claimed, computed("convert", Attributes(), to, [end]))


def includes(claimed: Range, value: Any) -> bool:
    """Whether a value has what is claimed of it."""
    if claimed is None:
        return True
    if isinstance(claimed, Tuple):
        return all(includes(c, v) for c, v in zip(claimed, value, strict=True))
    array = np.asarray(value)
    if not array.size:
        return True
    if isinstance(claimed, int):
        return not classes_of(array) & ~claimed
    low, high = claimed
    return low <= int(array.min()) and int(array.max()) <= high


# --- intervals of integers ------------------------------------------------------------------------

DISCRETE_CASES = [
    *((name, Attributes()) for name in (
        "abs", "add", "and", "clamp", "divide", "maximum", "minimum", "multiply", "negate", "not",
        "or", "remainder", "shift-right-arithmetic", "shift-right-logical", "subtract")),
    *(("compare", Attributes(direction=direction)) for direction in COMPARISONS),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "attributes"), DISCRETE_CASES, ids=str)
@pytest.mark.parametrize("kind", [S4, U4, PRED], ids=str)
def test_intervals_hold_what_an_operation_makes_of_intervals(
    kind: ElementType, opcode: str, attributes: Attributes
):
    op = op_named(opcode)
    if kind.kind not in (op.domain or {kind.kind}) or (kind is PRED and opcode == "abs"):
        return
    random, (least, most) = np.random.default_rng(0), kind.limits
    to = PRED if opcode == "compare" else kind
    parameters = [builder.parameter(n, Shape(kind, (2,))) for n in range(op.arity or 1)]
    root = Instruction(opcode, tuple(parameters), Shape(to, (2,)), attributes, opcode)
    for _ in range(150):
        known = [tuple(sorted(random.integers(least, most + 1, 2).tolist())) for _ in parameters]
        claimed = range_of(root, dict(zip(parameters, known)).__getitem__)
        values = [np.arange(low, high + 1).astype(kind.dtype) for low, high in known]
        grid = [a.reshape(-1) for a in np.meshgrid(*values)]
        assert includes(claimed, computed(opcode, attributes, to, grid)), known


# --- programs -------------------------------------------------------------------------------------


def check_claims(module: Module, arguments: Sequence[Any]) -> int:
    """Compare what is claimed of every value with what it is; gives how many claims there were."""
    parameters, claims = module_ranges(module), {}
    for computation in module.computations:
        ranges = computation_ranges(computation, parameters.get(computation))
        for x in computation.instructions:
            claims.setdefault(x, []).extend([ranges[x], seen(x)])
    checked = 0

    def check(x: Instruction, value: Value) -> None:
        nonlocal checked
        for claimed in claims[x]:
            checked += claimed is not None
            assert includes(claimed, value), f"{x!r}: {claimed}, got {value}"

    def evaluate_one(x: Instruction, operands: Sequence[Value], call: Call) -> Value:
        for operand, value in zip(x.operands, operands):
            check(operand, value)
        value = op_named(x.opcode).evaluate(x, operands, call)
        check(x, value)
        return value

    walk(module.entry, arguments, evaluate_one)
    return checked


INTEGERS = (S32, S8, U8, S4, PRED)
FLOATS = (F32, PRED, S8, F8E4M3FN, F8E5M2, BF16)


@settings(deadline=None, max_examples=40)
@given(module=modules(14, element_types=INTEGERS))
def test_claims_of_integers_hold_in_random_programs(module: Module):
    check_claims(module, arguments_for(module, np.random.default_rng(3), "special"))


@settings(deadline=None, max_examples=40)
@given(module=modules(14, element_types=FLOATS))
def test_claims_of_floats_hold_in_random_programs(module: Module):
    check_claims(module, arguments_for(module, np.random.default_rng(4), "special"))


LOOPS = (
    "while",
    "while",
    "while",
    "conditional",
    "tuple",
    "add",
    "subtract",
    "remainder",
    "compare",
    "select",
    "clamp",
    "convert",
    "dynamic-slice",
    "iota",
    "not",
    "reduce",
)


@settings(deadline=None, max_examples=80)
@given(module=modules(5, element_types=(S8, S32, U8, PRED, F32), opcodes=LOOPS, max_rank=1))
def test_claims_of_loop_states_hold_in_random_programs(module: Module):
    check_claims(module, arguments_for(module, np.random.default_rng(5), "special"))
