"""Loops and branches of GPU programs: what they give, and what the host is asked for meanwhile."""

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cuda_bindings import FakeCuda, installed

import tfc
import tfc.numpy as tnp
from tfc.backends.gpu.driver import using
from tfc.backends.gpu.driver.with_cuda_bindings import open_driver
from tfc.backends.gpu.executable import GpuExecutable
from tfc.backends.gpu.running import stretches
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.text.parser import parse
from tfc.testing.ptx.assembler import ARCHITECTURES, complaints
from tfc.testing.ptx.driver import InterpretedDriver

OPTIONS = ["-warn-spills", "-Werror"]
random = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def cuda() -> Iterator[FakeCuda]:
    """NVIDIA's driver, whose functions are counted; kernels run on the interpreter of PTX."""
    with installed() as fake, using(open_driver()):
        yield fake
        gc.collect()


def normal(*dims: int) -> np.ndarray:
    return random.standard_normal(dims).astype(np.float32)


def asked(cuda: FakeCuda, call: Callable[[], Any]) -> Counter[str]:
    """The functions of the driver that a call asks for which was made twice before."""
    call()
    call()
    cuda.calls.clear()
    call()
    return Counter(cuda.names())


def same(got: Any, expected: Any) -> None:
    """The leaves are equal to what another backend computes."""
    for a, b in zip(tfc.tree.leaves(tfc.device_get(got)), tfc.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, np.asarray(b), rtol=1e-5, atol=1e-6)


def long_turn(x: Any) -> Any:
    """What is too long to be repeated in the text, and is no matter of each element by itself."""
    for _ in range(65):
        x = (x * 3) ^ 5
    return x[::-1]


def lstm(xs: Any, h: Any, c: Any, w: Any, u: Any) -> Any:
    """States after each step, and the last ones."""

    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = tnp.split(x @ w + h @ u, 4, axis=-1)
        c = tfc.nn.sigmoid(f) * c + tfc.nn.sigmoid(i) * tnp.tanh(g)
        h = tfc.nn.sigmoid(o) * tnp.tanh(c)
        return (h, c), h

    return tfc.scan(step, (h, c), xs)


def recurrent(xs: Any, h: Any) -> Any:
    """The states after each step, whose elements are made of others."""

    def step(h: Any, x: Any) -> Any:
        h = x - h[::-1]
        return h, h

    return tfc.scan(step, h, xs)[1]


def lstm_arguments(steps: int) -> list[np.ndarray]:
    return [normal(steps, 1, 2), normal(1, 2), normal(1, 2), normal(2, 8), normal(2, 8)]


def test_a_scan_of_known_length_is_one_graph(cuda: FakeCuda):
    arguments = lstm_arguments(9)
    placed = [tfc.device_put(a) for a in arguments]
    f: Any = tfc.jit(lstm, backend="gpu")
    assert asked(cuda, lambda: f(*placed)) == {"cuGraphLaunch": 1}
    same(f(*placed), tfc.jit(lstm)(*arguments))


def test_turns_of_more_steps_than_a_graph_has_are_several_graphs(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stretches, "MOST_NODES", 16)
    arguments = normal(9, 2, 4), normal(2, 4)
    placed = [tfc.device_put(a) for a in arguments]
    f: Any = tfc.jit(recurrent, backend="gpu")
    counted = asked(cuda, lambda: f(*placed))
    assert set(counted) == {"cuGraphLaunch"}  # nothing is read, and nothing waited for
    assert counted["cuGraphLaunch"] == 4  # what is before it, and three times three turns of 5
    same(f(*placed), tfc.jit(recurrent)(*arguments))


def test_a_counter_that_only_tells_the_end_is_not_counted(cuda: FakeCuda):
    def function(x: Any) -> Any:
        return tfc.fori_loop(0, 9, lambda i, x: x[::-1], x)

    f: Any = tfc.jit(function, backend="gpu")
    x = normal(5)
    assert launches(cuda, lambda: same(f(x), x[::-1])) == 9


def test_loops_in_counted_loops_are_counted_too(cuda: FakeCuda):
    def function(x: Any) -> Any:
        def inner(i: Any, x: Any) -> Any:
            return long_turn(x) + i

        def outer(i: Any, x: Any) -> Any:
            return tfc.fori_loop(0, 2, inner, x) - i

        return tfc.fori_loop(0, 3, outer, x)

    x = np.array([3, 5], np.int32)
    placed = tfc.device_put(x)
    f: Any = tfc.jit(function, backend="gpu")
    assert asked(cuda, lambda: f(placed)) == {"cuGraphLaunch": 1}
    same(f(placed), tfc.jit(function)(x))


