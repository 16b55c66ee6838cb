"""Fourier transforms: their values beside NumPy's in f64, and what they ask of the GPU."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tfc
from tfc.hlo import parse
from tfc.hlo.shape import ELEMENT_TYPES
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(37)
EPSILON = {"c64": 1e-6, "c128": 1e-14}
NUMPY = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


def check(kind: str, element: str, dims: Sequence[int], lengths: Sequence[int]) -> tfc.hlo.Module:
    """Run a transform of the last dimensions, which are real ones' own; its module."""
    real = {"c64": "f32", "c128": "f64"}[element]
    half = (*dims[:-1], dims[-1] // 2 + 1)
    given, made = {"RFFT": (dims, half), "IRFFT": (half, dims)}.get(kind, (dims, dims))
    types = {"RFFT": (real, element), "IRFFT": (element, real)}.get(kind, (element, element))
    shapes = [f"{t}[{','.join(map(str, d))}]" for t, d in zip(types, (given, made))]
    stated = ",".join(map(str, lengths))
    module = parse(
        f"HloModule m\nENTRY e {{ x = {shapes[0]} parameter(0)\n"
        f"ROOT y = {shapes[1]} fft(x), fft_type={kind}, fft_length={{{stated}}} }}"
    )
    x = random.standard_normal(given)
    if types[0] != real:
        x = x + 1j * random.standard_normal(given)
    x = x.astype(ELEMENT_TYPES[types[0]].dtype)
    (result,) = tfc.compile(module, backend="gpu")(x)
    axes = range(len(dims) - len(lengths), len(dims))
    wanted = NUMPY[kind](x.astype(np.complex128 if np.iscomplexobj(x) else np.float64),
                         s=lengths, axes=tuple(axes))  # fmt: skip
    assert result.dtype == ELEMENT_TYPES[types[1]].dtype
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=0, atol=EPSILON[element] * np.abs(wanted).max())
    return module


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("element", ["c64", "c128"])
def test_a_row_of_each_kind(kind: str, element: str):
    check(kind, element, (3, 24), (24,))


@pytest.mark.parametrize("size", [1, 3, 8, 16, 18, 20, 21, 25, 49, 64, 128])
def test_lengths_of_all_radices(size: int):
    check("FFT", "c64", (2, size), (size,))
    check("IRFFT", "c64", (1, size), (size,))


@pytest.mark.parametrize("kind", NUMPY)
def test_several_dimensions_are_one_after_the_other(kind: str):
    check(kind, "c64", (2, 4, 6, 10), (4, 6, 10))


def test_other_lengths_are_products():
    check("FFT", "c64", (2, 22), (22,))
    check("FFT", "c64", (2, 5, 11), (5, 11))


def test_a_row_is_read_and_written_once_whatever_its_stages(device: Any):
    device.reports.clear()
    check("FFT", "c64", (4, 512), (512,))
    (_, roots), (_, rows) = device.reports
    assert roots.stores.transactions == 2 * 512 * 4 // 32
    assert rows.stores.transactions == rows.stores.ideal == 4 * 512 * 8 // 32
    # Besides the rows each of the first two stages reads its butterflies' roots.
    twiddles = 2 * 4 * 2 * 7 * 64 * 4
    assert rows.loads.bytes == 4 * 512 * 8 + twiddles
    assert rows.bank_conflicts < rows.shared_accesses / 2


@pytest.mark.parametrize("kind", NUMPY)
def test_a_row_of_rank_one(kind: str):
    check(kind, "c64", (18,), (18,))


@pytest.mark.parametrize("kind", NUMPY)
def test_the_last_block_has_fewer_rows_than_others(kind: str):
    check(kind, "c64", (33, 35), (35,))


def test_numbers_of_eight_bytes_are_moved_on_by_their_own_lines_of_banks(device: Any):
    device.reports.clear()
    check("FFT", "c128", (2, 128), (128,))
    _, (_, rows) = device.reports
    assert rows.bank_conflicts <= rows.shared_accesses / 8


@pytest.mark.slow
@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize(
    ("element", "size"), [("c64", 512), ("c64", 1000), ("c64", 2048), ("c128", 630), ("c128", 1024)]
)
def test_long_rows(kind: str, element: str, size: int):
    check(kind, element, (2, size), (size,))
