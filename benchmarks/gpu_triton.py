"""Kernels in Triton for the cases of gpu_cases.py: what is measured beside tfc's.

Each function takes PyTorch's tensors on a GPU, row-major, and gives a new one. Sizes of tiles are
chosen by measurement at the first call. Nothing here is imported where there is no Triton.
"""

from typing import Any

import torch
import triton
import triton.language as tl

_LINE = 1024  # elements of a block of element by element work


# --- Products -------------------------------------------------------------------------------------


def _tiles(*rows: tuple[int, int, int, int, int]) -> list[Any]:
    """Configurations: rows, columns, places of the sums, warps, stages."""
    return [
        triton.Config({"ROWS": r, "COLUMNS": c, "DEPTH": d}, num_warps=warps, num_stages=stages)
        for r, c, d, warps, stages in rows
    ]


@triton.autotune(
    _tiles(
        (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3), (128, 128, 64, 8, 4),
        (128, 128, 64, 4, 3), (128, 128, 32, 4, 4), (64, 128, 64, 4, 4), (64, 64, 64, 4, 4),
        (64, 64, 32, 4, 3), (16, 128, 128, 4, 4), (128, 16, 128, 4, 4),
    ),
    key=["m", "k", "n"],
)  # fmt: skip
@triton.jit
def product_kernel(
    a, b, c, m, k, n, INSIDE: tl.constexpr, DOWN: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """A tile of a · b, of the matrices that the second dimension of the grid tells.

    INSIDE: whether all tiles lie inside, so that nothing need be left out.
    DOWN: rows of tiles that blocks go down before they go right, to share what they read.
    """
    down, across = tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS)
    band, inside = tl.program_id(0) // (DOWN * across), tl.program_id(0) % (DOWN * across)
    height = tl.minimum(down - band * DOWN, DOWN)
    row, column = band * DOWN + inside % height, inside // height
    matrix = tl.program_id(1).to(tl.int64)
    i = row * ROWS + tl.arange(0, ROWS)[:, None]
    j = column * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    s = tl.arange(0, DEPTH)
    left = a + matrix * m * k + i * k + s[None, :]
    right = b + matrix * k * n + s[:, None] * n + j
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        if INSIDE:
            x, y = tl.load(left), tl.load(right)
        else:
            x = tl.load(left, (i < m) & (s[None, :] < k - start), 0.0)
            y = tl.load(right, (s[:, None] < k - start) & (j < n), 0.0)
        sums = tl.dot(x, y, sums, input_precision="ieee")
        left += DEPTH
        right += DEPTH * n
    tl.store(c + matrix * m * n + i * n + j, sums.to(c.dtype.element_ty), (i < m) & (j < n))


def product(a: Any, b: Any) -> Any:
    """a · b, of matrices or of batches of them."""
    *batch, m, k = a.shape
    n = b.shape[-1]
    c = torch.empty((*batch, m, n), dtype=a.dtype, device=a.device)
    inside = m % 256 == 0 and n % 256 == 0 and k % 128 == 0

    def grid(chosen: Any) -> tuple[int, int]:
        tiles = triton.cdiv(m, chosen["ROWS"]) * triton.cdiv(n, chosen["COLUMNS"])
        return tiles, batch[0] if batch else 1

    product_kernel[grid](a, b, c, m, k, n, inside, 8)
    return c


# --- Element by element ---------------------------------------------------------------------------


@triton.jit
def add_kernel(x, y, result, count, LINE: tl.constexpr):
    """x + y."""
    n = tl.program_id(0) * LINE + tl.arange(0, LINE)
    there = n < count
    tl.store(result + n, tl.load(x + n, there) + tl.load(y + n, there), there)


@triton.jit
def multiply_and_add_kernel(x, y, result, count, LINE: tl.constexpr):
    """x · y + x."""
    n = tl.program_id(0) * LINE + tl.arange(0, LINE)
    there = n < count
    left = tl.load(x + n, there)
    tl.store(result + n, left * tl.load(y + n, there) + left, there)


@triton.jit
def gelu_kernel(x, result, count, LINE: tl.constexpr):
    """The approximation of GELU by tanh, which is written by exp: 2 / (1 + exp(-2 z)) - 1."""
    n = tl.program_id(0) * LINE + tl.arange(0, LINE)
    there = n < count
    given = tl.load(x + n, there)
    inner = 0.7978845608 * (given + 0.044715 * given * given * given)
    tl.store(result + n, given / (1 + tl.exp(-2 * inner)), there)


def _by_element(kernel: Any, *arrays: Any) -> Any:
    result = torch.empty_like(arrays[0])
    count = result.numel()
    kernel[(triton.cdiv(count, _LINE),)](*arrays, result, count, _LINE)
    return result


