"""Memory that the threads of a block share: arrays in what a launch gives, and barriers."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from tfc.backends.gpu.grid import gpu
from tfc.backends.mlir.arithmetic.value import memory_type
from tfc.backends.mlir.elements import Buffer
from tfc.backends.mlir.provider import ir, memref
from tfc.backends.mlir.vectors import index_value
from tfc.hlo.shape import Shape

BLOCK_BYTES = 99 << 10
"""What a block may have on every architecture from sm_80 on."""
_ALIGNMENT = 16
_SPACE = "#gpu.address_space<workgroup>"


def shared_bytes(arrays: Sequence[Shape]) -> int:
    """The bytes that a launch must give for the arrays."""
    return _ends(arrays)[-1]


def shared_arrays(arrays: Sequence[Shape]) -> list[Buffer]:
    """The arrays, one after the other in the block's memory."""
    everything = gpu.dynamic_shared_memory(ir.Type.parse(f"memref<?xi8, {_SPACE}>"))
    space = ir.Attribute.parse(_SPACE)
    return [
        Buffer(memref.view(_type(a, space), everything, index_value(start), []), a)
        for a, start in zip(arrays, _ends(arrays))
    ]


def barrier() -> None:
    """Wait until all threads of the block are here; what they wrote is then seen by all."""
    gpu.barrier()


def _type(array: Shape, space: Any) -> Any:
    return ir.MemRefType.get([array.size], memory_type(array.element_type), memory_space=space)


def _ends(arrays: Sequence[Shape]) -> list[int]:
    sizes = (-(-a.byte_size // _ALIGNMENT) * _ALIGNMENT for a in arrays)
    return list(accumulate(sizes, initial=0))
