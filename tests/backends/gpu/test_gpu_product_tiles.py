"""Products by warpgroups of sm_90a whose blocks go through several tiles: widths of tiles, kinds of
operands, results and what follows, drawn at random, all with numbers whose sums are exact."""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.backends.choices import Preference, asking
from tfc.backends.gpu.products import tiles
from tfc.backends.gpu.products.persistent import BY_WARPGROUPS
from tfc.testing.ptx.driver import InterpretedDriver

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
# Of both operands, and their sums. One of f32 is multiplied as tf32.
KINDS: list[tuple[Any, Any, Any]] = [
    (BF16, BF16, np.float32), (np.float16, np.float16, np.float32), (np.int8, np.int8, np.int32),
    (np.uint8, np.uint8, np.uint32), (E4M3, E4M3, np.float32), (E5M2, E4M3, np.float32),
    (np.float32, np.float32, np.float32),
]  # fmt: skip
LINES = (64, 72, 120, 128, 136, 192, 256, 264, 320, 384, 400)
MULTIPROCESSORS = (2, 4, 6, 8, 16)
RESULTS = (np.float32, BF16, np.float16, np.int8, np.int32)


@dataclass(frozen=True)
class Product:
    """One that is drawn: its numbers, which operands are transposed, and what follows."""

    lhs: np.ndarray
    rhs: np.ndarray
    bias: np.ndarray
    residual: np.ndarray
    sums: Any
    transposed: tuple[bool, bool]
    results: tuple[Any, ...]
    adds_residual: bool

    def run(self, a: Any, b: Any, bias: Any, residual: Any) -> tuple[Any, ...]:
        """The product, and what follows, of any arrays."""
        left, right = (
            ("zki", "zik")[not self.transposed[0]],
            ("zjk", "zkj")[not self.transposed[1]],
        )
        total = tnp.einsum(f"{left},{right}->zij", a.astype(self.sums), b.astype(self.sums))
        return self.after(total.astype(np.float32), bias, residual, tnp.clip)

    def after(self, total: Any, bias: Any, residual: Any, clip: Any) -> tuple[Any, ...]:
        """What follows: a result of each type, the second one of twice the sums."""
        total = total + bias
        if self.adds_residual:
            total = total + residual.astype(np.float32)
        return tuple(clip(total * (1 + n), -100, 100).astype(t) for n, t in enumerate(self.results))

    def wanted(self) -> tuple[Any, ...]:
        """What NumPy says."""
        a, b = self.lhs.astype(np.float64), self.rhs.astype(np.float64)
        left = a.swapaxes(1, 2) if self.transposed[0] else a
        right = b.swapaxes(1, 2) if self.transposed[1] else b
        return self.after(left @ right, self.bias, self.residual, np.clip)


def drawn(rng: np.random.Generator) -> Product:
    """A product; of other types than 16-bit ones, what is summed lies together."""
    lhs, rhs, sums = KINDS[rng.integers(len(KINDS))]
    size = np.dtype(lhs).itemsize
    transposed = tuple(bool(n) for n in rng.integers(2, size=2)) if size == 2 else (False, True)
    depth, step = 128 // size, 16 // size
    k = int(rng.integers(1, 13)) * depth + step * int(rng.integers(-1, 2))
    results = tuple(RESULTS[i] for i in rng.integers(len(RESULTS), size=rng.integers(1, 3)))
    batch, (m, n) = int(rng.integers(1, 3)), (-(-int(x) // 16) * 16 for x in rng.choice(LINES, 2))
    n = max(n, 128) if np.int8 in results else n  # a box of bytes is as wide

    def whole(dims: tuple[int, ...], dtype: Any) -> np.ndarray:
        return rng.integers(0 if np.dtype(dtype).kind == "u" else -3, 4, dims).astype(dtype)

    return Product(
        whole((batch, k, m) if transposed[0] else (batch, m, k), lhs),
        whole((batch, n, k) if transposed[1] else (batch, k, n), rhs),
        whole((n,), np.float32),
        whole((batch, m, n), BF16),
        sums,
        (transposed[0], transposed[1]),
        results,
        bool(rng.integers(2)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", range(32))
def test_blocks_that_go_through_several_tiles_compute_what_numpy_does(
    number: int, with_warpgroups: InterpretedDriver, monkeypatch: pytest.MonkeyPatch
):
    rng = np.random.default_rng(number)
    product = drawn(rng)
    monkeypatch.setattr(tiles, "_MULTIPROCESSORS", int(rng.choice(MULTIPROCESSORS)))
    monkeypatch.setattr(tiles, "_SECOND_STEP", int(rng.choice([0, 6000])))
    wide = f"tiles of 128 x {rng.choice([128, 256])}"
    arrays = product.lhs, product.rhs, product.bias, product.residual
    with (
        asking(Preference(frozenset([BY_WARPGROUPS, wide]))),
        tfc.default_matmul_precision("tensorfloat32"),
    ):
        got = tfc.device_get(tfc.jit(product.run, backend="gpu")(*arrays))
    assert any(report.products for _, report in with_warpgroups.reports)
    for result, wanted in zip(got, product.wanted()):
        np.testing.assert_array_equal(
            np.asarray(result).astype(np.float64), wanted.astype(np.float64)
        )
