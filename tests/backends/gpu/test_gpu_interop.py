"""Arrays that other libraries have a part in, on a stand-in for cuda-bindings: who may write where,
in which order, and what is refused."""

import copy
import gc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from cuda_bindings import Elsewhere, FakeCuda, installed

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.driver import current_driver, using
from tfc.backends.gpu.driver.with_cuda_bindings import open_driver
from tfc.backends.gpu.running.stretches import MOST_GRAPHS, make_room
from tfc.errors import ShapeError, UnsupportedError
from tfc.runtime import dlpack
from tfc.runtime.overlaps import overlapping

X = np.arange(6, dtype=np.float32)


@pytest.fixture
def cuda() -> Iterator[FakeCuda]:
    """A stand-in whose driver programs run with."""
    with installed() as fake, using(open_driver()):
        yield fake
        gc.collect()


set_first = tfc.jit(lambda x, y: (x.at[0].set(100.0), y * 1), donate_argnums=0, backend="gpu")
double = tfc.jit(lambda x: x * 2, backend="gpu")


def test_donated_memory_in_which_another_argument_lies_is_not_written(cuda: FakeCuda):
    array = Elsewhere(cuda, X)
    last = Elsewhere(cuda, X[4:])
    last.__cuda_array_interface__["data"] = (array.address + 16, False)
    for x, y, expected in (
        (array, array, X),
        (tfc.device_put(array), tfc.device_put(array), X),
        (array, last, X[4:]),
        (last, array, X),
    ):
        np.testing.assert_array_equal(np.asarray(set_first(x, y)[1]), expected)


def test_what_overlaps_is_found_among_many_arrays():
    drawn = np.random.default_rng(7)
    for _ in range(200):
        places = [(int(a), int(n)) for a, n in drawn.integers([1, 0], [40, 8], (6, 2))]
        expected = {
            n for n, (a, size) in enumerate(places) for k, (b, other) in enumerate(places)
            if k != n and max(a, b) < min(a + size, b + other)
        }  # fmt: skip
        assert overlapping(places) == expected


def test_what_another_library_says_is_read_only_is_not_written(cuda: FakeCuda):
    array = Elsewhere(cuda, X)
    array.__cuda_array_interface__["data"] = (array.address, True)
    assert np.asarray(set_first(array, X)[0]).tolist() == [100, *X[1:]]
    assert cuda.machine.read(array.address, X.nbytes).view(np.float32).tolist() == X.tolist()


def test_donated_memory_is_written_after_what_streams_that_it_was_lent_to_still_read(
    cuda: FakeCuda,
):
    x, y = tfc.device_put(X), tfc.device_put(X)
    x.__dlpack__(stream=0x99)
    cuda.calls.clear()
    set_first(x, y)
    event = next(a[0] for name, a in cuda.calls if name == "cuEventRecord" and a[1] == 0x99)
    waited = cuda.calls.index(("cuStreamWaitEvent", (0x5EA, event, 0)))
    assert waited < cuda.names().index("cuLaunchKernel")


def test_another_thread_may_take_the_last_arena_at_any_time(cuda: FakeCuda):
    class TakenMeanwhile(list[Any]):
        """Has one when it is looked at, and none when it is to be taken."""

        def __len__(self) -> int:
            return 1

    executable: Any = tfc.jit(tnp.sort, backend="gpu").lower(X[::-1]).compile().executable
    executable(X[::-1])
    executable._loaded_on(current_driver())._arenas = TakenMeanwhile()
    np.testing.assert_array_equal(np.asarray(executable(X[::-1])[0]), X)


def test_threads_make_room_for_their_graphs_at_the_same_time():
    graphs: dict[tuple[int, ...], Any] = {}

    def add(thread: int) -> None:
        for number in range(50000):
            make_room(graphs)
            graphs[thread, number] = None

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(add, range(4)))
    finally:
        sys.setswitchinterval(before)
    assert len(graphs) <= MOST_GRAPHS + 4


@pytest.mark.parametrize("dims", [(3, 0), (0, 3), (0,)])
def test_an_array_of_no_elements_may_have_any_strides(cuda: FakeCuda, dims: tuple[int, ...]):
    empty = Elsewhere(cuda, np.zeros(dims, np.float32), strides=(4,) * len(dims))
    assert np.asarray(double(empty)).shape == dims


@pytest.mark.parametrize("kind", ["<c4", ">f4", "<M8[ns]", "<V2", "|O"])
def test_elements_that_are_none_of_tfcs_are_refused_by_name(cuda: FakeCuda, kind: str):
    array = Elsewhere(cuda, X, typestr=kind, shape=(3,))
    for take in (double, tfc.device_put):
        with pytest.raises(UnsupportedError, match=r"on a GPU of type .* has no counterpart"):
            take(array)


