"""Convolution: the rules of the semantics, XLA's text and values, and the code that CPUs run."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_helpers import floats, gives, refused
from test_differential import assert_same
from xla_bridge import run_hlo_text, xla_parse, xla_print

import tfc
from tfc.backends.cpu.convolutions.spec import convolution_spec
from tfc.backends.target import Target
from tfc.errors import ParseError
from tfc.frontend.numpy.window_arguments import same_padding
from tfc.hlo import builder, evaluate, parse
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.shape import BF16, F16, F32, F64, PRED, S8, S16, S32, S64, U8, U32, Shape
from tfc.options import Options
from tfc.passes import parse_passes
from tfc.testing import arguments_for, instructions_of, random_array


def default_dimensions(spatial: int) -> ConvolutionDimensionNumbers:
    """Batch, feature and then spatial dimensions in every array (CGP-1)."""
    dims = tuple(range(spatial + 2))
    return ConvolutionDimensionNumbers(dims, dims, dims)


def conv_with_general_padding(
    lhs: Instruction, rhs: Instruction, strides: Any, padding: Any, lhs_dilation: Any,
    rhs_dilation: Any,
) -> Instruction:  # fmt: skip
    """The builder form of the semantics, §1.12; one number for each spatial dimension."""
    sizes = rhs.array_shape.dims[2:]
    dimensions = [
        WindowDimension(k, s, low, high, base, window)
        for k, s, (low, high), base, window in zip(
            sizes, strides, padding, lhs_dilation, rhs_dilation, strict=True
        )
    ]
    return builder.instruction(
        "convolution", [lhs, rhs], window=Window(tuple(dimensions)),
        dim_labels=default_dimensions(len(dimensions)),
    )  # fmt: skip


def conv(lhs: Instruction, rhs: Instruction, strides: Any, padding: str) -> Instruction:
    """The builder form of the semantics, §1.11."""
    sizes, kernel = lhs.array_shape.dims[2:], rhs.array_shape.dims[2:]
    pairs = [
        same_padding(WindowDimension(k, s), n) if padding == "SAME" else (0, 0)
        for k, s, n in zip(kernel, strides, sizes)
    ]
    ones = [1] * len(kernel)
    return conv_with_general_padding(lhs, rhs, strides, pairs, ones, ones)


def line(values: Any) -> Instruction:
    """Values of one batch and one feature along one spatial dimension."""
    return floats([[values]])


X = line([1, 2, 3, 4, 5])


def convolved(text: str, *shapes: str) -> Instruction:
    """The root of a module of one convolution, of operands p0 and p1."""
    lines = [f"p{n} = {shape} parameter({n})" for n, shape in enumerate(shapes)]
    return parse("ENTRY e { " + "\n".join([*lines, f"ROOT c = {text}"]) + " }").entry.root


# --- the rules ------------------------------------------------------------------------------------


def test_spec_cnv1_same_keeps_the_size_and_puts_the_odd_zero_last():
    gives(conv(X, line([1, 10]), [1], "SAME"), [[[21, 32, 43, 54, 5]]])
    gives(conv(X, line([1, 10, 100]), [2], "SAME"), [[[210, 432, 54]]])


def test_spec_cnv2_valid_pads_nothing():
    gives(conv(X, line([1, 10]), [1], "VALID"), [[[21, 32, 43, 54]]])


def test_spec_cgp1_dimensions_are_batch_feature_spatial_and_output_input_spatial():
    rng = np.random.default_rng(0)
    x, k = rng.integers(0, 5, (2, 3, 4, 5)), rng.integers(0, 5, (6, 3, 2, 1))
    expected = np.zeros((2, 6, 3, 5), np.float32)
    for b, oz, oy, ox in np.ndindex(*expected.shape):
        expected[b, oz, oy, ox] = (x[b, :, oy : oy + 2, ox : ox + 1] * k[oz]).sum()
    gives(conv(floats(x), floats(k), [1, 1], "VALID"), expected)


def test_spec_cgp2_input_features_are_the_kernels():
    with refused(r"as many input features as the kernel has, for 1 groups, got 2 and 1 \(CGP-2\)"):
        conv(floats(np.ones((1, 2, 3))), line([1]), [1], "VALID")


def test_spec_cgp3_windows_lie_only_at_multiples_of_the_stride():
    gives(conv(X, line([1, 0]), [2], "VALID"), [[[1, 3]]])


def test_spec_cgp4_padding_is_zeros_and_negative_padding_removes():
    def padded(low: int, high: int) -> Instruction:
        return conv_with_general_padding(X, line([1, 10]), [1], [(low, high)], [1], [1])

    gives(padded(2, 3), [[[0, 10, 21, 32, 43, 54, 5, 0, 0]]])
    zeros = line([0, 0, 1, 2, 3, 4, 5, 0, 0, 0])
    gives(padded(2, 3), [[[0, 10, 21, 32, 43, 54, 5, 0, 0]]])
    gives(conv(zeros, line([1, 10]), [1], "VALID"), [[[0, 10, 21, 32, 43, 54, 5, 0, 0]]])
    gives(padded(-1, -2), [[[32]]])
    with refused("padding that removes no more than there is, got -4_-2 for 5 elements"):
        padded(-4, -2)


def test_spec_cgp5_dilation_puts_holes_between_neighbours():
    x, k, one = line([1, 2, 3]), line([1, 10]), [(0, 0)]
    gives(conv_with_general_padding(x, k, [1], one, [2], [1]), [[[1, 20, 2, 30]]])
    gives(conv_with_general_padding(X, k, [1], one, [1], [3]), [[[41, 52]]])


def test_spec_cgp6_there_are_as_many_outputs_as_windows_that_fit():
    for size, kernel, stride, dilation in np.ndindex(6, 4, 3, 3):
        x, k = floats(np.ones((1, 1, size))), floats(np.ones((1, 1, kernel + 1)))
        made = conv_with_general_padding(x, k, [stride + 1], [(1, 2)], [1], [dilation + 1])
        room = size + 3 - (kernel * (dilation + 1) + 1)
        assert made.array_shape.dims[2] == max(room // (stride + 1) + 1, 0)


def test_spec_cgp7_the_kernel_is_not_turned_around_unless_the_window_is():
    gives(conv(X, line([1, 10]), [1], "VALID"), [[[21, 32, 43, 54]]])
    window = Window((WindowDimension(2, reversal=True),))
    turned = builder.instruction(
        "convolution", [X, line([1, 10])], window=window, dim_labels=default_dimensions(1)
    )
    gives(turned, [[[12, 23, 34, 45]]])


def test_spec_cgp7_padding_and_holes_take_no_part_where_the_kernel_is_infinite():
    gives(conv_with_general_padding(line([1, 2]), line([np.inf, 0]), [1], [(1, 0)], [1], [1]),
          [[[0, np.inf]]])  # fmt: skip


def test_groups_of_features_and_of_batches_have_kernels_of_their_own():
    x, k = floats([[[1, 2], [3, 4]]]), floats([[[1, 1]], [[10, 10]]])
    labels, window = default_dimensions(1), Window((WindowDimension(2),))
    same = {"window": window, "dim_labels": labels}
    gives(builder.instruction("convolution", [x, k], feature_group_count=2, **same), [[[3], [70]]])
    y = floats([[[1, 2]], [[3, 4]]])
    gives(builder.instruction("convolution", [y, k], batch_group_count=2, **same), [[[3], [70]]])


def test_without_spatial_dimensions_it_is_a_product_of_matrices():
    x, k = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    labels = ConvolutionDimensionNumbers((0, 1), (1, 0), (0, 1))
    gives(builder.instruction("convolution", [floats(x), floats(k)], dim_labels=labels), x @ k)


REFUSED = [
    ("window={size=3x3}, dim_labels=b0f_0io->b0f", "a window of 1 dimensions, got 2"),
    ("window={size=4}, dim_labels=b0f_0io->b0f", "the kernel's spatial sizes, got [4] for [3]"),
    ("dim_labels=b0f_0io->b0f", "a window of 1 dimensions, got 0"),
    ("window={size=3}, dim_labels=b01f_01io->b01f", "a left operand of 4 dimensions"),
    ("window={size=3 stride=0}, dim_labels=b0f_0io->b0f", "strides and dilations of 1 or more"),
    ("window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=0", "one group of features"),
    ("window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=2", "got 4 and 4 (CGP-2)"),
    ("window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=3", "that the groups divide"),
    ("window={size=3}, dim_labels=b0f_0io->b0f, algorithm=fast", "an algorithm of dot_any_f8"),
    ("window={size=3}, dim_labels=b0f_0io->b0f, convolution_kind=fast", "a kind of fprop, dgrad"),
    ("window={size=3}, dim_labels=b0f_0io->b0f, sparsity_config={lhs={sparsity=2x4}}",
     "convolution has no attribute 'sparsity_config'"),
    ("window={size=3}, dim_labels=b0f_0io->b0", "the same number of dimensions in all three"),
    ("window={size=3}, dim_labels=b1f_0io->b0f", "each of b, f, 0 once, not b1f"),
    ("window={size=3}, dim_labels=b0f_0oo->b0f", "each of o, i, 0 once, not 0oo"),
    ("window={size=3}, dim_labels=b?f_0io->b0f", "each of b, f, 0 once, not b?f"),
    ("window={size=3}, dim_labels=b0f", "labels of dimensions such as b01f_01io->b01f"),
]  # fmt: skip


@pytest.mark.parametrize(("attributes", "message"), REFUSED)
def test_what_does_not_fit_is_refused(attributes: str, message: str):
    with pytest.raises(ParseError, match=re.escape(message)):
        convolved(f"convolution(p0, p1), {attributes}", "f32[2,5,4]", "f32[3,4,6]")


# --- XLA ------------------------------------------------------------------------------------------

PRINTED = [
    "window={size=3x3}, dim_labels=b01f_01io->b01f",
    "window={size=3x3 stride=2x1 pad=1_1x-1_0 lhs_dilate=1x2 rhs_dilate=2x1 rhs_reversal=1x0}, "
    "dim_labels=b01f_01io->b01f",
    "window={size=3x3}, dim_labels=b10f_01io->f0b1, convolution_kind=fprop, "
    "operand_precision={highest,default}",
]  # fmt: skip


@pytest.mark.parametrize("attributes", PRINTED)
def test_attributes_print_as_xla_prints_them(attributes: str):
    text = f"convolution(p0, p1), {attributes}"
    root = convolved(text, "f32[2,5,5,4]", "f32[3,3,4,6]")
    module = Module("m", Computation.make("e", root.operands, root))
    assert str(root).endswith(attributes)
    assert attributes in xla_print(xla_parse(str(module)))


@settings(max_examples=60)
@given(instructions_of("convolution"))
def test_xla_computes_and_prints_what_tfc_does(module: Module):
    text = str(module)
    assert str(parse(text)) == text
    arguments = arguments_for(module, np.random.default_rng(0), "whole")
    np.testing.assert_array_equal(run_hlo_text(text, *arguments), evaluate(module, *arguments))


# (lhs, rhs, result) of dots and convolutions; the result is stated where it is not what follows.
TYPES = [
    (BF16, BF16, F32), (F16, F16, F32), (F32, F32, F64), (F32, F32, BF16), (F64, F64, F32),
    (F16, BF16, F32), (F16, F16, F64), (BF16, BF16, BF16), (S8, S8, S32), (U8, S8, S32),
    (S8, U8, S32), (U8, U8, U32), (S8, S8, S8), (S32, S32, S8), (S32, S32, S64), (S8, S16, S16),
    (S8, S8, F32), (PRED, PRED, S32), (PRED, PRED, PRED), (PRED, S32, S32),
]  # fmt: skip
FOLLOWS = [(BF16, F32, F32), (S8, U8, S8), (S8, F16, F16), (F16, BF16, BF16), (PRED, U8, U8),
           (U8, S8, S8), (F64, F32, F64), (S64, F32, F32)]  # fmt: skip
# Operands that StableHLO, which the bridge to XLA goes through, does not convolve together.
NO_BRIDGE = [(F16, BF16), (U8, S8), (S8, U8), (S64, F32)]
BOTH = {
    "dot": ("lhs_contracting_dims={1}, rhs_contracting_dims={0}", "[3,5]", "[5,4]", "[3,4]"),
    "convolution": ("window={size=2}, dim_labels=b0f_0io->b0f", "[2,4,3]", "[2,3,5]", "[2,3,5]"),
}


def mixed(opcode: str, lhs: Any, rhs: Any, result: Any) -> Module:
    attributes, left, right, out = BOTH[opcode]
    stated = f"{result}{out}" if result else ""
    return parse(
        f"ENTRY e {{ a = {lhs}{left} parameter(0)\n b = {rhs}{right} parameter(1)\n"
        f"ROOT c = {stated} {opcode}(a, b), {attributes} }}"
    )


@pytest.mark.parametrize("opcode", BOTH)
@pytest.mark.parametrize("types", [*TYPES, *((a, b, None) for a, b, _ in FOLLOWS)], ids=str)
def test_sums_in_other_types_are_xlas_and_the_cpus(opcode: str, types: Any):
    module = mixed(opcode, *types)
    values = arguments_for(module, np.random.default_rng(1), "whole")
    expected = evaluate(module, *values)
    if opcode == "dot" or types[:2] not in NO_BRIDGE:
        np.testing.assert_array_equal(run_hlo_text(str(module), *values), expected)
    (got,) = tfc.compile(module)(*values)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("opcode", BOTH)
def test_the_type_of_a_sum_follows_from_the_operands(opcode: str):
    for lhs, rhs, result in FOLLOWS:
        made = mixed(opcode, lhs, rhs, None).entry.root.array_shape
        assert made.element_type == result, (lhs, rhs)
    for lhs, rhs, result in [(F32, F32, S32), (S8, S8, PRED), (BF16, S8, S8)]:
        with pytest.raises(ParseError, match="a result type that holds sums of its operands'"):
            mixed(opcode, lhs, rhs, result)


def test_dots_take_xlas_algorithms_where_the_types_are_as_exact():
    def dot(element_type: str, algorithm: str) -> Instruction:
        return convolved(
            "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
            f"algorithm={algorithm}", f"{element_type}[2,3]", f"{element_type}[3,4]",
        )  # fmt: skip

    for algorithm in ("dot_bf16_bf16_f32_x3", "dot_tf32_tf32_f32", "dot_f32_f32_f32"):
        assert str(dot("f32", algorithm)).endswith(f"algorithm={algorithm}")
    assert str(dot("f64", "dot_f64_f64_f64")).endswith("algorithm=dot_f64_f64_f64")
    with pytest.raises(ParseError, match="f64 operands for the algorithm dot_f64_f64_f64"):
        dot("f32", "dot_f64_f64_f64")
    with pytest.raises(ParseError, match=r"an algorithm of dot_any_f8_any_f8_f32, .*got dot_fast"):
        dot("f32", "dot_fast")


# --- passes and code ------------------------------------------------------------------------------

# (text of the attributes, operands, opcode that it becomes)
FORMS = [
    ("window={size=1x1}, dim_labels=bf01_oi01->bf01", "f32[2,3,4,5]", "f32[6,3,1,1]", "dot"),
    ("window={size=1x1 stride=2x3 pad=-1_0x0_-1}, dim_labels=b01f_01io->b01f",
     "f32[2,7,8,3]", "f32[1,1,3,6]", "dot"),
    ("window={size=4x5}, dim_labels=b01f_01io->b01f", "f32[2,4,5,3]", "f32[4,5,3,6]", "dot"),
    ("window={size=4x1 stride=3x2}, dim_labels=b01f_01io->0bf1", "f32[2,4,5,3]", "f32[4,1,3,6]",
     "dot"),
    ("window={size=1}, dim_labels=b0f_0io->b0f, feature_group_count=2", "f32[2,5,6]",
     "f32[1,3,4]", "dot"),
    ("window={size=1}, dim_labels=b0f_0io->b0f, batch_group_count=2", "f32[4,5,6]", "f32[1,6,4]",
     "dot"),
    ("window={size=1 rhs_reversal=1}, dim_labels=fb0_0io->bf0", "bf16[6,2,5]", "bf16[1,6,4]",
     "dot"),
    ("dim_labels=fb_io->bf", "f32[3,2]", "f32[3,4]", "dot"),
    ("window={size=1}, dim_labels=b0f_0io->b0f, feature_group_count=6", "f32[2,5,6]",
     "f32[1,1,6]", "convolution"),
    ("window={size=1 pad=1_0}, dim_labels=b0f_0io->b0f", "f32[2,5,6]", "f32[1,6,4]",
     "convolution"),
    ("window={size=1 lhs_dilate=2}, dim_labels=b0f_0io->b0f", "f32[2,5,6]", "f32[1,6,4]",
     "convolution"),
]  # fmt: skip


@pytest.mark.parametrize(("attributes", "lhs", "rhs", "opcode"), FORMS)
def test_what_is_a_product_of_matrices_becomes_a_dot(
    attributes: str, lhs: str, rhs: str, opcode: str
):
    root = convolved(f"convolution(p0, p1), {attributes}", lhs, rhs)
    module = Module("m", Computation.make("e", root.operands, root))
    (rewrite,) = parse_passes("convolutions")
    after = rewrite(module)
    found = [i.opcode for i in after.entry.instructions if i.opcode in ("dot", "convolution")]
    assert found == [opcode]
    assert rewrite(after) is after
    values = arguments_for(module, np.random.default_rng(0), "whole")
    np.testing.assert_array_equal(evaluate(after, *values), evaluate(module, *values))


@given(instructions_of("convolution"))
def test_canonical_convolutions_mean_the_same_and_are_for_the_tiled_kernel(module: Module):
    (rewrite,) = parse_passes("convolutions")
    after = rewrite(module)
    values = arguments_for(module, np.random.default_rng(0), "whole")
    np.testing.assert_array_equal(evaluate(after, *values), evaluate(module, *values))
    assert rewrite(after) is after
    for x in after.entry.instructions:
        shapes = [o.array_shape for o in x.operands] + [x.array_shape]
        if x.opcode == "convolution" and {s.element_type for s in shapes} <= {F32, F64, S32}:
            assert convolution_spec(x) is not None or any(s.size == 0 for s in shapes)


KINDS = st.sampled_from(["normal", "whole", "special"])


@given(instructions_of("convolution", (F32, F64, S32)), st.integers(0, 99), KINDS)
def test_the_cpu_computes_what_the_evaluator_says(module: Module, seed: int, kind: str):
    assert_same(module, seed, kind)


@settings(max_examples=20)
@given(instructions_of("convolution", (F32, S8, PRED, F64)))
def test_code_for_what_no_pass_has_made_canonical_is_right_too(module: Module):
    values = arguments_for(module, np.random.default_rng(0), "whole")
    options = Options(disabled=("convolutions", "dots"))
    (got,) = tfc.compile(module, options=options)(*values)
    np.testing.assert_array_equal(got, evaluate(module, *values))


# Sizes at which tiles, panels and borders of every kind occur.
LARGER = {
    "borders": ("window={size=3x3 pad=1_1x1_1}", "f32[2,7,29,5]", "f32[3,3,5,19]"),
    "one column": ("window={size=3x3 pad=1_1x1_1}", "f32[1,7,29,9]", "f32[3,3,9,1]"),
    "many columns": ("window={size=1x3}", "f32[1,3,40,2]", "f32[1,3,2,70]"),
    "strides": ("window={size=5x4 stride=2x3 pad=2_2x1_3}", "f32[1,9,50,3]", "f32[5,4,3,16]"),
    "apart": ("window={size=3x3 pad=2_2x2_2 rhs_dilate=2x3}", "f32[3,9,21,4]", "f32[3,3,4,8]"),
    "gaps": ("window={size=4x3 stride=3x2 pad=2_1x3_2 lhs_dilate=2x3 rhs_dilate=1x2}",
             "f32[5,6,7,3]", "f32[4,3,3,9]"),
    "gaps that meet": ("window={size=4x3 pad=3_2x3_2 lhs_dilate=4x6 rhs_dilate=2x4}",
                       "f32[2,4,3,3]", "f32[4,3,3,9]"),
    "wide kernel": ("window={size=12x25 pad=1_1x1_1}", "f32[17,12,25,3]", "f32[12,25,3,20]"),
    "removed": ("window={size=3x2 pad=-2_-1x-3_2}", "f32[2,9,30,3]", "f32[3,2,3,8]"),
    "depthwise": ("window={size=3x3 pad=1_1x1_1 stride=1x2}", "f32[2,8,30,21]", "f32[3,3,1,21]"),
    "grouped": ("window={size=3x3 pad=1_1x1_1}", "f32[2,6,20,12]", "f32[3,3,4,15]"),
    "three dimensions": ("window={size=2x3x3 pad=0_0x1_1x1_1}", "f32[1,3,5,16,3]",
                         "f32[2,3,3,3,8]"),
}  # fmt: skip
TARGETS = {
    "host": Target.host(),
    "scalar": replace(Target.host(), vector_bits=0, vector_registers=0),
    "many registers": replace(Target.host(), vector_bits=128, vector_registers=32),
}


@pytest.mark.parametrize(
    ("name", "target"),
    [*((n, "host") for n in LARGER),
     *((n, t) for n in ("borders", "gaps", "depthwise") for t in ("scalar", "many registers"))],
)  # fmt: skip
def test_larger_convolutions(name: str, target: str):
    window, lhs, rhs = LARGER[name]
    features = int(re.findall(r"\d+", lhs)[-1])
    inputs = int(re.findall(r"\d+", rhs)[-2])
    digits = "".join(str(d) for d in range(len(re.findall(r"\d+", lhs)) - 3))
    root = convolved(
        f"convolution(p0, p1), {window}, dim_labels=b{digits}f_{digits}io->b{digits}f, "
        f"feature_group_count={features // inputs}", lhs, rhs,
    )  # fmt: skip
    assert convolution_spec(root) is not None
    module = Module("m", Computation.make("e", root.operands, root))
    values = arguments_for(module, np.random.default_rng(0), "whole")
    (got,) = tfc.compile(module, target=TARGETS[target])(*values)
    np.testing.assert_array_equal(got, evaluate(module, *values))


def test_an_array_of_another_layout_is_convolved_as_well():
    text = """ENTRY e { a = f32[2,5,6,3]{1,2,3,0} parameter(0)
      b = f32[3,3,3,4]{0,1,2,3} parameter(1)
      ROOT c = f32[2,3,4,4]{0,1,3,2} convolution(a, b), window={size=3x3},
        dim_labels=b01f_01io->b01f }"""
    assert_same(parse(text), 0, "normal")


def test_a_constant_kernel_takes_part():
    x = builder.parameter(0, Shape(F32, (2, 4, 4, 3)))
    kernel = builder.constant(random_array(Shape(F32, (3, 3, 3, 4)), np.random.default_rng(0)))
    made = builder.instruction(
        "convolution", [x, kernel], window=Window((WindowDimension(3), WindowDimension(3))),
        dim_labels=ConvolutionDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)),
    )  # fmt: skip
    assert_same(Module("m", Computation.make("e", [x], made)), 0, "normal")


def test_convolutions_of_constants_fold():
    root = conv(X, line([1, 10]), [1], "SAME")
    (fold,) = parse_passes("fold")
    after = fold(Module("m", Computation.make("e", [], root)))
    assert after.entry.root.opcode == "constant"
    gives(builder.constant(after.entry.root["literal"].array), [[[21, 32, 43, 54, 5]]])
