"""Elementwise operations; most have the same name, operands and meaning in StableHLO."""

from typing import Any

from tfc.hlo.shape import Shape
from tfc.stablehlo.constants import dense_attribute
from tfc.stablehlo.exporter.emission import Emission, enumeration, i32, row
from tfc.stablehlo.importer.composites import PLAIN as CHLO
from tfc.stablehlo.importer.elementwise import PLAIN


@row(*(name.replace("_", "-") for name in PLAIN if name not in ("abs", "sign")))
def _plain(e: Emission) -> Any:
    return e.create(f"stablehlo.{e.instruction.opcode.replace('-', '_')}")


@row(*(name for name in CHLO if name not in PLAIN), "mulhi")
def _chlo(e: Emission) -> Any:
    return e.create(f"chlo.{e.instruction.opcode}")


@row("abs")
def _abs(e: Emission) -> Any:
    """StableHLO's takes no unsigned integers, which are their own absolute values."""
    unsigned = e.instruction.array_shape.element_type.kind == "unsigned"
    return e.operands[0] if unsigned else e.create("stablehlo.abs")


@row("sign")
def _sign(e: Emission) -> Any:
    """StableHLO's takes no unsigned integers, of which the sign is 0 or 1."""
    shape = e.instruction.array_shape
    if shape.element_type.kind != "unsigned":
        return e.create("stablehlo.sign")
    return e.create("stablehlo.minimum", [e.operands[0], e.constant(1, shape)])


@row("compare")
def _compare(e: Emission) -> Any:
    return e.create(
        "stablehlo.compare",
        comparison_direction=enumeration("comparison_direction", e["direction"]),
        compare_type=enumeration("comparison_type", e["type"]) if e.get("type") else None,
    )


@row("reduce-precision")
def _reduce_precision(e: Emission) -> Any:
    return e.create(
        "stablehlo.reduce_precision",
        exponent_bits=i32(e["exponent_bits"]),
        mantissa_bits=i32(e["mantissa_bits"]),
    )


@row("constant")
def _constant(e: Emission) -> Any:
    shape = e.instruction.shape
    assert isinstance(shape, Shape)
    value = dense_attribute(e["literal"].array, shape)
    return e.create("stablehlo.constant", value=value)
