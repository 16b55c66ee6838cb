"""Scratch memory of a kernel: several flat arrays of any types in one array of bytes, and a few
elements on the stack.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tfc.backends.mlir.arithmetic.value import Scalar, emit, from_memory, to_memory
from tfc.backends.mlir.elements import Buffer, memref_type
from tfc.backends.mlir.provider import ir, memref
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import U8, Shape

_ALIGNMENT = 64


def scratch_shape(arrays: Sequence[Shape]) -> Shape:
    """The bytes that hold the arrays."""
    *_, (_, end) = _placed(arrays)
    return Shape(U8, (end,))


def scratch_arrays(scratch: Any, arrays: Sequence[Shape]) -> list[Buffer]:
    """The arrays, as views of memory of their `scratch_shape`."""
    starts = [start for start, _ in _placed(arrays)]
    return [
        Buffer(memref.view(memref_type(a), scratch, index_value(s), []), a)
        for a, s in zip(arrays, starts)
    ]


def stack_memory(array: Shape) -> Any:
    """A small array that each call of the function at hand has; made once, outside of all loops."""
    block = ir.InsertionPoint.current.block
    while block.owner.operation.name not in ("func.func", "gpu.func"):
        block = block.owner.operation.block
    with ir.InsertionPoint.at_block_begin(block):
        return memref.alloca(memref_type(array), [], [])


def _placed(arrays: Sequence[Shape]) -> Iterator[tuple[int, int]]:
    """Where each array begins and ends; those that follow each other stay aligned."""
    end = 0
    for array in arrays:
        start = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = start + array.byte_size
        yield start, end


def load_at(buffer: Buffer, position: Any) -> Scalar:
    """The element at a place in memory, a value of type `index`."""
    loaded = emit("memref.load", buffer.memref.type.element_type, [buffer.memref, position])
    return from_memory(loaded, buffer.shape.element_type)


def store_at(value: Scalar, buffer: Buffer, position: Any) -> None:
    """Set the element at a place in memory, a value of type `index`."""
    ir.Operation.create("memref.store", [], [to_memory(value), buffer.memref, position])
