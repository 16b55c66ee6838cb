"""Functions of `nn` that slide over images: convolutions, pooling."""

from collections.abc import Sequence
from typing import Any

from tfc.errors import ShapeError
from tfc.graph.building import alike, operation, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.creation import shape_tensor
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import as_dtype, int64

Numbers = int | Sequence[int]


def _named(input: Any, type: str, name: str | None) -> Any:
    return get_default_graph().name_scope(name or type)


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Numbers = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolutions of images [batch, height, width, channels].

    Args:
        filter, filters: [height, width, channels, outputs].
        strides: one number, two, or four: for batch, height, width and channels.
        padding: SAME, VALID, or pairs of numbers for the four dimensions.
        data_format: NCHW for images [batch, channels, height, width].
    """
    with _named(input, "Conv2D", name) as scope:
        kernel = filter if filter is not None else filters
        x, kernel = alike(input, kernel, names=("input", "filter"))
        more = _attributes(strides, padding, data_format, dilations, 2)
        return result("Conv2D", x, kernel, name=scope, use_cudnn_on_gpu=use_cudnn_on_gpu, **more)


def _attributes(
    strides: Any, padding: Any, data_format: str | None, dilations: Any, rank: int
) -> dict[str, Any]:
    """Strides and dilations for all dimensions, the padding, the format.

    Raises:
        ValueError: they are not of so many dimensions.
    """
    form = data_format or ("NHWC", "NDHWC")[rank - 2]
    made: dict[str, Any] = {
        "strides": _all(strides, form, rank, "strides"),
        "dilations": _all(dilations, form, rank, "dilations"),
        "data_format": form,
    }
    if isinstance(padding, (list, tuple)):
        made |= {
            "padding": "EXPLICIT",
            "explicit_paddings": [int(n) for pair in padding for n in pair],
        }
    elif padding in ("SAME", "VALID"):
        made["padding"] = padding
    else:
        raise ShapeError(f"padding is 'SAME', 'VALID' or pairs of numbers, got {padding!r}")
    return made


def _all(numbers: Any, data_format: str, rank: int, what: str) -> list[int]:
    listed = [numbers] if isinstance(numbers, int) else list(numbers or [1])
    if len(listed) == rank + 2:
        return [int(n) for n in listed]
    if len(listed) == 1:
        listed = listed * rank
    if len(listed) != rank:
        raise ShapeError(f"{what} are 1, {rank} or {rank + 2} numbers, got {numbers!r}")
    return [1, 1, *listed] if data_format.startswith("NC") else [1, *listed, 1]


def conv1d(
    value: Any,
    filters: Any,
    stride: int = 1,
    padding: str = "VALID",
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Convolutions of rows [batch, width, channels]; the filter is [width, channels, outputs]."""
    with _named(value, "conv1d", name):
        x, kernel = alike(value, filters)
        first = data_format in ("NCW", "NCHW")
        place = 2 if first else 1
        images = result("ExpandDims", x, place)
        wide = result("ExpandDims", kernel, 0)
        form = "NCHW" if first else "NHWC"
        made = conv2d(images, wide, [1, stride], padding, use_cudnn_on_gpu, form)
        return result("Squeeze", made, squeeze_dims=[place])


