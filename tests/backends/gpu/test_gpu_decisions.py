"""Loops and branches that a GPU decides about: the same bits as by the host, in one launch."""

import gc
from collections import Counter
from typing import Any

import numpy as np
import pytest
from cuda_bindings import FakeCuda, installed

import tfc
import tfc.numpy as tnp
from tests.pycuda_stand_in import installed_pycuda
from tfc.backends.gpu.driver import using, with_pycuda
from tfc.backends.gpu.driver.interface import Decides
from tfc.backends.gpu.driver.loops import Loops
from tfc.backends.gpu.driver.with_cuda_bindings import BindingsDriver, open_driver
from tfc.backends.gpu.running import stretches
from tfc.backends.gpu.running.decisions import PTX
from tfc.errors import DriverError, TfcError
from tfc.testing.ptx import Fault
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints
from tfc.testing.ptx.driver import InterpretedDriver

random = np.random.default_rng(3)
X = np.float32([1, 5, 2, 4])
VERSIONS = {13000: Decides.SWITCH, 12040: Decides.IF_AND_WHILE, 12030: Decides.NOTHING}


def normal(*dims: int) -> np.ndarray:
    return random.standard_normal(dims).astype(np.float32)


def newton(a: Any) -> Any:
    """The inverse of what is almost the identity, and after how many rounds the products say so."""

    def goes_on(state: Any) -> Any:
        n, x = state
        return (tnp.sum((a @ x - tnp.eye(2)) ** 2) > 1e-6) & (n < 9)

    def body(state: Any) -> Any:
        n, x = state
        return n + 1, 2 * x - x @ a @ x

    return tfc.while_loop(goes_on, body, (0, tnp.eye(2)))


def halvings(x: Any) -> Any:
    """How many times an array was halved and reversed, and what it is then."""

    def body(state: Any) -> Any:
        n, x = state
        return n + 1, x[::-1] / 2

    return tfc.while_loop(lambda s: tnp.sum(s[1]) > 1, body, (0, x))


def branch_in_scan(xs: Any, h: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = tfc.cond(tnp.sum(x) > 0, lambda h: h[::-1] + x, lambda h: h - tnp.sort(x), h)
        return h, h

    return tfc.scan(step, h, xs)


def loops_in_branches_in_loops(way: Any, x: Any) -> Any:
    def halved(x: Any) -> Any:
        return tfc.while_loop(lambda x: tnp.sum(x) > 9, lambda x: x[::-1] // 2, x)

    def body(state: Any) -> Any:
        n, x = state
        branches = [lambda x: x[::-1] + n, halved, lambda x: x]
        return n + 1, tfc.switch(way + n, branches, x) + 7

    return tfc.while_loop(lambda s: (s[0] < 5) & (s[1][0] < 99), body, (0, x))


def never(x: Any) -> Any:
    """A loop without a round, whose condition is no matter of one element."""
    return tfc.while_loop(lambda x: tnp.sum(x) > 1e9, lambda x: x[::-1] * 2, x)


PROGRAMS = {
    "newton": (newton, (np.float32([[1.05, 0.02], [-0.03, 0.98]]),)),
    "branch in scan": (branch_in_scan, (normal(3, 6), normal(6))),
    "first branch": (loops_in_branches_in_loops, (np.int32(-3), np.int32([5, 9, 70]))),
    "last branch": (loops_in_branches_in_loops, (np.int32(7), np.int32([5, 9, 70]))),
    "never": (never, (normal(6),)),
}


def run_often(version: int, f: Any, arguments: Any) -> Any:
    """The leaves of each of four calls, and the functions of the driver that the last asks for."""
    with installed() as cuda, using(open_driver()) as driver:
        cuda.version = version
        assert driver.decides is VERSIONS[version]
        placed = [tfc.device_put(a) for a in arguments]
        given = []
        for _ in range(3):
            result = f(*placed)
            given.append([np.asarray(a) for a in tfc.tree.leaves(tfc.device_get(result))])
            del result
        cuda.calls.clear()
        result = f(*placed)
        asked = Counter(cuda.names())
        given.append([np.asarray(a) for a in tfc.tree.leaves(tfc.device_get(result))])
        del result
        gc.collect()
        return given, asked


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if n in ("first branch", "never") else pytest.mark.slow)
        for n in PROGRAMS
    ],
)
def test_whoever_decides_the_bits_are_the_same_and_graphs_are_one_launch(name: str):
    function, arguments = PROGRAMS[name]
    expected = [np.asarray(a) for a in tfc.tree.leaves(tfc.jit(function)(*arguments))]
    first, f = None, tfc.jit(function, backend="gpu")
    for version, decides in VERSIONS.items():
        given, asked = run_often(version, f, arguments)
        first = first or given[0]
        for leaves in given:
            for leaf, same, right in zip(leaves, first, expected, strict=True):
                assert leaf.tobytes() == same.tobytes()
                np.testing.assert_allclose(leaf, right, rtol=1e-5, atol=1e-6)
        if decides:
            assert asked == {"cuGraphLaunch": 1}
        else:
            assert asked["cuMemcpyDtoHAsync"] > 0


