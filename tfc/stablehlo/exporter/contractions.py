"""Products, convolutions, linear algebra, transforms, normalisation and random bits."""

import re
from typing import Any

import numpy as np

from tfc.backends.mlir import provider
from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo.attributes.window import Window
from tfc.hlo.ops.contraction import dot_dimensions
from tfc.hlo.shape import S64, Shape
from tfc.stablehlo.constants import dense_attribute
from tfc.stablehlo.exporter.emission import Emission, enumeration, row
from tfc.stablehlo.exporter.reductions import padding
from tfc.stablehlo.importer.contractions import ALGORITHMS


def _precision(e: Emission) -> Any:
    """The attribute precision_config, where the instruction has one."""
    text = e.get("operand_precision")
    if text is None:
        return None
    words = re.findall(r"\w+", text)
    return ir.ArrayAttr.get([enumeration("precision", word.upper()) for word in words])


def _algorithm(e: Emission) -> Any:
    """The attribute algorithm, where the instruction has one."""
    name = e.get("algorithm")
    if name is None:
        return None
    if name not in ALGORITHMS.values():
        raise UnsupportedError(f"the algorithm {name} has no counterpart in StableHLO")
    ((operands, sums, products),) = (k for k, v in ALGORITHMS.items() if v == name)
    return ir.Attribute.parse(
        f"#stablehlo.dot_algorithm<lhs_precision_type = {operands}, "
        f"rhs_precision_type = {operands}, accumulation_type = {sums}, "
        "lhs_component_count = 1, rhs_component_count = 1, "
        f"num_primitive_operations = {products}, allow_imprecise_accumulation = false>"
    )


@row("dot")
def _dot(e: Emission) -> Any:
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = map(
        list, dot_dimensions(e.instruction.attributes)
    )
    return e.create(
        "stablehlo.dot_general",
        dot_dimension_numbers=provider.stablehlo().DotDimensionNumbers.get(
            lhs_batch, rhs_batch, lhs_contracting, rhs_contracting
        ),
        precision_config=_precision(e),
        algorithm=_algorithm(e),
    )


@row("convolution")
def _convolution(e: Emission) -> Any:
    window = e.get("window", Window())
    dimensions = window.dimensions
    parts = re.split("_|->", str(e["dim_labels"]))
    labels = [", ".join(part) for part in parts]
    return e.create(
        "stablehlo.convolution",
        dimension_numbers=ir.Attribute.parse(
            f"#stablehlo.conv<[{labels[0]}]x[{labels[1]}]->[{labels[2]}]>"
        ),
        window_strides=tuple(d.stride for d in dimensions),
        padding=padding(window),
        lhs_dilation=tuple(d.base_dilation for d in dimensions),
        rhs_dilation=tuple(d.window_dilation for d in dimensions),
        window_reversal=tuple(bool(d.reversal) for d in dimensions),
        feature_group_count=e.get("feature_group_count", 1),
        batch_group_count=e.get("batch_group_count", 1),
        precision_config=_precision(e),
    )


@row("fft")
def _fft(e: Emission) -> Any:
    kind = enumeration("fft_type", e["fft_type"])
    return e.create("stablehlo.fft", fft_type=kind, fft_length=e["fft_length"])


@row("cholesky")
def _cholesky(e: Emission) -> Any:
    return e.create("stablehlo.cholesky", lower=e.get("lower", False))


@row("triangular-solve")
def _triangular_solve(e: Emission) -> Any:
    return e.create(
        "stablehlo.triangular_solve",
        left_side=e.get("left_side", False),
        lower=e.get("lower", False),
        unit_diagonal=e.get("unit_diagonal", False),
        transpose_a=enumeration("transpose", e.get("transpose_a", "NO_TRANSPOSE")),
    )


@row("batch-norm-training", "batch-norm-inference", "batch-norm-grad")
def _batch_norm(e: Emission) -> Any:
    return e.create(
        f"stablehlo.{e.instruction.opcode.replace('-', '_')}",
        epsilon=ir.FloatAttr.get(ir.F32Type.get(), float(e["epsilon"])),
        feature_index=e["feature_index"],
    )


@row("rng-bit-generator")
def _rng_bit_generator(e: Emission) -> Any:
    algorithm = e["algorithm"].removeprefix("rng_").upper()
    return e.create(
        "stablehlo.rng_bit_generator", rng_algorithm=enumeration("rng_algorithm", algorithm)
    )


@row("rng")
def _rng(e: Emission) -> Any:
    dims = np.array(e.instruction.array_shape.dims, np.int64)
    shape = Shape(S64, dims.shape)
    sizes = e.create("stablehlo.constant", [], shape, value=dense_attribute(dims, shape))
    distribution = e["distribution"].removeprefix("rng_").upper()
    return e.create(
        "stablehlo.rng",
        [*e.operands, sizes],
        rng_distribution=enumeration("rng_distribution", distribution),
    )