def conv3d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Numbers = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Convolutions of volumes; the filter is [depth, height, width, channels, outputs]."""
    with _named(input, "Conv3D", name) as scope:
        x, kernel = alike(input, filter, names=("input", "filter"))
        more = _attributes(strides, padding, data_format, dilations, 3)
        return result("Conv3D", x, kernel, name=scope, **more)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """A convolution of each channel by itself; the filter is [height, width, channels, each]."""
    with _named(input, "depthwise", name) as scope:
        x, kernel = alike(input, filter, names=("input", "filter"))
        more = _attributes(strides, padding, data_format, rate, 2)
        return result("DepthwiseConv2dNative", x, kernel, name=scope, **more)


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """`depthwise_conv2d` with its arguments in another order."""
    called = name or "DepthwiseConv2dNative"
    return depthwise_conv2d(input, filter, strides, padding, dilations, called, data_format)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """A convolution of each channel by itself, and one of 1 by 1 that mixes them."""
    form = data_format or "NHWC"
    with _named(input, "separable_conv2d", name) as scope:
        between = depthwise_conv2d(
            input, depthwise_filter, strides, padding, rate, "depthwise", form
        )
        return conv2d(between, pointwise_filter, 1, "VALID", data_format=form, name=scope)


def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """A convolution whose filter has `rate - 1` zeros between its elements."""
    called = name or "atrous_conv2d"
    return conv2d(value, filters, 1, padding, dilations=[1, rate, rate, 1], name=called)


def convolution(
    input: Any,
    filter: Any,
    padding: str,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """A convolution over one, two or three dimensions, by the filter's rank.

    Raises:
        ValueError: the filter has another rank.
    """
    x, kernel = alike(input, filter)
    called = name or "convolution"
    rank = kernel.shape.ndims
    if rank == 4:
        form = data_format or "NHWC"
        given = dilation_rate or 1
        return conv2d(x, kernel, strides or 1, padding, True, form, given, called)
    if rank == 5:
        form = data_format or "NDHWC"
        return conv3d(x, kernel, strides or 1, padding, form, dilation_rate or 1, called)
    if rank == 3 and (dilation_rate is None or list(dilation_rate) == [1]):
        step = strides[0] if isinstance(strides, (list, tuple)) else strides or 1
        return conv1d(x, kernel, step, padding, True, data_format or "NWC", called)
    raise ShapeError(f"a filter for convolution has rank 3, 4 or 5, got shape {kernel.shape}")


def conv2d_transpose(
    value: Any,
    filter: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The gradient of a convolution by its input, as a function of its own.

    Args:
        filter: [height, width, outputs, channels of the value]. output_shape: of the result.
    """
    with _named(value, "conv2d_transpose", name) as scope:
        x, kernel = alike(value, filter, names=("value", "filter"))
        dims = shape_tensor(output_shape, "output_shape")
        more = _attributes(strides, padding, data_format, None, 2)
        return result("Conv2DBackpropInput", dims, kernel, x, name=scope, **more)


def conv3d_transpose(
    value: Any,
    filter: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The gradient of a convolution of volumes by its input, as a function of its own."""
    with _named(value, "conv3d_transpose", name) as scope:
        x, kernel = alike(value, filter, names=("value", "filter"))
        dims = shape_tensor(output_shape, "output_shape")
        more = _attributes(strides, padding, data_format, None, 3)
        return result("Conv3DBackpropInputV2", dims, kernel, x, name=scope, **more)


def _backprop(type: str, inputs: Any, strides: Any, padding: Any, form: str, rate: Any, name: Any):
    more = _attributes(strides, padding, form, rate, 2)
    return result(type, *inputs, name=name, **more)


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` by its input."""
    inputs = [shape_tensor(input_sizes), filter, out_backprop]
    type = "Conv2DBackpropInput"
    return _backprop(type, inputs, strides, padding, data_format, dilations, name)


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` by its filter."""
    inputs = [input, shape_tensor(filter_sizes), out_backprop]
    type = "Conv2DBackpropFilter"
    return _backprop(type, inputs, strides, padding, data_format, dilations, name)


def _pool(type: str, rank: int = 2) -> Any:
    def function(
        value: Any,
        ksize: Any,
        strides: Any,
        padding: str,
        data_format: str | None = None,
        name: str | None = None,
    ) -> Tensor:
        more = _attributes(strides, padding, data_format, None, rank)
        del more["dilations"]
        more["ksize"] = _all(ksize, more["data_format"], rank, "ksize")
        return result(type, value, name=name, **more)

    function.__name__ = type.lower()
    function.__doc__ = f"Make an operation {type} of windows of a size, so far apart."
    return function


max_pool, avg_pool = _pool("MaxPool"), _pool("AvgPool")
max_pool3d, avg_pool3d = _pool("MaxPool3D", 3), _pool("AvgPool3D", 3)


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    Targmax: Any = int64,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and its place in the flat image."""
    more = _attributes(strides, padding, "NHWC", None, 2)
    del more["dilations"], more["data_format"]
    more |= {"ksize": _all(ksize, "NHWC", 2, "ksize"), "Targmax": as_dtype(Targmax)}
    made = operation("MaxPoolWithArgmax", [convert_to_tensor(input)], name, **more).outputs
    return made[0], made[1]


def extract_image_patches(
    images: Any, ksizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """What each window sees, one place after the other, in the dimension of channels."""
    more = {"ksizes": list(ksizes), "strides": list(strides), "rates": list(rates)}
    return result("ExtractImagePatches", images, name=name, padding=padding, **more)


def dilation2d(
    input: Any, filter: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """The largest sum of an element in each window and the filter's at its place."""
    more = {"strides": list(strides), "rates": list(rates), "padding": padding}
    return result("Dilation2D", input, filter, name=name, **more)
