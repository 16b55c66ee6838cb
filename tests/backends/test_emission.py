"""Every elementwise op on CPU gives what its definition says, on special values of every type."""

import numpy as np
import pytest
from special_values import same_sign_of_zero, special_values, ulps

import tfc
from tfc.backends.mlir.arithmetic.complex_arithmetic import COMPLEX_ARITHMETIC
from tfc.backends.mlir.arithmetic.complex_functions import COMPLEX_FUNCTIONS
from tfc.backends.mlir.arithmetic.elemental import EMISSION
from tfc.hlo import builder
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import OPS, Op
from tfc.hlo.shape import ELEMENT_TYPES, PRED, ElementType, Shape

F8 = [t.name for t in ELEMENT_TYPES.values() if t.is_float and t.bits == 8]
TYPES = [
    ELEMENT_TYPES[n]
    for n in (
        "pred",
        "s4",
        "s8",
        "s16",
        "s32",
        "s64",
        "u4",
        "u8",
        "u16",
        "u32",
        "u64",
        *F8,
        "f16",
        "bf16",
        "f32",
        "f64",
        "c64",
        "c128",
    )
]
ELEMENTWISE = [op for op in OPS.values() if op.elementwise]


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
            total = {"type": "TOTALORDER"}
            kinds = [{}, total] if element_type.is_float else [{}]
            return [
                builder.instruction("compare", operands[:2], direction=d, **kind)
                for d in ("EQ", "NE", *ordered)
                for kind in kinds
            ]
        case "complex" if element_type.bits < 32:
            return []
        case "reduce-precision":
            bits = [(8, 7), (5, 10), (1, 0), (4, 3), (11, 52), (5, 1)]
            return [
                builder.instruction(op.name, operands[:1], exponent_bits=e, mantissa_bits=m)
                for e, m in bits
            ]
        case "stochastic-convert":
            noise_type = ELEMENT_TYPES[f"u{element_type.bits}"]
            noise_shape = operands[0].array_shape.with_element_type(noise_type)
            noise = builder.instruction("bitcast-convert", operands[1:], shape=noise_shape)
            return [
                builder.instruction(
                    op.name, [operands[0], noise], shape=noise_shape.with_element_type(t)
                )
                for t in TYPES
                if t.kind == "signed"
            ]
        case "select":
            test = builder.compare("EQ", operands[0], operands[0])
            return [builder.instruction("select", [test, *operands[:2]])]
        case "convert":
            return [builder.convert(operands[0], t) for t in TYPES if t != element_type]
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
        r
        for op in ELEMENTWISE
        if element_type.kind in op.domain
        # Complex functions have tests of their own.
        and not (
            element_type.is_complex and op.name in COMPLEX_FUNCTIONS.keys() - COMPLEX_ARITHMETIC
        )
        for r in results_of(op, operands)
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
    if actual.dtype.kind == "c":
        assert_complex_close(actual, expected, message)
        return
    if actual.dtype.kind in "iub" or actual.dtype.name in ("int4", "uint4"):
        np.testing.assert_array_equal(actual, expected, err_msg=message)
        return
    wrong = (ulps(actual, expected) > 2) | ~same_sign_of_zero(actual, expected)
    shown = list(zip(actual[wrong][:5], expected[wrong][:5]))
    assert not wrong.any(), f"{message}: (got, expected) {shown}"


# Complex functions whose parts may cancel: how far off they may be, in epsilons of the modulus
# (of one, where it is less than that).
LOOSE = {"power": 2.0**16, "atan2": 16.0, "logistic": 16.0, "rsqrt": 8.0, "tan": 8.0, "tanh": 8.0}


def assert_complex_close(actual: np.ndarray, expected: np.ndarray, message: str) -> None:
    """Each part as a real number is, or the whole as close as functions with cancellation are."""
    epsilon = np.finfo(actual.real.dtype).eps * LOOSE.get(message.split()[0], 0.0)
    with np.errstate(all="ignore"):
        near = np.abs(actual - expected) <= epsilon * np.maximum(np.abs(expected), 1.0)
    parts = [(actual.real, expected.real), (actual.imag, expected.imag)]
    wrong = sum((ulps(a, e) > 2) | ~same_sign_of_zero(a, e) for a, e in parts).astype(bool)
    wrong &= ~(near & np.isfinite(expected))
    if message.startswith("power"):  # the direction of what overflows is noise
        wrong &= ~(np.isinf(actual) & np.isinf(expected))
    if message.startswith("atan2"):  # which side of its cut rounding leaves it on is noise, too
        wrong &= ~(np.abs(np.abs(actual.real) - np.abs(expected.real)) <= epsilon)
    shown = list(zip(actual[wrong][:5], expected[wrong][:5]))
    assert not wrong.any(), f"{message}: (got, expected) {shown}"
