"""Depthwise convolutions with few results, as gradients of kernels are: the CPU against the
evaluator, on small whole numbers, whose sums are exact."""

import random
from dataclasses import replace

import numpy as np
import pytest

import tfc
from tfc.backends.cpu.convolutions.spec import convolution_spec
from tfc.backends.target import Target
from tfc.hlo import Module, builder, evaluate
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, F64, S32, ElementType, Shape
from tfc.passes.analysis.products import canonical_labels

HOST = Target.host()
TARGETS = {
    "host": HOST,
    "many registers": replace(HOST, vector_registers=32),
    "scalar": replace(HOST, vector_bits=0, vector_registers=0),
}


def check(root: Instruction, parameters: list[Instruction], target: Target = HOST) -> None:
    """The CPU gives exactly what the evaluator does."""
    module = Module("m", Computation.make("main", parameters, root))
    generator = np.random.default_rng(1)
    arguments = [
        generator.integers(-9, 10, p.array_shape.dims).astype(p.array_shape.element_type.dtype)
        for p in parameters
    ]
    (result,) = tfc.compile(module, target=target)(*arguments)
    np.testing.assert_array_equal(result, evaluate(module, *arguments))


def random_dimension(choose: random.Random, size: int) -> WindowDimension:
    """A window nearly as large as an array's dimension, so that few places are left for it."""
    dilation = choose.choice((1, 1, 2)) if size > 6 else 1
    taps = max((size - 1) // dilation - choose.randrange(2), 1)
    low, high = choose.choice(((0, 0), (1, 1), (2, 0), (0, 3), (-1, 2)))
    return WindowDimension(taps, choose.choice((1, 1, 2)), low, high, window_dilation=dilation)


def convolution(
    element_type: ElementType, batch: int, sizes: list[int], window: list[WindowDimension],
    inputs: int, features: int, groups: int = 1,
) -> tuple[Instruction, list[Instruction]]:  # fmt: skip
    """A convolution of two parameters: an array, and a kernel for so many inputs of a group."""
    shapes = (batch, *sizes, inputs * groups), (*(d.size for d in window), inputs, features)
    x, y = (builder.parameter(n, Shape(element_type, dims)) for n, dims in enumerate(shapes))
    product = builder.instruction(
        "convolution", [x, y], window=Window(tuple(window)), feature_group_count=groups,
        dim_labels=canonical_labels(len(sizes)),
    )  # fmt: skip
    return product, [x, y]


def random_convolution(choose: random.Random) -> tuple[Instruction, list[Instruction]]:
    """A depthwise convolution with a wide window."""
    element_type = choose.choice((F32, F32, F64, S32))
    batch, features = choose.choice((1, 1, 2)), choose.choice((2, 3, 8, 17, 40, 100))
    while True:
        sizes = [choose.choice((7, 9, 16)) for _ in range(choose.choice((1, 2, 2, 3)))]
        window = [random_dimension(choose, size) for size in sizes]
        made = convolution(element_type, batch, sizes, window, 1, features, features)
        spec = convolution_spec(made[0])
        if spec is not None and spec.is_depthwise_weight_gradient:
            return made


def with_epilogue(
    choose: random.Random, product: Instruction, parameters: list[Instruction]
) -> tuple[Instruction, list[Instruction]]:
    """The convolution with something that follows it, or nothing."""
    rank = product.array_shape.rank
    if choose.random() < 0.5:  # an epilogue that finishes the sums in their place
        added = builder.parameter(2, product.array_shape)
        return builder.binary("add", added, product), [*parameters, added]
    if choose.random() < 0.6:  # and one that needs them apart
        product = builder.instruction("transpose", [product], dimensions=tuple(
            choose.sample(range(rank), rank)))  # fmt: skip
        product = builder.binary("multiply", product, product)
    return product, parameters


SEEDS = [*range(2), *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 10))]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", SEEDS)
def test_depthwise_convolutions_with_wide_windows(seed: int, name: str):
    choose = random.Random(seed * 3 + len(name))
    check(*with_epilogue(choose, *random_convolution(choose)), TARGETS[name])


def gradient_of_kernel(
    batch: int, size: int, features: int, stride: int = 1
) -> tuple[Instruction, list[Instruction]]:
    """What the gradient of a depthwise 3×3 convolution's kernel is."""
    places = -(-size // stride)
    x = builder.parameter(0, Shape(F32, (batch, size, size, features)))
    dy = builder.parameter(1, Shape(F32, (batch, places, places, features)))
    high = 3 + (places - 1) * stride - size - 1
    d = WindowDimension(places, 1, 1, high, window_dilation=stride)
    labels = ConvolutionDimensionNumbers((3, 0, 1, 2), (3, 0, 1, 2), (2, 3, 0, 1))
    root = builder.instruction(
        "convolution", [x, dy], window=Window((d, d)), dim_labels=labels,
        batch_group_count=features,
    )  # fmt: skip
    return root, [x, dy]


@pytest.mark.parametrize(
    ("batch", "size", "features", "stride"),
    [(2, 8, 8, 1), (1, 9, 5, 1), (3, 10, 33, 2), (2, 7, 16, 2)],
)
def test_gradients_of_depthwise_kernels(batch: int, size: int, features: int, stride: int):
    check(*gradient_of_kernel(batch, size, features, stride))


def test_a_gradient_of_a_depthwise_kernel_moves_nothing():
    root, parameters = gradient_of_kernel(2, 8, 16)
    module = Module("m", Computation.make("main", parameters, root))
    steps = tfc.compile(module).hlo.entry.instructions
    assert {x.opcode for x in steps} <= {"parameter", "reshape", "convolution"}
    (product,) = (x for x in steps if x.opcode == "convolution")
    spec = convolution_spec(product)
    assert spec is not None
    assert spec.is_depthwise_weight_gradient


def test_a_step_of_descent_follows_in_the_kernel():
    root, parameters = gradient_of_kernel(2, 8, 16)
    weights = builder.parameter(2, root.array_shape)
    rate = builder.full(0.5, root.array_shape)
    step = builder.binary("subtract", weights, builder.binary("multiply", root, rate))
    check(step, [*parameters, weights])
