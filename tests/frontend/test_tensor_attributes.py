"""Traced Tensors have what NumPy's arrays have, or an error that says what to do instead."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tfc
from tfc.frontend.absent_attributes import ADVICE

PUBLIC = [name for name in dir(np.ndarray) if not name.startswith("_")]
X = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], np.float32)

# Methods that in NumPy are of arrays, each as a function of an array and of a Tensor.
CALLS: dict[str, Callable[[Any], Any]] = {
    "trace": lambda x: x.trace(),
    "trace of another diagonal": lambda x: x.trace(1),
    "trace of other axes": lambda x: x.reshape(1, 2, 3).trace(0, 1, 2),
    "choose": lambda x: (x > 2).astype(np.int32).choose([x, -x]),
    "compress": lambda x: x.compress(np.array([True, False, True]), axis=1),
}


def test_every_attribute_of_arrays_is_there_or_explained():
    there = {name for name in PUBLIC if hasattr(tfc.Tensor, name)}
    assert set(PUBLIC) - there == set(ADVICE)


@pytest.mark.parametrize("name", CALLS)
def test_methods_give_what_numpys_give(name: str):
    assert_allclose(tfc.jit(CALLS[name])(X), CALLS[name](X), rtol=1e-6)


def test_methods_that_order_give_new_arrays():
    """NumPy's partition writes to its array, as its sort does."""
    smallest = tfc.jit(lambda x: x.partition(1, axis=1)[:, :2])(X)
    assert_allclose(np.sort(smallest), np.sort(X)[:, :2])
    places = tfc.jit(lambda x: x.argpartition(0, axis=1)[:, 0])(X)
    assert places.tolist() == [1, 0]


@pytest.mark.parametrize("name", ADVICE)
def test_what_tensors_lack_is_refused_with_advice(name: str):
    with pytest.raises(AttributeError, match=f"no attribute '{name}': .{{20}}"):
        tfc.jit(lambda x: getattr(x, name))(X)


def test_attributes_that_arrays_lack_too_are_refused():
    with pytest.raises(AttributeError, match="a traced Tensor has no attribute 'colour'\n"):
        tfc.jit(lambda x: x.colour)(X)
    assert tfc.jit(lambda x: x * hasattr(x, "colour"))(X).sum() == 0


def test_the_trace_of_a_matrix_has_a_gradient():
    square = X[:, :2]
    assert_allclose(tfc.grad(lambda x: (x @ x).trace())(square), 2 * square.T)
