"""Map, reduce-window and select-and-scatter by the operation semantics; tests named by rule."""

from typing import Any

import numpy as np
import pytest
from spec_helpers import floats, gives, ints, refused

from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.builder import (
    binary,
    broadcast,
    compare,
    constant,
    instruction,
    parameter,
    scalar_computation,
)
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import F32, PRED, S32, ElementType, Shape

FIGURE = [[7, 2, 5, 3, 10, 2], [3, 8, 9, 3, 4, 2], [1, 5, 7, 5, 6, 1], [0, 6, 2, 7, 2, 8]]
OVERLAP = [[7, 2, 5, 3, 8], [3, 8, 9, 3, 4], [1, 5, 7, 5, 6], [0, 6, 2, 10, 2]]


def window(sizes: tuple[int, ...], strides: tuple[int, ...], pads: Any = None) -> Window:
    """A window without dilation; `pads` are (before, after) for each dimension."""
    pads = pads or [(0, 0)] * len(sizes)
    return Window(tuple(WindowDimension(n, s, *p) for n, s, p in zip(sizes, strides, pads)))


def reduce_window(x: Instruction, opcode: str, init: Any, over: Window) -> Instruction:
    element_type = x.array_shape.element_type
    return instruction(
        "reduce-window", [x, constant(init, element_type)], window=over,
        to_apply=scalar_computation(opcode, element_type),
    )  # fmt: skip


def comparison(direction: str, element_type: ElementType) -> Computation:
    x, y = (parameter(n, Shape(element_type)) for n in range(2))
    return Computation.make(direction, [x, y], compare(direction, x, y))


def select_and_scatter(
    x: Instruction, source: Any, over: Window, init: Any = 0, direction: str = "GE"
) -> Instruction:
    element_type = x.array_shape.element_type
    return instruction(
        "select-and-scatter", [x, constant(source, element_type), constant(init, element_type)],
        window=over, select=comparison(direction, element_type),
        scatter=scalar_computation("add", element_type),
    )  # fmt: skip


def test_spec_rw1_rw3_the_largest_of_each_window():
    made = reduce_window(floats(FIGURE), "maximum", -np.inf, window((2, 3), (2, 3)))
    gives(made, [[9, 10], [7, 8]])


def test_spec_rw1_there_are_as_many_results_as_windows_that_fit():
    over = window((2, 3), (1, 2))
    assert reduce_window(floats(FIGURE), "add", 0, over).array_shape.dims == (3, 2)
    too_large = reduce_window(floats(FIGURE), "add", 0, window((5, 1), (1, 1)))
    assert too_large.array_shape.dims == (0, 6)


def test_spec_rw2_every_dimension_may_be_padded_with_init_values():
    x = ints([[1, 2], [3, 4]])
    padded = window((2, 2), (1, 1), [(1, 0), (0, 1)])
    gives(reduce_window(x, "add", 0, padded), [[3, 2], [10, 6]])
    around = window((1, 1), (1, 1), [(1, 1), (0, 0)])
    gives(reduce_window(x, "maximum", -9, around), [[-9, -9], [1, 2], [3, 4], [-9, -9]])


def test_spec_rw3_windows_one_apart_overlap():
    gives(reduce_window(ints([1, 2, 3, 4]), "add", 0, window((3,), (1,))), [6, 9])


def test_spec_rw4_the_init_value_enters():
    gives(reduce_window(ints([1, 2, 3, 4]), "add", 100, window((2,), (2,))), [103, 107])


def test_reduce_window_of_a_scalar_combines_it_with_the_init_value():
    gives(reduce_window(ints(3), "add", 4, Window()), 7)


@pytest.mark.parametrize(
    ("over", "message"),
    [
        (Window(), "a window of 1 dimensions, got 0"),
        (window((0,), (1,)), r"sizes, strides and dilations of 1 or more, got \{size=0\}"),
        (window((1,), (0,)), r"1 or more, got \{size=1 stride=0\}"),
        (Window((WindowDimension(1, base_dilation=0),)), "1 or more, got .*lhs_dilate=0"),
        (Window((WindowDimension(1, window_dilation=-1),)), "1 or more, got .*rhs_dilate=-1"),
        (window((1,), (1,), [(-2, -2)]), "removes no more than there is, got -2_-2 for 3 elements"),
    ],
)
def test_windows_that_mean_nothing_are_refused(over: Window, message: str):
    with refused(f"reduce-window requires .*{message}"):
        reduce_window(ints([1, 2, 3]), "add", 0, over)


def test_reduce_window_refuses_what_does_not_fit_together():
    x, zero, add = ints([1, 2]), ints(0), scalar_computation("add", S32)
    over = window((1,), (1,))
    with refused("as many init values as operands, got 3 operands"):
        instruction("reduce-window", [x, zero, zero], window=over, to_apply=add)
    with refused("an init value that is a scalar of its operand's type"):
        instruction("reduce-window", [x, floats(0)], window=over, to_apply=add)
    with refused("operands of the same dimensions"):
        instruction("reduce-window", [x, ints([1]), zero, zero], window=over, to_apply=add)
    with refused(r"to_apply of parameters s32\[\] and s32\[\], got f32\[\] and f32\[\]"):
        instruction(
            "reduce-window", [x, zero], window=over, to_apply=scalar_computation("add", F32)
        )
    with refused(r"to_apply of result s32\[\], got pred\[\]"):
        instruction("reduce-window", [x, zero], window=over, to_apply=comparison("GE", S32))


