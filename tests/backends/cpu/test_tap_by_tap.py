"""Convolutions with large kernels, tap by tap: the CPU against the evaluator, on small whole
numbers, whose sums are exact."""

import random
from dataclasses import replace

import numpy as np
import pytest

import tfc
from tfc.backends.cpu.convolutions.spec import convolution_spec
from tfc.backends.cpu.sharing import chunks_of
from tfc.backends.target import Target
from tfc.hlo import Module, builder, evaluate, parse
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, F64, S32, Shape
from tfc.passes.analysis.products import canonical_labels

HOST = Target.host()
TARGETS = {
    "host": HOST,
    "many registers": replace(HOST, vector_registers=32),
    "scalar": replace(HOST, vector_bits=0, vector_registers=0),
    "small caches": replace(HOST, l1_bytes=1 << 11, l2_bytes=1 << 13),
}


def random_convolution(choose: random.Random, target: Target) -> list[Instruction]:
    """A convolution that has a plan, after its parameters."""
    while True:
        element_type = choose.choice((F32, F32, F64, S32))
        rank = choose.choice((1, 2, 2, 2, 3))
        batch, inputs, outputs = choose.choice((1, 1, 2)), choose.choice((16, 17, 24, 40)), 32
        sizes = [choose.randrange(1, 8) for _ in range(rank)]
        window = tuple(
            WindowDimension(
                choose.choice((1, 2, 3)), choose.choice((1, 1, 2)), choose.choice((0, 1, 2, -1)),
                choose.choice((0, 1, 2, -1)), window_dilation=choose.choice((1, 1, 2)),
            )
            for _ in range(rank)
        )  # fmt: skip
        if any(n + d.low + d.high < d.extent for n, d in zip(sizes, window)):
            continue
        x = builder.parameter(0, Shape(element_type, (batch, *sizes, inputs)))
        y = builder.parameter(1, Shape(element_type, (*(d.size for d in window), inputs, outputs)))
        product = builder.instruction(
            "convolution", [x, y], window=Window(window), dim_labels=canonical_labels(rank)
        )
        spec = convolution_spec(product)
        if spec is not None and spec.tap_plan(target) is not None:
            return [x, y, product]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(8))
def test_convolutions_by_taps(seed: int, name: str):
    choose = random.Random(seed * 5 + len(name))
    *parameters, root = random_convolution(choose, TARGETS[name])
    rank = root.array_shape.rank
    if choose.random() < 0.5:  # an epilogue that finishes the sums in their place
        parameters.append(builder.parameter(2, root.array_shape))
        root = builder.binary("add", parameters[2], root)
    elif choose.random() < 0.6:  # and one that needs them apart
        order = tuple(choose.sample(range(rank), rank))
        root = builder.instruction("transpose", [root], dimensions=order)
        root = builder.binary("multiply", root, root)
    module = Module("m", Computation.make("main", parameters, root))
    generator = np.random.default_rng(seed)
    arguments = [
        generator.integers(-9, 10, p.array_shape.dims).astype(p.array_shape.element_type.dtype)
        for p in parameters
    ]
    (result,) = tfc.compile(module, target=TARGETS[name])(*arguments)
    np.testing.assert_array_equal(result, evaluate(module, *arguments))


LARGE = """ENTRY e { x = f32[1,7,7,64] parameter(0)
  y = f32[3,3,64,128] parameter(1)
  z = f32[1,7,7,128] parameter(2)
  c = f32[1,7,7,128] convolution(x, y), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT r = f32[1,7,7,128] maximum(c, z) }"""


def test_threads_share_blocks_of_features():
    module = parse(LARGE)
    generator = np.random.default_rng(0)
    arguments = [
        generator.integers(-9, 10, p.array_shape.dims).astype(np.float32)
        for p in module.entry.parameters
    ]
    expected = evaluate(module, *arguments)
    product = module.entry.root.operands[0]
    spec = convolution_spec(product)
    plan = spec and spec.tap_plan(HOST)
    assert plan is not None
    assert chunks_of(product, HOST, 2) == min(8, 128 // plan.columns)
    (result,) = tfc.compile(module)(*arguments)
    np.testing.assert_array_equal(result, expected)


def test_padding_takes_no_part_where_the_kernel_is_infinite():
    module = parse(LARGE)
    x, y, z = (np.zeros(p.array_shape.dims, np.float32) for p in module.entry.parameters)
    x[:], y[0], y[1:] = 1, np.inf, 1
    (result,) = tfc.compile(module)(x, y, z)
    # The first line of the window is on padding in the first line of places only.
    assert set(result[0, 0].flat) == {4 * 64, 6 * 64}
    assert np.isposinf(result[0, 1:]).all()


def test_what_is_packed_next_is_fetched_while_tiles_are_computed():
    executable = tfc.compile(parse(LARGE))
    assert "memref.prefetch" in executable.as_text("mlir")
