"""Products of matrices: square, skinny, in batches, tiny, and of small types."""

from typing import Any

import ml_dtypes
import numpy as np

from benchmarks.case import Arguments, Case, Torch, Work, flops, normal, shared, traffic

_BEST = {"best": 1.0}


def matmul(xp: Any, a: Any, b: Any) -> Any:
    """A product of matrices, or of batches of them."""
    return xp.matmul(a, b)


def _gemm(family: str, name: str, m: int, k: int, n: int, batch: int = 0, **other: Any) -> Case:
    dims = ((batch, m, k), (batch, k, n)) if batch else ((m, k), (k, n))
    settings = {"work": flops(2 * max(batch, 1) * m * k * n), "aims": _BEST, **other}
    return Case(
        family, name, shared(matmul), normal(*dims), _SMALL_BATCH if batch else _SMALL,
        numpy=matmul, torch=Torch(matmul), tolerance=1e-4, **settings,
    )  # fmt: skip


def _square(size: int) -> Case:
    aims = {**_BEST, "share": 0.9} if size >= 512 else _BEST
    return _gemm("gemm f32", f"{size}³", size, size, size, aims=aims)


_SMALL, _SMALL_BATCH = normal((9, 33), (33, 20)), normal((3, 9, 33), (3, 33, 20))

_DOUBLE = Case(
    "gemm, other types", "f64 1024³", shared(matmul),
    normal((1024, 1024), (1024, 1024), dtype=np.float64),
    normal((9, 33), (33, 20), dtype=np.float64),
    numpy=matmul, torch=Torch(matmul), work=flops(2 * 1024**3, "fma64"), tolerance=1e-4,
)  # fmt: skip

_HALF = Case(
    "gemm, other types", "bf16 1024³", shared(matmul),
    normal((1024, 1024), (1024, 1024), dtype=ml_dtypes.bfloat16),
    normal((9, 33), (33, 20), dtype=ml_dtypes.bfloat16),
    torch=Torch(matmul), work=flops(2 * 1024**3, "dot16"), aims={**_BEST, "share": 0.7},
    tolerance=1e-2,
)  # fmt: skip


def _bytes(m: int, k: int, n: int) -> Arguments:
    def draw() -> tuple[Any, ...]:
        generator = np.random.default_rng(0)
        return tuple(generator.integers(-128, 128, d, np.int8) for d in ((m, k), (k, n)))

    return draw


def _byte_product(jax: Any, a: Any, b: Any) -> Any:
    return jax.lax.dot(a, b, preferred_element_type=np.int32)


def _byte_product_numpy(np: Any, a: Any, b: Any) -> Any:
    # Exact up to 1024 products: their sum is at most 2^24.
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.int32)


def _byte_product_torch(torch: Any, a: Any, b: Any) -> Any:
    return torch._int_mm(a, b)


_BYTES = Case(
    "gemm, other types", "s8 1024³ to s32", _byte_product,
    _bytes(1024, 1024, 1024), _bytes(9, 33, 20), numpy=_byte_product_numpy,
    torch=Torch(_byte_product_torch, exported=False), tolerance=0,
    onnx="""
    <ir_version: 9, opset_import: ["" : 18]>
    main (int8[m,k] a, int8[k,n] b) => (int32[m,n] c) { c = MatMulInteger(a, b) }
    """,
    work=Work(2 * 1024**3, "dot8", "GOP/s"), aims={**_BEST, "share": 0.7},
)  # fmt: skip

_MATRIX_VECTOR = {"work": traffic(4 * 4096 * 4096, "read"), "aims": {**_BEST, "share": 0.85}}

CASES = [
    *map(_square, (64, 128, 256, 512, 1024, 2048)),
    _gemm("gemm f32, skinny", "1×4096×4096", 1, 4096, 4096, **_MATRIX_VECTOR),
    _gemm("gemm f32, skinny", "16×1024×4096", 16, 1024, 4096),
    _gemm("gemm f32, skinny", "4096×64×4096", 4096, 64, 4096),
    _gemm("gemm f32, in batches", "48 × (128×64×128)", 128, 64, 128, 48),
    *(_gemm("gemm f32, tiny", f"{n}³", n, n, n) for n in (4, 8, 16, 32)),
    _DOUBLE,
    _HALF,
    _BYTES,
]
