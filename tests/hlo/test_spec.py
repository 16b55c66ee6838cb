"""The worked examples of §1 of the operation semantics; each test is named for its rule.

Figures that a rule derives are marked so in the semantics; here they are only numbers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from spec_helpers import MATRIX, floats, gives, ints, refused, value_of

from tfc.hlo.builder import (
    binary,
    broadcast_left,
    collapse,
    compare,
    constant,
    convert,
    full,
    instruction,
    parameter,
    reduce,
    reshape,
    scalar_computation,
    unary,
)  # fmt: skip
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import (
    F32,
    F64,
    PRED,
    S32,
    Layout,
    Shape,
    TupleShape,
)

V = np.array([[[10, 11, 12], [15, 16, 17]], [[20, 21, 22], [25, 26, 27]],
              [[30, 31, 32], [35, 36, 37]], [[40, 41, 42], [45, 46, 47]]], np.float32)  # fmt: skip
B = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_spec_bct4_bitcast_reads_the_bits_of_one():
    made = instruction("bitcast-convert", [ints([0x3F800000])], shape=Shape(F32, (1,)))
    gives(made, [1.0])


def test_spec_bct4_bitcast_round_trip_keeps_nan_payloads():
    bits = np.array([0x7FC00001, 0x7F800001, -1, 0], np.int32)
    there = instruction("bitcast-convert", [constant(bits)], shape=Shape(F32, (4,)))
    gives(instruction("bitcast-convert", [there], shape=Shape(S32, (4,))), bits)


def test_spec_bct1_bct2_bitcast_keeps_dimensions_and_width():
    with refused(r"bitcast-convert requires a result of the operand's dimensions.*\(BCT-1\)"):
        instruction("bitcast-convert", [ints([1])], shape=Shape(F32, (2,)))
    with refused(r"operand to have the 2 parts of an element .* s32\[1\] and f64\[1\] \(BCT-1\)"):
        instruction("bitcast-convert", [ints([1])], shape=Shape(F64, (1,)))


def test_spec_bct3_bitcast_takes_no_tuple():
    with refused("bitcast-convert requires an array operand, got the tuple"):
        instruction("bitcast-convert", [instruction("tuple", [ints(1)])], shape=Shape(F32))


def test_spec_brd1_broadcast_of_a_scalar():
    gives(broadcast_left(floats(2.0), (2, 3)), np.full((2, 3), 2.0))


def test_spec_brd2_broadcast_adds_dimensions_on_the_left():
    gives(broadcast_left(ints([1, 2]), (3,)), [[1, 2]] * 3)


def test_spec_clp1_clamp():
    gives(instruction("clamp", [ints(0), ints([-1, 5, 9]), ints(6)]), [0, 5, 6])


def test_spec_clp1_clamp_with_crossed_bounds_gives_the_upper_one():
    gives(instruction("clamp", [ints(7), ints([-1, 5, 9]), ints(3)]), [3, 3, 3])


def test_spec_clp2_bounds_are_scalars_or_of_the_same_shape():
    x = ints([-1, 5, 9])
    gives(instruction("clamp", [ints([0, 6, 0]), x, ints(6)]), [0, 6, 6])
    with refused(r"\(CLP-2\)"):
        instruction("clamp", [ints([0, 0]), x, ints(6)])


@pytest.mark.parametrize(
    ("dimensions", "sizes"),
    [((0, 1, 2), (24,)), ((0, 1), (8, 3)), ((1, 2), (4, 6)), ((1,), (4, 2, 3)), ((), (4, 2, 3))],
)
def test_spec_col1_collapse(dimensions: tuple[int, ...], sizes: tuple[int, ...]):
    """Collapse {0,1} gives [8,3] and {1,2} gives [4,6]: the document prints them swapped."""
    gives(collapse(constant(V), dimensions), V.reshape(sizes))


@pytest.mark.parametrize("dimensions", [(1, 0), (0, 2), (2, 3), (-1, 0)])
def test_spec_col1_collapsed_dimensions_are_neighbours(dimensions: tuple[int, ...]):
    with refused(r"\(COL-1\)"):
        collapse(constant(V), dimensions)


def test_spec_con4_concatenate_vectors_in_order():
    parts = [ints([2, 3]), ints([4, 5]), ints([6, 7])]
    gives(instruction("concatenate", parts, dimensions=(0,)), [2, 3, 4, 5, 6, 7])


def test_spec_con2_concatenate_matrices():
    parts = [ints([[1, 2], [3, 4], [5, 6]]), ints([[7, 8]])]
    gives(instruction("concatenate", parts, dimensions=(0,)), [[1, 2], [3, 4], [5, 6], [7, 8]])
    with refused(r"\(CON-2\)"):
        instruction("concatenate", parts, dimensions=(1,))


def test_spec_con1_con3_concatenate_needs_arrays_of_rank_one():
    gives(instruction("concatenate", [ints([1])], dimensions=(0,)), [1])
    with refused(r"\(CON-1\)"):
        instruction("concatenate", [], dimensions=(0,))
    with refused(r"\(CON-3\)"):
        instruction("concatenate", [ints(1), ints(2)], dimensions=(0,))


def shifted(by: float) -> Computation:
    x = parameter(0, Shape(F32))
    return Computation.make("shifted", [x], binary("add", x, floats(by)))


def test_spec_cnd1_cnd2_conditional_by_truth_value():
    for flag, expected in ((True, 11.0), (False, 102.0)):
        made = instruction(
            "conditional", [constant(flag), floats(1), floats(2)],
            true_computation=shifted(10), false_computation=shifted(100),
        )  # fmt: skip
        gives(made, expected)


def endless() -> Computation:
    """A computation that never returns: evaluating it would hang."""
    x = parameter(0, Shape(F32))
    always = Computation.make("always", [x], constant(True))
    forever = instruction("while", [x], condition=always, body=shifted(1))
    return Computation.make("endless", [x], forever)


def test_spec_cnd4_conditional_runs_one_branch_only():
    made = instruction(
        "conditional", [constant(False), floats(1), floats(2)],
        true_computation=endless(), false_computation=shifted(1),
    )  # fmt: skip
    gives(made, 3.0)


def test_spec_1_13_convert_whole_numbers_to_floats():
    gives(convert(ints([0, 1, 2]), F32), [0.0, 1.0, 2.0])


def test_spec_1_13_convert_rounds_to_nearest_even():
    gives(convert(ints([16777217, 16777219]), F32), np.float32([16777216, 16777220]))


def dot(lhs: Instruction, rhs: Instruction, lhs_dims: Sequence[int], rhs_dims: Sequence[int],
        batch: Sequence[int] = ()) -> Instruction:  # fmt: skip
    return instruction(
        "dot", [lhs, rhs],
        lhs_contracting_dims=tuple(lhs_dims), rhs_contracting_dims=tuple(rhs_dims),
        lhs_batch_dims=tuple(batch), rhs_batch_dims=tuple(batch),
    )  # fmt: skip


def test_spec_dot1_vectors_and_matrices():
    gives(dot(floats([1, 2, 3]), floats([4, 5, 6]), [0], [0]), 32.0)
    gives(dot(floats(MATRIX), floats([1, 1, 1]), [1], [0]), [6.0, 15.0])
    gives(dot(floats(MATRIX), floats([[1, 0], [0, 1], [1, 1]]), [1], [0]), [[4, 5], [10, 11]])


def test_spec_dot2_contracted_sizes_are_equal():
    with refused(r"contracting dimensions of equal sizes, got \[3\] and \[2\] \(DG-1\)"):
        dot(floats(MATRIX), floats(MATRIX), [1], [0])


def test_spec_dg1_contracting_dimension_one_of_both():
    gives(dot(floats(MATRIX), floats([[1, 1, 1], [2, 2, 2]]), [1], [1]), [[6, 12], [15, 30]])


def test_spec_dg2_batch_matrix_product():
    lhs = floats([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    rhs = floats([[[1, 0], [0, 1]]] * 2)
    gives(dot(lhs, rhs, [2], [1], [0]), [[[1, 2], [3, 4]], [[5, 6], [7, 8]]])


@pytest.mark.parametrize("batch", [(3,), (3, 2)])
def test_spec_dg3_dg4_result_is_batch_then_free_dimensions(batch: tuple[int, ...]):
    n = len(batch)
    lhs, rhs = (full(1, Shape(F32, (*batch, *d))) for d in ((4, 5), (5, 6)))
    made = dot(lhs, rhs, [n + 1], [n], range(n))
    gives(made, np.full((*batch, 4, 6), 5.0))


def test_spec_bin3_remainder_has_the_sign_of_the_dividend():
    for kind in (ints, floats):
        gives(binary("remainder", kind([-3, 3, -3, 3]), kind([4, -4, -4, 4])), [-3, 3, -3, 3])


def test_spec_cmp1_comparison_follows_ieee():
    x, y = floats([np.nan, np.nan, -0.0]), floats([np.nan, 1.0, 0.0])
    for direction in ("EQ", "GE", "GT", "LE", "LT"):
        assert not value_of(compare(direction, x, y))[:2].any()
    gives(compare("NE", x, y), [True, True, False])
    gives(compare("EQ", x, y), [False, False, True])
    assert compare("EQ", x, y).array_shape.element_type == PRED


def test_spec_un1_is_finite():
    gives(unary("is-finite", floats([1, np.inf, -np.inf, np.nan])), [True, False, False, False])


def test_spec_un2_sign():
    gives(unary("sign", floats([-2.5, 0, 3])), [-1, 0, 1])
    gives(unary("sign", ints([-7, 0, 9])), [-1, 0, 1])


def test_spec_1_24_1_42_tuple_and_its_elements():
    v, s = floats(range(10)), ints(5)
    made = instruction("tuple", [v, s])
    assert made.shape == TupleShape((Shape(F32, (10,)), Shape(S32)))
    gives(instruction("get-tuple-element", [made], index=1), 5)


@pytest.mark.parametrize(
    ("padding", "expected"),
    [((1, 2, 1), [0, 1, 0, 2, 0, 3, 0, 0]), ((-1, -1, 1), [0, 2, 0]), ((-2, 0, 1), [2, 0, 3]),
     ((1, -4, 1), [0, 1]), ((0, 0, 0), [1, 2, 3]), ((-3, 3, 0), [0, 0, 0])],
)  # fmt: skip
def test_spec_pad1_pad2_pad3_interior_first_then_edges(padding: tuple, expected: list[int]):
    made = instruction("pad", [ints([1, 2, 3]), ints(0)], padding=(padding,))
    gives(made, expected)


def test_spec_pad4_interior_padding_of_one_element_or_none_adds_nothing():
    for n in (0, 1):
        x = full(7, Shape(S32, (n,)))
        gives(instruction("pad", [x, ints(0)], padding=((0, 0, 3),)), [7] * n)
    with refused(r"interior paddings that are not negative.*\(PAD-4\)"):
        instruction("pad", [ints([1, 2]), ints(0)], padding=((0, 0, -1),))
    with refused(r"\(PAD-1\)"):
        instruction("pad", [ints([1, 2]), ints(0)], padding=((-3, 0, 0),))


CUBE = np.tile(np.arange(1, 7, dtype=np.float32).reshape(1, 2, 3), (4, 1, 1))


@pytest.mark.parametrize(
    ("dimensions", "expected"),
    [((0,), [[4, 8, 12], [16, 20, 24]]), ((2,), [[6, 15]] * 4), ((0, 1), [20, 28, 36]),
     ((1, 0), [20, 28, 36]), ((0, 1, 2), 84), ((), CUBE)],
)  # fmt: skip
def test_spec_red1_reduce_over_any_set_of_dimensions(dimensions: tuple, expected: Any):
    add = scalar_computation("add", F32)
    gives(reduce(constant(CUBE), floats(0), dimensions, add), expected)


def test_spec_red2_red3_order_is_free_for_an_exact_sum():
    made = reduce(ints([10, 11, 12, 13]), ints(0), [0], scalar_computation("add", S32))
    gives(made, 46)


def test_spec_red4_reduce_over_nothing_is_the_init_value():
    x = full(0, Shape(F32, (2, 0)))
    gives(reduce(x, floats(5), [1], scalar_computation("add", F32)), [5, 5])


@pytest.mark.parametrize(
    ("dimensions", "sizes", "expected"),
    [
        ((0, 1, 2), (8, 3), V.reshape(8, 3)),
        ((1, 2, 0), (24,), [10, 20, 30, 40, 11, 21, 31, 41, 12, 22, 32, 42,
                            15, 25, 35, 45, 16, 26, 36, 46, 17, 27, 37, 47]),
        ((1, 2, 0), (8, 3), [[10, 20, 30], [40, 11, 21], [31, 41, 12], [22, 32, 42],
                             [15, 25, 35], [45, 16, 26], [36, 46, 17], [27, 37, 47]]),
        ((1, 2, 0), (2, 6, 2), [[[10, 20], [30, 40], [11, 21], [31, 41], [12, 22], [32, 42]],
                                [[15, 25], [35, 45], [16, 26], [36, 46], [17, 27], [37, 47]]]),
    ],
)  # fmt: skip
def test_spec_rs1_reshape_collapses_in_the_order_of_dimensions(dimensions, sizes, expected):
    gives(reshape(constant(V), sizes, dimensions), expected)


def test_spec_rs2_rs3_reshape_between_scalar_and_one_element():
    gives(reshape(ints([[5]]), ()), 5)
    gives(reshape(ints(5), (1, 1)), [[5]])
    with refused(r"\(RS-2\)"):
        reshape(ints([1, 2]), (3,))


def test_spec_rs4_reshape_does_not_depend_on_the_layout():
    laid_out = constant(V).with_(shape=Shape(F32, (4, 2, 3), Layout((0, 1, 2))))
    gives(reshape(laid_out, (24,)), V.reshape(24))


def test_spec_1_33_reverse():
    gives(instruction("reverse", [ints(MATRIX)], dimensions=(1,)), [[3, 2, 1], [6, 5, 4]])


def test_spec_sel1_select_by_elements():
    pred, x, y = (
        constant([True, False, False, True]),
        ints([1, 2, 3, 4]),
        ints([100, 200, 300, 400]),
    )
    gives(instruction("select", [pred, x, y]), [1, 200, 300, 4])


def test_spec_sel2_select_by_a_scalar_takes_one_side_whole():
    gives(instruction("select", [constant(True), ints([1, 2]), ints([8, 9])]), [1, 2])


def test_spec_sel3_select_between_tuples():
    sides = [instruction("tuple", [ints(n)]) for n in (1, 2)]
    made = instruction("select", [constant(False), *sides])
    gives(instruction("get-tuple-element", [made], index=0), 2)
    with refused(r"\(SEL-3\)"):
        instruction("select", [constant([True]), *sides])


def test_spec_sel4_nan_of_the_side_not_chosen_does_not_leak():
    gives(instruction("select", [constant(True), floats([1.0]), floats([np.nan])]), [1.0])


def test_spec_sl1_slice():
    gives(instruction("slice", [floats(range(5))], slice=((2, 4, 1),)), [2, 3])
    gives(instruction("slice", [constant(B)], slice=((2, 4, 1), (1, 3, 1))), [[7, 8], [10, 11]])
    for bounds in ((-1, 2, 1), (3, 2, 1), (0, 6, 1), (0, 2, 0)):
        with refused(r"\(SL-1\)"):
            instruction("slice", [floats(range(5))], slice=(bounds,))


def test_spec_tr1_tr2_transpose_is_a_permuted_reshape():
    for p in ((0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0)):
        made = instruction("transpose", [constant(V)], dimensions=p)
        assert made.array_shape.dims == tuple(V.shape[i] for i in p)
        gives(made, V.transpose(p))
        gives(reshape(constant(V), [V.shape[i] for i in p], p), value_of(made))


def counting_loop(limit: int, step: float) -> Instruction:
    """The example of While: (0, zeros[10]), adding one and a constant vector each time."""
    state = parameter(0, TupleShape((Shape(S32), Shape(F32, (10,)))), "state")
    count, vector = (instruction("get-tuple-element", [state], index=i) for i in range(2))
    test = Computation.make("condition", [state], compare("LT", count, ints(limit)))
    after = [binary("add", count, ints(1)), binary("add", vector, full(step, Shape(F32, (10,))))]
    body = Computation.make("body", [state], instruction("tuple", after))
    init = instruction("tuple", [ints(0), full(0, Shape(F32, (10,)))])
    return instruction("while", [init], condition=test, body=body)


def test_spec_wh1_while_runs_a_thousand_times():
    count, vector = value_of(counting_loop(1000, 0.1))
    assert count == 1000
    np.testing.assert_array_equal(vector, np.full(10, np.float32(99.99905)))


def test_spec_wh1_while_that_never_runs_gives_its_init():
    count, vector = value_of(counting_loop(0, 0.1))
    assert count == 0
    assert not vector.any()


def test_spec_wh2_the_state_keeps_its_shape():
    x = parameter(0, Shape(F32))
    grows = Computation.make("grows", [x], reshape(x, (1,)))
    always = Computation.make("always", [x], constant(True))
    with refused(r"a body whose result has the state's shape f32\[\], got f32\[1\] \(WH-2\)"):
        instruction("while", [floats(1)], condition=always, body=grows)


def test_spec_ds1_dynamic_slice():
    gives(instruction("dynamic-slice", [floats([0, 1, 2, 3, 4]), ints([2])],
                      dynamic_slice_sizes=(2,)), [2, 3])  # fmt: skip
    window = instruction("dynamic-slice", [constant(B), ints([2, 1])], dynamic_slice_sizes=(2, 2))
    gives(window, [[7, 8], [10, 11]])


def test_spec_ds1_start_indices_are_as_many_as_dimensions():
    with refused(r"2 scalar start indices, or a vector of 2, got s32\[1\] \(DS-1\)"):
        instruction("dynamic-slice", [constant(B), ints([2])], dynamic_slice_sizes=(2, 2))


def test_spec_dynamic_update_slice():
    update = instruction(
        "dynamic-update-slice", [floats([0, 1, 2, 3, 4]), floats([5, 6]), ints([2])]
    )
    gives(update, [0, 1, 5, 6, 4])
    block = floats([[12, 13], [14, 15], [16, 17]])
    gives(instruction("dynamic-update-slice", [constant(B), block, ints([1, 1])]),
          [[0, 1, 2], [3, 12, 13], [6, 14, 15], [9, 16, 17]])  # fmt: skip


def gathered(operand, indices, sizes, offset, dropped, placed, vector):
    return instruction("gather", [operand, indices], offset_dims=offset,
                       collapsed_slice_dims=dropped, start_index_map=placed,
                       index_vector_dim=vector, slice_sizes=sizes)  # fmt: skip


def test_spec_ga3_ga6_shapes_of_gathered_windows():
    operand = parameter(0, Shape(F32, (16, 11)))
    rows = parameter(1, Shape(S32, (5, 2)))
    made = gathered(operand, rows, (8, 6), (1, 2), (), (0, 1), 1)
    assert made.array_shape.dims == (5, 8, 6)
    blocks = parameter(1, Shape(S32, (4, 5, 2)))
    made = gathered(operand, blocks, (8, 6), (2, 3), (), (0, 1), 2)
    assert made.array_shape.dims == (4, 5, 8, 6)


def test_spec_ga7_gather_of_whole_rows():
    rows = gathered(constant(B), ints([[[3], [0]], [[1], [1]]]), (1, 3), (2,), (0,), (0,), 2)
    gives(rows, [[[9, 10, 11], [0, 1, 2]], [[3, 4, 5], [3, 4, 5]]])


def test_spec_ga5_an_index_vector_of_one_may_be_left_out():
    with_vector = gathered(constant(B), ints([[2], [0]]), (1, 3), (1,), (0,), (0,), 1)
    without = gathered(constant(B), ints([2, 0]), (1, 3), (1,), (0,), (0,), 1)
    gives(with_vector, [[6, 7, 8], [0, 1, 2]])
    gives(without, [[6, 7, 8], [0, 1, 2]])


def test_spec_ga8_components_of_a_start_index_go_where_the_map_says():
    gives(gathered(constant(B), ints([[1, 2], [0, 9]]), (1, 1), (), (0, 1), (1, 0), 1), [7, 9])


def test_spec_ga1_dropped_dimensions_have_size_one():
    with refused(r"slice sizes of one in dropped dimensions, got \[2, 3\] \(GA-1\)"):
        gathered(constant(B), ints([0]), (2, 3), (1,), (0,), (0,), 1)


def test_spec_ga2_the_map_names_each_component_once():
    with refused(r"a start index of 1 components, got 2 \(GA-2\)"):
        gathered(constant(B), ints([[0, 1]]), (1, 3), (1,), (0,), (0,), 1)
    with refused(r"distinct dimensions within 0..1, got \[0, 0\] \(GA-2\)"):
        gathered(constant(B), ints([[0, 1]]), (1, 3), (1,), (0,), (0, 0), 1)
