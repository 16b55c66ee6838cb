"""Text that ONNX models choose among labels: values are ONNX Runtime's."""

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import runtime_results

import tfc
from tfc.errors import UnsupportedError

RNG = np.random.default_rng(9)
ML = "ai.onnx.ml"
X = RNG.standard_normal((6, 3)).astype(np.float32)
NAMES = ["setosa", "versicolor", "größer"]
LINEAR = {"coefficients": [1.0, -1, 0, 0.5, 2, 1, -2, 0, 1], "intercepts": [0.1, 0.0, -0.2]}


def model(
    nodes: list[Any], outputs: dict[str, int], constants: dict[str, Any] | None = None
) -> Any:
    graph = helper.make_graph(
        nodes, "text", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(v), name) for name, v in (constants or {}).items()],
    )  # fmt: skip
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=versions, ir_version=9)


def compare(made: Any) -> Any:
    """A model, whose results are those of ONNX Runtime."""
    imported = tfc.from_onnx(made, backend="interpreter")
    found = imported(X)
    found = found if isinstance(found, tuple) else (found,)
    for mine, theirs in zip(found, runtime_results(made, {"x": X}), strict=True):
        assert mine.shape == np.shape(theirs)
        if mine.dtype == object:
            assert mine.tolist() == np.asarray(theirs).tolist()
        else:
            np.testing.assert_allclose(mine, theirs, 1e-5)
    return imported


def classifier(**labels: Any) -> Any:
    return helper.make_node("LinearClassifier", ["x"], ["label", "scores"], domain=ML, **LINEAR,
                            **labels)  # fmt: skip


def test_classifiers_give_labels_that_are_text():
    made = model([classifier(classlabels_strings=NAMES)],
                 {"label": TensorProto.STRING, "scores": TensorProto.FLOAT})  # fmt: skip
    imported = compare(made)
    assert imported.labels["label"].tolist() == NAMES
    places, _ = tfc.jit(imported)(X)
    assert [NAMES[n] for n in places] == imported(X)[0].tolist()
    assert tfc.compile(imported.lower(X).hlo)(X)[0].dtype == np.int64


def test_labels_are_found_by_places_and_arranged():
    nodes = [
        helper.make_node("ArgMax", ["x"], ["place"], axis=1, keepdims=0),
        helper.make_node("ArrayFeatureExtractor", ["names", "place"], ["row"], domain=ML),
        helper.make_node("Cast", ["row"], ["same"], to=TensorProto.STRING),
        helper.make_node("Reshape", ["same", "shape"], ["flat"]),
        helper.make_node("Identity", ["flat"], ["label"]),
        helper.make_node("Gather", ["names", "place"], ["again"]),
    ]
    constants = {"names": np.array(NAMES, object), "shape": np.array([-1])}
    compare(model(nodes, {"label": TensorProto.STRING, "again": TensorProto.STRING}, constants))


@pytest.mark.parametrize("values", [
    {"values_strings": ["a", "b"], "default_string": "?"}, {"values_int64s": [7, 5]},
    {"values_floats": [0.5, 0.25], "default_float": -1.0},
])  # fmt: skip
def test_tables_map_numbers_and_text_to_each_other(values: dict[str, Any]):
    kind = {"values_strings": TensorProto.STRING, "values_int64s": TensorProto.INT64,
            "values_floats": TensorProto.FLOAT}[next(iter(values))]  # fmt: skip
    nodes = [
        classifier(classlabels_strings=NAMES),
        helper.make_node("LabelEncoder", ["label"], ["mapped"], domain=ML,
                         keys_strings=[NAMES[2], NAMES[0]], **values),
    ]  # fmt: skip
    compare(model(nodes, {"mapped": kind}))
    nodes = [
        classifier(classlabels_ints=[4, 6, 8]),
        helper.make_node("LabelEncoder", ["label"], ["mapped"], domain=ML, keys_int64s=[8, 4],
                         **values),
    ]  # fmt: skip
    compare(model(nodes, {"mapped": kind}))


def test_text_that_is_an_input_is_refused():
    node = helper.make_node("LabelEncoder", ["t"], ["y"], domain=ML, keys_strings=["a"],
                            values_int64s=[1])  # fmt: skip
    graph = helper.make_graph(
        [node], "text", [helper.make_tensor_value_info("t", TensorProto.STRING, [2])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [2])],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 3)], ir_version=9)
    with pytest.raises(UnsupportedError, match="text"):
        tfc.from_onnx(made)(np.array(["a", "b"], object))
