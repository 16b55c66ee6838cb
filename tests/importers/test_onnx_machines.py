"""Support vector machines from ONNX: values are ONNX Runtime's."""

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_models import model_of, runtime_results
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import tfc
from tfc.errors import UnsupportedError

ML = "ai.onnx.ml"
DATA, CLASSES = load_iris(return_X_y=True)
DATA = DATA.astype(np.float32)
KERNELS = {"rbf": "RBF", "linear": "LINEAR", "poly": "POLY", "sigmoid": "SIGMOID"}


def machine(count: int, kernel: str, **given: Any) -> tuple[Any, np.ndarray]:
    """A model of scikit-learn's classifier of the first classes, and what to give it."""
    mine = count > CLASSES
    made = SVC(kernel=kernel, gamma=0.3, coef0=0.5, degree=2).fit(DATA[mine], CLASSES[mine])
    attributes = {
        "kernel_type": KERNELS[kernel], "kernel_params": [0.3, 0.5, 2.0],
        "coefficients": made._dual_coef_.ravel().tolist(), "rho": made._intercept_.tolist(),
        "support_vectors": made.support_vectors_.ravel().tolist(),
        "vectors_per_class": made.n_support_.tolist(), "classlabels_ints": [4, 6, 8][:count],
        **given,
    }  # fmt: skip
    attributes = {key: value for key, value in attributes.items() if value}
    node = helper.make_node("SVMClassifier", ["x"], ["label", "scores"], domain=ML, **attributes)
    x = DATA[mine][::7]
    return model_of([node], {"x": x}, ["label", "scores"], domains={ML: 3}), x


def compare(made: Any, x: np.ndarray) -> None:
    labels, scores = tfc.from_onnx(made, backend="interpreter")(x)
    expected = runtime_results(made, {"x": x})
    assert labels.tolist() == expected[0].tolist()
    np.testing.assert_allclose(scores, expected[1], 1e-4, 1e-3)  # of sums of thousands


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_pairs_of_classes_vote(kernel: str, count: int):
    compare(*machine(count, kernel))
    compare(*machine(count, kernel, post_transform="LOGISTIC"))


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX"])
def test_probabilities_are_those_that_fit_all_pairs(count: int, transform: str):
    slopes = {"prob_a": [-2.0, -1.5, -3.0][: count * (count - 1) // 2],
              "prob_b": [0.1, -0.2, 0.05][: count * (count - 1) // 2]}  # fmt: skip
    compare(*machine(count, "rbf", **slopes, post_transform=transform))


def test_labels_may_be_text():
    made, x = machine(3, "rbf", classlabels_ints=None, classlabels_strings=["a", "b", "c"])
    compare(made, x)


def test_what_has_no_vectors_is_refused():
    made, x = machine(2, "linear", vectors_per_class=[])
    with pytest.raises(UnsupportedError, match="LinearClassifier"):
        tfc.from_onnx(made)(x)
