"""Sorts: which of the algorithms."""

from tfc.backends.gpu.parts import Part
from tfc.backends.gpu.sorting.networks import network_numbers, network_parts
from tfc.backends.mlir.kernels import Kernel
from tfc.hlo.shape import Shape


def sort_parts(kernel: Kernel) -> list[Part]:
    """The functions of a sort."""
    return network_parts(kernel)


def sort_memory(kernel: Kernel) -> Shape | None:
    """The scratch memory of a sort."""
    return network_numbers(kernel)
