"""Descriptors of boxes, as NVIDIA's driver is asked for them."""

import ctypes
from typing import Any

import pytest

from tfc.backends.gpu.driver import descriptors, tensor_maps
from tfc.backends.gpu.driver.interface import Boxes, Pixels
from tfc.errors import DriverError


def test_the_driver_is_asked_for_descriptors(monkeypatch: pytest.MonkeyPatch):
    """cuTensorMapEncodeTiled gets what the C interface says, and an aligned place to write to."""
    asked: list[Any] = []
    integer, number, pointer = ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p
    sizes, lengths = ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(number)
    status = [0]

    @ctypes.CFUNCTYPE(
        integer, pointer, integer, number, pointer, sizes, sizes, lengths, lengths,
        integer, integer, integer, integer,
    )  # fmt: skip
    def encode(place: int, kind: int, rank: int, address: int, dims: Any, strides: Any, box: Any,
               steps: Any, *enumerated: int) -> int:  # fmt: skip
        asked.append((place % 64, kind, rank, address, dims[:rank], strides[: rank - 1],
                      box[:rank], steps[:rank], enumerated))  # fmt: skip
        ctypes.memset(place, 7, 128)
        return status[0]

    monkeypatch.setattr(descriptors, "_encoder", {"cuTensorMapEncodeTiled": encode}.get)
    boxes = Boxes(2, (100, 50, 3), (208, 10400), (64, 128, 1), 128)
    assert tensor_maps.describe(boxes, 4096) == bytes([7]) * 128
    assert asked == [
        (0, 1, 3, 4096, [100, 50, 3], [208, 10400], [64, 128, 1], [1, 1, 1], (0, 3, 2, 0))
    ]
    status[0] = 1
    with pytest.raises(DriverError, match=r"cuTensorMapEncodeTiled .* error 1"):
        tensor_maps.describe(boxes, 4096)


def test_the_driver_is_asked_for_descriptors_of_pixels(monkeypatch: pytest.MonkeyPatch):
    """cuTensorMapEncodeIm2col gets the corners of the window, innermost first, and its steps."""
    asked: list[Any] = []
    integer, number, pointer = ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p
    sizes, lengths = ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(number)
    corner = ctypes.POINTER(integer)

    @ctypes.CFUNCTYPE(
        integer, pointer, integer, number, pointer, sizes, sizes, corner, corner, number, number,
        lengths, integer, integer, integer, integer,
    )  # fmt: skip
    def encode(place: int, kind: int, rank: int, address: int, dims: Any, strides: Any,
               lower: Any, upper: Any, features: int, count: int, steps: Any,
               *enumerated: int) -> int:  # fmt: skip
        asked.append((kind, rank, address, dims[:rank], strides[: rank - 1], lower[: rank - 2],
                      upper[: rank - 2], features, count, steps[:rank], enumerated))  # fmt: skip
        ctypes.memset(place, 7, 128)
        return 0

    monkeypatch.setattr(descriptors, "_encoder", {"cuTensorMapEncodeIm2col": encode}.get)
    window = Pixels((-1, -2), (0, 3), (1, 2))
    boxes = Boxes(2, (64, 7, 9, 5), (128, 896, 8064), (64, 128), 128, window)
    assert tensor_maps.describe(boxes, 4096) == bytes([7]) * 128
    assert asked == [
        (1, 4, 4096, [64, 7, 9, 5], [128, 896, 8064], [-1, -2], [0, 3], 64, 128, [1, 1, 2, 1],
         (0, 3, 2, 0))
    ]  # fmt: skip


def test_descriptors_among_arguments_are_aligned():
    assert descriptors.layout_of([1, 2, 3]) == "PPP"
    assert descriptors.layout_of([1, 2, bytes(128), bytes(128)]) == "PP48x128s128s"
