"""Shapes and layouts: index ↔ position is a bijection, memory order round trips, notation."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfc.errors import ShapeError
from tfc.hlo.literal import Literal
from tfc.hlo.shape import (
    BF16,
    ELEMENT_TYPES,
    F32,
    PRED,
    S32,
    Layout,
    Shape,
    TupleShape,
    element_type_of,
    from_memory,
    leaves,
    linear_index,
    multi_index,
    to_memory,
)  # fmt: skip
from tfc.testing import shapes


@st.composite
def laid_out(draw: Any) -> Shape:
    """A shape in a random layout, padded or not (LY-2, LY-4)."""
    shape = draw(shapes((S32,)))
    order = tuple(draw(st.permutations(range(shape.rank))))
    padded = ()
    if draw(st.booleans()):
        padded = tuple(d + draw(st.integers(0, 2)) for d in shape.dims)
    return shape.with_layout(Layout(order, padded, -7))


@given(laid_out())
def test_ly7_positions_of_indices_are_distinct_and_invert(shape: Shape):
    positions = [linear_index(shape, index) for index in np.ndindex(shape.dims)]
    assert len(set(positions)) == shape.size
    assert all(0 <= p < shape.storage_size for p in positions)
    assert [multi_index(shape, p) for p in positions] == list(np.ndindex(shape.dims))


@given(laid_out())
def test_ly7_unpadded_positions_cover_the_memory(shape: Shape):
    shape = shape.with_layout(Layout(shape.layout.minor_to_major))
    positions = {linear_index(shape, index) for index in np.ndindex(shape.dims)}
    assert positions == set(range(shape.size))


@given(laid_out())
def test_ly6_memory_holds_elements_where_their_index_says_and_padding_elsewhere(shape: Shape):
    array = np.arange(1, shape.size + 1, dtype=np.int32).reshape(shape.dims)
    memory = to_memory(array, shape)
    assert memory.shape == (shape.storage_size,)
    for index in np.ndindex(shape.dims):
        assert memory[linear_index(shape, index)] == array[index]
    assert (memory == -7).sum() == shape.storage_size - shape.size
    np.testing.assert_array_equal(from_memory(memory, shape), array)


@given(laid_out())
def test_ly2_the_first_of_minor_to_major_varies_fastest(shape: Shape):
    order = shape.layout.minor_to_major
    steps = [shape.strides[d] for d in order]
    assert steps[:1] in ([], [1])
    if shape.storage_size:
        assert steps == sorted(steps)


def test_ly7_indices_and_positions_outside_are_refused():
    shape = Shape(F32, (2, 3))
    for index in ((2, 0), (0, -1), (0,)):
        with pytest.raises(ShapeError, match=r"does not lie in f32\[2,3\]"):
            linear_index(shape, index)
    for position in (-1, 6):
        with pytest.raises(ShapeError, match="lies outside the memory of"):
            multi_index(shape, position)


def test_notation():
    shape = Shape(F32, (2, 3))
    assert str(shape) == "f32[2,3]{1,0}"
    assert shape.without_layout() == "f32[2,3]"
    assert str(Shape(PRED)) == "pred[]"
    assert str(TupleShape((shape, TupleShape(())))) == "(f32[2,3]{1,0}, ())"
    assert list(leaves(TupleShape((shape, TupleShape((shape,)))))) == [shape, shape]


def test_sizes_in_bytes_count_padding():
    shape = Shape(BF16, (2, 3), Layout((1, 0), (2, 4)))
    assert (shape.size, shape.storage_size, shape.byte_size) == (6, 8, 16)
    assert not shape.has_default_layout
    assert shape.is_compatible(Shape(BF16, (2, 3)))


def test_negative_sizes_are_refused():
    with pytest.raises(ShapeError, match=r"must not be negative, got \[2, -1\]"):
        Shape(F32, (2, -1))


@pytest.mark.parametrize("element_type", ELEMENT_TYPES.values(), ids=str)
def test_element_types_are_found_by_their_dtype(element_type: Any):
    assert element_type_of(element_type.dtype) is element_type
    assert element_type.bytes == element_type.dtype.itemsize


@pytest.mark.parametrize("name", [n for n, t in ELEMENT_TYPES.items() if t.is_integer])
def test_integers_have_the_limits_of_their_dtype_and_wrap_around_them(name: str):
    element_type = ELEMENT_TYPES[name]
    known = ml_dtypes.iinfo(element_type.dtype)
    assert element_type.limits == (known.min, known.max)
    for value in (known.min - 1, known.min, -1, 0, known.max, known.max + 1, 5 * known.max):
        low_bits = np.array(value % 2**64, np.uint64).astype(element_type.dtype)
        assert element_type.wrapped(value) == int(low_bits)


def test_a_pred_is_from_0_to_1_and_floats_have_limits_of_their_own():
    assert PRED.limits == (0, 1)
    assert float(BF16.float_limits.max) == float.fromhex("0x1.FEp127")
    assert ELEMENT_TYPES["c64"].float_limits.nmant == 23


def test_dtypes_without_an_element_type_are_refused():
    with pytest.raises(ShapeError, match="no element type holds the NumPy dtype <U1"):
        element_type_of(np.dtype("U1"))


def test_literals_compare_by_their_bits():
    nan = np.float32(np.nan)
    assert Literal(nan) == Literal(nan)
    assert Literal(np.float32(0.0)) != Literal(np.float32(-0.0))
    assert Literal(np.int32(0)) != Literal(np.uint32(0))
    assert len({Literal([1, 2]), Literal([1, 2]), Literal([[1, 2]])}) == 2
    assert Literal(np.zeros(3, ml_dtypes.bfloat16)).is_splat()
    assert not Literal(np.float32([0.0, -0.0])).is_splat()
    assert not Literal(np.zeros(0)).is_splat()


def test_literals_do_not_see_later_writes_to_their_source():
    source = np.zeros(2)
    literal = Literal(source)
    source[0] = 1
    assert literal == Literal(np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        literal.array[0] = 1
