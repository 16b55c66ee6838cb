"""StableHLO's interpreter computes what the evaluator does, for every operation that it has."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from oracles import OracleCrash
from stablehlo_interpreter import interpret_stablehlo
from test_stablehlo_export import EXPORTED, FEW, flat

from tfc.compiler import module_text
from tfc.hlo.shape import F32, F64, PRED, S32, S64, U8
from tfc.testing import arguments_for, instructions_of
from tfc.testing.compare import mismatch

TYPES = (F32, F64, S32, U8, PRED, S64)
_CHLO = "exported as an operation of CHLO, which the interpreter does not know"
_ABSENT = "the interpreter has no meaning for it"
_COMPLEX = "complex arguments cannot be given to the interpreter"
NOT_INTERPRETED = {
    **dict.fromkeys(
        ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh", "mulhi", "topk"), _CHLO
    ),
    **dict.fromkeys(
        ("batch-norm-training", "batch-norm-inference", "batch-norm-grad", "cholesky",
         "rng-bit-generator", "triangular-solve", "fft", "all-reduce-done", "all-gather-done",
         "collective-permute-done", "partition-id", "replica-id"), _ABSENT,
    ),
    "complex": _COMPLEX,
    "scatter": "it combines the part of a window that is inside, XLA leaves out the whole window",
    "select-and-scatter": "it counts the initial value once for each window",
}  # fmt: skip


@pytest.mark.parametrize("opcode", [o for o in EXPORTED if o not in NOT_INTERPRETED])
@settings(FEW, max_examples=6)
@given(st.data(), st.integers(0, 1000))
def test_the_interpreter_computes_what_the_evaluator_says(opcode: str, data: Any, seed: int):
    module = data.draw(instructions_of(opcode, TYPES))
    arguments = tuple(arguments_for(module, np.random.default_rng(seed), "normal"))
    try:
        results = interpret_stablehlo(module_text(module, "stablehlo"), *flat(arguments))
    except OracleCrash:
        reject()  # a combination of types that it has no code for ends its process
    assert mismatch(module, arguments, results) is None


def test_what_is_not_interpreted_is_exported():
    assert set(NOT_INTERPRETED) <= set(EXPORTED)
