"""Convolutions with few features in the result: the CPU against the evaluator, on small whole
numbers, whose sums are exact."""

import random

import numpy as np
import pytest
from test_depthwise_weight_gradient import TARGETS, check, convolution, with_epilogue

import tfc
from tfc.backends.cpu.convolutions.spec import convolution_spec
from tfc.hlo import Module, builder, evaluate
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, F64, S32, Shape
from tfc.passes.analysis.products import canonical_labels


def random_dimension(choose: random.Random, size: int, *, last: bool) -> WindowDimension:
    """A window with padding and gaps in the array, and steps but along the last dimension."""
    low, high = choose.choice(((0, 0), (1, 1), (3, 4), (2, 0), (0, 5), (-1, 2), (6, -2)))
    stride, dilation = (1, 1) if last else choose.choice(((1, 1), (2, 1), (1, 2)))
    window = WindowDimension(choose.choice((2, 3, 3, 5, 7)), stride, low, high,
                             choose.choice((1, 1, 2, 3)), dilation)  # fmt: skip
    return window if window.count(size) > 0 else random_dimension(choose, size, last=last)


def random_convolution(choose: random.Random) -> tuple[Instruction, list[Instruction]]:
    """A convolution with few features in the result."""
    while True:
        element_type, batch = choose.choice((F32, F32, F64, S32)), choose.choice((1, 2))
        inputs, features = choose.choice((16, 17, 33)), choose.choice((1, 2, 3, 4))
        sizes = [choose.choice((1, 5, 9)) for _ in range(choose.choice((0, 1, 1, 2)))]
        sizes.append(choose.choice((3, 9, 17)))
        window = [random_dimension(choose, n, last=False) for n in sizes[:-1]]
        window.append(random_dimension(choose, sizes[-1], last=True))
        made = convolution(element_type, batch, sizes, window, inputs, features)
        spec = convolution_spec(made[0])
        if spec is not None and spec.has_small_channels(TARGETS["many registers"]):
            return made


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(9))
def test_convolutions_with_few_features(seed: int, name: str):
    choose = random.Random(seed * 11 + len(name))
    check(*with_epilogue(choose, *random_convolution(choose)), TARGETS[name])


def test_elements_that_are_no_numbers_stay_where_their_windows_are():
    x = builder.parameter(0, Shape(F32, (1, 4, 9, 16)))
    y = builder.parameter(1, Shape(F32, (3, 3, 16, 3)))
    d = WindowDimension(3, 1, 1, 2, base_dilation=2)
    root = builder.instruction(
        "convolution", [x, y], window=Window((d, d)), dim_labels=canonical_labels(2)
    )
    module = Module("m", Computation.make("main", [x, y], root))
    arguments = [np.ones(p.array_shape.dims, np.float32) for p in (x, y)]
    arguments[0][0, 1, 2, 5], arguments[0][0, 3, 8, 0] = np.inf, np.nan
    (result,) = tfc.compile(module)(*arguments)
    np.testing.assert_array_equal(result, evaluate(module, *arguments))
    assert np.isinf(result).any()
    assert np.isfinite(result).any()