def add(x: Any, y: Any) -> Any:
    """x + y."""
    return _by_element(add_kernel, x, y)


def multiply_and_add(x: Any, y: Any) -> Any:
    """x · y + x."""
    return _by_element(multiply_and_add_kernel, x, y)


def gelu(x: Any) -> Any:
    """GELU by tanh."""
    return _by_element(gelu_kernel, x)


# --- Rows -----------------------------------------------------------------------------------------


@triton.jit
def softmax_kernel(x, result, size, WIDTH: tl.constexpr):
    """The softmax of a row, which a block holds."""
    place = tl.arange(0, WIDTH)
    there = place < size
    start = tl.program_id(0).to(tl.int64) * size
    row = tl.load(x + start + place, there, -float("inf"))
    weights = tl.exp(row - tl.max(row, 0))
    tl.store(result + start + place, weights / tl.sum(weights, 0), there)


@triton.jit
def layer_norm_kernel(x, scale, offset, result, size, WIDTH: tl.constexpr):
    """A row with mean 0 and variance 1, scaled and moved."""
    place = tl.arange(0, WIDTH)
    there = place < size
    start = tl.program_id(0).to(tl.int64) * size
    row = tl.load(x + start + place, there, 0.0)
    centred = tl.where(there, row - tl.sum(row, 0) / size, 0.0)
    normal = centred * tl.rsqrt(tl.sum(centred * centred, 0) / size + 1e-5)
    made = normal * tl.load(scale + place, there) + tl.load(offset + place, there)
    tl.store(result + start + place, made, there)


def _by_row(kernel: Any, x: Any, *arrays: Any) -> Any:
    result, size = torch.empty_like(x), x.shape[-1]
    width = triton.next_power_of_2(size)
    warps = max(1, min(8, width // 512))
    kernel[(x.numel() // size,)](x, *arrays, result, size, width, num_warps=warps)
    return result


def softmax(x: Any) -> Any:
    """The softmax of each row."""
    return _by_row(softmax_kernel, x)


def layer_norm(x: Any, scale: Any, offset: Any) -> Any:
    """The layer norm of each row."""
    return _by_row(layer_norm_kernel, x, scale, offset)


# --- Attention ------------------------------------------------------------------------------------


@triton.autotune(
    [
        triton.Config({"ROWS": rows, "KEYS": keys}, num_warps=warps, num_stages=stages)
        for rows, keys, warps, stages in (
            (128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3), (64, 32, 4, 3),
        )
    ],
    key=["length", "CAUSAL"],
)  # fmt: skip
@triton.jit
def attention_kernel(
    q, k, v, result, length, heads, scale, CAUSAL: tl.constexpr, SIZE: tl.constexpr,
    ROWS: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Some queries of a head with all keys that they see, of arrays [batch, length, heads, SIZE].

    A running maximum, total and weighted sum of values are kept for each query.
    """
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    line = heads * SIZE  # elements between neighbours along the length
    start = batch.to(tl.int64) * length * line + head * SIZE
    first = tl.program_id(0) * ROWS
    i = first + tl.arange(0, ROWS)
    d = tl.arange(0, SIZE)
    own = start + i[:, None] * line + d[None, :]
    queries = tl.load(q + own, i[:, None] < length, 0.0)
    most = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, SIZE), tl.float32)
    end = length
    if CAUSAL:
        end = tl.minimum(first + ROWS, length)
    for begin in range(0, end, KEYS):
        j = begin + tl.arange(0, KEYS)
        keys = tl.load(k + start + j[None, :] * line + d[:, None], j[None, :] < length, 0.0)
        scores = tl.dot(queries, keys) * (scale * 1.4426950408889634)  # for powers of 2
        seen = j[None, :] < length
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None])
        scores = tl.where(seen, scores, -1e30)
        higher = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        shrunk = tl.exp2(most - higher)
        total = total * shrunk + tl.sum(weights, 1)
        values = tl.load(v + start + j[:, None] * line + d[None, :], j[:, None] < length, 0.0)
        sums = tl.dot(weights.to(values.dtype), values, sums * shrunk[:, None])
        most = higher
    made = (sums / total[:, None]).to(result.dtype.element_ty)
    tl.store(result + own, made, i[:, None] < length)


def _attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
    batch, length, heads, size = q.shape
    result = torch.empty_like(q)

    def grid(chosen: Any) -> tuple[int, int]:
        return triton.cdiv(length, chosen["ROWS"]), batch * heads

    attention_kernel[grid](q, k, v, result, length, heads, size**-0.5, causal, size)
    return result


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    """Attention of queries to keys that are not later."""
    return _attention(q, k, v, True)


def full_attention(q: Any, k: Any, v: Any) -> Any:
    """Attention of queries to all keys."""
    return _attention(q, k, v, False)
