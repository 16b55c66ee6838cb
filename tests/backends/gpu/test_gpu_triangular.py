"""Cholesky and triangular-solve: their values beside NumPy's, and what they ask of the GPU."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import tfc
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.ptx.assembler import complaints
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(29)
EPSILON = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-5, "c64": 1e-5, "f64": 1e-13, "c128": 1e-13}


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


def drawn(element: str, dims: Sequence[int]) -> np.ndarray:
    values = random.standard_normal(dims)
    if element.startswith("c"):
        values = values + 1j * random.standard_normal(dims)
    return values.astype(ELEMENT_TYPES[element].dtype)


def positive(element: str, dims: Sequence[int], lower: bool) -> np.ndarray:
    """Positive definite matrices, whose other triangle is NaN."""
    wide = np.complex128 if element.startswith("c") else np.float64
    x = drawn(element, dims).astype(wide)
    size = dims[-1]
    x = x @ np.conj(np.swapaxes(x, -1, -2)) + size * np.eye(size)
    unread = np.triu(np.ones((size, size), bool), 1)
    x[..., unread if lower else unread.T] = np.nan
    return x.astype(ELEMENT_TYPES[element].dtype)


def factor_module(element: str, dims: Sequence[int], lower: bool) -> tfc.hlo.Module:
    shape = f"{element}[{','.join(map(str, dims))}]"
    return parse(
        f"HloModule m\nENTRY e {{ a = {shape} parameter(0)\n"
        f"ROOT y = {shape} cholesky(a), lower={str(lower).lower()} }}"
    )


def solve_module(
    element: str, dims: Sequence[int], left: bool, lower: bool, unit: bool, transpose: str
) -> tfc.hlo.Module:
    size = dims[-2 if left else -1]
    a = f"{element}[{','.join(map(str, (*dims[:-2], size, size)))}]"
    b = f"{element}[{','.join(map(str, dims))}]"
    states = [f"left_side={left}", f"lower={lower}", f"unit_diagonal={unit}"]
    return parse(
        f"HloModule m\nENTRY e {{ a = {a} parameter(0)\n b = {b} parameter(1)\n"
        f"ROOT y = {b} triangular-solve(a, b), {', '.join(states).lower()}, "
        f"transpose_a={transpose} }}"
    )


def triangular(
    element: str, dims: Sequence[int], left: bool, lower: bool, unit: bool
) -> np.ndarray:
    """Well-conditioned triangles; what is not to be read is NaN."""
    size = dims[-2 if left else -1]
    wide = np.complex128 if element.startswith("c") else np.float64
    a = drawn(element, (*dims[:-2], size, size)).astype(wide) / max(size, 1) + 2 * np.eye(size)
    if unit:
        a[..., np.eye(size, dtype=bool)] = np.nan
    unread = np.triu(np.ones((size, size), bool), 1)
    a[..., unread if lower else unread.T] = np.nan
    return a.astype(ELEMENT_TYPES[element].dtype)


def check(module: tfc.hlo.Module, element: str, *arrays: np.ndarray) -> Any:
    executable = tfc.compile(module, backend="gpu")
    (got,), wanted = executable(*arrays), np.asarray(evaluate(module, *arrays))
    wide = np.complex128 if element.startswith("c") else np.float64
    got, wanted = np.asarray(got).astype(wide), wanted.astype(wide)
    scale = np.abs(np.nan_to_num(wanted)).max(initial=1)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=EPSILON[element] * scale)
    return executable


FACTORS = [
    ("f32", (1, 1)), ("f32", (2, 3, 3)), ("f64", (32, 32)), ("f32", (0, 4, 4)), ("f32", (33, 33)),
    ("f16", (5, 5)), ("bf16", (40, 40)), ("c128", (17, 17)), ("f32", (0, 0)), ("f32", (2, 2)),
    ("f64", (4, 4)), ("f64", (3, 2, 16, 16)),
    pytest.param("c64", (2, 37, 37), marks=pytest.mark.slow),
    pytest.param("f64", (2, 67, 67), marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(("element", "dims"), FACTORS)
def test_factors_are_those_of_the_evaluator(element: str, dims: Sequence[int], lower: bool):
    check(factor_module(element, dims, lower), element, positive(element, dims, lower))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(("size", "at"), [(1, 0), (20, 0), (20, 19), (70, 3), (70, 40), (70, 69)])
def test_of_a_matrix_that_is_not_positive_definite_all_is_nan(size: int, at: int, lower: bool):
    a = np.stack([positive("f32", (size, size), lower) for _ in range(2)])
    a[1, at, at] = -1
    module = factor_module("f32", a.shape, lower)
    (found,) = tfc.compile(module, backend="gpu")(a)
    got = np.asarray(found)
    assert np.isfinite(got[0]).all()
    assert np.isnan(got[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize(("left", "lower"), list(product([True, False], repeat=2)))
def test_every_way_to_state_a_system_is_solved(left: bool, lower: bool, transpose: str):
    dims = (2, 37, 5) if left else (2, 5, 37)
    a = triangular("c64", dims, left, lower, False)
    module = solve_module("c64", dims, left, lower, False, transpose)
    check(module, "c64", a, drawn("c64", dims))


SYSTEMS = [
    ("f32", (1, 1)), ("f32", (5, 1)), ("f64", (32, 7)), ("f32", (33, 1)), ("f16", (40, 3)),
    ("bf16", (3, 4)), ("f64", (2, 67, 35)), ("c128", (2, 33, 33)), ("f32", (0, 3, 3)),
    ("f32", (3, 0)), ("f32", (0, 3)), ("f32", (2, 2, 3, 50)), ("f32", (2, 100, 2)),
    ("f32", (2, 2)), ("f64", (4, 2)), ("f32", (8, 4)),
]  # fmt: skip


UNITS = [True, pytest.param(False, marks=pytest.mark.slow)]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("element", "dims"), SYSTEMS)
def test_systems_of_all_sizes_are_solved(element: str, dims: Sequence[int], unit: bool):
    a = triangular(element, dims, True, True, unit)
    module = solve_module(element, dims, True, True, unit, "NO_TRANSPOSE")
    check(module, element, a, drawn(element, dims))


def test_a_matrix_of_one_tile_is_read_and_written_once_in_one_launch(device: Any):
    module = factor_module("f64", (32, 32), True)
    device.reports.clear()
    check(module, "f64", positive("f64", (32, 32), True))
    ((_, report),) = device.reports
    assert report.loads.bytes == 8 * 32 * 33 // 2  # the triangle alone
    assert report.stores.transactions == 32 * 32 // 4
    assert report.bank_conflicts == 0


def test_launches_are_two_for_each_32_columns_of_a_factor(device: Any):
    module = factor_module("f32", (96, 96), False)
    device.reports.clear()
    check(module, "f32", positive("f32", (96, 96), False))
    assert len(device.reports) == 3 + 2 + 1  # panels, updates, and what is zero
    assert sum(r.bank_conflicts for _, r in device.reports) == 0


WAYS = list(product([True, False], ["TRANSPOSE", "ADJOINT"]))


@pytest.mark.parametrize(("left", "transpose"), WAYS)
def test_launches_are_one_for_each_32_unknowns(device: Any, left: bool, transpose: str):
    dims = (96, 32) if left else (32, 96)
    module = solve_module("f32", dims, left, True, False, transpose)
    device.reports.clear()
    check(module, "f32", triangular("f32", dims, left, True, False), drawn("f32", dims))
    assert len(device.reports) == 3
    assert sum(r.bank_conflicts for _, r in device.reports) == 0
    # Every sector that is read or written is used whole but for edges of the triangle.
    for _, report in device.reports:
        assert report.loads.transactions <= report.loads.ideal * 1.5
        assert report.stores.transactions == report.stores.ideal


@pytest.mark.slow
@pytest.mark.parametrize("element", ["f32", "c128"])
def test_nvidia_s_assembler_takes_the_code(element: str):
    modules = (
        factor_module(element, (70, 70), False),
        solve_module(element, (70, 40), True, True, False, "ADJOINT"),
    )
    for module in modules:
        text = tfc.compile(module, backend="gpu").as_text("ptx")
        assert complaints(text, "sm_80") == complaints(text, "sm_90a") == ""


@pytest.mark.slow
@pytest.mark.parametrize("element", ["f16", "bf16", "f64", "c64"])
@pytest.mark.parametrize("size", [8, 70])
def test_nvidia_s_assembler_takes_the_code_of_every_type(element: str, size: int):
    modules = [factor_module(element, (size, size), lower) for lower in (True, False)]
    modules += [solve_module(element, (size, 40), True, True, False, "ADJOINT")]
    for module in modules:
        text = tfc.compile(module, backend="gpu").as_text("ptx")
        for architecture in ("sm_80", "sm_90a", "sm_100"):
            assert complaints(text, architecture) == ""
