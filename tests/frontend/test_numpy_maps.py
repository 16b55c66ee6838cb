"""vmap of every function of tfc.numpy, and of its gradient: for each example what it is alone."""

from typing import Any

import numpy as np
import pytest
from numpy_rows import flat
from test_numpy_gradients import SMOOTH, weighted
from test_numpy_values import ROWS

import tfc
import tfc.numpy as tnp
from tfc.errors import TfcError


def examples_of(operands: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The operands, and their elements in other places."""
    arrays = tuple(np.asarray(o) for o in operands)
    return [tuple(np.roll(a, by) for a in arrays) for by in (0, 1, 2)]


def alone(call: Any, operands: tuple[Any, ...]) -> list[np.ndarray] | None:
    """The results for one example; None if the function does not take such, or no traced ones."""
    try:
        traced = tfc.jit(lambda *xs: call(tnp, *xs), backend="interpreter")
        return flat(traced(*operands))
    except TfcError:
        return None


def check(name: str, dtype: np.dtype) -> int:
    """Compare vmap with one example after the other; how many operands there were to compare."""
    row, compared = ROWS[name], 0
    for operands in row.operands(dtype):
        examples = examples_of(operands)
        expected = alone(row.call, examples[0])
        if expected is None:
            continue
        each = [expected, *(alone(row.call, e) for e in examples[1:])]
        stacked = [np.stack(several) for several in zip(*examples)]
        got = flat(tfc.vmap(lambda *xs: row.call(tnp, *xs))(*stacked))
        assert len(got) == len(expected)
        for number, result in enumerate(got):
            want = np.stack([results[number] for results in each])
            assert result.dtype == want.dtype
            np.testing.assert_allclose(
                result.astype(np.complex128), want.astype(np.complex128), rtol=1e-5, atol=1e-6
            )
        compared += 1
    return compared


@pytest.mark.parametrize("name", ROWS)
def test_a_function_of_many_examples_is_that_of_each(name: str):
    check(name, np.dtype(np.float64))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["?", "i4", "u1", "f4", "c16"])
def test_functions_of_many_examples_of_every_kind(dtype: str):
    compared = sum(check(name, np.dtype(dtype)) for name in ROWS)
    assert compared > len(ROWS) / 2


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_and_tangents_of_many_examples_are_those_of_each(name: str):
    call, *operands = SMOOTH[name]
    numbers = tuple(range(len(operands)))
    gradient = tfc.grad(lambda *xs: weighted(tnp, call(tnp, *xs)), numbers)

    def both(*xs: Any) -> Any:
        tangent = tfc.jvp(lambda *ys: weighted(tnp, call(tnp, *ys)), xs, xs)[1]
        return *gradient(*xs), tangent

    examples = [operands, [np.asarray(o) * 0.9 for o in operands]]
    got = tfc.vmap(both)(*(np.stack(several) for several in zip(*examples)))
    for number, example in enumerate(examples):
        for mine, own in zip(got, both(*example), strict=True):
            np.testing.assert_allclose(mine[number], own, rtol=1e-9, atol=1e-12)
