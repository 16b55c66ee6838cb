"""LLVM's target machines are used again, by one at a time."""

import pytest

from tfc.backends.llvm.machines import borrowed_machine
from tfc.backends.target import Target


def test_a_machine_is_used_again_and_by_one_at_a_time():
    with borrowed_machine(Target.host(), 1) as first:
        with borrowed_machine(Target.host(), 1) as second:
            assert second is not first
        with borrowed_machine(Target.host(), 2) as other:
            assert other is not second
        with borrowed_machine(Target.host(), 1) as again:
            assert again is second


def test_a_machine_that_an_error_leaves_is_given_up():
    with pytest.raises(RuntimeError), borrowed_machine(Target.host(), 1) as machine:
        raise RuntimeError
    with borrowed_machine(Target.host(), 1) as next_one:
        assert next_one is not machine