def test_spec_sas1_sas4_windows_that_do_not_overlap():
    made = select_and_scatter(floats(FIGURE), [[2, 6], [3, 1]], window((2, 3), (2, 3)))
    expected = np.zeros((4, 6))
    expected[0, 4], expected[1, 2], expected[2, 2], expected[3, 5] = 6, 2, 3, 1
    gives(made, expected)


def test_spec_sas5_windows_that_overlap_add_up():
    made = select_and_scatter(floats(OVERLAP), [[2, 6], [3, 1]], window((2, 3), (2, 2)))
    expected = np.zeros((4, 5))
    expected[1, 2], expected[2, 2], expected[3, 3] = 8, 3, 1
    gives(made, expected)


SAME = [(1, 1), (1, 1)]
CASES = [
    (floats([1, 9, 3, 7, 5, 6]), [34, 42], window((3,), (3,)), 0, [0, 34, 0, 42, 0, 0]),
    (ints([-1, 0, 6, 4, -4, 10]), [-10, 20], window((3,), (3,)), 1, [1, 1, -9, 1, 1, 21]),
    (floats([1, 9, 3, 7, 5, 6]), [34, 42, 53, 19], window((3,), (1,)), 0, [0, 76, 0, 72, 0, 0]),
    (floats(np.zeros((3, 3))), np.arange(1, 10).reshape(3, 3), window((3, 3), (1, 1), SAME), 0,
     [[12, 9, 0], [15, 9, 0], [0, 0, 0]]),
    (floats([[7, 2, 5, 3, 8], [3, 8, 9, 3, 4]]), [[2, 6, 4]],
     window((2, 2), (2, 2), [(0, 0), (0, 1)]), 0, [[0, 0, 0, 0, 4], [0, 2, 6, 0, 0]]),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_spec_sas1_sas5_further_examples(number: int):
    operand, source, over, init, expected = CASES[number]
    gives(select_and_scatter(operand, source, over, init), expected)


def test_spec_sas2_the_source_has_one_element_for_each_window():
    with refused(r"requires a source of dimensions \[2\], got f32\[3\] \(SAS-2\)"):
        select_and_scatter(floats([1, 2, 3, 4]), [1, 2, 3], window((2,), (2,)))
    with refused(r"select of result pred\[\], got f32\[\]"):
        instruction(
            "select-and-scatter", [floats([1.0]), floats([1.0]), floats(0)],
            window=window((1,), (1,)), select=scalar_computation("add", F32),
            scatter=scalar_computation("add", F32),
        )  # fmt: skip
    with refused("a source and a scalar init value of the operand's type"):
        instruction(
            "select-and-scatter", [floats([1.0]), ints([1]), floats(0)],
            window=window((1,), (1,)), select=comparison("GE", F32),
            scatter=scalar_computation("add", F32),
        )  # fmt: skip


def test_spec_sas3_ties_go_to_the_smaller_index_by_ge_and_to_the_larger_by_gt():
    x, over = floats([5, 5, 5]), window((3,), (1,))
    gives(select_and_scatter(x, [1], over, direction="GE"), [1, 0, 0])
    gives(select_and_scatter(x, [1], over, direction="GT"), [0, 0, 1])


def test_select_and_scatter_leaves_out_windows_in_the_padding():
    over = window((1,), (1,), [(2, 1)])
    gives(select_and_scatter(floats([4, 3]), [1, 2, 3, 4, 5], over), [3, 4])


def test_spec_map1_one_element_of_each_operand_at_a_time():
    x, y = parameter(0, Shape(F32)), parameter(1, Shape(S32))
    test = compare("GT", x, instruction("convert", [y], shape=Shape(F32)))
    made = instruction(
        "map", [floats([1, 2, 3]), ints([2, 2, 2])], dimensions=(0,),
        to_apply=Computation.make("f", [x, y], test),
    )  # fmt: skip
    assert made.array_shape == Shape(PRED, (3,))
    gives(made, [False, False, True])


def test_spec_map2_a_further_argument_is_the_same_for_all_elements():
    x, y = (parameter(n, Shape(S32)) for n in range(2))
    same = broadcast(ints(10), (2, 2), ())
    made = instruction(
        "map", [ints([[1, 2], [3, 4]]), same], dimensions=(0, 1),
        to_apply=Computation.make("f", [x, y], binary("multiply", x, y)),
    )  # fmt: skip
    gives(made, [[10, 20], [30, 40]])


def test_map_refuses_other_dimensions_and_computations():
    x, add = ints([[1, 2]]), scalar_computation("add", S32)
    with refused(r"the dimensions 0\.\.1 in order, got \[1, 0\]"):
        instruction("map", [x, x], dimensions=(1, 0), to_apply=add)
    with refused(r"operands of the same dimensions, got s32\[1,2\] and s32\[2\] \(MAP-1\)"):
        instruction("map", [x, ints([1, 2])], dimensions=(0, 1), to_apply=add)
    with refused("to_apply of parameters"):
        instruction("map", [x], dimensions=(0, 1), to_apply=add)
    with refused("at least one operand"):
        instruction("map", [], dimensions=(), to_apply=add)
