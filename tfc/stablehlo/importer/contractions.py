"""Products, convolutions, linear algebra, transforms, normalisation and random bits."""

from typing import Any

from tfc.backends.mlir import provider
from tfc.errors import UnsupportedError
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Instruction
from tfc.stablehlo.importer.operation import Operation, row, text_of

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


def _precision(operation: Operation) -> dict[str, Any]:
    """The attributes operand_precision and algorithm, where they say something."""
    found: dict[str, Any] = {}
    if operation.has("precision_config"):
        values = [text_of(a).lower() for a in operation.attribute("precision_config")]
        if set(values) - {"default"}:
            found["operand_precision"] = "{" + ",".join(values) + "}"
    if operation.has("algorithm"):
        found["algorithm"] = _algorithm(operation.attribute("algorithm"))
    return found


def _algorithm(attribute: Any) -> str:
    algorithm = provider.stablehlo().DotAlgorithm(attribute)
    operands, sums = str(algorithm.lhs_precision_type), str(algorithm.accumulation_type)
    if operands.startswith("f8"):
        fast = "_fast_accum" if algorithm.allow_imprecise_accumulation else ""
        return f"dot_any_f8_any_f8_f32{fast}"
    key = (operands, sums, algorithm.num_primitive_operations)
    if key not in ALGORITHMS:
        raise UnsupportedError(f"a dot of {operands} with sums of {sums} has no HLO algorithm")
    return ALGORITHMS[key]


@row("stablehlo.dot_general")
def _dot_general(operation: Operation) -> Instruction:
    attribute = operation.attribute("dot_dimension_numbers")
    numbers = provider.stablehlo().DotDimensionNumbers(attribute)
    return operation.make(
        "dot",
        lhs_batch_dims=tuple(numbers.lhs_batching_dimensions),
        lhs_contracting_dims=tuple(numbers.lhs_contracting_dimensions),
        rhs_batch_dims=tuple(numbers.rhs_batching_dimensions),
        rhs_contracting_dims=tuple(numbers.rhs_contracting_dimensions),
        **_precision(operation),
    )


@row("stablehlo.dot")
def _dot(operation: Operation) -> Instruction:
    lhs = operation.operands[0].array_shape
    return operation.make(
        "dot",
        lhs_contracting_dims=(lhs.rank - 1,),
        rhs_contracting_dims=(0,),
        **_precision(operation),
    )


def _dimension_labels(attribute: Any) -> str:
    """XLA's notation of a convolution's dimension numbers: b01f_01io->b01f."""
    numbers = provider.stablehlo().ConvDimensionNumbers(attribute)
    parts = []
    for names, spatial in (
        ({"b": numbers.input_batch_dimension, "f": numbers.input_feature_dimension},
         numbers.input_spatial_dimensions),
        ({"i": numbers.kernel_input_feature_dimension,
          "o": numbers.kernel_output_feature_dimension},
         numbers.kernel_spatial_dimensions),
        ({"b": numbers.output_batch_dimension, "f": numbers.output_feature_dimension},
         numbers.output_spatial_dimensions),
    ):  # fmt: skip
        labels = {**{d: name for name, d in names.items()}, **dict(zip(spatial, "0123456789"))}
        parts.append("".join(labels[d] for d in sorted(labels)))
    return f"{parts[0]}_{parts[1]}->{parts[2]}"


@row("stablehlo.convolution", "stablehlo.dynamic_conv")
def _convolution(operation: Operation) -> Instruction:
    labels = _dimension_labels(operation.attribute("dimension_numbers"))
    kernel = labels.partition("_")[2].partition("->")[0]
    count = len(kernel) - 2
    sizes = [operation.operands[1].array_shape.dims[kernel.index(str(d))] for d in range(count)]
    ones, zeros = (1,) * count, (0,) * 2 * count
    padding = operation.ints("padding", zeros)
    if operation.name == "stablehlo.dynamic_conv":
        padding = tuple(operation.constant(2).reshape(-1).tolist())
    numbers = zip(
        sizes,
        operation.ints("window_strides", ones),
        padding[::2],
        padding[1::2],
        operation.ints("lhs_dilation", ones),
        operation.ints("rhs_dilation", ones),
        (bool(r) for r in operation.ints("window_reversal", zeros)),
    )
    return operation.make(
        "convolution",
        operation.operands[:2],
        window=Window(tuple(WindowDimension(*n) for n in numbers)),
        dim_labels=operation.parsed("convolution", "dim_labels", labels),
        feature_group_count=operation.integer("feature_group_count", 1),
        batch_group_count=operation.integer("batch_group_count", 1),
        **_precision(operation),
    )


@row("stablehlo.fft")
def _fft(operation: Operation) -> Instruction:
    return operation.make(
        "fft", fft_type=operation.text("fft_type"), fft_length=operation.ints("fft_length")
    )


@row("stablehlo.cholesky")
def _cholesky(operation: Operation) -> Instruction:
    return operation.make("cholesky", lower=operation.flag("lower"))


@row("stablehlo.triangular_solve")
def _triangular_solve(operation: Operation) -> Instruction:
    return operation.make(
        "triangular-solve",
        left_side=operation.flag("left_side"),
        lower=operation.flag("lower"),
        unit_diagonal=operation.flag("unit_diagonal"),
        transpose_a=operation.text("transpose_a"),
    )


@row("stablehlo.batch_norm_training", "stablehlo.batch_norm_inference", "stablehlo.batch_norm_grad")
def _batch_norm(operation: Operation) -> Instruction:
    return operation.make(
        operation.name.partition(".")[2].replace("_", "-"),
        epsilon=float(operation.attribute("epsilon").value),
        feature_index=operation.integer("feature_index"),
    )


@row("stablehlo.rng_bit_generator")
def _rng_bit_generator(operation: Operation) -> Instruction:
    algorithm = operation.text("rng_algorithm").lower()
    return operation.make("rng-bit-generator", algorithm=f"rng_{algorithm}")


@row("stablehlo.rng")
def _rng(operation: Operation) -> Instruction:
    distribution = operation.text("rng_distribution").lower()
    # The third operand is the result's shape, which its type says too.
    return operation.make("rng", operation.operands[:2], distribution=f"rng_{distribution}")