LYING = """HloModule lying
less { a = s32[] parameter(0)
    b = s32[] parameter(1)
    ROOT l = pred[] compare(a, b), direction=LT }
c { s = (s32[], s32[3]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    n = s32[] constant(4)
    ROOT t = pred[] compare(i, n), direction=LT }
b { s = (s32[], s32[3]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    x = s32[3] get-tuple-element(s), index=1
    j = s32[] add(i, i)
    y = s32[3] sort(x), dimensions={0}, to_apply=less
    z = s32[3] reverse(y), dimensions={0}
    ROOT r = (s32[], s32[3]) tuple(j, z) }
ENTRY main { n = s32[] parameter(0)
    x = s32[3] parameter(1)
    s = (s32[], s32[3]) tuple(n, x)
    ROOT w = (s32[], s32[3]) while(s), condition=c, body=b,
      backend_config={"known_trip_count":{"n":"9"},"trip_count_is_proved":true} }
"""


def test_a_count_that_the_text_claims_is_not_believed():
    module = parse(LYING)
    arguments = [np.array(1, np.int32), np.array([3, 1, 2], np.int32)]
    compiled = tfc.compile(module, backend="gpu")
    for got, expected in zip(tfc.device_get(compiled(*arguments)), evaluate(module, *arguments)):
        np.testing.assert_array_equal(got, expected)


def launches(cuda: FakeCuda, call: Callable[[], Any]) -> int:
    """How many kernels a first call runs."""
    cuda.calls.clear()
    call()
    return cuda.names().count("cuLaunchKernel")


def compared(function: Callable[..., Any], *arguments: Any) -> Any:
    """A program on the GPU, after what it gives was compared with what the CPU gives."""
    f: Any = tfc.jit(function, backend="gpu")
    same(f(*arguments), tfc.jit(function)(*arguments))
    return f


def test_the_turns_of_each_element_are_taken_by_one_thread(cuda: FakeCuda):
    def mandelbrot(c: Any, count: Any) -> Any:
        def body(state: Any) -> Any:
            i, z, escaped = state
            z = tnp.where(tnp.abs(z) < 2, z * z + c, z)
            return i + 1, z, escaped + (tnp.abs(z) >= 2)

        start = 0, tnp.zeros_like(c), tnp.zeros(c.shape, np.int32)
        return tfc.while_loop(lambda s: s[0] < count, body, start)[1:]

    c = (normal(3, 5) + 1j * normal(3, 5)).astype(np.complex64)
    for count in (0, 1, 12):
        f = compared(mandelbrot, c, np.int32(count))
        assert launches(cuda, lambda f=f, n=count: f(c, np.int32(n))) == 1


def test_a_loop_of_scalars_is_one_thread(cuda: FakeCuda):
    def collatz(n: Any) -> Any:
        def body(state: Any) -> Any:
            n, count = state
            return tnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return tfc.while_loop(lambda s: s[0] != 1, body, (n, 0))

    for start in (1, 2, 27):
        f = compared(collatz, np.int32(start))
        assert launches(cuda, lambda f=f, n=start: f(np.int32(n))) == 1
    (launch,) = (a for name, a in cuda.calls if name == "cuLaunchKernel")
    assert launch[1:4] == (1, 1, 1)


def test_scalars_and_arrays_of_a_loop_may_both_be_wanted():
    def function(x: Any, limit: Any) -> Any:
        def body(state: Any) -> Any:
            total, x, y = state
            return total * 1.5, y, x + total

        return tfc.while_loop(lambda s: s[0] < limit, body, (limit / 20, x, x * 2))

    compared(function, normal(300), np.float32(7))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_without_products_is_one_kernel(cuda: FakeCuda, reverse: bool):
    def average(xs: Any, h: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = 0.9 * h + x
            return h, (h * 2, tnp.sum(xs[0]) + x > 0)

        return tfc.scan(step, h, xs, reverse=reverse)

    arguments = normal(9, 3, 5), normal(3, 5)
    compared(average, *arguments)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex128", "int8",
                                   "uint64", "bool", "float8_e4m3fn", "int4"])  # fmt: skip
