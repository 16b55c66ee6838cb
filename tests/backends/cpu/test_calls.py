"""Calls of compiled programs: the quick entry, what it declines, references, memory, threads."""

import gc
import subprocess
import sys
import threading
import weakref
from collections import OrderedDict
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tfc
from tfc.backends.cpu.runtime import entry_table
from tfc.errors import OutOfMemoryError, ShapeError, TraceError
from tfc.hlo import parse

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Pair(NamedTuple):
    first: object
    second: object


def made(function, *args, **settings):
    """A compiled function and its entry, after a first call."""
    compiled = tfc.jit(function, **settings)
    compiled(*args)
    (entry,) = compiled._quick
    return compiled, entry


def is_declined(entry, *args) -> bool:
    return entry(*args) is NotImplemented


def test_the_entry_returns_what_the_long_way_does():
    function, entry = made(lambda x, y: (x + y, x * y), X, X)
    for got in (function(X, X), entry(X, X)):
        np.testing.assert_array_equal(got[0], X + X)
        np.testing.assert_array_equal(got[1], X * X)
        assert type(got) is tuple
        assert all(type(a) is np.ndarray and a.flags.writeable and a.flags.owndata for a in got)


@pytest.mark.parametrize(
    "result",
    [
        lambda x: x,
        lambda x: None,
        lambda x: (x, None, [x + 1, (x,)]),
        lambda x: {"a": {"c": [x * 2]}, "b": x},
        lambda x: Pair(x, Pair([], x + 1)),
        lambda x: (),
    ],
)
def test_results_are_nested_as_the_function_nested_them(result):
    function, entry = made(result, X)
    expected = repr(result(X))
    assert repr(entry(X)) == expected
    assert repr(function(X)) == expected


def test_arguments_are_taken_out_of_their_containers():
    def add(a, b, c):
        return a["x"] + b[0] * b[1][0] - c.second

    nested = {"x": X, "n": None}, [X, (X + 1,)], Pair(None, X)
    function, entry = made(add, *nested)
    expected = X + X * (X + 1) - X
    np.testing.assert_array_equal(entry(*nested), expected)
    for other in (
        ({"x": X}, *nested[1:]),
        ({"x": X, "m": None}, *nested[1:]),
        (OrderedDict(nested[0]), *nested[1:]),
        (nested[0], (X, (X + 1,)), nested[2]),
        (nested[0], [X, (X + 1,), X], nested[2]),
        (*nested[:2], (None, X)),
        nested[:2],
    ):
        assert is_declined(entry, *other)
    np.testing.assert_array_equal(function(OrderedDict(nested[0]), *nested[1:]), expected)


@pytest.mark.parametrize(
    "other",
    [
        X.astype(np.float64),
        X.astype(np.int32),
        X.astype(">f4"),
        X.reshape(3, 2),
        X.reshape(2, 3, 1),
        np.asfortranarray(X),
        np.zeros((2, 6), np.float32)[:, ::2],
        np.frombuffer(bytearray(25), np.float32, offset=1, count=6).reshape(2, 3),
        np.ma.masked_array(X),
        X.tolist(),
        1.0,
        np.float32(1),
        None,
        object,
    ],
)
def test_other_arguments_are_declined_and_released(other):
    _, entry = made(lambda x, y: x + y, X, X)
    counts = sys.getrefcount(other), sys.getrefcount(X)
    assert is_declined(entry, X, other)
    if other is not None:
        assert (sys.getrefcount(other), sys.getrefcount(X)) == counts
    assert is_declined(entry, X)
    assert is_declined(entry, X, X, X)


def test_what_is_declined_goes_the_long_way():
    function, _ = made(lambda x: x + 1, X)
    np.testing.assert_array_equal(function(np.asfortranarray(X)), X + 1)
    unaligned = np.frombuffer(b"\0" + X.tobytes(), np.float32, offset=1).reshape(2, 3)
    np.testing.assert_array_equal(function(unaligned), X + 1)
    assert function(X.astype(np.float64)).dtype == np.float64
    assert function(2.0) == 3
    with pytest.raises(TraceError, match="static_argnums") as caught:
        function("text")
    assert "test_calls.py" in caught.value.__notes__[0]
    compiled = tfc.jit(lambda x: x + 1).lower(X).compile()
    with pytest.raises(ShapeError):
        compiled(X[0])


