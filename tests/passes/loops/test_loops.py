"""Random loops and conditionals: every pass over control flow keeps what they compute."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfc.hlo import Module, builder, evaluate
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, PRED, S8, S32, U8, AnyShape, ElementType, Shape, TupleShape
from tfc.hlo.verification.verifier import verify
from tfc.passes import default_pipeline, parse_passes
from tfc.passes.pipeline import Pipeline
from tfc.testing import arguments_for
from tfc.testing.generators.values import Draw

VECTOR, MATRIX, STACK = Shape(F32, (3,)), Shape(F32, (3, 3)), Shape(F32, (5, 2, 3))
COUNTERS = (S32, S8, U8)
PASSES = ("loops", "value-ranges", "licm", "unroll", "conditionals", "input-projections",
          "trip-counts", "simplify,fold,cse,dce,loops,value-ranges,licm,loops,unroll")  # fmt: skip


class Maker:
    """Values over those that a computation has: small whole numbers, so that all is exact."""

    def __init__(self, draw: Draw, values: Sequence[Instruction]):
        self.draw, self.values = draw, list(values)

    def pick(self, items: Sequence):
        """One of the items."""
        return self.draw(st.sampled_from(list(items)))

    def like(self, shape: Shape) -> Instruction:
        """A value of the shape that is there, or a constant."""
        found = [v for v in self.values if v.shape == shape]
        if found and self.draw(st.integers(0, 4)):
            return self.pick(found)
        number = self.draw(st.integers(0, 3))
        return builder.full(bool(number) if shape.element_type == PRED else number, shape)

    def index(self) -> Instruction:
        """An integer, small or not, as JAX makes indices: from the end if negative."""
        i = self.like(Shape(self.pick(COUNTERS)))
        if self.draw(st.booleans()):
            zero, size = (builder.constant(n, i.array_shape.element_type) for n in (0, 5))
            test = builder.compare("LT", i, zero)
            i = builder.instruction("select", [test, builder.binary("add", i, size), i])
        return i

    def make(self, shape: Shape) -> Instruction:
        """A new value of the shape."""
        a, b = self.like(shape), self.like(shape)
        if shape == STACK and self.draw(st.booleans()):
            update = builder.broadcast(self.like(VECTOR), (1, 2, 3), (2,))
            return self.at("dynamic-update-slice", [a, update])
        if shape == VECTOR and self.draw(st.booleans()):
            return self.row()
        if shape == MATRIX and self.draw(st.booleans()):
            row = builder.broadcast(self.row(), (3, 3), (1,))
            return builder.instruction("maximum", [row, a])
        opcode = self.pick(["maximum", "minimum", "subtract", "select"])
        if opcode == "select":
            return builder.instruction("select", [self.test(), a, b])
        return builder.instruction(opcode, [a, b])

    def row(self) -> Instruction:
        """A row of a stack times a matrix."""
        stack = self.like(STACK)
        cut = self.at("dynamic-slice", [stack], dynamic_slice_sizes=(1, 2, 3))
        flat = builder.reshape(cut, (2, 3))
        product = builder.instruction(
            "dot", [flat, self.like(MATRIX)], lhs_contracting_dims=(1,), rhs_contracting_dims=(0,)
        )
        limit = builder.full(9, product.array_shape)  # stays exact however often it is done
        product = builder.instruction("minimum", [product, limit])
        one = builder.instruction("slice", [product], slice=((1, 2, 1), (0, 3, 1)))
        return builder.reshape(one, (3,))

    def at(self, opcode: str, operands: list[Instruction], **attributes) -> Instruction:
        """A dynamic slice or update along the first dimension of a stack."""
        index = self.index()
        zero = builder.constant(0, index.array_shape.element_type)
        return builder.instruction(opcode, [*operands, index, zero, zero], **attributes)

    def test(self) -> Instruction:
        """A comparison of two integers, or a pred."""
        kind = self.pick([PRED, *COUNTERS])
        if kind == PRED:
            return self.like(Shape(PRED))
        direction = self.pick(["LT", "LE", "GT", "GE", "NE", "EQ"])
        return builder.compare(direction, self.like(Shape(kind)), self.like(Shape(kind)))

    def grow(self, count: int) -> None:
        """New values beside those that are there."""
        for _ in range(count):
            kind = self.pick([VECTOR, VECTOR, MATRIX, STACK, *map(Shape, COUNTERS), "if", "while"])
            if kind == "if":
                self.values.append(self.conditional())
            elif kind == "while" and count > 1:
                self.values += self.loop(count // 2)
            elif isinstance(kind, Shape):
                self.values.append(self.make(kind))

    def state(self, shapes: Sequence[Shape]) -> list[Instruction]:
        """A parameter's elements."""
        whole = builder.parameter(0, TupleShape(tuple(shapes)), "s")
        return [whole, *parts(whole)]

    def conditional(self) -> Instruction:
        """One of two vectors made by branches of what both are passed."""
        passed = [self.like(self.pick([VECTOR, Shape(S32)])) for _ in range(2)]
        passed.append(self.like(VECTOR))
        operand = builder.instruction("tuple", passed)
        called = []
        for _ in range(2):
            whole, *values = self.state([v.array_shape for v in passed])
            inner = Maker(self.draw, values)
            inner.values.append(inner.make(VECTOR))
            results = [inner.like(VECTOR), inner.like(VECTOR)]
            root = builder.instruction("tuple", results)
            called.append(Computation.make("branch", [whole], root))
        made = builder.instruction(
            "conditional", [self.like(Shape(PRED)), operand, operand],
            true_computation=called[0], false_computation=called[1],
        )  # fmt: skip
        return self.pick(parts(made))

    def loop(self, size: int) -> list[Instruction]:
        """The elements of a loop of at most twelve iterations, each with its own way to change."""
        kinds = [Shape(S32), *(Shape(self.pick(COUNTERS)) for _ in range(2)), VECTOR, VECTOR, STACK]
        shapes: list[Shape] = [k for k in kinds if k.rank or self.draw(st.booleans())]
        more = self.draw(st.integers(0, 3))
        shapes += [self.pick([VECTOR, MATRIX, Shape(S32)]) for _ in range(more)]
        inits = [builder.constant(0, S32), *map(self.like, shapes)]
        shapes = [Shape(S32), *shapes]
        test, step = self.state(shapes), self.state(shapes)
        fuel = builder.compare(
            "LT", test[1], builder.constant(self.pick([0, 1, 2, 5, 12, 12]), S32)
        )
        if self.draw(st.booleans()):
            fuel = builder.binary("and", fuel, Maker(self.draw, test[1:]).test())
        inner = Maker(self.draw, step[1:])
        inner.grow(size)
        results = [builder.binary("add", step[1], builder.constant(1, S32))]
        for old in step[2:]:
            results.append(self.changed(inner, old))
        loop = builder.instruction(
            "while", [builder.instruction("tuple", inits)],
            condition=Computation.make("condition", [test[0]], fuel),
            body=Computation.make("body", [step[0]], builder.instruction("tuple", results)),
        )  # fmt: skip
        return [p for p in parts(loop) if self.draw(st.booleans())] or [parts(loop)[0]]

    def changed(self, inner: "Maker", old: Instruction) -> Instruction:
        """An element after an iteration: as it is, counted on, another, or something made."""
        way = self.draw(st.integers(0, 3))
        if way == 0:
            return old
        if way == 1 and old.array_shape.element_type in COUNTERS:
            number = self.draw(st.sampled_from([1, 2, 3, 100]))
            kind: ElementType = old.array_shape.element_type
            opcode = self.pick(["add", "subtract"])
            return builder.binary(opcode, old, builder.constant(number, kind))
        return inner.like(old.array_shape) if way == 2 else inner.make(old.array_shape)


