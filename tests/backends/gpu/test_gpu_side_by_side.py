"""Equal kernels that do not need each other are one launch; others stay in their order."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.gpu.driver import using
from tfc.backends.gpu.side_by_side import SideBySide
from tfc.backends.gpu.steps import Copy, HostCall, Launch, Repeat, Step
from tfc.hlo import builder, evaluate, parse
from tfc.hlo.shape import F32, Shape
from tfc.passes.memory.buffers import Slice
from tfc.testing.ptx.driver import InterpretedDriver

random = np.random.default_rng(7)
BF16 = ml_dtypes.bfloat16


def whole(dtype: Any, *dims: int) -> np.ndarray:
    return random.integers(-3, 4, dims).astype(dtype)


def layers(x: Any, *weights: Any) -> list[Any]:
    """The queries, keys and values of x."""
    half = len(weights) // 2
    return [tnp.maximum(x @ w + b, 0) for w, b in zip(weights[:half], weights[half:])]


def updates(*arrays: Any) -> list[Any]:
    """A step of an optimizer: weights and their gradients."""
    half = len(arrays) // 2
    return [w - 0.5 * g * g for w, g in zip(arrays[:half], arrays[half:])]


def sums(*arrays: Any) -> list[Any]:
    return [tnp.sum(x, 0) for x in arrays]


def convolutions(x: Any, *kernels: Any) -> list[Any]:
    return [nn.conv(x, k, padding="SAME") for k in kernels]


def products(m: int, k: int, n: int, dtype: Any) -> list[np.ndarray]:
    x, weights = whole(dtype, m, k), [whole(dtype, k, n) for _ in range(3)]
    return [x, *weights, *(whole(dtype, n) for _ in range(3))]


# Function, arguments, architecture. The first two share sums among blocks, by clusters.
CASES: dict[str, tuple[Callable[..., Any], list[np.ndarray], str]] = {
    "clusters": (layers, products(20, 2048, 64, np.float32), "sm_90a"),
    "clusters that reduce": (sums, [whole(np.float32, 2000, 40) for _ in range(4)], "sm_90a"),
    "FFMA": (layers, products(33, 40, 70, np.float32), "sm_80"),
    "mma.sync": (layers, products(40, 64, 72, BF16), "sm_80"),
    "wgmma": (layers, products(200, 128, 256, BF16), "sm_90a"),
    "convolutions": (
        convolutions,
        [whole(BF16, 2, 9, 9, 64), *(whole(BF16, 3, 3, 64, 64) for _ in range(2))],
        "sm_90a",
    ),
    "updates": (updates, [whole(np.float32, 300, 100) for _ in range(10)], "sm_80"),
}


@pytest.mark.usefixtures("by_warpgroups")
@pytest.mark.parametrize("name", CASES)
def test_equal_kernels_are_one_launch(name: str):
    function, arguments, architecture = CASES[name]
    low = tfc.jit(function, backend="gpu").lower(*arguments)
    device = InterpretedDriver(architecture)
    with using(device):
        found = tfc.device_get(low.compile()(*arguments))
    ((launched, report),) = device.reports
    assert launched.endswith(f"_x{len(found)}")
    assert report.bank_conflicts == 0
    for got, wanted in zip(found, evaluate(low.hlo, *arguments)):
        np.testing.assert_array_equal(np.asarray(got), wanted)


def test_what_needs_an_equal_kernel_comes_after_it():
    w = whole(np.float32, 64, 64) / 64
    x = whole(np.float32, 64, 64)
    low = tfc.jit(lambda x, w: (x @ w) @ w, backend="gpu").lower(x, w)
    device = InterpretedDriver("sm_80")
    with using(device):
        found = tfc.device_get(low.compile()(x, w))
    assert len(device.reports) == 2
    np.testing.assert_allclose(found, x @ w @ w, rtol=1e-5)


def test_kernels_of_a_loops_turn_are_merged_and_turns_are_not():
    x, w = whole(np.float32, 16, 16), whole(np.float32, 2, 16, 16) / 8

    def turn(_: Any, state: Any) -> Any:
        a, b, v, w = state
        return a @ v, b @ w, v, w

    def function(x: Any, w: Any) -> Any:
        return tfc.fori_loop(0, 20, turn, (x, x + 1, *w))[:2]

    device = InterpretedDriver("sm_80")
    with using(device):
        found = tfc.device_get(tfc.jit(function, backend="gpu")(x, list(w)))
    assert sum(name.endswith("_x2") for name, _ in device.reports) == 20
    for got, start, weights in zip(found, (x, x + 1), w):
        wanted = start
        for _ in range(20):
            wanted = wanted @ weights
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_a_profile_has_each_of_them_with_its_share():
    arguments = products(33, 40, 70, np.float32)
    with using(InterpretedDriver("sm_80")):
        executable = tfc.jit(layers, backend="gpu").lower(*arguments).compile()
        times = executable.executable.timed()(*arguments)
    assert len({kernel.instruction for kernel in times.kernels}) == 3
    figures = [kernel.figures for kernel in times.kernels]
    assert [f == figures[0] for f in figures if f is not None] == [True] * 3
    spans = sorted(times.events, key=lambda event: event[1])
    assert all(one[2] <= other[1] for one, other in pairwise(spans))


def launch(reads: Sequence[Slice], writes: Slice, function: str = "f") -> Launch:
    """Of an instruction with one result."""
    instruction = builder.parameter(0, Shape(F32, (8,)), "x")
    return Launch(instruction, function, (*reads, writes), (3, 1, 1), (256, 1, 1))


def at(offset: int, size: int = 32) -> Slice:
    return Slice("arena", 0, offset, size)


A, B, C, D, E = (at(32 * n) for n in range(5))
FREE = launch([A], B)
ORDERS: dict[str, list[Step]] = {
    "it reads what is written": [FREE, launch([B], C)],
    "it writes what is read": [FREE, launch([C], A)],
    "it writes where the other does": [FREE, launch([C], at(16 + 32))],
    "what is between writes what it reads": [FREE, launch([A], C, "g"), launch([C], D)],
    "what is between reads what it writes": [FREE, launch([C], D, "g"), launch([E], C)],
    "a copy is between": [FREE, Copy(A, C, 32), launch([C], D)],
    "the host is between": [FREE, HostCall(FREE.instruction, lambda x: x[0], (), ()),
                            launch([C], D)],
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_launches_stay_in_order_where(name: str):
    steps = tuple(ORDERS[name])
    assert SideBySide(lambda _: True).steps(steps) == steps


def test_launches_go_past_others_to_equal_ones():
    merging = SideBySide(lambda _: True)
    apart = launch([A], E, "g")
    (together, after) = merging.steps((FREE, apart, launch([A], C)))
    assert isinstance(together, Launch)
    assert after is apart
    assert (together.function, together.blocks) == ("f_x2", (6, 1, 1))
    assert together.buffers == (A, B, A, C)
    assert merging.functions == {"f_x2": ("f", 2)}
    (loop,) = merging.steps((Repeat((FREE, launch([A], C)), 4),))
    assert isinstance(loop, Repeat)
    assert [step.function for step in loop.body if isinstance(step, Launch)] == ["f_x2"]


def test_there_is_a_limit_to_what_is_written_together_and_to_arguments():
    half = (4 << 20) + 32
    large = [launch([A], at(64 + n * half, half)) for n in range(2)]
    assert len(SideBySide(lambda _: True).steps(tuple(large))) == 2
    many = [launch([A], at(64 + 32 * n)) for n in range(20)]
    counts = [len(step.beside) + 1 for step in SideBySide(lambda _: True).steps(tuple(many))
              if isinstance(step, Launch)]  # fmt: skip
    assert counts == [8, 8, 4]


def test_each_of_two_draws_changes_the_state():
    module = parse("""ENTRY e {
      a = u64[2] rng-get-and-update-state(), delta=4
      b = u64[2] rng-get-and-update-state(), delta=4
      ROOT t = (u64[2], u64[2]) tuple(a, b)
    }""")
    with using(InterpretedDriver("sm_80")):
        first, second = (np.asarray(x) for x in tfc.compile(module, backend="gpu")())
    assert int(second[0]) - int(first[0]) == 4
