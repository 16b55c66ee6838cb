"""Functions that change variables: each gives the new value once it is computed."""

from typing import Any

from tfc.errors import TraceError
from tfc.graph.operation import Tensor
from tfc.graph.variables.variable import Variable


def _variable(ref: Any) -> Variable:
    if not isinstance(ref, Variable):
        raise TraceError(f"only a variable can be changed, got {ref!r}")
    return ref


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Give a variable a value.

    Args:
        validate_shape: False for a value of another shape, of a variable whose shape may change.
    """
    return _variable(ref).assign(value, name=name)


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Add to a variable."""
    return _variable(ref).assign_add(value, name=name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtract from a variable."""
    return _variable(ref).assign_sub(value, name=name)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Add one to a variable, giving what it was, until it is the limit."""
    return _variable(ref).count_up_to(limit)


def scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replace rows of a variable."""
    return _variable(ref).scatter("Update", indices, updates, name)


def scatter_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Add to rows of a variable, each time that an index names one."""
    return _variable(ref).scatter("Add", indices, updates, name)


def scatter_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtract from rows of a variable."""
    return _variable(ref).scatter("Sub", indices, updates, name)


def scatter_mul(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Multiply rows of a variable."""
    return _variable(ref).scatter("Mul", indices, updates, name)


def scatter_min(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Let rows of a variable be no more than the updates."""
    return _variable(ref).scatter("Min", indices, updates, name)


def scatter_max(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Let rows of a variable be no less than the updates."""
    return _variable(ref).scatter("Max", indices, updates, name)


def scatter_nd_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replace parts of a variable that the last dimension of the indices names."""
    return _variable(ref).scatter("NdUpdate", indices, updates, name)


def scatter_nd_add(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Add to parts of a variable."""
    return _variable(ref).scatter("NdAdd", indices, updates, name)


def scatter_nd_sub(
    ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtract from parts of a variable."""
    return _variable(ref).scatter("NdSub", indices, updates, name)