def test_numbers_of_all_types_are_kept_from_turn_to_turn(dtype: str):
    def function(x: Any, y: Any) -> Any:
        def body(i: Any, state: Any) -> Any:
            x, y = state
            return y, (x ^ y if dtype == "bool" else x + y)

        return tfc.fori_loop(0, 9, body, (x, y))

    x, y = (np.arange(5).astype(tnp.dtype(dtype)) for _ in "xy")
    got = tfc.jit(function, backend="gpu")(x, y)
    for a, b in zip(tfc.device_get(got), tfc.jit(function)(x, y)):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_assembler_takes_whole_loops_and_spills_nothing(architecture: str):
    def function(xs: Any, h: Any) -> Any:
        return tfc.scan(lambda h, x: (h * 0.9 + tnp.exp(x), h * x), h, xs)

    arguments = np.zeros((12, 300), np.float16), np.zeros(300, np.float16)
    executable = tfc.jit(function, backend="gpu").lower(*arguments).compile().executable
    assert isinstance(executable, GpuExecutable)
    assert complaints(executable.code(architecture), architecture, OPTIONS) == ""


def test_an_array_that_a_loop_is_given_may_become_what_it_gives(cuda: FakeCuda):
    def function(rows: Any, x: Any) -> Any:
        def body(i: Any, state: Any) -> Any:
            rows, x = state
            return rows.at[i + 1].set(x), x * 0.5

        return tfc.fori_loop(0, 9, body, (rows, x))

    rows, x = normal(12, 40), normal(40)
    expected = tfc.jit(function)(rows, x)
    f: Any = tfc.jit(function, backend="gpu", donate_argnums=(0, 1))
    placed = [tfc.device_put(a) for a in (rows, x)]
    cuda.calls.clear()
    got = f(*placed)
    assert [n for n in cuda.names() if n in ("cuLaunchKernel", "cuMemcpyDtoDAsync")] == [
        "cuLaunchKernel"
    ]
    same(got, expected)


def stored(function: Callable[..., Any], *arguments: Any, **options: Any) -> dict[str, list[int]]:
    """The bytes that each run of each kernel stores, by the root that the kernel is named after."""
    driver = InterpretedDriver()
    with using(driver):
        f: Any = tfc.jit(function, backend="gpu", **options)
        same(f(*[tfc.device_put(a) for a in arguments]), tfc.jit(function)(*arguments))
        found: dict[str, list[int]] = {}
        for name, report in driver.reports:
            found.setdefault(name.rstrip("_0123456789"), []).append(report.stores.bytes)
        return found


def test_a_turn_of_a_scan_writes_its_slice_of_the_results_alone():
    written = stored(recurrent, normal(9, 2, 8), normal(2, 8))
    assert written["dynamic_update_slice"] == [2 * 8 * 4] * 9


def test_a_scan_in_one_kernel_writes_each_result_once():
    def sums(xs: Any, h: Any) -> Any:
        return tfc.scan(lambda h, x: (h + x, h * x), h, xs)

    written = stored(sums, normal(9, 40), normal(40))
    assert written["while"][-1] == 9 * 40 * 4 + 40 * 4


def test_of_a_donated_array_only_what_changes_is_written():
    def put(cache: Any, x: Any, i: Any) -> Any:
        return cache.at[i].set(x)

    arguments = normal(64, 8), normal(8), np.int32(5)
    assert stored(put, *arguments, donate_argnums=0) == {"dynamic_update_slice": [8 * 4]}


@pytest.mark.parametrize("way", [-1, 0, 1, 2])
def test_branches_and_loops_lie_in_each_other(way: int):
    def function(way: Any, x: Any) -> Any:
        counted = lambda x: tfc.fori_loop(0, 9, lambda i, x: x[::-1] + i, x)  # noqa: E731
        decided = lambda x: tfc.while_loop(  # noqa: E731
            lambda x: (x[0] < 40) & (x[1] > -40), lambda x: x[::-1] * 3 - 1, x
        )
        apart = lambda x: tfc.fori_loop(0, 9, lambda i, x: x * 2 - i, x)  # noqa: E731

        def turn(i: Any, x: Any) -> Any:
            return tfc.switch(way + i % 2, [counted, decided, apart], x)[::-1]

        return tfc.fori_loop(0, 9, turn, x)

    compared(function, np.int32(way), np.array([3, -5, 7], np.int32))
