"""Functions that move blocks of space into channels or the batch; bits; quantization."""

from collections.abc import Callable
from typing import Any

from tfc.graph.building import elementwise, int32s, result
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import as_dtype


def space_to_depth(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """The blocks of images as channels."""
    more = {"block_size": block_size, "data_format": data_format}
    return result("SpaceToDepth", input, name=name, **more)


def depth_to_space(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Channels as the blocks of images."""
    more = {"block_size": block_size, "data_format": data_format}
    return result("DepthToSpace", input, name=name, **more)


def space_to_batch_nd(
    input: Any, block_shape: Any, paddings: Any, name: str | None = None
) -> Tensor:
    """The places within blocks as more of the batch."""
    return result("SpaceToBatchND", input, block_shape, paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Parts of the batch as the places within blocks; the borders are cut off."""
    return result("BatchToSpaceND", input, block_shape, crops, name=name)


def space_to_batch(input: Any, paddings: Any, block_size: int, name: str | None = None) -> Tensor:
    """`space_to_batch_nd` of square blocks of images."""
    return space_to_batch_nd(input, int32s([block_size] * 2), paddings, name or "SpaceToBatch")


def batch_to_space(input: Any, crops: Any, block_size: int, name: str | None = None) -> Tensor:
    """`batch_to_space_nd` of square blocks of images."""
    return batch_to_space_nd(input, int32s([block_size] * 2), crops, name or "BatchToSpace")


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The same bits as elements of another dtype."""
    return result("Bitcast", input, name=name, type=as_dtype(type))


def _binary(type: str) -> Callable[..., Tensor]:
    def function(x: Any, y: Any, name: str | None = None) -> Tensor:
        return elementwise(type, x, y, name=name)

    function.__name__ = type.lower()
    function.__doc__ = f"Make an operation {type} of the bits of integers."
    return function


bitwise_and, bitwise_or = _binary("BitwiseAnd"), _binary("BitwiseOr")
bitwise_xor = _binary("BitwiseXor")
left_shift, right_shift = _binary("LeftShift"), _binary("RightShift")


def invert(x: Any, name: str | None = None) -> Tensor:
    """The integers with all bits turned."""
    return result("Invert", x, name=name)


def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The elements rounded as integers of so many bits between limits would be."""
    more = {"min": min, "max": max, "num_bits": num_bits, "narrow_range": narrow_range}
    return result("FakeQuantWithMinMaxArgs", inputs, name=name, **more)


def fake_quant_with_min_max_vars(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The elements rounded as integers of so many bits between limits would be."""
    more = {"num_bits": num_bits, "narrow_range": narrow_range}
    return result("FakeQuantWithMinMaxVars", inputs, min, max, name=name, **more)


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Likewise, with limits of its own for each place of the last dimension."""
    more = {"num_bits": num_bits, "narrow_range": narrow_range}
    return result("FakeQuantWithMinMaxVarsPerChannel", inputs, min, max, name=name, **more)
