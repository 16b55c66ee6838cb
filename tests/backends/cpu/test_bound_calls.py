"""Collectives that code carries out without Python: on which arrays, for whom, and if they fail."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tfc
from tfc.hlo import parse
from tfc.runtime.collectives import Collective, CopyBytes, Direct, ForeignCall, Place, Run
from tfc.runtime.replicas import Participant, running

# The result of adding two ranks' arrays is what this makes of one.
DOUBLED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
SUM = "sum { a = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT c = f32[] add(a, b) }\n"
MODULE = f"""HloModule m, num_partitions=2
{SUM}ENTRY e {{ x = f32[4] parameter(0)
  ROOT y = f32[4] all-reduce(x), channel_id=1, use_global_device_ids=true,
    replica_groups={{{{0,1}}}}, to_apply=sum }}"""


class Engine:
    """Doubles what it is given, by Python or by a C function, and notes who did."""

    overlaps = False
    messages = None

    def __init__(self, status: int = 0, is_copying: bool = False):
        self.python, self.code = 0, 0
        self.words = np.zeros(2, np.int64)
        self.seen: list[int] = []
        self._status, self._is_copying = status, is_copying
        self._function = DOUBLED(self._double)

    def _double(self, given: int, result: int, count: int) -> int:
        self.code += 1
        self.seen.append(int(self.words[0]))
        x, y = ((ctypes.c_float * count).from_address(a) for a in (given, result))
        y[:] = [2 * v for v in x]
        return self._status

    def bind(self, collective: Collective, given, results) -> Callable[[], None]:
        def run() -> None:
            self.python += 1
            results[0][...] = 2 * given[0]

        address = ctypes.cast(self._function, ctypes.c_void_p).value or 0
        arguments = (Place(0), Place(1), given[0].size)
        steps = [ForeignCall(address, ("ptr", "ptr", "i32"), arguments)]
        if self._is_copying:
            steps = [*steps, CopyBytes(Place(1), Place(0), 8)]
        doing, done = (int(self.words.ctypes.data) + 8 * n for n in range(2))
        return Run(run, Direct(tuple(steps), doing, done, 7, lambda n: ValueError(f"status {n}")))


@contextmanager
def one_of_two(engine: Engine) -> Iterator[None]:
    with running(Participant(0, 0, 1, 2, engine)):  # type: ignore[arg-type]
        yield


def array(first: int) -> np.ndarray:
    return np.arange(first, first + 4, dtype=np.float32)


def test_python_is_asked_once_and_code_goes_on_wherever_arrays_lie():
    engine, program = Engine(), tfc.compile(parse(MODULE))
    kept = []
    with one_of_two(engine):
        for first in range(5):
            x = array(first)
            (y,) = program(x)
            np.testing.assert_array_equal(y, 2 * x)
            kept += x, y  # so that the next ones lie elsewhere
    assert (engine.python, engine.code) == (1, 4)
    assert engine.seen == [7] * 4  # a watcher sees it while it runs
    assert engine.words.tolist() == [0, 4]


def test_another_participant_is_asked_for_itself():
    first, second, program = Engine(), Engine(), tfc.compile(parse(MODULE))
    for _ in range(2):
        with one_of_two(first):
            program(array(0))
            program(array(0))
        with one_of_two(second):
            program(array(0))
    assert (first.python, first.code) == (2, 2)  # asked again after the other was
    assert (second.python, second.code) == (2, 0)


def test_a_failure_is_raised_and_stays_marked_as_being_done():
    engine, program = Engine(status=3), tfc.compile(parse(MODULE))
    with one_of_two(engine):
        program(array(0))
        with pytest.raises(ValueError, match="status 3"):
            program(array(0))
    assert engine.words.tolist() == [7, 0]


def test_bytes_are_copied_after_what_is_called():
    engine, program = Engine(is_copying=True), tfc.compile(parse(MODULE))
    with one_of_two(engine):
        program(array(0))
        (y,) = program(array(1))
    np.testing.assert_array_equal(y, [1, 2, 6, 8])
