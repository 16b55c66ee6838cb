"""Collectives that are begun, and finished after other work: threads of one process.

What is expected is a NumPy formula over what all devices have.
"""

import threading

import numpy as np

from tfc.runtime.collectives import Collective, Reduction
from tfc.runtime.engines.threads import ThreadEngine, run_devices
from tfc.runtime.replicas import current

SUM = Reduction("add", np.add)
P = np.arange(8, dtype=np.float32).reshape(2, 4)  # what device d has is P[d]


def all_reduce(device: int, name: str = "all-reduce") -> Collective:
    return Collective("all-reduce", name, (0, 1), device, reduction=SUM)


def test_begin_does_not_wait_for_the_other_device():
    """One thread begins for both devices: a begin that waited would never come to the second."""
    engine, results = ThreadEngine(2), np.zeros((2, 4), np.float32)
    finish = [engine.begin(all_reduce(d), [P[d]], [results[d]]) for d in (0, 1)]
    np.testing.assert_array_equal(results, 0)  # left alone until they are waited for
    for wait in finish:
        wait()
    np.testing.assert_array_equal(results, [P.sum(0)] * 2)


def test_several_are_in_flight_and_end_in_another_order():
    engine, results = ThreadEngine(2), np.zeros((3, 2, 4), np.float32)
    finish = [
        engine.begin(all_reduce(d, f"all-reduce {n}"), [P[d] * (n + 1)], [results[n, d]])
        for n in range(3) for d in (0, 1)
    ]  # fmt: skip
    for wait in reversed(finish):
        wait()
    np.testing.assert_array_equal(results, [[P.sum(0) * (n + 1)] * 2 for n in range(3)])


def test_a_device_computes_while_the_other_has_not_come():
    """Device 1 comes only after device 0 went on: a begin that waited would fail this."""
    went_on = threading.Event()

    def run(device: int) -> np.ndarray:
        result = np.empty(4, np.float32)
        if device == 1:
            assert went_on.wait(10)
        finish = current().begin(all_reduce(device), [P[device]], [result])
        went_on.set()
        finish()
        return result

    np.testing.assert_array_equal(run_devices(1, 2, run), [P.sum(0)] * 2)
