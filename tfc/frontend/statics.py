"""Static arguments: Python values that a function is compiled for, as part of a cache's key."""

from collections.abc import Hashable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from math import copysign
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend.tensor import Tensor

_IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, np.dtype, np.generic)


@dataclass(frozen=True)
class Static:
    """A static argument of a call.

    where: its number, or its name if it was passed by name.
    kind: what tells values apart that Python takes for equal: 1, 1.0 and True, or 0.0 and -0.0.
    """

    where: int | str
    kind: Hashable
    value: Hashable


def static(where: int | str, called: str, value: Any) -> Static:
    """The static argument with that value.

    Args:
        called: the function's name, for errors.

    Raises:
        TraceError: the value cannot be hashed, or is not known while tracing.
    """
    if _holds_tensor(value):
        raise TraceError(
            f"static argument {where} of {called} must be a Python value, got {value!r}, which "
            "is not known while tracing"
        )
    if isinstance(value, np.ndarray):
        raise TraceError(
            f"static argument {where} of {called} must be hashable, got {type(value).__name__}; "
            "pass it as a traced argument, and leave it out of the static ones"
        )
    try:
        hash(value)
    except TypeError as error:
        raise TraceError(
            f"static argument {where} of {called} must be hashable, got {type(value).__name__} "
            f"({error}); pass a tuple, a number or a frozen dataclass, or give its class __hash__ "
            "and __eq__"
        ) from None
    return Static(where, kind_of_value(value), value)


def _parts(value: Any) -> list[Any]:
    """What the equality of a tuple, a frozen set or a dataclass looks at."""
    if isinstance(value, (tuple, frozenset)):
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, f.name) for f in fields(value) if f.compare]
    return []


def _holds_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or any(map(_holds_tensor, _parts(value)))


def kind_of_value(value: Any) -> Hashable:
    """What tells a value apart from those that Python takes for equal."""
    kind = type(value)
    if isinstance(value, (float, np.floating)):
        return kind, copysign(1, value)
    if isinstance(value, (complex, np.complexfloating)):
        return kind, copysign(1, value.real), copysign(1, value.imag)
    if isinstance(value, frozenset):
        return kind, frozenset((kind_of_value(v), v) for v in value)
    return (kind, *map(kind_of_value, _parts(value)))


def is_constant(value: Any) -> bool:
    """True if the very same object is always equal to what it was, so that identity is enough.

    That holds where equality is identity, and for immutable values of constants. An object whose
    class says when it is equal may have changed since.
    """
    kind = type(value)
    if kind.__eq__ is object.__eq__ or isinstance(value, (*_IMMUTABLE, Enum)):
        return True
    parameters = getattr(kind, "__dataclass_params__", None)
    if kind.__eq__ is tuple.__eq__ or kind is frozenset or (parameters and parameters.frozen):
        return all(map(is_constant, _parts(value)))
    return False
