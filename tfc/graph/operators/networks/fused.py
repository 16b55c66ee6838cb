"""Operators that TensorFlow's optimizer of graphs makes of several: a layer in one operation."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc import nn
from tfc import numpy as tnp
from tfc.errors import UnsupportedError
from tfc.graph.operators.matrices.products import matmul
from tfc.graph.operators.networks.convolutions import conv2d, depthwise_conv2d
from tfc.graph.operators.networks.layers import attribute_number, beside_channels, leaky_relu
from tfc.graph.operators.registry import find, operator

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "Relu": nn.relu,
    "Relu6": nn.relu6,
    "Elu": nn.elu,
    "Tanh": tnp.tanh,
    "Sigmoid": tnp.sigmoid,
    "GeluApproximate": nn.gelu,
    "GeluExact": lambda x: nn.gelu(x, approximate=False),
}


def followed(
    made: Any, args: Sequence[Any], fused_ops: Sequence[str], data_format: str, **numbers: float
) -> Any:
    """What was made, through the operations that follow: each takes its own of the arguments.

    Raises:
        UnsupportedError: one of them is not known.
    """
    rest = iter(args)
    shape = beside_channels(data_format, made.ndim)
    for name in fused_ops:
        if name == "BiasAdd":
            made = made + tnp.reshape(next(rest), shape)
        elif name == "FusedBatchNorm":
            scale, offset, mean, variance = (next(rest) for _ in range(4))
            factor = scale * tnp.rsqrt(variance + attribute_number(numbers["epsilon"], scale))
            made = (made - tnp.reshape(mean, shape)) * tnp.reshape(factor, shape)
            made = made + tnp.reshape(offset, shape)
        elif name == "Add":
            made = made + next(rest)
        elif name == "LeakyRelu":
            made = leaky_relu(made, numbers["leakyrelu_alpha"])
        elif name in _FUNCTIONS:
            made = _FUNCTIONS[name](made)
        else:
            raise UnsupportedError(f"fused operations have no {name!r}")
    return made


def _enter_convolution(name: str, forward: Callable[..., Any]) -> None:
    @operator(name)
    def row(
        input: Any,
        filter: Any,
        *args: Any,
        num_args: int,
        strides: Sequence[int],
        padding: str,
        explicit_paddings: Sequence[int] = (),
        data_format: str = "NHWC",
        filter_format: str = "HWIO",
        dilations: Sequence[int] | None = None,
        fused_ops: Sequence[str] = (),
        epsilon: float = 1e-4,
        leakyrelu_alpha: float = 0.2,
    ) -> Any:
        if filter_format != "HWIO" or data_format == "NCHW_VECT_C":
            raise UnsupportedError(f"{name} takes filters HWIO, got {filter_format}")
        made = forward(
            input,
            filter,
            strides=strides,
            padding=padding,
            explicit_paddings=explicit_paddings,
            data_format=data_format,
            dilations=dilations,
        )
        numbers = {"epsilon": epsilon, "leakyrelu_alpha": leakyrelu_alpha}
        return followed(made, args[:num_args], fused_ops, data_format, **numbers)


_enter_convolution("_FusedConv2D", conv2d)
_enter_convolution("_FusedDepthwiseConv2dNative", depthwise_conv2d)


@operator("_FusedMatMul")
def fused_matmul(
    a: Any,
    b: Any,
    *args: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    fused_ops: Sequence[str] = (),
    epsilon: float = 1e-4,
    leakyrelu_alpha: float = 0.2,
) -> Any:
    """The product of two matrices, and what follows it."""
    numbers = {"epsilon": epsilon, "leakyrelu_alpha": leakyrelu_alpha}
    made = matmul(a, b, transpose_a, transpose_b)
    return followed(made, args, fused_ops, "NHWC", **numbers)


@operator("_FusedBatchNormEx", types="T U")
def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    *side_input: Any,
    epsilon: float = 1e-4,
    exponential_avg_factor: float = 1.0,
    activation_mode: str = "Identity",
    data_format: str = "NHWC",
    is_training: bool = True,
) -> Any:
    """FusedBatchNormV3, a sum with another array, and an activation."""
    attributes = {
        "epsilon": epsilon,
        "exponential_avg_factor": exponential_avg_factor,
        "data_format": data_format,
        "is_training": is_training,
    }
    made, *rest = find("FusedBatchNormV3")([x, scale, offset, mean, variance], attributes)
    for other in side_input:
        made = made + other
    ops = [] if activation_mode == "Identity" else [activation_mode]
    return followed(made, (), ops, data_format), *rest
