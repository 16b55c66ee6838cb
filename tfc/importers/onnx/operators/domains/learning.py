"""ai.onnx.ml: linear models, and what prepares their features."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc import nn, special
from tfc.errors import UnsupportedError
from tfc.importers.onnx.table import ML, operator
from tfc.importers.values import Text

_HALF_ROOT = 0.7071067811865476


def transformed(scores: Any, how: str) -> Any:
    """Scores after a transform: NONE, SOFTMAX, SOFTMAX_ZERO, LOGISTIC, PROBIT."""
    if how == "LOGISTIC":
        return nn.sigmoid(scores)
    if how == "SOFTMAX":
        return nn.softmax(scores, -1)
    if how == "SOFTMAX_ZERO":
        powers = tnp.where(scores == 0, 0, tnp.exp(scores - tnp.max(scores, -1, keepdims=True)))
        return powers / tnp.sum(powers, -1, keepdims=True)
    if how == "PROBIT":
        return special.erfinv(2 * scores - 1) / _HALF_ROOT
    if how == "NONE":
        return scores
    raise UnsupportedError(f"the transform {how} is not supported")


def labels_of(places: Any, numbers: Any, texts: Any) -> Any:
    """The labels of classes, numbers or text."""
    if texts:
        return Text(places, tuple(texts))
    return tnp.take(np.array(numbers, np.int64), places, 0)


def decided(scores: Any, numbers: Any, texts: Any) -> Any:
    """The label of the greatest score in each row; places are labels where there are none."""
    places = tnp.astype(tnp.argmax(scores, -1), np.int64)
    return labels_of(places, numbers, texts) if numbers or texts else places


@operator("LinearRegressor", domain=ML)
def linear_regressor(
    x: Any, *, coefficients: tuple[float, ...], intercepts: Any = None,
    post_transform: str = "NONE", targets: int = 1,
) -> Any:  # fmt: skip
    """Linear functions of the features."""
    weights = np.array(coefficients, np.float32).reshape(targets, -1)
    made = tnp.matmul(tnp.astype(x, np.float32), weights.T)
    made = made if intercepts is None else made + np.array(intercepts, np.float32)
    return transformed(made, post_transform)


@operator("LinearClassifier", domain=ML)
def linear_classifier(
    x: Any, *, classlabels_ints: Any = None, classlabels_strings: Any = None,
    coefficients: tuple[float, ...], intercepts: Any = None, multi_class: int = 0,
    post_transform: str = "NONE",
) -> Any:  # fmt: skip
    """The class of the greatest linear function, and the scores of all."""
    labels = classlabels_ints or classlabels_strings or ()
    wide = tnp.astype(x if x.ndim > 1 else x[None], np.float32)
    weights = np.array(coefficients, np.float32).reshape(-1, wide.shape[-1])
    scores = tnp.matmul(wide, weights.T)
    if intercepts is not None:
        scores = scores + np.array(intercepts, np.float32)
    if scores.shape[-1] == 1 and len(labels) == 2:
        first = 0.0 if post_transform == "NONE" else 0.5
        after = transformed(scores, post_transform)
        places = tnp.astype(after[:, 0] > first, np.int64)
        both = tnp.concatenate([1 - after, after], -1)
        found = labels_of(places, classlabels_ints, classlabels_strings)
        return found, both
    found = decided(scores, classlabels_ints, classlabels_strings)
    return found, transformed(scores, post_transform)


@operator("Scaler", domain=ML)
def scaler(x: Any, *, offset: Any = (0.0,), scale: Any = (1.0,)) -> Any:
    """(x - offset) · scale for each feature."""
    wide = tnp.astype(x, np.float32)
    return (wide - np.array(offset, np.float32)) * np.array(scale, np.float32)


@operator("Normalizer", domain=ML)
def normalizer(x: Any, *, norm: str = "MAX") -> Any:
    """Each row over its largest element, the sum of sizes, or the root of the sum of squares."""
    wide = tnp.astype(x, np.float32)
    if norm == "MAX":
        size = tnp.max(tnp.absolute(wide), -1, keepdims=True)
    elif norm == "L1":
        size = tnp.sum(tnp.absolute(wide), -1, keepdims=True)
    else:
        size = tnp.sqrt(tnp.sum(wide * wide, -1, keepdims=True))
    return tnp.where(size == 0, wide, wide / tnp.where(size == 0, 1, size))


@operator("Imputer", domain=ML)
def imputer(
    x: Any, *, imputed_value_floats: Any = None, imputed_value_int64s: Any = None,
    replaced_value_float: float = 0.0, replaced_value_int64: int = 0,
) -> Any:  # fmt: skip
    """Values in place of missing ones."""
    if np.dtype(x.dtype).kind in "iu":
        return tnp.where(x == replaced_value_int64, np.array(imputed_value_int64s, x.dtype), x)
    missing = tnp.isnan(x) if np.isnan(replaced_value_float) else x == replaced_value_float
    return tnp.where(missing, np.array(imputed_value_floats, x.dtype), x)


@operator("Binarizer", domain=ML)
def binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    """One above a threshold, else zero."""
    return tnp.astype(x > np.asarray(threshold).astype(x.dtype), x.dtype)


@operator("ArrayFeatureExtractor", domain=ML)
def extracted(x: Any, y: Any) -> Any:
    """Columns at places along the last axis."""
    if isinstance(x, np.ndarray) and x.dtype == object and x.size == x.shape[-1]:
        places = tnp.clip(tnp.reshape(y, (1, -1)), 0, x.size - 1)
        return Text(places, tuple(x.reshape(-1)))
    rows = x[None] if x.ndim == 1 else x
    return tnp.take(rows, tnp.reshape(y, (-1,)), -1, mode="clip")


@operator("FeatureVectorizer", domain=ML)
def joined(*inputs: Any, inputdimensions: Any = None) -> Any:
    """Features side by side."""
    rows = [tnp.reshape(x, (x.shape[0], -1)) if x.ndim != 2 else x for x in inputs]
    return tnp.astype(tnp.concatenate(rows, 1), np.float32)


@operator("OneHotEncoder", domain=ML)
def one_hot(x: Any, *, cats_int64s: Any = None, cats_strings: Any = None, zeros: int = 1) -> Any:
    """One where an element is the category, for each of them along a new last axis.

    Raises:
        UnsupportedError: the categories are text.
    """
    if cats_int64s is None:
        raise UnsupportedError("categories that are text are not supported")
    same = tnp.astype(x, np.int64)[..., None] == np.array(cats_int64s, np.int64)
    return tnp.astype(same, np.float32)


@operator("LabelEncoder", domain=ML)
def label_encoder(
    x: Any, *, keys_floats: Any = None, keys_int64s: Any = None, keys_strings: Any = None,
    keys_tensor: Any = None, values_floats: Any = None, values_int64s: Any = None,
    values_strings: Any = None, values_tensor: Any = None, default_float: float = -0.0,
    default_int64: int = -1, default_string: str = "_Unused", default_tensor: Any = None,
    classes_strings: Any = None,
) -> Any:  # fmt: skip
    """Other numbers or text in place of some, and a default in place of all else.

    Raises:
        UnsupportedError: it takes text that is an input of the model.
    """
    keys: Any
    values: Any
    if classes_strings is not None:  # of the first version: text for places, or places for text
        keys, values = np.arange(len(classes_strings)), np.array(classes_strings, object)
        keys, values = (values, keys) if isinstance(x, Text) else (keys, values)
    else:
        keys = _first(keys_tensor, keys_floats, keys_int64s, keys_strings)
        values = _first(values_tensor, values_floats, values_int64s, values_strings)
    otherwise: Any = {"O": default_string, "f": default_float}.get(values.dtype.kind, default_int64)
    if default_tensor is not None:
        otherwise = np.asarray(default_tensor).reshape(-1)[0]
    if isinstance(x, Text):
        known = dict(zip(keys.tolist()[::-1], values.tolist()[::-1]))
        found = np.array([known.get(label, otherwise) for label in x.labels], values.dtype)
        return Text(x.places, tuple(found)) if found.dtype == object else tnp.take(found, x.places)
    if keys.dtype == object:
        raise UnsupportedError("text that is an input of the model is not supported: give numbers")
    known = keys.astype(x.dtype)
    same = x[..., None] == known
    if known.dtype.kind == "f":
        same = tnp.logical_or(same, tnp.isnan(x)[..., None] & np.isnan(known))
    place = tnp.where(tnp.any(same, -1), tnp.argmax(same, -1), len(values))
    if values.dtype == object:
        return Text(place, (*values, otherwise))
    return tnp.take(np.append(values, np.asarray(otherwise, values.dtype)), place, 0)


def _first(tensor: Any, floats: Any, numbers: Any, texts: Any) -> np.ndarray:
    """The keys or values of a table, in the form in which they are given."""
    if tensor is not None:
        return np.asarray(tensor).reshape(-1)
    if floats is not None:
        return np.array(floats, np.float32)
    return np.array(texts, object) if numbers is None else np.array(numbers, np.int64)


@operator("ZipMap", domain=ML)
def scores_by_label(
    x: Any, *, classlabels_int64s: Any = None, classlabels_strings: Any = None
) -> Any:
    """Scores of classes, one column each in the order of the labels: dictionaries are no arrays."""
    return x
