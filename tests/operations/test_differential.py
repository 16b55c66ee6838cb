"""Random modules give on the CPU backend what the reference evaluator gives."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfc.hlo.ir import Module
from tfc.hlo.shape import F32, F64, PRED, S32, S64, U8
from tfc.testing import arguments_for, modules
from tfc.testing.fuzz import problem

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
SLOW = settings(QUICK, max_examples=1500)
KINDS = st.sampled_from(["normal", "whole", "special"])


def assert_same(module: Module, seed: int, kind: str) -> None:
    """The CPU backend agrees with the evaluator: exactly for integers, closely for floats."""
    arguments = tuple(arguments_for(module, np.random.default_rng(seed), kind))
    assert problem(module, arguments, "cpu") is None


@QUICK
@given(modules(max_instructions=12), st.integers(0, 1000), KINDS)
def test_random_modules(module: Module, seed: int, kind: str):
    assert_same(module, seed, kind)


@QUICK
@given(modules(12, element_types=(F64, U8, S64, F32)), st.integers(0, 1000), KINDS)
def test_random_modules_of_other_types(module: Module, seed: int, kind: str):
    assert_same(module, seed, kind)


@pytest.mark.slow
@SLOW
@given(modules(20, element_types=(F32, S32, PRED, F64)), st.integers(0, 1000), KINDS)
def test_many_larger_random_modules(module: Module, seed: int, kind: str):
    assert_same(module, seed, kind)
