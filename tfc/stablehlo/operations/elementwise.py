"""Elementwise operations; most have the same name, operands and meaning in both."""

from typing import Any

from tfc.hlo.ir import Instruction
from tfc.hlo.literal import Literal
from tfc.hlo.op import OPS
from tfc.hlo.shape import PRED, Shape
from tfc.stablehlo.constants import array_of, dense_attribute, splat_of
from tfc.stablehlo.operations.emission import Emission, enumeration
from tfc.stablehlo.operations.fields import bits, word
from tfc.stablehlo.operations.operation import Operation
from tfc.stablehlo.operations.row import Field, Values, row

LARGE = 1 << 20  # elements that are all the same and are not written out


def _make_extreme(operation: Operation, opcode: str, _: Values) -> Instruction:
    """HLO has no order of complex numbers; StableHLO's is by real part, then by imaginary part."""
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


def _create_abs(e: Emission, name: str, _: Values) -> Any:
    """StableHLO's takes no unsigned integers, which are their own absolute values."""
    unsigned = e.instruction.array_shape.element_type.kind == "unsigned"
    return e.operands[0] if unsigned else e.create(name)


def _create_sign(e: Emission, name: str, _: Values) -> Any:
    """StableHLO's takes no unsigned integers, of which the sign is 0 or 1."""
    shape = e.instruction.array_shape
    if shape.element_type.kind != "unsigned":
        return e.create(name)
    return e.create("stablehlo.minimum", [e.operands[0], e.constant(1, shape)])


def _read_order(operation: Operation) -> Values:
    # The other types are what the operands' element type says anyway.
    total = operation.text("compare_type") == "TOTALORDER"
    floats = operation.operands[0].array_shape.element_type.is_float
    return {"type": "TOTALORDER"} if total and floats else {}


def _write_order(e: Emission) -> Values:
    return {"compare_type": enumeration("comparison_type", e["type"]) if e.get("type") else None}


def _make_constant(operation: Operation, opcode: str, _: Values) -> Instruction:
    splat = splat_of(operation.mlir) if operation.shape.size > LARGE else None
    if splat is None:
        return operation.make(opcode, literal=Literal(array_of(operation.mlir)))
    scalar = Shape(operation.shape.element_type)
    one = operation.make(opcode, (), scalar, literal=Literal(splat))
    return operation.make("broadcast", [one], dimensions=())


def _create_constant(e: Emission, name: str, _: Values) -> Any:
    return e.create(name, value=dense_attribute(e["literal"].array, e.instruction.array_shape))


_OWN = (
    *(row(opcode, make=_make_extreme) for opcode in ("maximum", "minimum")),
    row("abs", create=_create_abs),
    row("sign", create=_create_sign),
    row("compare", word("direction", "comparison_direction"), Field(_read_order, _write_order)),
    row("reduce-precision", bits("exponent_bits"), bits("mantissa_bits")),
    row("constant", make=_make_constant, create=_create_constant),
)
_PLAIN = OPS.keys() - {r.opcode for r in _OWN}
ROWS = (
    *_OWN,
    *(row(name, name=counterpart) for name in OPS if name in _PLAIN
      and (counterpart := OPS[name].stablehlo or "").startswith("stablehlo.")),
)  # fmt: skip
