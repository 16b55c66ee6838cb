"""Kernels element by element access 16 bytes of memory at once."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver, device_for_tests

random = np.random.default_rng(14)
X = random.standard_normal((64, 512)).astype(np.float32)
ROW, COLUMN = X[0].copy(), X[:, :1].copy()


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[InterpretedDriver]:
    with device_for_tests() as driver:
        yield driver


FOUR = ["ld.global.nc.v4.b32", "st.global.v4.b32"]
TWO = ["ld.global.nc.v2.b64", "st.global.v2.b64"]
ONE = ["ld.global.nc.b32", "st.global.b32"]
HALVES = ["ld.global.nc.v4.b32", "st.global.v2.b32"]

# fmt: off
CASES = {
    "two arrays":      (lambda x, y: x * y + 1, (X, X + 1), FOUR),
    "a row for all":   (lambda x, y: tnp.exp(x) + y, (X, ROW), FOUR),
    "a number a row":  (lambda x, y: x - y, (X, COLUMN), FOUR),
    "rows cut off":    (lambda x: x[1:] * 2, (X,), FOUR),
    "halves":          (lambda x: tnp.astype(x, np.float16), (X,), HALVES),
    "bytes":           (lambda x: x + np.int8(3), (X.astype(np.int8),), FOUR),
    "doubles":         (lambda x: x / 3, (X.astype(np.float64),), TWO),
    "an odd length":   (lambda x: x + 1, (X.reshape(-1)[:32701].copy(),), FOUR),
    "reversed rows":   (lambda x: x[:, ::-1] + 1, (X,), FOUR),
    "two pieces":      (lambda x: tnp.concatenate([x, x * 2]), (X,), FOUR),
}
# fmt: on


@pytest.mark.parametrize("name", CASES)
def test_neighbours_are_read_and_written_at_once(device: Any, name: str):
    function, arguments, accesses = CASES[name]
    device.reports.clear()
    jitted: Callable[..., Any] = tfc.jit(function, backend="gpu")
    found = tfc.device_get(jitted(*arguments))
    np.testing.assert_allclose(found, tfc.jit(function)(*arguments), rtol=2e-6, atol=1e-6)
    text = jitted.lower(*arguments).compile().as_text("ptx")
    assert all(access in text for access in accesses)
    assert complaints(text, "sm_90a") == ""
    ((_, report),) = device.reports
    assert report.loads.transactions == report.loads.ideal
    assert report.stores.transactions == report.stores.ideal
    assert report.stores.ideal <= -(-found.nbytes // 32) + 1  # of a ragged end
