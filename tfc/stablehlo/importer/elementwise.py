"""Elementwise operations; most have the same name, operands and meaning in HLO."""

from tfc.hlo.ir import Instruction
from tfc.hlo.literal import Literal
from tfc.stablehlo.constants import array_of
from tfc.stablehlo.importer.operation import Operation, row

PLAIN = (
    "abs", "add", "and", "atan2", "bitcast_convert", "cbrt", "ceil", "clamp", "complex", "convert",
    "cosine", "count_leading_zeros", "divide", "exponential", "exponential_minus_one", "floor",
    "imag", "is_finite", "log", "log_plus_one", "logistic", "maximum", "minimum", "multiply",
    "negate", "not", "or", "popcnt", "power", "real", "remainder", "round_nearest_afz",
    "round_nearest_even", "rsqrt", "select", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor",
)  # fmt: skip


@row(*(f"stablehlo.{name}" for name in PLAIN))
def _plain(operation: Operation) -> Instruction:
    return operation.make(operation.name.partition(".")[2].replace("_", "-"))


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
    return operation.make("constant", literal=Literal(array_of(operation.mlir)))
