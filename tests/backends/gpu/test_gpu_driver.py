"""What programs ask of the CUDA driver, seen by stand-ins for its bindings."""

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread, get_ident
from typing import Any

import numpy as np
import pytest
from cuda_bindings import Elsewhere, FakeCuda, installed
from pycuda_stand_in import installed_pycuda

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.driver import using, with_pycuda
from tfc.backends.gpu.driver.code import Module
from tfc.backends.gpu.driver.staging import BLOCK
from tfc.backends.gpu.driver.with_cuda_bindings import BindingsDriver, open_driver
from tfc.errors import DriverError, OutOfMemoryError, UnsupportedError
from tfc.options import Options
from tfc.testing.ptx.driver import InterpretedDriver

random = np.random.default_rng(4)


@pytest.fixture
def cuda() -> Iterator[FakeCuda]:
    """A stand-in whose driver programs run with."""
    with installed() as fake, using(open_driver()):
        yield fake
        gc.collect()


def asked_by(cuda: FakeCuda, action: Callable[[], Any]) -> list[str]:
    """The functions of the driver that are called."""
    cuda.calls.clear()
    action()
    return cuda.names()


def several(x: Any, y: Any) -> Any:
    return tnp.sort(x @ y), tnp.sum(x, axis=0)


def test_an_unchanged_call_is_one_call_of_the_driver(cuda: FakeCuda):
    x, y = (tfc.device_put(random.standard_normal((4, 4)).astype(np.float32)) for _ in "xy")
    for function, arguments, launch in (
        (several, (x, y), "cuGraphLaunch"),
        (lambda x: x * 2, (x,), "cuLaunchKernel"),
    ):
        f = tfc.jit(function, backend="gpu")
        expected = tfc.device_get(f(*arguments))
        for _ in range(3):
            f(*arguments)
        assert asked_by(cuda, lambda f=f, a=arguments: f(*a)) == [launch]
        for got, first in zip(tfc.device_get(f(*arguments)), expected):
            np.testing.assert_array_equal(got, first)
    np.testing.assert_array_equal(np.asarray(f(x)), np.asarray(x) * 2)


def test_results_that_are_kept_have_memory_of_their_own(cuda: FakeCuda):
    f = tfc.jit(lambda x: x + 1, backend="gpu")
    arrays = [tfc.device_put(np.zeros(5, np.float32))]
    for _ in range(20):
        arrays.append(f(arrays[-1]))
    assert len({a.memory.address for a in arrays}) == len(arrays)
    for number, array in enumerate(arrays):
        np.testing.assert_array_equal(np.asarray(array), np.full(5, number, np.float32))


def test_containers_of_results_are_what_the_function_returns(cuda: FakeCuda):
    x = tfc.device_put(np.float32([1, 2]))
    for result in (lambda x: [x, x + 1], lambda x: (x * 2,), lambda x: {"a": (x, None)}):
        f = tfc.jit(result, backend="gpu")
        first = f(x)
        for _ in range(3):
            again = f(x)
            assert type(again) is type(first)
            assert repr(tfc.device_get(again)) == repr(tfc.device_get(first))
    with pytest.raises(TypeError):
        f(x, x)


def test_large_arrays_go_through_pinned_memory_in_pieces(cuda: FakeCuda):
    x = random.integers(0, 256, 5 * BLOCK + 12345).astype(np.uint8)
    held = tfc.device_put(x)
    pieces = [a[2] for name, a in cuda.calls if name == "cuMemcpyHtoDAsync"]
    assert pieces == [BLOCK] * 5 + [12345]
    np.testing.assert_array_equal(np.asarray(held), x)
    assert cuda.names().count("cuMemHostAlloc") == 4  # one ring, whichever way
    blocks = {a[0] for name, a in cuda.calls if name == "cuMemcpyDtoHAsync"}
    assert len(blocks) <= 4


