"""Functions of tfc.numpy whose operands have two types, against NumPy."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy_rows import BFLOAT16, DTYPES, Row, by_numpy, difference
from test_numpy_values import ROWS

import tfc.numpy as tnp
from tfc.errors import TraceError

MEETINGS: dict[str, Callable[..., Any]] = {
    "where": lambda m, x, y: m.where(x != 0, x, y),
    "concatenate": lambda m, x, y: m.concatenate([x, y]),
    "searchsorted": lambda m, x, y: m.searchsorted(m.sort(x), y),
    "clip": lambda m, x, y: m.clip(x, y, 4),
    **{name: ROWS[name].call for name in (
        "add", "divide", "floor_divide", "power", "maximum", "fmin", "less", "equal", "hypot",
        "arctan2", "logical_or", "bitwise_and", "left_shift", "dot", "outer")},
}  # fmt: skip


@pytest.mark.parametrize("name", MEETINGS)
def test_operands_of_two_types_meet_as_in_numpy(name: str):
    row, wrong = Row(MEETINGS[name], own_dtype="", numbers_only=True), []
    types = [t for t in DTYPES if t != BFLOAT16]
    for first, second in itertools.product(types, types):
        x, y = (np.array([1, 0, 2, 3, 5]).astype(t) for t in (first, second))
        try:
            want = by_numpy(lambda *o: MEETINGS[name](np, *o), first, x, y[::-1])[0]
        except TypeError:
            with pytest.raises(TraceError):
                MEETINGS[name](tnp, x, y[::-1])
            continue
        found = difference(np.asarray(MEETINGS[name](tnp, x, y[::-1])), want, row, False)
        wrong += [f"{name} of {first} and {second} {found}"] if found else []
    assert wrong == []
