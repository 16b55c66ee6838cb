"""The worked examples of §2 of the operation semantics: broadcasting, shapes and layouts."""

from typing import Any

import numpy as np
import pytest
from spec_helpers import MATRIX, gives, ints, refused

from tfc.hlo.builder import binary, full
from tfc.hlo.shape import (
    F32,
    S32,
    ElementType,
    Layout,
    Shape,
    linear_index,
    multi_index,
    to_memory,
)

# §2.1 Broadcasting.


def test_spec_bc1_ranks_are_never_matched_by_guessing():
    with refused(r"add requires broadcast_dimensions .* got s32\[2,3\] and s32\[3\] \(BC-1\)"):
        binary("add", ints(MATRIX), ints([7, 8, 9]))


def test_spec_bc2_a_scalar_needs_no_dimensions():
    gives(binary("add", ints(MATRIX), ints(7)), [[8, 9, 10], [11, 12, 13]])
    gives(binary("subtract", ints(7), ints(MATRIX)), [[6, 5, 4], [3, 2, 1]])


def test_spec_bc3_vector_along_the_rows_of_a_matrix():
    gives(binary("add", ints(MATRIX), ints([7, 8, 9]), [1]), [[8, 10, 12], [11, 13, 15]])
    gives(binary("add", ints([7, 8, 9]), ints(MATRIX), [1]), [[8, 10, 12], [11, 13, 15]])


@pytest.mark.parametrize(("dimension", "expected"), [(1, [[7, 8, 9]] * 3),
                                                     (0, [[7] * 3, [8] * 3, [9] * 3])])  # fmt: skip
def test_spec_bc3_vector_to_matrix_along_either_dimension(dimension: int, expected: Any):
    gives(binary("add", full(0, Shape(S32, (3, 3))), ints([7, 8, 9]), [dimension]), expected)


def test_spec_bc3_matrix_onto_the_last_dimensions_of_a_cube():
    made = binary("add", full(0, Shape(S32, (2, 3, 4))), full(1, Shape(S32, (3, 4))), [1, 2])
    gives(made, np.ones((2, 3, 4)))


def test_spec_bc4_matched_sizes_are_equal():
    with refused(r"\(BC-4\)"):
        binary("add", ints(MATRIX), ints([7, 8, 9]), [0])


@pytest.mark.parametrize("dimensions", [(1, 0), (1, 1), (2, 5)])
def test_spec_bc5_dimensions_increase_strictly(dimensions: tuple[int, int]):
    matrix, cube = full(1, Shape(S32, (2, 2))), full(1, Shape(S32, (2, 2, 2)))
    with refused(r"strictly increasing broadcast dimensions within 0..2.*\(BC-5\)"):
        binary("add", cube, matrix, dimensions)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [((2, 1), (2, 3), (2, 3)), ((1, 2, 5), (7, 2, 5), (7, 2, 5)),
     ((7, 2, 5), (7, 1, 5), (7, 2, 5)), ((2, 1), (1, 3), (2, 3))],
)  # fmt: skip
def test_spec_bc6_dimensions_of_one_are_repeated(left: tuple, right: tuple, result: tuple):
    made = binary("add", full(1, Shape(S32, left)), full(2, Shape(S32, right)))
    gives(made, np.full(result, 3))


def test_spec_bc6_other_sizes_do_not_match():
    with refused(r"got s32\[7,2,5\] and s32\[7,2,6\] \(BC-6\)"):
        binary("add", full(1, Shape(S32, (7, 2, 5))), full(1, Shape(S32, (7, 2, 6))))


def test_spec_bc7_rank_first_then_dimensions_of_one():
    made = binary("add", ints([1, 2, 3, 4]), ints([[5, 6]]), [0])
    gives(made, [[6, 7], [7, 8], [8, 9], [9, 10]])
    matrix, cube = full(1, Shape(S32, (1, 2))), full(2, Shape(S32, (4, 3, 1)))
    gives(binary("add", matrix, cube, [1, 2]), np.full((4, 3, 2), 3))


# §2.2 Shapes and layouts.


def test_spec_sh1_true_rank_counts_dimensions_above_one():
    shape = Shape(F32, (3, 1, 2))
    assert (shape.rank, shape.true_rank) == (3, 2)


def memory(layout: Layout) -> str:
    """How the matrix abc/def lies in memory; what is padded shows as 0."""
    shape = Shape(ElementType("", "unsigned", 8, np.dtype(np.uint8)), (2, 3), layout)
    letters = np.frombuffer(b"abcdef", np.uint8).reshape(2, 3)
    return " ".join(chr(c) if c else "0" for c in to_memory(letters, shape))


def test_spec_ly2_ly5_minor_to_major():
    assert memory(Layout((0, 1))) == "a d b e c f"
    assert memory(Layout((1, 0))) == "a b c d e f"


def test_spec_ly3_the_default_is_row_major():
    assert Shape(F32, (2, 3, 4)).layout == Layout((2, 1, 0))


def test_spec_ly4_padded_dimensions_are_widths_for_each_dimension():
    with refused(r"\(LY-4\)"):
        Shape(F32, (2, 3), Layout((1, 0), (2,)))
    with refused(r"\(LY-4\)"):
        Shape(F32, (2, 3), Layout((1, 0), (2, 2)))
    with refused(r"\(LY-2\)"):
        Shape(F32, (2, 3), Layout((1, 1)))


def test_spec_ly6_padded_column_major():
    assert memory(Layout((0, 1), (3, 5))) == "a d 0 b e 0 c f 0 0 0 0 0 0 0"


def test_spec_ly7_linear_and_multi_index():
    shape = Shape(F32, (2, 3), Layout((0, 1), (3, 5)))
    assert [linear_index(shape, i) for i in np.ndindex(2, 3)] == [0, 3, 6, 1, 4, 7]
    assert multi_index(shape, 7) == (1, 2)
