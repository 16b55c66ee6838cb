"""Kernels that go along rows: how many there are, what they read, and what they compute."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from row_programs import FLOATS, row_program

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.backends.gpu import compiler
from tfc.backends.gpu.rows import row_kernels
from tfc.testing.fuzz import outcome_of_program
from tfc.testing.generators.values import arguments_for
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import InterpretedDriver, device_for_tests

random = np.random.default_rng(12)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[InterpretedDriver]:
    with device_for_tests() as driver:
        yield driver


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = tnp.mean(x, -1, keepdims=True)
    variance = tnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) / tnp.sqrt(variance + 1e-5) * scale + shift


def rms_norm(x: Any, scale: Any) -> Any:
    return x / tnp.sqrt(tnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def entropy(x: Any, labels: Any) -> Any:
    return -tnp.take_along_axis(nn.log_softmax(x, -1), labels[:, None], 1)[:, 0]


def normals(*shapes: tuple[int, ...]) -> Callable[[], list[np.ndarray]]:
    return lambda: [random.standard_normal(s).astype(np.float32) for s in shapes]


def labelled(rows: int, length: int) -> Callable[[], list[np.ndarray]]:
    return lambda: [*normals((rows, length))(), random.integers(0, length, rows)]


# The function, its arguments, and how many times its first one is as much as it may read.
ONE_KERNEL = {
    "softmax": (lambda x: nn.softmax(x, -1), normals((16, 512)), 1),
    "softmax of short rows": (lambda x: nn.softmax(x, -1), normals((300, 16)), 1.01),
    "log_softmax": (lambda x: nn.log_softmax(x, -1), normals((6, 1000)), 1.25),
    "layer norm": (layer_norm, normals((8, 768), (768,), (768,)), 3),
    "rms norm": (rms_norm, normals((8, 768), (768,)), 2),
    "cross entropy": (entropy, labelled(16, 256), 1.1),
    "gradient of cross entropy": (
        tfc.grad(lambda x, labels: tnp.sum(entropy(x, labels))), labelled(16, 256), 1.1,
    ),
    "gradient of softmax": (
        lambda x, g: tfc.vjp(lambda x: nn.softmax(x, -1), x)[1](g)[0],
        normals((8, 512), (8, 512)), 2,
    ),
    "rows in halves": (
        lambda x: nn.softmax(tnp.astype(x, tnp.bfloat16), -1), normals((4, 2048)), 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_rows_are_one_kernel_that_reads_its_input_once(device: Any, name: str):
    function, draw, times = ONE_KERNEL[name]
    arguments = draw()
    device.reports.clear()
    jitted = tfc.jit(function, backend="gpu")
    found = tfc.device_get(jitted(*arguments))
    expected = tfc.jit(function)(*arguments)
    if "halves" in name:
        found, expected = (np.asarray(v).astype(np.float32) for v in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    ((_, report),) = device.reports
    assert report.loads.transactions <= times * arguments[0].nbytes / 32
    assert report.bank_conflicts == 0
    text = jitted.lower(*arguments).compile().as_text("ptx")
    assert complaints(text, "sm_80") == ""


@pytest.mark.parametrize(
    ("dtype", "length", "size"),
    [
        (np.float32, 1024, 16), (np.float16, 1024, 16), (ml_dtypes.bfloat16, 2048, 16),
        (np.float16, 768, 8), (np.float32, 514, 8), (np.float32, 333, 4),
    ],
)  # fmt: skip
def test_rows_are_read_and_stored_in_pieces_that_all_threads_have(
    device: Any, dtype: Any, length: int, size: int
):
    x = random.standard_normal((6, length)).astype(dtype)
    device.reports.clear()
    found = np.asarray(tfc.jit(nn.softmax, backend="gpu")(x)).astype(np.float32)
    expected = np.asarray(tfc.jit(nn.softmax)(x)).astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol=2e-5 if dtype == np.float32 else 1e-2)
    ((_, report),) = device.reports
    assert report.stores.bytes == x.nbytes
    assert report.stores.bytes / report.stores.accesses == size
    assert report.loads.bytes / report.loads.accesses == size


def test_the_gradients_of_a_layer_norm_are_a_kernel_of_rows_and_one_of_columns(device: Any):
    arguments = normals((24, 200), (200,), (200,))()

    def loss(x: Any, scale: Any, shift: Any) -> Any:
        return tnp.sum(layer_norm(x, scale, shift) ** 2)

    function = tfc.grad(loss, (0, 1, 2))
    device.reports.clear()
    found = tfc.device_get(tfc.jit(function, backend="gpu")(*arguments))
    for got, expected in zip(found, tfc.jit(function)(*arguments)):
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)
    assert len(device.reports) == 2


def test_few_rows_that_no_block_can_hold_are_reductions_of_their_own(device: Any):
    x = random.standard_normal((2, 9000)).astype(np.float32)
    device.reports.clear()
    found = tfc.device_get(tfc.jit(lambda x: nn.softmax(x, -1), backend="gpu")(x))
    exact = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(found, exact / exact.sum(1, keepdims=True), rtol=1e-5)
    assert len(device.reports) > 1


@pytest.mark.parametrize("name", ["softmax", "layer norm", "gradient of cross entropy"])
def test_many_of_them_are_one_kernel_that_reads_its_input_for_each_step(
    name: str, device: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(row_kernels, "_LEAST_ROWS", 2)
    rows, length = 2, 9001
    draw = {"softmax": normals((rows, length)), "gradient of cross entropy": labelled(rows, length)}
    arguments = draw.get(name, normals((rows, length), (length,), (length,)))()
    function = ONE_KERNEL[name][0]
    device.reports.clear()
    found = tfc.device_get(tfc.jit(function, backend="gpu")(*arguments))
    np.testing.assert_allclose(found, tfc.jit(function)(*arguments), rtol=2e-5, atol=2e-6)
    ((_, report),) = device.reports
    steps = 3 if name == "softmax" else 5 if name == "layer norm" else 4
    assert report.loads.bytes <= steps * arguments[0].nbytes
    assert report.bank_conflicts == 0


@pytest.fixture
def short_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of more than 16 elements are long ones, however few."""
    monkeypatch.setattr(row_kernels, "LONGEST", 16)
    monkeypatch.setattr(row_kernels, "_LEAST_ROWS", 1)
    kinds = replace(compiler.KERNEL_KINDS, longest_row=16)
    monkeypatch.setattr(compiler, "KERNEL_KINDS", kinds)


@pytest.mark.slow
@pytest.mark.usefixtures("short_registers")
@pytest.mark.parametrize("part", range(3))
def test_random_programs_of_long_rows(part: int):
    """Of several results and steps, and in place."""
    check_programs(range(part * 15, part * 15 + 15))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_programs_of_rows(part: int):
    check_programs(range(part * 15, part * 15 + 15))


def check_programs(numbers: range) -> None:
    wrong = []
    for number in numbers:
        module = row_program(number, FLOATS[number % 4])
        kind = ("normal", "whole", "special")[number % 3]
        arguments = arguments_for(module, np.random.default_rng(number), kind)
        outcome = outcome_of_program(module, arguments, "gpu")
        if outcome.wrong or outcome.refused:
            wrong.append((number, outcome.wrong or outcome.refused))
    assert wrong == []
