"""Ensembles of decision trees and linear classifiers from ONNX: values are ONNX Runtime's."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import model_of, runtime_results

import tfc

RNG = np.random.default_rng(5)
ML = "ai.onnx.ml"
X = RNG.standard_normal((40, 4)).astype(np.float32)


def forest(kind: str, targets: list[int], depth: int = 3, trees: int = 5) -> dict[str, Any]:
    """The attributes of random full trees whose leaves speak for some targets."""
    names = ("falsenodeids", "featureids", "modes", "nodeids", "treeids", "truenodeids", "values")
    nodes: dict[str, list[Any]] = {f"nodes_{name}": [] for name in names}
    leaves: dict[str, list[Any]] = {f"{kind}_{k}": [] for k in ("ids", "nodeids", "treeids",
                                                                "weights")}  # fmt: skip
    for tree in range(trees):
        inner = 2**depth - 1
        for node in range(2 * inner + 1):
            is_leaf = node >= inner
            row = (0 if is_leaf else 2 * node + 2, int(RNG.integers(4)),
                   "LEAF" if is_leaf else "BRANCH_LEQ", node, tree,
                   0 if is_leaf else 2 * node + 1, float(RNG.standard_normal()))  # fmt: skip
            for name, value in zip(names, row):
                nodes[f"nodes_{name}"].append(value)
            for target in targets if is_leaf else ():
                leaf = (target, node, tree, float(RNG.standard_normal()))
                for name, value in zip(("ids", "nodeids", "treeids", "weights"), leaf):
                    leaves[f"{kind}_{name}"].append(value)
    return {**nodes, **leaves}


def compare(op: str, attributes: dict[str, Any], count: int) -> None:
    outputs = [f"o{k}" for k in range(count)]
    node = helper.make_node(op, ["x"], outputs, domain=ML, **attributes)
    made = model_of([node], {"x": X}, outputs, domains={ML: 3})
    got = tfc.from_onnx(made)(X)
    for g, w in zip([got] if count == 1 else got, runtime_results(made, {"x": X})):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regressors_combine_leaves(aggregate: str):
    attributes = {**forest("target", [0, 1]), "n_targets": 2, "aggregate_function": aggregate}
    compare("TreeEnsembleRegressor", {**attributes, "base_values": [0.5, -1.0]}, 1)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_classifiers_of_several_classes_choose_the_greatest(transform: str):
    attributes = {**forest("class", [0, 1, 2]), "classlabels_int64s": [3, 5, 9]}
    compare("TreeEnsembleClassifier", {**attributes, "post_transform": transform}, 2)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("is_positive", [False, True])
def test_classifiers_of_two_classes_may_have_one_score(transform: str, is_positive: bool):
    attributes = {**forest("class", [0]), "classlabels_int64s": [3, 5]}
    if is_positive:
        attributes["class_weights"] = [abs(w) / 5 for w in attributes["class_weights"]]
    compare("TreeEnsembleClassifier", {**attributes, "post_transform": transform}, 2)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_linear_classifiers_of_two_classes(transform: str):
    for rows in (1, 2):
        attributes = {
            "coefficients": RNG.standard_normal(4 * rows).tolist(),
            "intercepts": RNG.standard_normal(rows).tolist(),
            "classlabels_ints": [0, 1],
            "post_transform": transform,
        }
        compare("LinearClassifier", attributes, 2)


def test_labels_may_be_text():
    attributes = {**forest("class", [0, 1, 2]), "classlabels_strings": ["a", "b", "c"]}
    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "s"], domain=ML, **attributes
    )
    made = model_of([node], {"x": X}, ["label", "s"], domains={ML: 3})
    found, _ = tfc.from_onnx(made)(X)
    assert found.tolist() == runtime_results(made, {"x": X})[0].tolist()


def test_scores_that_would_be_dictionaries_are_columns_in_the_order_of_the_labels():
    nodes = [
        helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=ML,
                         **forest("class", [0, 1, 2]), classlabels_int64s=[3, 5, 9],
                         post_transform="SOFTMAX"),
        helper.make_node("ZipMap", ["scores"], ["y"], domain=ML, classlabels_int64s=[3, 5, 9]),
    ]  # fmt: skip
    made = model_of(nodes, {"x": X}, ["label", "y"], domains={ML: 3})
    maps = helper.make_sequence_type_proto(
        helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(1, None))
    )
    made.graph.output[1].CopyFrom(helper.make_value_info("y", maps))
    label, scores = tfc.from_onnx(made)(X)
    wanted_label, wanted = runtime_results(made, {"x": X})
    np.testing.assert_array_equal(label, wanted_label)
    rows = [[row[k] for k in (3, 5, 9)] for row in wanted]
    np.testing.assert_allclose(scores, rows, rtol=1e-4)
