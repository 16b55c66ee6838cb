"""Inverse trigonometric and hyperbolic functions, of complex numbers as well."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc import numpy as tnp


def _number(value: complex, like: Any) -> np.ndarray:
    return np.asarray(value, like.dtype)


def _turned(x: Any) -> Any:
    """i times x, without the roundings and signs of zeros that a product has."""
    return tnp.astype(-tnp.imag(x), x.dtype) + tnp.astype(tnp.real(x), x.dtype) * _number(1j, x)


def _arcsinh(x: Any) -> Any:
    """By its symmetry the logarithm is of a sum in which nothing cancels."""
    is_left = tnp.real(x) < 0
    right = tnp.where(is_left, -x, x)
    found = tnp.log(right + tnp.sqrt(right * right + _number(1, x)))
    return tnp.where(is_left, -found, found)


def _arcsin(x: Any) -> Any:
    return -_turned(_arcsinh(_turned(x)))


def _arccosh(x: Any) -> Any:
    one, half = _number(1, x), _number(0.5, x)
    roots = tnp.sqrt((x + one) * half) + tnp.sqrt((x - one) * half)
    return tnp.log(roots) * _number(2, x)


def _arctanh(x: Any) -> Any:
    one = _number(1, x)
    return (tnp.log(one + x) - tnp.log(one - x)) * _number(0.5, x)


def _by_kind(of_reals: Callable[[Any], Any], of_complex: Callable[[Any], Any]) -> Any:
    return lambda x: of_complex(x) if x.dtype.kind == "c" else of_reals(x)


INVERSE: dict[str, Callable[[Any], Any]] = {
    "Acos": _by_kind(tnp.arccos, lambda x: _number(np.pi / 2, x) - _arcsin(x)),
    "Acosh": _by_kind(tnp.arccosh, _arccosh),
    "Asin": _by_kind(tnp.arcsin, _arcsin),
    "Asinh": _by_kind(tnp.arcsinh, _arcsinh),
    "Atan": _by_kind(tnp.arctan, lambda x: -_turned(_arctanh(_turned(x)))),
    "Atanh": _by_kind(tnp.arctanh, _arctanh),
}
