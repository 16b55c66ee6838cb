"""Sorts of which few elements are read: what a topk finds instead, against the evaluator."""

import numpy as np
import pytest

import tfc
from tfc import numpy as tnp
from tfc.hlo import Module, builder, evaluate, verify
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import BF16, F32, S8, S32, U16, ElementType, Shape
from tfc.passes.expand.selections import Selections

RNG = np.random.default_rng(29)


def order(types: list[ElementType], key: int, direction: str, how: str) -> Computation:
    """A comparator of pairs of which one is compared."""
    sides = [builder.parameter(n, Shape(types[n // 2])) for n in range(2 * len(types))]
    left, right = sides[2 * key : 2 * key + 2]
    before = builder.compare(direction, left, right)
    if how == "total":
        before = builder.instruction(
            "compare", [left, right], direction=direction, type="TOTALORDER"
        )
    if how == "NaN last":
        first, last = (left, right) if direction == "LT" else (right, left)
        is_number = builder.compare("EQ", first, first)
        nan_last = builder.binary("and", is_number, builder.compare("NE", last, last))
        before = builder.binary("or", before, nan_last)
    return Computation.make("before", sides, before)


def first_elements(
    types: list[ElementType], dims: tuple[int, ...], key: int, direction: str, how: str
) -> Module:
    """The first 3 of the first operand, and one more of each of the others; the last counts."""
    arrays = [builder.parameter(n, Shape(t, dims)) for n, t in enumerate(types[:-1])]
    operands = [*arrays, builder.iota(Shape(types[-1], dims), len(dims) - 1)]
    sort = builder.instruction(
        "sort", operands, dimensions=(len(dims) - 1,), is_stable=True,
        to_apply=order(types, key, direction, how),
    )  # fmt: skip
    read: list[Instruction] = []
    for n in range(len(types)):
        array = builder.instruction("get-tuple-element", [sort], index=n)
        bounds = (*((0, size, 1) for size in dims[:-1]), (0, 3 + n, 1))
        read.append(builder.instruction("slice", [array], slice=bounds))
    return Module("m", Computation.make("e", arrays, builder.instruction("tuple", read)))


def numbers(element_type: ElementType, dims: tuple[int, ...]) -> np.ndarray:
    if not element_type.is_float:
        return RNG.integers(0, 100, dims).astype(element_type.dtype)
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0]
    made = np.where(RNG.random(dims) < 0.1, RNG.choice(special, dims), RNG.normal(size=dims))
    return made.astype(element_type.dtype)


CASES = [
    ([S32, S32], (600,), 0, "LT", "plain"), ([S8, U16], (2, 600), 0, "GT", "plain"),
    ([F32, S32], (3, 700), 0, "GT", "total"), ([F32, S32], (3, 700), 0, "LT", "total"),
    ([F32, S32], (3, 700), 0, "LT", "NaN last"), ([F32, U16], (3, 700), 0, "GT", "NaN last"),
    ([S32, BF16, F32, S32], (2, 650), 1, "LT", "NaN last"),
]  # fmt: skip


@pytest.mark.parametrize(("types", "dims", "key", "direction", "how"), CASES)
def test_what_is_selected_are_the_first_elements_of_the_sort(
    types: list[ElementType], dims: tuple[int, ...], key: int, direction: str, how: str
) -> None:
    module = first_elements(types, dims, key, direction, how)
    after = Selections()(module)
    verify(after)
    opcodes = [i.opcode for i in after.entry.instructions]
    assert (opcodes.count("topk"), opcodes.count("sort")) == (1, 0)
    assert Selections()(after) is after
    arrays = [numbers(t, dims) for t in types[:-1]]
    for got, wanted in zip(evaluate(after, *arrays), evaluate(module, *arrays), strict=True):
        assert got.dtype == wanted.dtype
        assert got.tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_first_elements_of_numpys_sorts(backend: str) -> None:
    x = numbers(F32, (4, 900))
    first = tfc.jit(lambda v: (tnp.argsort(-v)[:, :5], tnp.sort(v)[..., :2]), backend=backend)
    places, values = (np.asarray(a) for a in first(x))
    np.testing.assert_array_equal(places, np.argsort(-x, kind="stable")[:, :5])
    np.testing.assert_array_equal(values, np.sort(x)[:, :2])
