"""Every elementwise op on CPU gives what its definition says, on special values of every type."""

import numpy as np
import pytest

import tfc
from tfc.backends.mlir.elemental import EMISSION
from tfc.hlo import builder
from tfc.hlo.complex_meaning import join
from tfc.hlo.evaluator import evaluate
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import OPS, Op
from tfc.hlo.shape import ELEMENT_TYPES, PRED, ElementType, Shape

TYPES = [
    ELEMENT_TYPES[n]
    for n in (
        "pred",
        "s8",
        "s16",
        "s32",
        "s64",
        "u8",
        "u16",
        "u32",
        "u64",
        "f16",
        "bf16",
        "f32",
        "f64",
        "c64",
        "c128",
    )
]
ELEMENTWISE = [op for op in OPS.values() if op.elementwise]


def special_values(element_type: ElementType) -> np.ndarray:
    """Zeros, ones, extremes, and for floats infinities, NaN and denormals, as `element_type`."""
    if element_type == PRED:
        return np.array([False, True])
    if element_type.is_integer:
        bits = element_type.bits
        low, high = (
            (0, 2**bits - 1)
            if element_type.kind == "unsigned"
            else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        values = [0, 1, 2, 3, 5, 7, bits - 1, bits, bits + 1, high, high - 1, low, low + 1]
        values += [-v for v in values if low <= -v <= high]
        return np.array([v % 2**64 for v in values], np.uint64).astype(element_type.dtype)
    if element_type.is_complex:
        parts = special_values(element_type.component)[::3]
        return join(*(a.reshape(-1) for a in np.meshgrid(parts, parts, indexing="ij")))
    limits = np.finfo(np.float32 if element_type.bits >= 32 else np.float16)
    values = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.75,
        10.0,
        1e-3,
        0.3,
        float(limits.max),
        float(limits.tiny),
        float(limits.tiny) / 4,
        np.inf,
    ]
    return np.array([*values, *(-v for v in values), np.nan]).astype(element_type.dtype)


def test_every_elementwise_op_has_an_emission():
    missing = sorted({op.name for op in ELEMENTWISE} - set(EMISSION))
    assert not missing, (
        f"{', '.join(missing)} cannot be compiled: add a row in backends/mlir/elemental.py"
    )
    assert set(EMISSION) <= {op.name for op in ELEMENTWISE}


def results_of(op: Op, operands: list[Instruction]) -> list[Instruction]:
    """The op applied in every way its attributes allow."""
    element_type = operands[0].array_shape.element_type
    match op.name:
        case "compare":
            ordered = () if element_type.is_complex else ("LT", "LE", "GT", "GE")
            return [builder.compare(d, *operands[:2]) for d in ("EQ", "NE", *ordered)]
        case "complex" if element_type.bits < 32:
            return []
        case "select":
            test = builder.compare("EQ", operands[0], operands[0])
            return [builder.instruction("select", [test, *operands[:2]])]
        case "convert":
            targets = [t for t in TYPES if t.is_complex or not element_type.is_complex]
            return [builder.convert(operands[0], t) for t in targets if t != element_type]
        case "bitcast-convert":
            return [
                builder.instruction(
                    "bitcast-convert",
                    operands[:1],
                    shape=operands[0].array_shape.with_element_type(t),
                )
                for t in TYPES
                if t.bits == element_type.bits
                and PRED not in (t, element_type)
                and t.is_complex == element_type.is_complex
            ]
        case "clamp":
            return [builder.instruction("clamp", [operands[1], operands[0], operands[1]])]
        case _:
            return [builder.instruction(op.name, operands[: op.arity])]


@pytest.mark.parametrize("element_type", TYPES, ids=str)
def test_elementwise_ops_agree_with_the_evaluator(element_type: ElementType):
    values = special_values(element_type)
    x, y = (a.reshape(-1) for a in np.meshgrid(values, values, indexing="ij"))
    shape = Shape(element_type, x.shape)
    operands = [builder.parameter(0, shape), builder.parameter(1, shape)]
    results = [
        r for op in ELEMENTWISE if element_type.kind in op.domain for r in results_of(op, operands)
    ]
    root = builder.instruction("tuple", results)
    module = Module("ops", Computation.make("main", operands, root))
    got = tfc.compile(module, backend="cpu")(x, y)
    for result, actual, expected in zip(results, got, evaluate(module, x, y)):
        message = f"{result.opcode} {dict(result.attributes)} -> {result.shape}"
        assert_close(actual, expected, message)


def assert_close(actual: np.ndarray, expected: np.ndarray, message: str) -> None:
    """Equal for integers; for floats at most 2 ulp apart, NaN for NaN, the same sign of zero."""
    assert actual.dtype == expected.dtype, message
    if actual.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected, err_msg=message)
        return
    if actual.dtype.kind == "c":
        for part in (np.real, np.imag):
            assert_close(part(actual), part(expected), message)
        return
    wide_actual, wide_expected = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(wide_expected)
    np.testing.assert_array_equal(wide_actual[~finite], wide_expected[~finite], err_msg=message)
    with np.errstate(over="ignore"):  # of the largest number, which is infinite
        spacing = np.abs(np.spacing(expected[finite]).astype(np.float64))
    distance = np.abs(wide_actual[finite] - wide_expected[finite])
    worst = int(np.argmax(distance / spacing)) if finite.any() else 0
    assert np.all(distance <= 2 * spacing), (
        f"{message}: got {actual[finite][worst]}, expected {expected[finite][worst]}"
    )
    zero = finite & (wide_expected == 0) & (wide_actual == 0)
    np.testing.assert_array_equal(
        np.signbit(actual[zero].astype(np.float64)),
        np.signbit(expected[zero].astype(np.float64)),
        err_msg=message,
    )
