"""Elementwise operations; most have the same name, operands and meaning in HLO."""

from tfc.hlo.ir import Instruction
from tfc.hlo.literal import Literal
from tfc.hlo.shape import PRED, Shape
from tfc.stablehlo.constants import array_of, splat_of
from tfc.stablehlo.importer.operation import Operation, row

PLAIN = (
    "abs", "add", "and", "atan2", "bitcast_convert", "cbrt", "ceil", "clamp", "complex", "convert",
    "cosine", "count_leading_zeros", "divide", "exponential", "exponential_minus_one", "floor",
    "imag", "is_finite", "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply",
    "negate", "not", "or", "popcnt", "power", "real", "remainder", "round_nearest_afz",
    "round_nearest_even", "rsqrt", "select", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor",
)  # fmt: skip
LARGE = 1 << 20  # elements that are all the same and are not written out
EXTREMES = ("maximum", "minimum")


@row(*(f"stablehlo.{name}" for name in PLAIN if name not in EXTREMES))
def _plain(operation: Operation) -> Instruction:
    return operation.make(operation.name.partition(".")[2].replace("_", "-"))


@row(*(f"stablehlo.{name}" for name in EXTREMES))
def _extreme(operation: Operation) -> Instruction:
    """HLO has no order of complex numbers; StableHLO's is by real part, then by imaginary part."""
    opcode = operation.name.partition(".")[2]
    if not operation.shape.element_type.is_complex:
        return operation.make(opcode)
    part = operation.shape.with_element_type(operation.shape.element_type.component)
    truth = part.with_element_type(PRED)
    reals, imaginary = ([operation.make(name, [x], part) for x in operation.operands]
                        for name in ("real", "imag"))  # fmt: skip
    direction = "GT" if opcode == "maximum" else "LT"
    equal = operation.make("compare", reals, truth, direction="EQ")
    first = operation.make("compare", reals, truth, direction=direction)
    second = operation.make("compare", imaginary, truth, direction=direction)
    chosen = operation.make("select", [equal, second, first], truth)
    return operation.make("select", [chosen, *operation.operands])


@row("stablehlo.compare")
def _compare(operation: Operation) -> Instruction:
    # The other types are what the operands' element type says anyway.
    total = operation.text("compare_type") == "TOTALORDER"
    direction = operation.text("comparison_direction")
    if total and operation.operands[0].array_shape.element_type.is_float:
        return operation.make("compare", direction=direction, type="TOTALORDER")
    return operation.make("compare", direction=direction)


@row("stablehlo.reduce_precision")
def _reduce_precision(operation: Operation) -> Instruction:
    return operation.make(
        "reduce-precision",
        exponent_bits=operation.integer("exponent_bits"),
        mantissa_bits=operation.integer("mantissa_bits"),
    )


@row("stablehlo.constant")
def _constant(operation: Operation) -> Instruction:
    splat = splat_of(operation.mlir) if operation.shape.size > LARGE else None
    if splat is None:
        return operation.make("constant", literal=Literal(array_of(operation.mlir)))
    scalar = Shape(operation.shape.element_type)
    one = operation.make("constant", (), scalar, literal=Literal(splat))
    return operation.make("broadcast", [one], dimensions=())
