"""Convolutions with long windows and few results, as gradients of kernels are: the CPU against the
evaluator, on small whole numbers, whose sums are exact."""

import random

import pytest
from test_depthwise_weight_gradient import TARGETS, check, convolution, with_epilogue

import tfc
from tfc.backends.cpu.convolutions.spec import convolution_spec
from tfc.hlo import Module, builder
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, F64, S32, Shape


def random_dimension(choose: random.Random, size: int) -> WindowDimension:
    """A window nearly as large as an array's dimension, so that few places are left for it."""
    dilation = choose.choice((1, 1, 2)) if size > 16 else 1
    taps = max((size - 1) // dilation - choose.randrange(3), 1)
    low, high = choose.choice(((0, 0), (1, 1), (2, 0), (0, 3), (-1, 2), (2, 1)))
    return WindowDimension(taps, choose.choice((1, 1, 2)), low, high, window_dilation=dilation)


def random_convolution(choose: random.Random) -> tuple[Instruction, list[Instruction]]:
    """A convolution that is like the gradient of a kernel."""
    element_type = choose.choice((F32, F32, F64, S32))
    while True:
        sizes = [choose.choice((7, 9)) for _ in range(choose.choice((0, 1, 1, 2)))]
        sizes.append(choose.choice((19, 24, 40)))
        batch, inputs = choose.choice((1, 3, 8)), choose.choice((1, 2, 5))
        features = choose.choice((1, 3, 8, 17, 40, 64))
        window = [random_dimension(choose, size) for size in sizes]
        made = convolution(element_type, batch, sizes, window, inputs, features)
        spec = convolution_spec(made[0])
        if spec is not None and spec.is_weight_gradient:
            return made


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(8))
def test_convolutions_with_long_windows(seed: int, name: str):
    choose = random.Random(seed * 7 + len(name))
    check(*with_epilogue(choose, *random_convolution(choose)), TARGETS[name])


def gradient_of_kernel(
    size: int, window: int, stride: int, inputs: int, outputs: int
) -> tuple[Instruction, list[Instruction]]:
    """What the gradient of a kernel over two images is; each element is the middle of a window."""
    places, low = -(-size // stride), window // 2
    x = builder.parameter(0, Shape(F32, (2, size, size, inputs)))
    dy = builder.parameter(1, Shape(F32, (2, places, places, outputs)))
    high = window + (places - 1) * stride - size - low
    d = WindowDimension(places, 1, low, high, window_dilation=stride)
    labels = ConvolutionDimensionNumbers((3, 0, 1, 2), (3, 0, 1, 2), (2, 3, 0, 1))
    root = builder.instruction("convolution", [x, dy], window=Window((d, d)), dim_labels=labels)
    return root, [x, dy]


@pytest.mark.parametrize(
    ("size", "window", "stride", "inputs", "outputs"),
    [(16, 3, 1, 4, 8), (17, 3, 1, 3, 70), (40, 7, 2, 3, 64), (33, 5, 2, 7, 5)],
)
def test_gradients_of_kernels(size: int, window: int, stride: int, inputs: int, outputs: int):
    check(*gradient_of_kernel(size, window, stride, inputs, outputs))


def test_a_gradient_of_a_kernel_moves_nothing():
    root, parameters = gradient_of_kernel(32, 3, 1, 4, 8)
    module = Module("m", Computation.make("main", parameters, root))
    steps = tfc.compile(module).hlo.entry.instructions
    moved = [x for x in steps if x.opcode == "transpose"]
    assert all(x.array_shape.layout != x.operands[0].array_shape.layout for x in moved)
    (product,) = (x for x in steps if x.opcode == "convolution")
    spec = convolution_spec(product)
    assert spec is not None
    assert spec.is_weight_gradient