def parts(value: Instruction) -> list[Instruction]:
    shape: AnyShape = value.shape
    assert isinstance(shape, TupleShape)
    return [builder.instruction("get-tuple-element", [value], index=n)
            for n in range(len(shape.elements))]  # fmt: skip


@st.composite
def control_flow(draw: Draw) -> Module:
    """A module with loops and conditionals over integers, vectors and stacks of rows."""
    shapes = [VECTOR, MATRIX, STACK, Shape(S32), Shape(PRED)]
    parameters = [builder.parameter(n, shape) for n, shape in enumerate(shapes)]
    maker = Maker(draw, parameters)
    maker.values += maker.loop(4)
    maker.grow(4)
    root = builder.instruction("tuple", maker.values[5:])
    return Module("random", Computation.make("main", parameters, root))


def check(module: Module, passes: str) -> None:
    """The passes keep every bit, and what they make verifies and reaches a fixpoint."""
    pipeline = Pipeline("test", parse_passes(passes)) if passes else default_pipeline()
    result = pipeline.run(module)
    verify(result)
    arguments = arguments_for(module, np.random.default_rng(1), "whole")
    assert_same(evaluate(result, *arguments), evaluate(module, *arguments))


def assert_same(got, expected) -> None:
    if isinstance(expected, tuple):
        for a, b in zip(got, expected, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_array_equal(got, expected, strict=True)


@pytest.mark.parametrize("passes", [*PASSES, ""])
@settings(max_examples=40, deadline=None)
@given(module=control_flow())
def test_values_stay_the_same(module: Module, passes: str):
    check(module, passes)
