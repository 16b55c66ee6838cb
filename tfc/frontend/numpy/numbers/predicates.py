"""Questions about arrays: whether they are close or equal, real or complex, and of what shape."""

from typing import Any

import numpy as np

from tfc.frontend import operations as ops
from tfc.frontend.numpy.comparisons import equal, is_nan
from tfc.frontend.numpy.complex_numbers import imag, iscomplexobj
from tfc.frontend.numpy.functions import isclose, isinf, signbit
from tfc.frontend.numpy.manipulation import Axes, normalize_axes
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.numpy.reductions import all
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import ArrayLike, Tensor, traceable, untraced


@traceable
def iscomplex(x: ArrayLike) -> Tensor:
    """True where the imaginary part is not zero."""
    return operation("not", isreal(x))


@traceable
def isreal(x: ArrayLike) -> Tensor:
    """True where the imaginary part is zero."""
    return imag(as_tensor(x)) == 0


@untraced
def isrealobj(x: ArrayLike) -> bool:
    """True if the dtype is not complex, whatever the values."""
    return not iscomplexobj(x)


@untraced
def isscalar(element: Any) -> bool:
    """True for numbers and Python's strings; not for arrays and Tensors, of whatever rank."""
    return bool(np.isscalar(element))


def _infinite(name: str, x: ArrayLike, negative: bool) -> Tensor:
    tensor = as_tensor(x)
    require_real(name, tensor)
    is_sign = signbit(tensor) if negative else operation("not", signbit(tensor))
    return operation("and", isinf(tensor), is_sign)


@traceable
def isposinf(x: ArrayLike, /) -> Tensor:
    """True where x is plus infinity."""
    return _infinite("isposinf", x, negative=False)


@traceable
def isneginf(x: ArrayLike, /) -> Tensor:
    """True where x is minus infinity."""
    return _infinite("isneginf", x, negative=True)


@traceable
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether all elements are close to each other; see `isclose`."""
    return all(isclose(a, b, rtol, atol, equal_nan))


@traceable
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Tensor:
    """Whether both have the same shape and elements; NaNs are equal if wanted."""
    left, right = as_tensor(a1), as_tensor(a2)
    if left.shape != right.shape:
        return ops.constant(np.bool_(False))
    return all(_same(left, right, equal_nan))


def _same(left: Tensor, right: Tensor, equal_nan: bool) -> Tensor:
    found = equal(left, right)
    if not equal_nan:
        return found
    return operation("or", found, operation("and", is_nan(left), is_nan(right)))


@traceable
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """Whether both have the same elements once one is repeated to the shape of the other."""
    left, right = as_tensor(a1), as_tensor(a2)
    for n, m in zip(left.shape[::-1], right.shape[::-1]):
        if n != m and 1 not in (n, m):
            return ops.constant(np.bool_(False))
    return all(equal(left, right))


@untraced
def shape(a: ArrayLike) -> tuple[int, ...]:
    """The sizes of the dimensions."""
    return a.shape if isinstance(a, Tensor) else np.shape(a)


@untraced
def ndim(a: ArrayLike) -> int:
    """The number of dimensions."""
    return len(shape(a))


@untraced
def size(a: ArrayLike, axis: Axes | None = None) -> int:
    """The number of elements, or of those along the axes."""
    dims = shape(a)
    return int(np.prod([dims[d] for d in normalize_axes(axis, len(dims))], dtype=np.int64))
