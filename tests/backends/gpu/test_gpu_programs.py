"""Programs on the GPU, or on the interpreter of PTX where there is none, against the evaluator."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis.errors import InvalidArgument
from random_gpu_programs import wrong_programs

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.driver import Driver
from tfc.errors import ShapeError, TfcError
from tfc.hlo.text.parser import parse
from tfc.testing.fuzz import TYPE_SETS
from tfc.testing.generators.modules import OPCODES
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(5)
KINDS = ("normal", "whole", "special")


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Driver]:
    """What programs for GPUs run on."""
    with device_for_tests() as driver:
        yield driver


def on_gpu(function: Any, *arguments: Any) -> Any:
    """What a function gives on the GPU, on the host."""
    return tfc.device_get(tfc.jit(function, backend="gpu")(*arguments))


@pytest.mark.parametrize("types", TYPE_SETS, ids="-".join)
def test_random_programs_compute_what_the_reference_says(types: Sequence[str]):
    assert wrong_programs(types, OPCODES, 8, 5, KINDS) == []


@pytest.mark.slow
@pytest.mark.parametrize("opcode", OPCODES)
def test_random_programs_of_each_operation_compute_what_the_reference_says(opcode: str):
    number = OPCODES.index(opcode)
    wrong, drawn = list[str](), 0
    for types in (*TYPE_SETS[number % len(TYPE_SETS) :], *TYPE_SETS):
        with suppress(InvalidArgument):  # the operation is of none of these types
            wrong += wrong_programs(types, [opcode], 6, 3, KINDS)
            drawn += 1
        if drawn:
            break
    assert wrong == []
    assert drawn


def test_results_stay_on_the_device_and_are_taken_from_there(device: Driver):
    double = tfc.jit(lambda x: x * 2, backend="gpu")
    x = random.standard_normal((5, 7)).astype(np.float32)
    once = double(x)
    assert isinstance(once, tfc.DeviceArray)
    assert (once.shape, once.dtype, once.device) == ((5, 7), np.float32, device)
    np.testing.assert_array_equal(np.asarray(double(once)), x * 4)
    np.testing.assert_array_equal(tfc.jit(lambda x: x + 1)(once), x * 2 + 1)  # on the CPU


def test_what_is_put_on_the_device_is_used_where_it_lies():
    x = tfc.device_put({"a": np.arange(6.0), "b": 3.0})
    assert tfc.device_put(x)["a"] is x["a"]
    held = x["a"].memory
    np.testing.assert_array_equal(on_gpu(lambda x: x["a"] * x["b"], x), np.arange(6.0) * 3)
    assert x["a"].memory is held
    assert tfc.device_put(x, backend="cpu")["b"] == 3.0


def test_the_second_call_with_the_same_arrays_is_a_graph_and_says_the_same():
    def function(x: Any) -> Any:
        return tnp.sort(x), tnp.sum(x, axis=0), tnp.cumsum(x, axis=1)

    x = tfc.device_put(random.standard_normal((9, 13)).astype(np.float32))
    f = tfc.jit(function, backend="gpu")
    first = tfc.device_get(f(x))
    for _ in range(4):
        for got, expected in zip(tfc.device_get(f(x)), first):
            np.testing.assert_array_equal(got, expected)
    host = np.asarray(x)
    np.testing.assert_array_equal(first[0], np.sort(host))
    np.testing.assert_allclose(first[2], np.cumsum(host, axis=1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_loops_whose_end_the_device_decides(steps: int):
    def collatz(n: Any) -> Any:
        def body(state: Any) -> Any:
            n, count = state
            # Turned, so that threads wait for each other and a turn is launches.
            return tnp.where(n % 2 == 0, n // 2, 3 * n + 1)[::-1], count + 1

        return tfc.while_loop(lambda s: s[0][0] != 1, body, (tnp.stack([n, n]), 0))[1]

    start = {0: 1, 1: 2, 7: 3}[steps]
    assert on_gpu(collatz, np.int32(start)) == steps


@pytest.mark.parametrize("index", [-5, 0, 1, 2, 9])
def test_a_branch_is_chosen_on_the_device(index: int):
    branches = [lambda x: x + 1, lambda x: x * 10, lambda x: -x]
    got = on_gpu(lambda i, x: tfc.switch(i, branches, x), np.int32(index), np.float32(4))
    assert got == branches[min(max(index, 0), 2)](4)


def test_python_is_called_in_the_middle_of_a_program():
    def function(x: Any) -> Any:
        shape = tfc.ShapeDtypeStruct((4,), np.float32)
        return tfc.pure_callback(lambda y: np.asarray(y)[::-1].copy(), shape, x * 2) + 1

    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(on_gpu(function, x), (x * 2)[::-1] + 1)


def test_a_donated_array_is_used_up_and_its_memory_is_the_result():
    x = tfc.device_put(np.zeros((4, 8), np.float32))
    place = x.memory.address
    f = tfc.jit(lambda x: x.at[1].set(5.0), donate_argnums=0, backend="gpu")
    result = f(x)
    assert result.memory.address == place
    assert x.is_deleted()
    with pytest.raises(TfcError, match="donated or deleted"):
        np.asarray(x)
    np.testing.assert_array_equal(np.asarray(result)[1], np.full(8, 5, np.float32))


def test_memory_goes_back_when_nothing_refers_to_it(device: Driver):
    free = device.memory().free
    x = tfc.device_put(np.zeros(1 << 16))
    assert device.memory().free < free
    del x
    assert device.memory().free == free


@pytest.mark.parametrize("length", [1, 2, 3, 31, 64, 100, 257])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_of_any_length_are_sorted_stably(length: int, axis: int):
    keys = random.integers(0, 4, (3, length)).astype(np.int32)
    keys = keys if axis else keys.T.copy()
    got = on_gpu(lambda k: tnp.argsort(k, axis=axis, stable=True), keys)
    np.testing.assert_array_equal(got, np.argsort(keys, axis=axis, kind="stable"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_updates_that_meet_are_added_in_their_order(dtype: type):
    table = np.zeros((7, 5), dtype)
    where = random.integers(0, 7, 40)
    updates = random.standard_normal((40, 5)).astype(dtype)
    expected = table.copy()
    for row, update in zip(where, updates):
        expected[row] += update
    got = on_gpu(lambda t, i, u: t.at[i].add(u), table, where, updates)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("way", ["add", "min", "max"])
def test_integers_that_meet_are_combined_atomically(device: Any, dtype: type, way: str):
    table = random.integers(0, 99, (7, 5)).astype(dtype)
    where, updates = random.integers(0, 7, 40), random.integers(0, 99, (40, 5)).astype(dtype)
    if dtype in (np.int32, np.int64):
        updates = -updates
    expected = table.copy()
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[way]
    function.at(expected, where, updates)
    device.reports.clear()
    got = on_gpu(lambda t, i, u: getattr(t.at[i], way)(u), table, where, updates)
    np.testing.assert_array_equal(got, expected)
    assert sum(report.atomics for _, report in device.reports) == updates.size


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_remainder_of_floats_is_exact(dtype: type):
    x = (random.standard_normal(500) * 10.0 ** random.integers(-30, 30, 500)).astype(dtype)
    y = (random.standard_normal(500) * 10.0 ** random.integers(-30, 30, 500)).astype(dtype)
    np.testing.assert_array_equal(on_gpu(tnp.fmod, x, y), np.fmod(x, y))


def test_arguments_that_do_not_fit_are_refused():
    exe = tfc.jit(lambda x: x, backend="gpu").lower(np.zeros(3, np.float32)).compile()
    with pytest.raises(ShapeError, match="argument 0"):
        exe.executable(np.zeros(4, np.float32))


def test_the_state_of_random_numbers_goes_on_from_call_to_call():
    module = parse("ENTRY e { ROOT s = u64[2] rng-get-and-update-state(), delta=4 }")
    run = tfc.compile(module, backend="gpu")
    (first,), (second,) = tfc.device_get(run()), tfc.device_get(run())
    assert int(second[0]) - int(first[0]) == 4
