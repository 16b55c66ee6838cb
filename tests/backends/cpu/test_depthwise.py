"""Depthwise convolutions: the CPU against the evaluator, on whole numbers, whose sums are exact."""

import random
from dataclasses import replace

import pytest
from test_depthwise_weight_gradient import TARGETS, check, convolution, with_epilogue

from tfc.backends.cpu.convolutions.spec import convolution_spec
from tfc.hlo.attributes.window import WindowDimension
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F32, F64, S32

ALL_TARGETS = {**TARGETS, "small caches": replace(TARGETS["host"], l2_bytes=0)}


def random_dimension(choose: random.Random, size: int) -> WindowDimension:
    """A window with padding, steps and gaps; some miss the array, or meet nothing but padding."""
    low, high = choose.choice(((0, 0), (1, 1), (1, 1), (2, 0), (0, 5), (-1, 2), (4, -2)))
    base, dilation = choose.choice(((1, 1), (1, 1), (1, 2), (2, 1), (3, 2)))
    window = WindowDimension(choose.choice((1, 2, 3, 3, 5)), choose.choice((1, 1, 2, 3)), low, high,
                             base, dilation)  # fmt: skip
    return window if window.count(size) > 0 else WindowDimension(1)


def random_convolution(choose: random.Random) -> tuple[Instruction, list[Instruction]]:
    """A depthwise convolution, the window of which is not wide."""
    element_type = choose.choice((F32, F32, F64, S32))
    batch, features = choose.choice((1, 2)), choose.choice((2, 3, 8, 17, 40, 70))
    while True:
        sizes = [choose.choice((5, 9, 17)) for _ in range(choose.choice((1, 2, 2, 3)))]
        window = [random_dimension(choose, size) for size in sizes]
        made = convolution(element_type, batch, sizes, window, 1, features, features)
        spec = convolution_spec(made[0])
        if spec is not None and not spec.is_depthwise_weight_gradient:
            return made


@pytest.mark.parametrize("name", ALL_TARGETS)
@pytest.mark.parametrize("seed", range(7))
def test_depthwise_convolutions(seed: int, name: str):
    choose = random.Random(seed * 5 + len(name))
    check(*with_epilogue(choose, *random_convolution(choose)), ALL_TARGETS[name])