def test_a_host_that_decides_waits_for_one_event_a_turn():
    def counted(x: Any) -> Any:
        def body(state: Any) -> Any:
            n, x = state
            return n + 1, x[::-1] * 2

        return tfc.while_loop(lambda s: (s[0] < 9) & (tnp.sum(s[1]) < 1e30), body, (0, x))

    _, asked = run_often(12030, tfc.jit(counted, backend="gpu"), (np.ones(6, np.float32),))
    # One graph computes a round and whether there is another; the first has nothing before it.
    assert asked.pop("cuGraphLaunch") + asked.pop("cuLaunchKernel", 0) <= 11
    assert asked == {"cuMemcpyDtoHAsync": 10, "cuEventRecord": 10, "cuEventSynchronize": 10}


@pytest.mark.slow
def test_graphs_have_as_many_nodes_as_they_may(monkeypatch: pytest.MonkeyPatch):
    """A repetition of loops is several graphs; a loop that is too large is the host's."""
    f, x = tfc.jit(repeated_loops, backend="gpu"), normal(6)
    expected, _ = run_often(13000, f, [x])
    for most in (24, 4):
        monkeypatch.setattr(stretches, "MOST_NODES", most)
        given, asked = run_often(13000, f, [x])
        for leaves in given:
            np.testing.assert_array_equal(leaves[0], expected[0][0])
        assert asked["cuGraphLaunch"] > 1
        assert ("cuMemcpyDtoHAsync" in asked) == (most == 4)


def repeated_loops(x: Any) -> Any:
    def turn(i: Any, x: Any) -> Any:
        x = tfc.while_loop(lambda x: tnp.sum(x) < 50, lambda x: x[::-1] + 3, x)
        return x[::-1] - tnp.sum(x)

    return tfc.fori_loop(0, 5, turn, x)


@pytest.mark.slow
def test_pycuda_has_no_conditions_and_its_host_decides():
    with installed_pycuda(), using(with_pycuda.open_driver()) as driver:
        assert driver.decides is Decides.NOTHING
        function, arguments = PROGRAMS["branch in scan"]
        f: Any = tfc.jit(function, backend="gpu")
        for _ in range(3):
            for got, right in zip(tfc.device_get(f(*arguments)), tfc.jit(function)(*arguments)):
                np.testing.assert_allclose(got, np.asarray(right), rtol=1e-5)
        gc.collect()


def test_a_driver_that_gives_no_condition_decides_nothing():
    with installed() as cuda:
        cuda.failing["cuGraphConditionalHandleCreate"] = 801
        assert open_driver().decides is Decides.NOTHING


def test_host_calls_in_a_round_keep_the_loop_on_the_host():
    seen: list[int] = []

    def body(x: Any) -> Any:
        tfc.debug.callback(lambda v: seen.append(int(v[0])), x)
        return x[::-1] + 1

    def function(x: Any) -> Any:
        return tfc.while_loop(lambda x: tnp.sum(x) < 20, body, x)

    with using(InterpretedDriver()):
        f: Any = tfc.jit(function, backend="gpu")
        for _ in range(3):
            assert int(np.sum(f(np.int32([1, 2, 3])))) == 21
    assert len(seen) == 3 * 5


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_assembler_takes_what_decides(architecture: str):
    assert complaints(PTX, architecture, ["-warn-spills", "-Werror"]) == ""


