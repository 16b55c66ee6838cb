"""Descriptors of boxes, as the driver's errors have it."""

from tfc.backends.gpu.driver.descriptors import DescriptorError, encoded
from tfc.backends.gpu.driver.interface import Boxes
from tfc.errors import DriverError


def describe(boxes: Boxes, address: int) -> bytes:
    """The descriptor of boxes of the array at an address.

    Raises:
        DriverError: the driver is too old for it, or says that there is no such descriptor.
    """
    sizes = boxes.itemsize, boxes.dims, boxes.strides, boxes.box, boxes.swizzle
    pixels = None if boxes.pixels is None else boxes.pixels.numbers
    try:
        return encoded(*sizes, pixels, address)
    except DescriptorError as error:
        raise DriverError(f"{error}; programs compiled for sm_80 need none") from None
