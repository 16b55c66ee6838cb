"""What the tests of the operation semantics share: values of small expressions, exactly."""

from typing import Any

import numpy as np
import pytest

from tfc.errors import ShapeError
from tfc.hlo import evaluate
from tfc.hlo.builder import constant
from tfc.hlo.ir import Computation, Instruction, Module
from tfc.hlo.shape import F32, S32
from tfc.testing.fuzz import problem

MATRIX = [[1, 2, 3], [4, 5, 6]]


def value_of(result: Instruction, *arguments: Any) -> Any:
    """What an instruction over constants (and parameters, given) evaluates to.

    The CPU must compute the same.
    """
    reached = Computation.make("e", [], result).instructions
    parameters = sorted((i for i in reached if i.opcode == "parameter"), key=lambda p: p["number"])
    module = Module("m", Computation.make("e", parameters, result))
    value = evaluate(module, *arguments)
    given = [np.asarray(a, p.array_shape.element_type.dtype) for a, p in zip(arguments, parameters)]
    assert problem(module, given, "cpu") is None
    return value


def gives(result: Instruction, expected: Any, *arguments: Any) -> None:
    """The instruction's value is exactly `expected`, of its own shape."""
    value = value_of(result, *arguments)
    np.testing.assert_array_equal(value, expected)
    assert np.shape(value) == np.shape(expected) == result.array_shape.dims


def ints(values: Any) -> Instruction:
    """An s32 constant."""
    return constant(values, S32)


def floats(values: Any) -> Instruction:
    """An f32 constant."""
    return constant(values, F32)


def refused(message: str) -> Any:
    """Expects a ShapeError whose text matches."""
    return pytest.raises(ShapeError, match=message)
