"""Products, convolutions, linear algebra, transforms, normalisation and random bits."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from tfc.backends.mlir import provider
from tfc.backends.mlir.provider import ir
from tfc.errors import UnsupportedError
from tfc.hlo.attributes.convolution_dimensions import dimensions_from_labels
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import S64, Shape
from tfc.stablehlo.constants import dense_attribute
from tfc.stablehlo.operations.emission import Emission, enumeration
from tfc.stablehlo.operations.fields import flag, integer, ints, numbers, real, window, word
from tfc.stablehlo.operations.operation import Operation, text_of
from tfc.stablehlo.operations.row import Field, Values, row

# (operands, accumulation, products) of StableHLO's dot algorithms that are not of one type each.
ALGORITHMS = {
    ("bf16", "f32", 1): "dot_bf16_bf16_f32",
    ("bf16", "f32", 3): "dot_bf16_bf16_f32_x3",
    ("bf16", "f32", 6): "dot_bf16_bf16_f32_x6",
    ("bf16", "f32", 9): "dot_bf16_bf16_f32_x9",
    ("tf32", "f32", 1): "dot_tf32_tf32_f32",
    ("tf32", "f32", 3): "dot_tf32_tf32_f32_x3",
    ("bf16", "bf16", 1): "dot_bf16_bf16_bf16",
    ("f16", "f16", 1): "dot_f16_f16_f16",
    ("f16", "f32", 1): "dot_f16_f16_f32",
    ("f32", "f32", 1): "dot_f32_f32_f32",
    ("f64", "f64", 1): "dot_f64_f64_f64",
}


def _read_precision(operation: Operation) -> Values:
    if not operation.has("precision_config"):
        return {}
    values = tuple(text_of(a).lower() for a in operation.attribute("precision_config"))
    return {"operand_precision": values} if set(values) - {"default"} else {}


def _write_precision(e: Emission) -> Values:
    words = e.get("operand_precision")
    if words is None:
        return {}
    made = ir.ArrayAttr.get([enumeration("precision", word.upper()) for word in words])
    return {"precision_config": made}


def _read_algorithm(operation: Operation) -> Values:
    if not operation.has("algorithm"):
        return {}
    algorithm = provider.stablehlo().DotAlgorithm(operation.attribute("algorithm"))
    operands, sums = str(algorithm.lhs_precision_type), str(algorithm.accumulation_type)
    if operands.startswith("f8"):
        fast = "_fast_accum" if algorithm.allow_imprecise_accumulation else ""
        return {"algorithm": f"dot_any_f8_any_f8_f32{fast}"}
    key = (operands, sums, algorithm.num_primitive_operations)
    if key not in ALGORITHMS:
        raise UnsupportedError(f"a dot of {operands} with sums of {sums} has no HLO algorithm")
    return {"algorithm": ALGORITHMS[key]}


def _write_algorithm(e: Emission) -> Values:
    name = e.get("algorithm")
    if name is None:
        return {}
    if name not in ALGORITHMS.values():
        raise UnsupportedError(f"the algorithm {name} has no counterpart in StableHLO")
    ((operands, sums, products),) = (k for k, v in ALGORITHMS.items() if v == name)
    text = (
        f"#stablehlo.dot_algorithm<lhs_precision_type = {operands}, "
        f"rhs_precision_type = {operands}, accumulation_type = {sums}, "
        "lhs_component_count = 1, rhs_component_count = 1, "
        f"num_primitive_operations = {products}, allow_imprecise_accumulation = false>"
    )
    return {"algorithm": ir.Attribute.parse(text)}


def _leave_out(_: Emission) -> Values:
    return {}


def _read_labels(operation: Operation) -> Values:
    attribute = str(operation.attribute("dimension_numbers"))
    labels = [part.replace(", ", "") for part in re.findall(r"\[(.*?)\]", attribute)]
    found = dimensions_from_labels(labels)
    if isinstance(found, str):
        raise UnsupportedError(f"dim_labels requires {found}")
    return {"dim_labels": found}


def _write_labels(e: Emission) -> Values:
    lhs, rhs, out = (", ".join(part) for part in re.split("_|->", str(e["dim_labels"])))
    text = f"#stablehlo.conv<[{lhs}]x[{rhs}]->[{out}]>"
    return {"dimension_numbers": ir.Attribute.parse(text)}


def make_convolution(operation: Operation, opcode: str, attributes: Values) -> Instruction:
    """The convolution of an operation; a window's size is the kernel's, which HLO states again."""
    spatial = attributes["dim_labels"].rhs[2:]
    sizes = [operation.operands[1].array_shape.dims[d] for d in spatial]
    stated = attributes["window"].dimensions or (WindowDimension(1),) * len(sizes)
    window = Window(tuple(replace(d, size=size) for d, size in zip(stated, sizes, strict=True)))
    return operation.make(opcode, operation.operands[:2], **{**attributes, "window": window})


def _make_rng(operation: Operation, opcode: str, attributes: Values) -> Instruction:
    # The third operand is the result's shape, which its type says too.
    return operation.make(opcode, operation.operands[:2], **attributes)


def _create_rng(e: Emission, name: str, said: Values) -> Any:
    dims = np.array(e.instruction.array_shape.dims, np.int64)
    shape = Shape(S64, dims.shape)
    sizes = e.create("stablehlo.constant", [], shape, value=dense_attribute(dims, shape))
    return e.create(name, [*e.operands, sizes], **said)


PRECISION = (
    Field(_read_precision, _write_precision),
    Field(_read_algorithm, _write_algorithm),
)
_DOT_NUMBERS = numbers(
    "DotDimensionNumbers",
    "dot_dimension_numbers",
    {
        "lhs_batch_dims": "lhs_batching_dimensions",
        "lhs_contracting_dims": "lhs_contracting_dimensions",
        "rhs_batch_dims": "rhs_batching_dimensions",
        "rhs_contracting_dims": "rhs_contracting_dimensions",
    },
)
CONVOLUTION = row(
    "convolution",
    Field(_read_labels, _write_labels),
    window(
        stride="window_strides",
        base_dilation="lhs_dilation",
        window_dilation="rhs_dilation",
        reversal="window_reversal",
    ),
    integer("feature_group_count", default=1),
    integer("batch_group_count", default=1),
    Field(_read_precision, _write_precision),
    # StableHLO's convolution has no algorithm, and files of it none that it does not know. What an
    # algorithm permits to be less exact is then computed as exactly as the types say.
    Field(_read_algorithm, _leave_out),
    make=make_convolution,
)
_BATCH_NORMS = ("batch-norm-training", "batch-norm-inference", "batch-norm-grad")

ROWS = (
    row("dot", _DOT_NUMBERS, *PRECISION, name="stablehlo.dot_general"),
    CONVOLUTION,
    row("fft", word("fft_type"), ints("fft_length")),
    row("cholesky", flag("lower")),
    row(
        "triangular-solve",
        flag("left_side"),
        flag("lower"),
        flag("unit_diagonal"),
        word("transpose_a", kind="transpose", default="NO_TRANSPOSE"),
    ),
    *(row(opcode, real("epsilon"), integer("feature_index")) for opcode in _BATCH_NORMS),
    row("rng-bit-generator", word("algorithm", "rng_algorithm", prefix="rng_")),
    row(
        "rng",
        word("distribution", "rng_distribution", prefix="rng_"),
        make=_make_rng,
        create=_create_rng,
    ),
)
