"""Kernels of dots and convolutions with what comes before and after: the CPU against the evaluator.

Programs are a product between random chains of elementwise ops, reshapes and transposes, on small
whole numbers where that is exact, so that most comparisons are bit for bit.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

import tfc
from tfc.backends.target import Target
from tfc.hlo import Module, builder
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import BF16, F16, F32, F64, S8, S32, ElementType, Shape
from tfc.passes import KernelKinds, default_pipeline
from tfc.passes.analysis.products import canonical_labels
from tfc.testing import arguments_for
from tfc.testing.compare import mismatch

KINDS = KernelKinds(epilogues=True)
HOST = Target.host()
TARGETS = {
    "host": HOST,
    "tiny caches": replace(HOST, l1_bytes=512, l2_bytes=1024, l3_bytes=4096),
    "few registers": replace(HOST, vector_bits=128, vector_registers=16, has_fma=False),
    "scalar": replace(HOST, vector_bits=0, vector_registers=0),
}
SIZES = (1, 1, 2, 3, 5, 8, 9, 16, 17, 24, 33)


class Maker:
    """Grows a program around a product."""

    def __init__(self, seed: int):
        self.choose = random.Random(seed)
        self.parameters: list[Instruction] = []

    def parameter(self, element_type: ElementType, *dims: int) -> Instruction:
        made = builder.parameter(len(self.parameters), Shape(element_type, tuple(dims)))
        self.parameters.append(made)
        return made

    def size(self) -> int:
        return self.choose.choice(SIZES)

    def like(self, x: Instruction) -> Instruction:
        """An array to combine x with: whole, a row, a column, one number."""
        shape = x.array_shape
        match self.choose.randrange(4):
            case 0:
                return self.parameter(shape.element_type, *shape.dims)
            case 1:
                kept = [d for d in range(shape.rank) if self.choose.random() < 0.5]
                part = self.parameter(shape.element_type, *(shape.dims[d] for d in kept))
                return builder.broadcast(part, shape.dims, kept)
            case 2:
                wide = self.parameter(shape.element_type, *(d + 2 for d in shape.dims))
                bounds = tuple((1, d + 1, 1) for d in shape.dims)
                return builder.instruction("slice", [wide], slice=bounds)
            case _:
                return builder.full(2, shape)

    def step(self, x: Instruction) -> Instruction:
        """One op more, exact for small whole numbers."""
        dims = x.array_shape.dims
        match self.choose.randrange(8):
            case 0 | 1:
                return builder.binary("add", x, self.like(x))
            case 2:
                return builder.binary("maximum", x, self.like(x))
            case 3:
                mask = builder.compare("GT", self.like(x), builder.full(0, x.array_shape))
                return builder.instruction("select", [mask, x, builder.full(0, x.array_shape)])
            case 4:
                return builder.binary("subtract", builder.binary("add", x, x), self.like(x))
            case 5:
                parts = [p for d in dims for p in ((2, d // 2) if d % 2 == 0 else (d,))]
                return builder.reshape(x, parts)
            case 6:
                order = self.choose.sample(range(len(dims)), len(dims))
                return builder.instruction("transpose", [x], dimensions=tuple(order))
            case _:
                return builder.convert(
                    x, self.choose.choice((F32, F64, x.array_shape.element_type))
                )

    def chain(self, x: Instruction, limit: int) -> Instruction:
        for _ in range(self.choose.randrange(limit)):
            x = self.step(x)
        return x

    def module(self, root: Instruction) -> Module:
        return Module("m", Computation.make("main", self.parameters, root))

    def dot(self, lhs: ElementType, rhs: ElementType, *, computed: bool = False) -> Instruction:
        """A dot of random form: batches, transposed operands, sums over nothing."""
        m, n, k = self.size(), self.size(), self.choose.choice((0, *SIZES))
        batch = [self.choose.choice((2, 3))] if self.choose.random() < 0.4 else []
        at, flip = len(batch), [self.choose.random() < 0.4 for _ in range(2)]
        x = self.parameter(lhs, *batch, *((k, m) if flip[0] else (m, k)))
        y = self.parameter(rhs, *batch, *((n, k) if flip[1] else (k, n)))
        if computed:
            x, y = self.operand(x), self.operand(y)
        several = (0,) if batch else None
        return builder.instruction(
            "dot", [x, y],
            lhs_batch_dims=several, rhs_batch_dims=several,
            lhs_contracting_dims=(at + (not flip[0]),), rhs_contracting_dims=(at + flip[1],),
        )  # fmt: skip

    def operand(self, x: Instruction) -> Instruction:
        """What a dot takes: some elementwise steps from a parameter."""
        x = builder.convert(x, F32)
        for _ in range(self.choose.randrange(3)):
            x = builder.binary(self.choose.choice(("add", "maximum")), x, self.like(x))
        return x

    def convolution(self, element_type: ElementType) -> Instruction:
        """A convolution in the form that models have."""
        groups = self.choose.choice((1, 1, 2))
        inputs, outputs = self.choose.choice((1, 3, 4)), self.choose.choice((1, 5, 16)) * groups
        dims = (self.choose.choice((1, 3)), self.size() + 2, self.size() + 2, inputs * groups)
        x = self.parameter(element_type, *dims)
        kernel = self.parameter(element_type, 3, 2, inputs, outputs)
        window = self.choose.choice((
            (WindowDimension(3, 1, 1, 1), WindowDimension(2, 1, 0, 1)),
            (WindowDimension(3, 2), WindowDimension(2)),
            (WindowDimension(3, 1, 2, 0), WindowDimension(2, 1, 1, 1, window_dilation=2)),
        ))  # fmt: skip
        return builder.instruction(
            "convolution", [x, kernel], window=Window(window), dim_labels=canonical_labels(2),
            feature_group_count=groups,
        )  # fmt: skip


def check(module: Module, target: Target = HOST) -> None:
    """The CPU gives what the evaluator does for the module as it was."""
    arguments = arguments_for(module, np.random.default_rng(1), "whole")
    results = tfc.compile(module, target=target)(*arguments)
    assert mismatch(module, arguments, list(results)) is None, str(module)


def fusions(module: Module) -> list[str]:
    """The kinds of the fusions that the pipeline forms."""
    steps = default_pipeline(kinds=KINDS).run(module).entry.instructions
    return [x["kind"] for x in steps if x.opcode == "fusion"]


TYPES = (F32, F32, F64, BF16, F16, S32)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(8))
def test_dots_with_random_epilogues(seed: int, name: str):
    make = Maker(seed * 31 + len(name))
    element_type = make.choose.choice(TYPES)
    check(make.module(make.chain(make.dot(element_type, element_type), 7)), TARGETS[name])


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(6))
def test_dots_with_random_prologues(seed: int, name: str):
    make = Maker(seed * 37 + len(name))
    left, right = (make.choose.choice((F32, S8, BF16, S32)) for _ in "xy")
    check(make.module(make.chain(make.dot(left, right, computed=True), 3)), TARGETS[name])


@pytest.mark.parametrize("seed", range(16))
def test_convolutions_with_random_epilogues(seed: int):
    make = Maker(seed)
    root = make.chain(make.convolution(make.choose.choice(TYPES)), 7)
    check(make.module(root), TARGETS[make.choose.choice(list(TARGETS))])
