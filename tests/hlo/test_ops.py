"""Every op of the registry: inference agrees with evaluation, index maps gather what is moved."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CONTROL, MOVEMENT, OUTSIDE

from tfc.errors import ShapeError, UnsupportedError
from tfc.hlo import builder, evaluate
from tfc.hlo.evaluation.evaluator import evaluate_computation
from tfc.hlo.index_maps import Index, evaluate_index, variable
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.op import OPS, op_named
from tfc.hlo.ops.control import branches
from tfc.hlo.shape import F32, S32, AnyShape, ElementType, Shape
from tfc.testing import ELEMENT_TYPES, arguments_for, instructions_of, modules
from tfc.testing.generators.values import random_array

SAMPLED = sorted(set(OPS) - {"parameter", "get-tuple-element", *CONTROL, *OUTSIDE})


def assert_value_fits(value: Any, shape: AnyShape) -> None:
    """The value has the element types and dimensions that the shape says."""
    if not isinstance(shape, Shape):
        assert isinstance(value, tuple)
        assert len(value) == len(shape.elements)
        for part, element in zip(value, shape.elements):
            assert_value_fits(part, element)
    else:
        assert np.shape(value) == shape.dims
        assert np.asarray(value).dtype == shape.element_type.dtype


@pytest.mark.parametrize("opcode", SAMPLED)
@settings(max_examples=15)
@given(data=st.data())
def test_evaluation_gives_the_inferred_shape(opcode: str, data: st.DataObject):
    module = data.draw(instructions_of(opcode))
    values = arguments_for(module, np.random.default_rng(0), "special")
    assert_value_fits(evaluate(module, *values), module.entry.root.shape)


@settings(max_examples=150)
@given(modules(element_types=ELEMENT_TYPES))
def test_evaluation_of_random_modules_gives_the_inferred_shapes(module: Module):
    values = arguments_for(module, np.random.default_rng(0), "special")
    assert_value_fits(evaluate(module, *values), module.entry.root.shape)


def gather(
    value: Instruction, index: tuple[Index, ...], grid: Mapping[str, Any],
    leaves: Mapping[Instruction, np.ndarray], dims: tuple[int, ...],
) -> np.ndarray:  # fmt: skip
    """The elements of `value` at `index`, found by composing index maps down to the leaves."""
    index_map = op_named(value.opcode).index_map
    if value in leaves or index_map is None:
        array = leaves[value]
        if array.size == 0:
            return np.zeros(dims, array.dtype)  # never chosen: no index lies inside
        # Outside a piece's conditions an index may be anything; what it finds is not chosen.
        at = [np.clip(evaluate_index(i, grid), 0, n - 1) for i, n in zip(index, array.shape)]
        return np.broadcast_to(array[tuple(at)], dims)
    result = None
    for piece in reversed(index_map(value, index)):
        for array, inside in piece.sources():
            read = gather(array, inside, grid, leaves, dims)
            grid = {**grid, (array, inside): read.astype(np.int64)}
        part = gather(value.operands[piece.operand], piece.index, grid, leaves, dims)
        holds = np.ones(dims, bool)
        for condition in piece.conditions:
            at = evaluate_index(condition.index, grid)
            inside = np.broadcast_to((condition.low <= at) & (at < condition.high), dims)
            assert inside.all() or not condition.always
            assert not inside.any() or not condition.never
            holds &= inside
        result = part if result is None else np.where(holds, part, result)
    assert result is not None
    return result


def assert_maps_gather_what_is_moved(module: Module) -> None:
    root = module.entry.root
    arrays = arguments_for(module, np.random.default_rng(0))
    leaves = dict(zip(module.entry.parameters, arrays))
    for instruction in module.entry.instructions:
        if instruction.opcode in ("constant", "iota"):
            op = op_named(instruction.opcode)
            leaves[instruction] = np.asarray(op.evaluate(instruction, [], evaluate_computation))
    dims = root.array_shape.dims
    index = tuple(variable(f"d{d}", n) for d, n in enumerate(dims))
    grid = {f"d{d}": g for d, g in enumerate(np.indices(dims))}
    got = gather(root, index, grid, leaves, dims)
    np.testing.assert_array_equal(got, evaluate(module, *arrays))


@pytest.mark.parametrize("opcode", MOVEMENT)
@settings(max_examples=60)
@given(data=st.data())
def test_index_map_gathers_exactly_what_the_evaluator_moves(opcode: str, data: st.DataObject):
    assert_maps_gather_what_is_moved(data.draw(instructions_of(opcode, (F32, S32))))


@st.composite
def chains(draw: Any) -> Module:
    """One value moved by several ops in a row."""
    module = draw(modules(max_instructions=6, element_types=(S32,), opcodes=MOVEMENT))
    last = [i for i in module.entry.instructions if i.opcode != "tuple"][-1]
    return Module("chain", module.entry.make("main", module.entry.parameters, last))


@settings(max_examples=200)
@given(chains())
def test_composed_index_maps_gather_what_a_chain_of_ops_moves(module: Module):
    assert_maps_gather_what_is_moved(module)


def test_reshape_there_and_back_leaves_no_arithmetic():
    x = builder.parameter(0, Shape(F32, (6, 8)))
    index = (variable("i", 6), variable("j", 8))
    there = builder.reshape(x, (2, 3, 2, 4))
    back = builder.reshape(there, (6, 8))
    back_map, there_map = OPS["reshape"].index_map, OPS["reshape"].index_map
    assert back_map is not None
    assert there_map is not None
    (outer,) = back_map(back, index)
    (inner,) = there_map(there, outer.index)
    assert inner.index == index


def test_an_op_has_an_index_map_exactly_if_it_moves_data():
    assert {op.name for op in OPS.values() if op.is_movement} == set(MOVEMENT)


def test_conditional_branches_are_listed_in_the_order_of_the_selector():
    function = builder.scalar_computation("add", F32)
    x = builder.parameter(0, Shape(F32))
    one = function.make("one", [x], x)
    pred = builder.constant(True)
    by_pred = builder.instruction(
        "conditional", [pred, x, x], true_computation=one, false_computation=one
    )
    assert branches(by_pred) == (one, one)


def test_unknown_operation_is_an_unsupported_error():
    with pytest.raises(UnsupportedError, match="unknown operation 'frobnicate'"):
        builder.instruction("frobnicate", [])


def test_shape_errors_name_the_op_the_requirement_and_what_was_got():
    x, y = (builder.parameter(i, Shape(F32, (n,))) for i, n in enumerate((2, 3)))
    expected = r"add requires operands of the same shape, got f32\[2\] and f32\[3\] \(BIN-1\)"
    with pytest.raises(ShapeError, match=expected):
        builder.instruction("add", [x, y])
    with pytest.raises(ShapeError, match=r"add requires 2 operands, got 1"):
        builder.instruction("add", [x])
    with pytest.raises(
        ShapeError, match=r"sine requires operands of type complex or float, got s32"
    ):
        builder.unary("sine", builder.constant(1, S32))
    with pytest.raises(ShapeError, match=r"reduce requires the attribute dimensions, got none"):
        builder.instruction("reduce", [x, builder.constant(0, F32)])


@pytest.mark.parametrize("opcode", [name for name, op in OPS.items() if op.folds])
@pytest.mark.parametrize("element_type", ELEMENT_TYPES, ids=str)
def test_a_neutral_value_leaves_every_other_as_it_is(opcode: str, element_type: ElementType):
    op = OPS[opcode]
    if element_type.kind not in op.domain or element_type.is_complex:
        return
    assert op.neutral is not None
    values = random_array(Shape(element_type, (40,)), np.random.default_rng(1), "special")
    if element_type.is_float:  # the least of those without infinities, too
        ends = [-np.inf, np.inf, float(element_type.float_limits.min)]
        values = np.concatenate([values, np.array(ends).astype(element_type.dtype)])
    with np.errstate(all="ignore"):
        neutral = np.full(values.shape, op.neutral(element_type)).astype(element_type.dtype)
    x = builder.constant(values)
    got = builder.instruction(opcode, [builder.constant(neutral), x])
    result = evaluate_computation(Computation.make("main", [], got), [])
    np.testing.assert_array_equal(result.astype(float), values.astype(float))
