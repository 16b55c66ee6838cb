"""The dtypes of the NumPy namespace: what they hold, their kinds, and what becomes of pairs.

A dtype's name is NumPy's scalar type, or that of ml_dtypes for the narrow types that NumPy lacks;
everything that takes a dtype takes any of them, a `numpy.dtype`, or the name as text.
"""

from typing import Any

import ml_dtypes
import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.promotion import dtype_of, result_type
from tfc.frontend.tensor import ArrayLike, is_weak, untraced
from tfc.hlo.shape import ElementType, element_type_of

_KINDS = {
    "bool": ("pred",),
    "signed integer": ("signed",),
    "unsigned integer": ("unsigned",),
    "integral": ("signed", "unsigned"),
    "real floating": ("float",),
    "complex floating": ("complex",),
    "numeric": ("signed", "unsigned", "float", "complex"),
}
_ABSTRACT: dict[type, tuple[str, ...]] = {
    np.generic: ("pred", *_KINDS["numeric"]),
    np.number: _KINDS["numeric"],
    np.integer: _KINDS["integral"],
    np.signedinteger: _KINDS["signed integer"],
    np.unsignedinteger: _KINDS["unsigned integer"],
    np.inexact: ("float", "complex"),
    np.floating: _KINDS["real floating"],
    np.complexfloating: _KINDS["complex floating"],
}


def _is_abstract(dtype: Any) -> bool:
    return isinstance(dtype, type) and dtype in _ABSTRACT


@untraced
def finfo(type: ArrayLike, /) -> Any:
    """The limits of a floating-point dtype, or of the parts of a complex one: bits, eps, max, min …

    Args:
        type: a dtype, or an array or Tensor of it.

    Raises:
        ShapeError: it is no floating-point dtype.
    """
    element_type = _element_type(type)
    if not (element_type.is_float or element_type.is_complex):
        raise ShapeError(f"finfo requires a floating-point dtype, got {element_type.dtype}")
    return element_type.float_limits


@untraced
def iinfo(type: ArrayLike, /) -> Any:
    """The limits of an integer dtype: bits, max and min.

    Args:
        type: a dtype, or an array or Tensor of it.

    Raises:
        ShapeError: it is no integer dtype.
    """
    element_type = _element_type(type)
    if not element_type.is_integer:
        raise ShapeError(f"iinfo requires an integer dtype, got {element_type.dtype}")
    return ml_dtypes.iinfo(element_type.dtype)


def _element_type(value: ArrayLike) -> ElementType:
    return element_type_of(dtype_of(value))


@untraced
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, of another dtype, or one of several of those.

    Args:
        kind: a dtype, one of "bool", "signed integer", "unsigned integer", "integral",
            "real floating", "complex floating" and "numeric", or a tuple of them.

    Raises:
        ShapeError: there is no such kind.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    element_type = element_type_of(dtype)
    if not isinstance(kind, str):
        return element_type == element_type_of(kind)
    if kind not in _KINDS:
        raise ShapeError(f"isdtype requires one of the kinds {', '.join(_KINDS)}, got {kind!r}")
    return element_type.kind in _KINDS[kind]


@untraced
def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is another one, or of an abstract type such as `floating` or `integer`."""
    if _is_abstract(arg1):
        return issubclass(arg1, arg2) if isinstance(arg2, type) else False
    element_type = element_type_of(arg1)
    if _is_abstract(arg2):
        return element_type.kind in _ABSTRACT.get(arg2, ())
    return element_type == element_type_of(arg2)


@untraced
def can_cast(from_: ArrayLike, to: Any, casting: str = "safe") -> bool:
    """Whether a dtype's values become another one's by the rule `casting`; "safe" loses none.

    Args:
        from_: a dtype, or an array or Tensor of it.

    Raises:
        ShapeError: a Python number, which has no dtype of its own, or an unknown rule.
    """
    if is_weak(from_) and not hasattr(from_, "dtype"):
        raise ShapeError(f"can_cast requires a dtype or an array, got the Python number {from_!r}")
    try:
        rule: Any = casting
        return bool(np.can_cast(dtype_of(from_), element_type_of(to).dtype, rule))
    except ValueError as error:
        raise ShapeError(f"can_cast: {error}") from error


@untraced
def promote_types(type1: Any, type2: Any) -> np.dtype:
    """The dtype in which two dtypes meet."""
    return result_type(element_type_of(type1).dtype, element_type_of(type2).dtype)