@pytest.mark.parametrize("failing", ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemHostAlloc"])
def test_copies_that_fail_take_no_pinned_memory_from_later_ones(cuda: FakeCuda, failing: str):
    x = random.integers(0, 256, 2 * BLOCK).astype(np.uint8)
    held = tfc.device_put(x) if failing == "cuMemcpyDtoHAsync" else None
    cuda.failing[failing] = 1
    for _ in range(6):
        with pytest.raises(DriverError, match=f"{failing} of the CUDA driver failed"):
            np.asarray(tfc.device_put(x) if held is None else held)
    cuda.failing.clear()
    np.testing.assert_array_equal(np.asarray(tfc.device_put(x)), x)


def test_memory_is_kept_for_the_next_array_and_given_back_when_it_is_short(cuda: FakeCuda):
    x = tfc.device_put(np.zeros(1000))
    place = x.memory.address
    del x
    assert tfc.device_put(np.ones(1001)).memory.address == place  # of the same rounded size
    gc.collect()
    cuda.calls.clear()

    def refuse(count: int) -> Callable[..., Any]:
        def allocate(size: int, stream: int) -> Any:
            nonlocal count
            count -= 1
            return (2, None) if count >= 0 else (0, cuda.machine.allocate(size))

        return allocate

    driver = tfc.device_put(np.ones(1)).device
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(cuda.replaced, "cuMemAllocAsync", refuse(1))
        tfc.device_put(np.zeros(5000))
    assert "cuMemPoolTrimTo" in cuda.names()
    assert "cuMemFreeAsync" in cuda.names()
    cuda.failing["cuMemAllocAsync"] = 2
    with pytest.raises(OutOfMemoryError, match=r"no memory for 80384 bytes .* of \d+ are free"):
        tfc.device_put(np.zeros(10000))
    assert isinstance(driver, BindingsDriver)


FAILURES = [
    ("cuLaunchKernel", 719, DriverError, "a kernel failed on the GPU, .*start it again"),
    ("cuModuleLoadData", 222, DriverError, "does not take the code .*a newer driver may"),
    ("cuMemAllocAsync", 2, OutOfMemoryError, "make arrays smaller, or delete"),
    ("cuMemcpyHtoDAsync", 1, DriverError, "cuMemcpyHtoDAsync of the CUDA driver failed: invalid"),
]


@pytest.mark.parametrize(
    ("name", "status", "kind", "message"), FAILURES, ids=[f[0] for f in FAILURES]
)
def test_what_the_driver_refuses_is_one_sentence(
    cuda: FakeCuda, name: str, status: int, kind: type[Exception], message: str
):
    f = tfc.jit(lambda x: x + 1, backend="gpu")
    cuda.failing[name] = status
    with pytest.raises(kind, match=message) as caught:
        f(np.zeros(3, np.float32))
    assert "\n" not in str(caught.value)
    cuda.failing.clear()
    np.testing.assert_array_equal(np.asarray(f(np.zeros(3, np.float32))), np.ones(3))


def test_the_interpreter_shares_no_more_than_every_gpu_has():
    ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }"
    for architecture, most in (("sm_80", 99 << 10), ("sm_90a", 227 << 10)):
        driver = InterpretedDriver(architecture)
        function = driver.function(driver.load(ptx.encode()), "f")
        driver.launch(function, (1, 1, 1), (32, 1, 1), [], most)
        with pytest.raises(DriverError, match="a block of 'f' shares"):
            driver.launch(function, (1, 1, 1), (32, 1, 1), [], most + 1)


def test_machines_without_a_gpu_or_with_an_old_one_are_told_so():
    fake = FakeCuda()
    for status, message in (
        (100, "finds no GPU in this machine"),
        (3, "cuInit of the CUDA driver"),
    ):
        fake.failing["cuInit"] = status
        with installed(fake), pytest.raises(DriverError, match=message):
            open_driver()
    fake.failing.clear()
    with installed(fake), pytest.raises(DriverError, match="no GPU 2: the driver finds 1"):
        open_driver(2)
    old = FakeCuda({75: 7, 76: 5})
    with installed(old), pytest.raises(DriverError, match=r"too old: .* and it has 7\.5"):
        open_driver()


def test_arrays_of_other_libraries_are_read_where_they_lie_and_in_order(cuda: FakeCuda):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    f = tfc.jit(lambda x: x * 2, backend="gpu")
    array = Elsewhere(cuda, x, stream=0x77, strides=(12, 4))
    cuda.calls.clear()
    np.testing.assert_array_equal(np.asarray(f(array)), x * 2)
    # Their stream is at an event, which ours waits for before the kernel.
    recorded = next(a for name, a in cuda.calls if name == "cuEventRecord" and a[1] == 0x77)
    waited = cuda.calls.index(("cuStreamWaitEvent", (0x5EA, recorded[0], 0)))
    assert waited < cuda.names().index("cuLaunchKernel")
    assert "cuMemcpyHtoDAsync" not in cuda.names()
    with pytest.raises(UnsupportedError, match="row-major"):
        f(Elsewhere(cuda, x, strides=(4, 8)))
    with pytest.raises(UnsupportedError, match="no counterpart"):
        f(Elsewhere(cuda, x, typestr="<V4"))


def test_arrays_are_lent_to_streams_of_other_libraries_in_order(cuda: FakeCuda):
    x = tfc.device_put(np.float32([1, 2, 3]))
    cuda.calls.clear()
    x.__dlpack__(stream=0x99)
    event = next(a[0] for name, a in cuda.calls if name == "cuEventRecord" and a[1] == 0x5EA)
    assert ("cuStreamWaitEvent", (0x99, event, 0)) in cuda.calls
    assert "cuEventSynchronize" not in cuda.names()  # the host waits for nothing
    cuda.calls.clear()
    del x
    gc.collect()
    # What that stream still reads is not given to somebody else before.
    event = next(a[0] for name, a in cuda.calls if name == "cuEventRecord" and a[1] == 0x99)
    assert ("cuStreamWaitEvent", (0x5EA, event, 0)) in cuda.calls