@pytest.mark.parametrize(
    "array",
    [
        np.array(3, np.float32),
        np.zeros((0, 4), np.float32),
        np.ones((2, 2), ml_dtypes.bfloat16),
        np.ones(3, np.complex64),
        np.ones(3, bool),
        np.arange(3, dtype=np.uint8),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_every_dtype_and_rank_has_an_entry(array):
    _, entry = made(lambda x: (x, x), array)
    got = entry(array)[0]
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


def test_read_only_and_unpickled_arrays_are_taken():
    _, entry = made(lambda x: x + 1, X)
    array = np.frombuffer(X.tobytes(), np.dtype("f4").newbyteorder("=")).reshape(2, 3)
    np.testing.assert_array_equal(entry(array), X + 1)


def test_static_arguments_are_compared_as_objects():
    function, entry = made(lambda x, how, y: x + y if how == "add" else x * y, X, "add", X,
                           static_argnums=1)  # fmt: skip
    np.testing.assert_array_equal(entry(X, "add", X), X + X)
    assert is_declined(entry, X, "multiply", X)
    np.testing.assert_array_equal(function(X, "multiply", X), X * X)
    np.testing.assert_array_equal(function(X, "add", X), X + X)


def test_signatures_in_turn_run_their_own_code():
    function = tfc.jit(lambda x: x * 2)
    arrays = [np.ones(n, np.float32) * n for n in range(1, 8)]
    for _ in range(3):
        for array in arrays:
            np.testing.assert_array_equal(function(array), array * 2)
    assert function.cache_size() == 7


def test_a_call_while_tracing_is_traced():
    inner, _ = made(lambda x: x + 1, X)
    outer = tfc.jit(lambda y: inner(X) + y)
    assert "call(" in outer.lower(X).as_text()
    np.testing.assert_array_equal(outer(X), X + 1 + X)


def test_donation_and_callbacks_have_no_entry():
    donating = tfc.jit(lambda x: x + 1, donate_argnums=0)
    given = X.copy()
    assert np.shares_memory(donating(given), given)
    assert donating._quick == ()
    tfc.register_custom_call("calls.twice", lambda x: x * 2)
    module = 'x = f32[2,3] parameter(0)\nROOT y = f32[2,3] custom-call(x), ' \
        'custom_call_target="calls.twice"'  # fmt: skip
    np.testing.assert_array_equal(tfc.compile(parse(module))(X)[0], X * 2)


def test_without_an_entry_everything_works(monkeypatch):
    monkeypatch.setattr(entry_table, "_entry_code", lambda: None)
    function = tfc.jit(lambda x, y: {"sum": x["a"] + y})
    for _ in range(2):
        np.testing.assert_array_equal(function({"a": X}, X)["sum"], X + X)
    assert function._quick == ()


def test_references_are_given_back():
    array, nested = X.copy(), {"a": X.copy(), "b": [X.copy()]}
    function, _ = made(lambda x, t: {"u": (x + t["a"], [t["b"][0]])}, array, nested)
    objects = array, nested, nested["a"], nested["b"], array.dtype, None, nested["b"][0]
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(1000):
        function(array, nested)
    # None is immortal from Python 3.12 on; before, other code may hold a few more references.
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(x - y) < 50 for x, y in zip(before, after))


HUNDRED_THOUSAND_CALLS = """
import gc, numpy as np, tfc
x, array = np.zeros((2, 3), np.float32), np.ones(1 << 15, np.float32)
function, big = tfc.jit(lambda x: (x + 1, x * 2)), tfc.jit(lambda x: x + 1)
function(x)
(entry,) = function._quick
wrong = x.astype(np.int8)

def some():
    for _ in range(50_000):
        function(x)
        entry(wrong)
    for _ in range(500):
        big(array)
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096, len(gc.get_objects())

some()
before, after = some(), some()
print(after[0] - before[0], after[1] - before[1])
"""


def test_a_hundred_thousand_calls_leave_no_memory_behind():
    # A process of its own: what other tests leave behind moves the resident size by megabytes.
    done = subprocess.run(
        [sys.executable, "-c", HUNDRED_THOUSAND_CALLS], check=True, capture_output=True, text=True
    )
    grown, objects = map(int, done.stdout.split())
    assert grown < 1 << 20
    assert objects < 100


SORTED = """ENTRY main {
  x = f32[] parameter(0)
  n = f32[%d] iota(), iota_dimension=0
  b = f32[%d] broadcast(x), dimensions={}
  a = f32[%d] add(n, b)
  s = f32[%d] sort(a), dimensions={0}, to_apply={
    p = f32[] parameter(0)
    q = f32[] parameter(1)
    ROOT r = pred[] compare(p, q), direction=LT
  }
  ROOT t = f32[2] slice(s), slice={[0:2]}
}"""


def test_memory_for_temporaries_is_asked_for_when_a_program_runs():
    small, large = (tfc.compile(parse(SORTED % ((n,) * 4))) for n in (8, 1 << 40))
    assert large.memory_analysis().temporary_bytes > 1 << 42
    for _ in range(2):
        with pytest.raises(OutOfMemoryError, match="more memory than there is") as caught:
            large(np.ones((), np.float32))
        assert isinstance(caught.value, MemoryError)
    np.testing.assert_array_equal(small(np.ones((), np.float32))[0], [1, 2])


def test_temporaries_that_no_machine_can_address_are_an_error_when_compiling():
    with pytest.raises(OutOfMemoryError, match="more than any machine can address"):
        tfc.compile(parse(SORTED % ((1 << 59,) * 4)))


def test_the_first_calls_of_several_threads_make_one_arena():
    executable = tfc.compile(parse(SORTED % ((4096,) * 4)))
    barrier, wrong = threading.Barrier(8), []

    def work(start):
        barrier.wait()
        for n in range(start, start + 50):
            if executable(np.full((), n, np.float32))[0].tolist() != [n, n + 1]:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_result_of_the_interpreter_without_memory_is_an_error():
    module = parse("ENTRY m { x = s8[] parameter(0)\n"
                   "ROOT y = s8[1125899906842624] broadcast(x), dimensions={} }")  # fmt: skip
    with pytest.raises(OutOfMemoryError, match="there is no memory for"):
        tfc.compile(module, "interpreter")(np.ones((), np.int8))


def test_a_result_without_memory_is_an_error():
    function = tfc.jit(lambda x: tfc.numpy.broadcast_to(x, (1 << 50,)))
    x, counts = np.ones((), np.int8), []
    for _ in range(4):
        with pytest.raises(OutOfMemoryError, match=r"needs 1.02e.03 TiB for its results"):
            function(x)
        counts.append(sys.getrefcount(None))
    gc.collect()  # errors hold the frames that raised them
    assert sys.getrefcount(x) == 2
    assert abs(counts[-1] - counts[0]) < 100  # after the first call, which imports and compiles


def test_entries_die_with_their_functions():
    function, _ = made(lambda x: x - 7, X)
    executable = weakref.ref(next(iter(function._entries.values())).compiled.executable)
    result = function(np.ones(3, np.float32))
    del function, _
    gc.collect()
    assert executable() is None
    assert (result == -6).all()


def test_large_results_lie_in_memory_that_is_used_again():
    array = np.zeros(1 << 20, np.float32)
    _, entry = made(lambda x: x + 1, array)
    first = entry(array)
    second = entry(first)
    assert first.flags.carray
    assert first.ctypes.data % 64 == 0
    assert (first == 1).all()
    assert (second == 2).all()
    view, place = second[::2], second.ctypes.data
    del second
    third = entry(first)
    assert third.ctypes.data != place  # the view holds it
    del view
    assert entry(first).ctypes.data == place
    assert (third == 2).all()


def test_many_sizes_of_results_stay_apart():
    random = np.random.default_rng(0)
    function, held = tfc.jit(lambda x: x * 3), []
    arrays = [np.full(int(n), n % 97, np.float32) for n in random.integers(1 << 14, 1 << 16, 12)]
    for n in random.integers(0, 12, 600):
        held.append((function(arrays[n]), arrays[n][0] * 3))
        if len(held) > 150:
            held = [h for h in held if random.random() < 0.3]
        result, value = held[random.integers(len(held))]
        assert (result == value).all()


def test_threads_share_an_executable():
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((128, 128)).astype(np.float32) for _ in range(4)]
    function = tfc.jit(lambda x: tfc.numpy.tanh(x @ x) @ x)
    expected = [function(a) for a in arrays]
    wrong = []

    def work(array, value):
        for _ in range(100):
            if not np.array_equal(function(array), value):
                wrong.append(array)

    threads = [threading.Thread(target=work, args=p) for p in zip(arrays * 2, expected * 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arrays_may_outlive_the_interpreter():
    program = "import numpy as n, tfc; x = n.ones(1 << 20, 'f4'); f = tfc.jit(lambda x: x + x)\n" \
        "f(x); a = f(x); tfc.kept = [f(a), f]; print(a[3])"  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2.0\n", "")
