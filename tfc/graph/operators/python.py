"""Python functions as operators: they run on the host, with NumPy arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.operators.registry import Attributes, Spec, operator
from tfc.graph.types.dtypes import DType
from tfc.graph.types.shapes import TensorShape


def _stated(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(dtype, TensorShape(None)) for dtype in attributes["Tout"]]


@operator("PyFunc", types="", infer=_stated, effect="write", on_host=True)
def py_func(*inputs: Any, Tout: Sequence[DType], token: str, _function: Any) -> list[Any]:
    """What a Python function gives; it is called once each time that the operation runs."""
    return _called(_function, inputs, Tout, token)


@operator("PyFuncStateless", types="", infer=_stated, on_host=True)
def stateless_py_func(*inputs: Any, Tout: Sequence[DType], token: str, _function: Any) -> list[Any]:
    """What a Python function gives, which its arguments alone decide."""
    return _called(_function, inputs, Tout, token)


def _called(
    function: Callable[..., Any], inputs: Sequence[Any], dtypes: Sequence[DType], token: str
) -> list[Any]:
    """What a function returns as arrays; it is given arrays of its own.

    Raises:
        ShapeError: the function returned another number of values, or of other dtypes.
    """
    made = function(*(np.array(x) for x in inputs))
    listed = [] if made is None else list(made) if isinstance(made, (list, tuple)) else [made]
    if len(dtypes) == 1 and isinstance(made, (list, tuple)) and len(made) != 1:
        listed = [made]  # a list of numbers is one array
    if made is None and len(dtypes) == 1:
        raise ShapeError(f"{token} returns None, but {dtypes[0].name} is stated in Tout")
    if len(listed) != len(dtypes):
        raise ShapeError(
            f"{token} returns {len(listed)} values, but expects to see {len(dtypes)} values."
        )
    return [_array(n, x, dtype, token) for n, (x, dtype) in enumerate(zip(listed, dtypes))]


def _array(place: int, value: Any, dtype: DType, token: str) -> np.ndarray:
    """A result as an array; Python's numbers take the dtype that is stated.

    Raises:
        ShapeError: it has another dtype.
    """
    array = np.asarray(value, order="C")
    is_typed = hasattr(value, "dtype")
    fits = np.can_cast(array.dtype, dtype.dtype, "same_kind") and not is_typed
    if array.dtype != dtype.dtype and not fits:
        raise ShapeError(
            f"{place}-th value returned by {token} is {array.dtype}, but expects {dtype.name}: "
            "convert it with astype, or state its dtype in Tout"
        )
    return array.astype(dtype.dtype)