def test_a_program_reads_what_tfc_lends_by_dlpack(cuda: FakeCuda):
    lent: list[Any] = []

    class Library:
        """Gives on what it was lent."""

        def __init__(self, array: tfc.DeviceArray):
            self.array = array

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

        def __dlpack__(self, stream: int | None = None) -> Any:
            lent.append(stream)
            return self.array.__dlpack__(stream=stream)

    x = tfc.device_put(np.float32([1, 2, 3]))
    result = tfc.jit(lambda x: x + 1, backend="gpu")(Library(x))
    np.testing.assert_array_equal(np.asarray(result), [2, 3, 4])
    assert lent == [0x5EA]


def test_the_drivers_own_code_is_kept_for_later_processes(tmp_path: Path):
    options = Options(cache_dir=str(tmp_path))
    x = np.float32([1, 2, 3])
    for number in range(2):  # as two processes: nothing is left of the first but the folder
        with installed() as cuda, using(open_driver()):
            f = tfc.jit(tnp.cos, backend="gpu", options=options)
            np.testing.assert_allclose(np.asarray(f(x)), np.cos(x), rtol=1e-6)
            assert cuda.names().count("cuLinkAddData") == (1 if number == 0 else 0)
            assert cuda.names().count("cuModuleLoadData") == 1
            gc.collect()
    with installed() as cuda, using(open_driver()):
        cuda.version = 13010  # another driver makes other code
        f = tfc.jit(tnp.cos, backend="gpu", options=options)
        f(x)
        assert cuda.names().count("cuLinkAddData") == 1
        gc.collect()


def test_programs_run_by_pycuda_too():
    with installed_pycuda() as cuda, using(with_pycuda.open_driver()) as driver:
        x, y = (random.standard_normal((4, 4)).astype(np.float32) for _ in "xy")
        f = tfc.jit(several, backend="gpu")
        held = [tfc.device_put(a) for a in (x, y)]
        for _ in range(4):
            rows, sums = f(*held)
            np.testing.assert_allclose(np.asarray(rows), np.sort(x @ y), rtol=1e-5)
            np.testing.assert_allclose(np.asarray(sums), x.sum(0), rtol=1e-5)
        large = random.integers(0, 256, BLOCK + 77).astype(np.uint8)
        np.testing.assert_array_equal(np.asarray(tfc.device_put(large)), large)
        assert driver.multiprocessor.count == 108
        cuda.is_full = True
        with pytest.raises(OutOfMemoryError, match="no memory for 40000 bytes on the GPU"):
            tfc.device_put(np.zeros(5000))
        gc.collect()


def modules() -> list[Module]:
    """Those that there are."""
    return [x for x in gc.get_objects() if isinstance(x, Module)]


def test_nothing_is_unloaded_while_the_process_ends(cuda: FakeCuda):
    """What unloading needs of Python may be gone by then."""
    before = modules()
    f = tfc.jit(lambda x: x * 2, backend="gpu")
    np.asarray(f(np.ones(3)))
    (module,) = [m for m in modules() if all(m is not other for other in before)]
    module.__del__(lambda: True)
    assert "cuModuleUnload" not in cuda.names()


def test_threads_that_end_have_given_pycudas_context_back():
    with installed_pycuda() as cuda, using(with_pycuda.open_driver()):
        f = tfc.jit(lambda x: x * 2, backend="gpu")
        threads: list[int] = []

        def call() -> None:
            np.testing.assert_array_equal(np.asarray(f(np.ones(3))), [2, 2, 2])
            threads.extend(cuda.context.threads)

        for _ in range(2):
            thread = Thread(target=call)
            thread.start()
            thread.join()
            assert cuda.context.threads == [get_ident()]
        assert len(threads) == 4
        gc.collect()


def test_a_process_that_ends_has_given_pycudas_context_back():
    text = """
import atexit
from types import SimpleNamespace
from tfc.backends.gpu.driver.contexts import ThreadsContext

pushed = []
atexit.register(lambda: print(pushed))  # PyCUDA looks when the process ends
held = ThreadsContext(SimpleNamespace(push=lambda: pushed.append(1), pop=pushed.pop))
held.enter()
assert pushed == [1]
"""
    asked = [sys.executable, "-c", text]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("size", [3000, 4096])
def test_a_launch_may_give_all_of_what_need_not_be_asked_for(cuda: FakeCuda, size: int):
    """It is 48 KiB less what the code states, which so must be nothing."""
    x = random.standard_normal((2, size)).astype(np.float32)
    result = tfc.jit(tnp.sort, backend="gpu")(x)
    assert 48 << 10 in [a[7] for name, a in cuda.calls if name == "cuLaunchKernel"]
    np.testing.assert_array_equal(np.asarray(result), np.sort(x))
