"""The tests of operators in the onnx package: their values, and docs/onnx.md, made of them.

`pytest tests/importers/test_onnx_nodes.py -m slow --bless` writes the page.
"""

from collections import Counter
from pathlib import Path

import pytest
from onnx_node_cases import cases, operator_of, outcome, passes_elsewhere

from tfc.importers.onnx.operators import ONNX

PAGE = Path(__file__).parent.parent.parent / "docs" / "onnx.md"
HEAD = """# ONNX, operator by operator

A test writes this page. It runs the tests of operators that the package onnx has, of which ONNX
Runtime gives what is expected for {there}; tfc does for {passed} of these ({percent:.1f} %).

- **versions**: those of the domain that the operator is read in, by their first ones.
- **passed**: of the onnx package's tests of this very operator that ONNX Runtime passes, how many
  tfc passes. – where there are none; then tests of tfc's own compare with ONNX Runtime.

Shapes of results are known before a model runs: where the values of an input decide them (the shape
of a Reshape, the k of a TopK, the boxes of a NonMaxSuppression), these are constants, computed of
shapes, or fixed by `fixed=`. Where they are numbers or short vectors, calls of the model compile
for the values that they are given. Text that is chosen among labels, as classifiers do, is computed
as places among these: calls give the text, programs the places. Text as an input is not supported.

| operator | versions | passed |
|---|---|---|
"""
# Some of each family; the sweep has all of them.
QUICK = [
    "add_bcast",
    "div_uint8",
    "mod_int64_fmod",
    "pow_types_float32_int64",
    "clip_example",
    "where_example",
    "cast_FLOAT_to_DOUBLE",
    "castlike_FLOAT16_to_FLOAT",
    "softmax_axis_1",
    "hardmax_axis_1",
    "reshape_zero_and_negative_dim",
    "split_variable_parts_2d_opset18",
    "expand_dim_changed",
    "slice_neg_steps",
    "gather_elements_negative_indices",
    "scatternd_add",
    "reduce_l2_negative_axes_keep_dims_random",
    "argmax_no_keepdims_example_select_last_index",
    "cumsum_2d_negative_axis",
    "top_k_smallest",
    "triu_neg",
    "einsum_batch_matmul",
    "gemm_all_attributes",
    "conv_with_autopad_same",
    "convtranspose_group_2",
    "convinteger_with_padding",
    "basic_deform_conv_with_padding",
    "maxpool_with_argmax_2d_precomputed_pads",
    "lppool_2d_same_upper",
    "batchnorm_epsilon_training_mode",
    "layer_normalization_4d_axis1",
    "group_normalization_epsilon",
    "lstm_with_peepholes",
    "gru_seq_length",
    "resize_downsample_scales_cubic_antialias",
    "resize_tf_crop_and_resize",
    "resize_upsample_sizes_nearest_not_larger",
    "gridsample_bicubic",
    "center_crop_pad_crop_and_pad",
    "qlinearconv",
    "dynamicquantizelinear_min_adjusted",
    "quantizelinear_blocked_asymmetric",
    "matmulinteger",
    "qlinearmatmul_2D_int8_float32",
    "attention_4d_gqa_with_past_and_present",
    "rotary_embedding_interleaved",
    "linear_attention_gated_delta",
    "dft_axis",
    "stft_with_window",
    "loop11",
    "loop13_seq",
    "if_seq",
    "scan9_sum",
    "sequence_map_add_2_sequences",
    "range_float_type_positive_delta",
    "sce_mean_weight_ii",
    "adam_multiple",
    "nonmaxsuppression_two_batches",
    "tfidfvectorizer_tf_only_bigrams_skip0",
    "ai_onnx_ml_tree_ensemble_single_tree",
    "roialign_mode_max",
]


@pytest.mark.parametrize("name", QUICK)
def test_an_operator_gives_what_is_expected(name: str):
    assert outcome(cases()[f"test_{name}"]).reason == ""


@pytest.mark.slow
def test_the_page_says_what_works_of_each_operator(request: pytest.FixtureRequest):
    there, passed = Counter[str](), Counter[str]()
    failures = {}
    for name, case in cases().items():
        if passes_elsewhere(case):
            made = outcome(case)
            there[operator_of(case)] += 1
            passed[operator_of(case)] += made.passed
            if not made.passed:
                failures[name] = made.reason
    percent = 100 * passed.total() / there.total()
    assert percent >= 98, failures
    head = HEAD.format(there=there.total(), passed=passed.total(), percent=percent)
    rows = []
    for (domain, op), versions in ONNX.rows():
        label = f"{domain}.{op}" if domain else op
        count = f"{passed[label]} of {there[label]}" if there[label] else "–"
        since = ", ".join(str(row.since) for row in versions)
        rows.append(f"| `{label}` | {since} | {count} |")
    page = head + "\n".join(rows) + "\n"
    if request.config.getoption("--bless"):
        PAGE.write_text(page)
    assert PAGE.read_text() == page