@pytest.mark.parametrize(
    ("kernel", "numbers", "chosen"),
    [
        ("choose", (0, 2), {True: 0, False: 1}),
        ("choose", (1, 3), {-(2**31): 2, -1: 2, 0: 0, 1: 1, 2: 2, 3: 2, 2**31 - 1: 2}),
        ("choose", (1, 1), {-1: 0, 0: 0, 1: 0}),
        ("is_chosen", (0, 2, 1), {True: 0, False: 1}),
        ("is_chosen", (1, 3, 2), {-1: 1, 0: 0, 1: 0, 2: 1, 3: 1}),
    ],
)
def test_an_index_beyond_the_branches_means_the_last(
    kernel: str, numbers: tuple[int, ...], chosen: dict[int, int]
):
    driver = InterpretedDriver()
    module = driver.load(PTX.encode())
    place = driver.allocate(4)
    machine = driver._machine
    for value, expected in chosen.items():
        driver.write(place, np.array(value, np.int32 if numbers[0] else np.bool_))
        machine.conditions.begin({5: None})
        driver.launch(driver.function(module, kernel), (1, 1, 1), (1, 1, 1), [5, place, *numbers])
        assert machine.conditions.value(5) == expected


@pytest.fixture(scope="module")
def halve() -> Any:
    """A program with a loop, on X."""
    return tfc.jit(halvings, backend="gpu")


def called_twice(f: Any, a: Any) -> list[np.ndarray]:
    """The results; the next call launches a graph."""
    found: list[np.ndarray] = []
    for _ in range(2):
        found = [np.asarray(x) for x in tfc.device_get(f(a))]
    return found


def test_what_is_wrong_in_a_round_is_said():
    def added(x: Any, y: Any) -> Any:
        return tfc.while_loop(lambda x: tnp.sum(x) < 50, lambda x: x[::-1] + y, x)

    f: Any = tfc.jit(added, backend="gpu")
    with using(InterpretedDriver()) as driver:
        x, y = tfc.device_put(X), tfc.device_put(X)
        for _ in range(3):
            np.testing.assert_array_equal(np.asarray(f(x, y)), [11, 19, 16, 14])
        y.memory._let_go = lambda address: None
        driver.free(y.memory.address)
        with pytest.raises(Fault, match="use-after-free"):
            f(x, y)


@pytest.mark.parametrize(
    "name", ["cuGraphAddNode", "cuStreamBeginCaptureToGraph", "cuGraphInstantiate"]
)
def test_a_recording_that_fails_is_given_up(halve: Any, name: str):
    with installed() as cuda, using(open_driver()):
        a = tfc.device_put(X)
        expected = [np.asarray(x) for x in tfc.device_get(halve(a))]
        gc.collect()
        cuda.failing[name] = 1
        with pytest.raises(DriverError, match=f"{name} of the CUDA driver failed: invalid"):
            halve(a)
        assert cuda._capture is None
        cuda.failing.clear()
        for got, right in zip(tfc.device_get(halve(a)), expected):
            np.testing.assert_array_equal(got, right)
        gc.collect()


class Endless:
    """A GPU on which a loop has not ended until the number is set that stops it; a signal comes
    while the host asks whether it has for the third time."""

    def __init__(self, cuda: FakeCuda, driver: BindingsDriver):
        self.stops: list[int] = []
        self.asked = 0
        memset = type(cuda).cuMemsetD32Async
        cuda.replaced["cuEventQuery"] = self.query

        def stop(target: int, value: int, count: int, stream: int) -> tuple[int]:
            assert target == driver.stop_address
            self.stops.append(value)
            memset(cuda, target, value, count, stream)
            return (0,)

        cuda.replaced["cuMemsetD32Async"] = stop

    def query(self, event: int) -> tuple[int]:
        """Whether an event has come."""
        self.asked += 1
        if self.asked == 3:
            raise KeyboardInterrupt
        return (0 if 1 in self.stops else 600,)


