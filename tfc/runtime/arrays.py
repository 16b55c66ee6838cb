"""What is expected of values outside of a program, and values in memory that an address gives."""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfc.errors import ShapeError


@dataclass(frozen=True)
class ArraySpec:
    """The dtype and dimensions of an array, and the distances in bytes between its elements."""

    dtype: np.dtype
    dims: tuple[int, ...]
    strides: tuple[int, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.dims))}]"


Spec = ArraySpec | tuple[Any, ...]  # of Specs; a token is the empty tuple
Value = Any  # an np.ndarray, or a tuple of Values


def spec_of(value: Value) -> Spec:
    """The spec that a value has."""
    if isinstance(value, tuple):
        return tuple(spec_of(v) for v in value)
    return ArraySpec(np.asarray(value).dtype, np.shape(value))


def show(spec: Spec) -> str:
    """A spec as messages show it: (float32[2,3], bool[])."""
    return "(" + ", ".join(map(show, spec)) + ")" if isinstance(spec, tuple) else str(spec)


def check(value: Value, spec: Spec, what: str) -> None:
    """Check that a value has the dtypes and dimensions expected.

    Raises:
        ShapeError: it has not.
    """
    if spec_of(value) != spec:
        raise ShapeError(f"{what}: expected {show(spec)}, got {show(spec_of(value))}")


def copied(value: Value) -> Value:
    """The value in memory of its own, row-major."""
    return tuple(map(copied, value)) if isinstance(value, tuple) else np.array(value, order="C")


def view(address: int | None, spec: Spec) -> Value:
    """The value at an address; that of a tuple is of an array of pointers to its elements."""
    if isinstance(spec, tuple):
        return tuple(map(view, _pointers(address, len(spec)), spec))
    if not address or 0 in spec.dims:
        return np.empty(spec.dims, spec.dtype)
    last = sum((n - 1) * s for n, s in zip(spec.dims, spec.strides))
    memory: Any = (ctypes.c_char * (last + spec.dtype.itemsize)).from_address(address)
    return np.ndarray(spec.dims, spec.dtype, memory, strides=spec.strides)


def store(value: Value, into: Value) -> None:
    """Copy a value over another of the same spec."""
    if isinstance(into, tuple):
        for part, place in zip(value, into, strict=True):
            store(part, place)
    else:
        into[...] = value


def empty(spec: Spec) -> Value:
    """A value whose arrays are zero."""
    return tuple(map(empty, spec)) if isinstance(spec, tuple) else np.zeros(spec.dims, spec.dtype)


def address(value: Value, keep: list[Any]) -> int | None:
    """Where a value lies in memory; of a tuple, an array of pointers, which `keep` keeps alive.

    None, the null pointer, for an empty tuple.
    """
    if not isinstance(value, tuple):
        keep.append(value)
        return value.ctypes.data
    if not value:
        return None
    pointers = (ctypes.c_void_p * len(value))(*(address(v, keep) for v in value))
    keep.append(pointers)
    return ctypes.addressof(pointers)


def _pointers(at: int | None, count: int) -> Iterator[int | None]:
    return iter((ctypes.c_void_p * count).from_address(at) if at and count else [None] * count)
