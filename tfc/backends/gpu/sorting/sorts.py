"""Sorts: which of the algorithms, by how long rows are and how they are compared."""

from tfc.backends.gpu.parts import Part
from tfc.backends.gpu.sorting.digits import digit_memory, digit_parts, digits_of
from tfc.backends.gpu.sorting.keyed_tiles import keyed_tiles_of, keyed_tiles_part
from tfc.backends.gpu.sorting.merges import merge_memory, merge_parts
from tfc.backends.gpu.sorting.networks import network_part, tiles_of
from tfc.backends.mlir.kernels import Kernel
from tfc.hlo.shape import Shape


def sort_parts(kernel: Kernel) -> list[Part]:
    """The functions of a sort."""
    keyed = keyed_tiles_of(kernel)
    if keyed is not None:
        return [keyed_tiles_part(keyed)]
    tiles = tiles_of(kernel)
    if tiles.of_row == 1:
        return [network_part(tiles)]
    digits = digits_of(kernel)
    return merge_parts(tiles) if digits is None else digit_parts(digits)


def sort_memory(kernel: Kernel) -> Shape | None:
    """The scratch memory of a sort."""
    tiles = tiles_of(kernel)
    if keyed_tiles_of(kernel) is not None or tiles.of_row == 1:
        return None
    digits = digits_of(kernel)
    return merge_memory(tiles) if digits is None else digit_memory(digits)
