"""Sorts: which of the algorithms, by how long rows are and how they are compared."""

from tfc.backends.gpu.parts import Part
from tfc.backends.gpu.sorting.digits import Digits, digit_memory, digit_parts, digits_of
from tfc.backends.gpu.sorting.networks import network_numbers, network_parts, tiles_of
from tfc.backends.mlir.kernels import Kernel
from tfc.hlo.shape import Shape


def sort_parts(kernel: Kernel) -> list[Part]:
    """The functions of a sort."""
    digits = _digits(kernel)
    return network_parts(kernel) if digits is None else digit_parts(digits)


def sort_memory(kernel: Kernel) -> Shape | None:
    """The scratch memory of a sort."""
    digits = _digits(kernel)
    return network_numbers(kernel) if digits is None else digit_memory(digits)


def _digits(kernel: Kernel) -> Digits | None:
    """The digits of a sort of rows that do not fit a block, if it goes by keys."""
    return digits_of(kernel) if tiles_of(kernel).of_row > 1 else None