def test_memory_that_the_host_shares_is_read_on_the_gpu_too(cuda: FakeCuda):
    class Managed:
        """As CuPy's arrays are whose allocator gives such memory."""

        def __init__(self) -> None:
            self.array = tfc.device_put(X)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (13, 0)

        def __dlpack__(self, stream: int | None = None) -> Any:
            return self.array.__dlpack__(stream=stream)

    np.testing.assert_array_equal(np.asarray(double(Managed())), X * 2)


def test_who_asks_for_a_copy_may_write_there(cuda: FakeCuda):
    x = tfc.device_put(X)
    taken = dlpack.take(x.__dlpack__(stream=1, copy=True, dl_device=(2, 0), max_version=(1, 0)))
    cuda.machine.write(taken.address, X * 0)
    np.testing.assert_array_equal(np.asarray(x), X)
    taken.let_go()
    shared = dlpack.take(x.__dlpack__(stream=1, copy=False))
    assert shared.address == x.memory.address
    shared.let_go()
    with pytest.raises(BufferError, match=r"is not brought to \(1, 0\): take np.asarray"):
        x.__dlpack__(dl_device=(1, 0))


@pytest.mark.parametrize("version", [2, 3])
def test_an_array_without_a_stream_is_read_after_what_the_default_one_writes(
    cuda: FakeCuda, version: int
):
    array = Elsewhere(cuda, X, version=version)  # whose stream is None
    if version == 2:
        del array.__cuda_array_interface__["stream"]
    cuda.calls.clear()
    double(array)
    event = next(a[0] for name, a in cuda.calls if name == "cuEventRecord" and a[1] == 1)
    waited = cuda.calls.index(("cuStreamWaitEvent", (0x5EA, event, 0)))
    assert waited < cuda.names().index("cuLaunchKernel")


def test_an_array_in_the_memory_of_another_gpu_is_refused():
    two = FakeCuda()
    two.count = 2
    with installed(two) as cuda, using(open_driver(0)):
        here, there = Elsewhere(cuda, X), Elsewhere(cuda, X)
        cuda.elsewhere.add(there.address)
        np.testing.assert_array_equal(np.asarray(double(here)), X * 2)
        with pytest.raises(UnsupportedError, match="on GPU 1, and programs run on GPU 0"):
            double(there)
        gc.collect()


def test_an_executable_takes_arrays_of_other_libraries_too(cuda: FakeCuda):
    executable = tfc.compile(double.lower(X).hlo, backend="gpu")
    array = Elsewhere(cuda, X)
    cuda.calls.clear()
    np.testing.assert_array_equal(np.asarray(executable(array)[0]), X * 2)
    assert "cuMemcpyHtoDAsync" not in cuda.names()
    with pytest.raises(ShapeError, match=r"must be f32\[6\], got float32\[5\]"):
        executable(Elsewhere(cuda, X[:5]))


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy])
def test_a_copy_stays_as_it_is_when_the_array_is_donated(
    cuda: FakeCuda, made: Callable[[tfc.DeviceArray], tfc.DeviceArray]
):
    x = tfc.device_put(X)
    kept = made(x)
    assert np.asarray(set_first(x, X)[0])[0] == 100
    np.testing.assert_array_equal(np.asarray(kept), X)


def test_what_is_given_back_in_the_middle_of_a_recording_is_waited_for_after_it(cuda: FakeCuda):
    held: list[Any] = []
    begin = FakeCuda.cuStreamBeginCapture

    def begin_and_let_go(stream: int, mode: int) -> tuple[int]:
        begin(cuda, stream, mode)
        held.clear()
        gc.collect()  # as Python may at any time
        return (0,)

    lent, other = tfc.device_put(X), tfc.jit(lambda x: x - 1, backend="gpu")
    lent.__dlpack__(stream=0x99)
    cuda.replaced["cuStreamBeginCapture"] = begin_and_let_go
    held += [tfc.device_put(Elsewhere(cuda, X)), lent, other]
    other(lent)
    del lent, other
    f, x = tfc.jit(lambda x: (tnp.sort(x), tnp.sum(x)), backend="gpu"), tfc.device_put(X[::-1])
    for _ in range(6):
        ordered, total = f(x)
        np.testing.assert_array_equal(np.asarray(ordered), X)
        assert float(total) == X.sum()
    names = cuda.names()
    ends = names.index("cuStreamEndCapture")
    assert set(names[names.index("cuStreamBeginCapture") : ends]) <= {
        "cuStreamBeginCapture", "cuLaunchKernel", "cuMemcpyDtoDAsync"
    }  # fmt: skip
    assert {"cuEventSynchronize", "cuStreamWaitEvent", "cuModuleUnload"} <= set(names[ends:])
