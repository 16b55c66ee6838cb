"""What stands for a value of a function whose batch elements are computed together.

    x: f32[3]    the same for all batch elements     Value(f32[3], batched=False)
    y: f32[3]    one for each of n batch elements    Value(f32[n,3], batched=True)
    (x, y)       a tuple that holds both             (Value(…), Value(…))

The batch is always dimension 0. Tokens are never batched. `Flags` say, leaf by leaf, what is.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tfc.frontend import operations as ops
from tfc.frontend.tensor import Tensor
from tfc.hlo.shape import AnyShape, Shape, TupleShape


@dataclass(frozen=True, slots=True)
class Value:
    """A Tensor of the current trace, and whether its dimension 0 is the batch."""

    tensor: Tensor
    batched: bool


Nest: TypeAlias = Value | tuple["Nest", ...]  # a tuple holds something that is batched
Flags: TypeAlias = bool | tuple["Flags", ...]


def shared(tensor: Tensor) -> Value:
    """The value that is the same for all batch elements."""
    return Value(tensor, False)


def is_batched(value: Nest) -> bool:
    """True if any part of a value is batched."""
    return any(map(is_batched, value)) if isinstance(value, tuple) else value.batched


def tensor_of(value: Nest) -> Tensor:
    """The Tensor of a value that is no tuple with batched parts."""
    assert isinstance(value, Value), "an array or a value that is the same for all"
    return value.tensor


def parts(value: Nest) -> tuple[Nest, ...]:
    """The elements of a tuple."""
    if isinstance(value, tuple):
        return value
    return tuple(shared(element) for element in ops.elements(value.tensor))


def pack(value: Nest) -> Tensor:
    """One Tensor of a value, tuples included."""
    if isinstance(value, tuple):
        return ops.make_tuple([pack(part) for part in value])
    return value.tensor


def unpack(tensor: Tensor, flags: Flags) -> Nest:
    """The value of a Tensor that `flags` describe; the inverse of `pack`."""
    if not isinstance(flags, tuple):
        return Value(tensor, flags)
    if not any_of(flags):
        return shared(tensor)
    return tuple(unpack(e, f) for e, f in zip(ops.elements(tensor), flags))


def flags_of(value: Nest) -> Flags:
    """What of a value is batched."""
    if isinstance(value, tuple):
        return tuple(map(flags_of, value))
    return value.batched or flags_for(value.tensor.instruction.shape, False)


def flags_for(shape: AnyShape, flag: bool) -> Flags:
    """The same flag for each array of a shape."""
    if isinstance(shape, TupleShape):
        return tuple(flags_for(element, flag) for element in shape.elements)
    return flag and isinstance(shape, Shape)


def any_of(flags: Flags) -> bool:
    """True if anything is batched."""
    return any(map(any_of, flags)) if isinstance(flags, tuple) else flags


def either(x: Flags, y: Flags) -> Flags:
    """What is batched in one or the other."""
    if isinstance(x, tuple) and isinstance(y, tuple):
        return tuple(either(a, b) for a, b in zip(x, y))
    return bool(x or y)


def batched_shape(shape: AnyShape, flags: Flags, size: int) -> AnyShape:
    """The shape of what `flags` describe, for a batch of that size."""
    if isinstance(shape, TupleShape):
        assert isinstance(flags, tuple), "flags have the form of the shape"
        each = zip(shape.elements, flags)
        return TupleShape(tuple(batched_shape(s, f, size) for s, f in each))
    if isinstance(shape, Shape) and flags:
        return Shape(shape.element_type, (size, *shape.dims))
    return shape