def test_a_signal_ends_the_wait_for_a_loop_and_the_loop(halve: Any):
    double: Any = tfc.jit(lambda x: x * 2, backend="gpu")
    with installed() as cuda, using(open_driver()) as driver:
        assert isinstance(driver, BindingsDriver)
        a = tfc.device_put(X)
        known = double(a)
        expected = called_twice(halve, a)
        endless = Endless(cuda, driver)
        result = halve(a)[1]
        doubled = double(result)
        with pytest.raises(KeyboardInterrupt):
            np.asarray(doubled)
        assert endless.stops == [1, 0]
        for array in (result, doubled):
            with pytest.raises(TfcError, match="was not computed to the end, since a loop"):
                np.asarray(array)
        np.testing.assert_array_equal(np.asarray(known), 2 * X)
        np.testing.assert_array_equal(np.asarray(halve(a)[1]), expected[1])
        gc.collect()


class Array:
    """What loops make."""

    is_deleted = False

    def delete(self, reason: str = "") -> None:
        """Note that it is of no use."""
        assert "interrupted" in reason
        self.is_deleted = True


def test_what_was_known_before_a_loop_was_stopped_stays():
    stops: list[int] = []
    loops = Loops(lambda: stops.append(1))
    arrays = [Array() for _ in range(3)]
    for array in arrays[:2]:
        loops.asked += 1
        loops.note([array], loops.stopped)
    before = loops.stopped
    loops.wait(lambda: True, 1)  # the first one's
    loops.stop()
    loops.note([arrays[2]], before)  # of a call that was under way
    assert [a.is_deleted for a in arrays] == [False, True, True]
    assert stops == [1]
    assert not loops.are_under_way


def test_a_loop_that_ends_is_waited_for(halve: Any):
    with installed() as cuda, using(open_driver()) as driver:
        a = tfc.device_put(X)
        expected = called_twice(halve, a)
        assert not driver.loops.are_under_way
        asked = [600] * 3 + [0]
        cuda.replaced["cuEventQuery"] = lambda event: (asked.pop(0),)
        result = halve(a)
        assert driver.loops.are_under_way
        np.testing.assert_array_equal(np.asarray(result[1]), expected[1])
        assert not asked
        assert not driver.loops.are_under_way
        del result
        cuda.failing["cuEventQuery"] = 719  # what a kernel did wrong shows when it is waited for
        with pytest.raises(DriverError, match="start it again"):
            np.asarray(halve(a)[1])
        cuda.failing.clear()
        gc.collect()


def test_the_binding_has_what_graphs_ask_for():
    """NVIDIA's own package, which needs no GPU as long as nothing is called."""
    from_nvidia = pytest.importorskip("cuda.bindings.driver")
    fake = FakeCuda()
    for name, values in vars(fake).items():
        if isinstance(values, type(fake.CUresult)):
            real = getattr(from_nvidia, name)
            for member, value in vars(values).items():
                assert int(getattr(real, member)) == value, f"{name}.{member}"
    functions = [n for n in vars(FakeCuda) if n.startswith("cu")]
    assert [n for n in functions if not hasattr(from_nvidia, n)] == []
    parameters = from_nvidia.CUgraphNodeParams()
    parameters.type = from_nvidia.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
    stated = parameters.conditional
    stated.handle = from_nvidia.CUgraphConditionalHandle(5)
    stated.type = from_nvidia.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_WHILE
    stated.size, stated.ctx = 1, from_nvidia.CUcontext(7)
    found = parameters.conditional
    assert (int(found.handle), int(found.type), found.size, int(found.ctx)) == (5, 1, 1, 7)
    assert hasattr(type(found), "phGraph_out")  # which must not be read before there is a node
    signature = next(
        (f.__doc__ or "").partition("\n")[0]
        for f in (getattr(from_nvidia, n, None) for n in ("cuGraphAddNode_v2", "cuGraphAddNode"))
        if f is not None
    )
    names = ["hGraph", "dependencies", "dependencyData", "numDependencies", "nodeParams"]
    assert [n for n in names if n not in signature] == []
