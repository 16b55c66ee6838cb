"""Gather, scatter, cumulative sums, the largest of each row, sorting."""

from typing import Any

import numpy as np

from benchmarks.case import Arguments, Case, Torch, normal, shared, traffic

_ROWS, _WIDTH, _COUNT = 50_000, 256, 8192
_TOP = 50


def _table(rows: int, width: int, count: int, updates: bool) -> Arguments:
    def draw() -> tuple[Any, ...]:
        indices = np.random.default_rng(1).integers(0, rows, count, np.int32)
        table, *rest = normal((rows, width), *([(count, width)] if updates else []))()
        return (table, indices, *rest)

    return draw


def _gather(xp: Any, table: Any, indices: Any) -> Any:
    return xp.take(table, indices, axis=0, mode="clip")


def _scatter_add_numpy(np: Any, table: Any, indices: Any, updates: Any) -> Any:
    result = table.copy()
    np.add.at(result, indices, updates)
    return result


def _wide_indices(torch: Any, table: Any, indices: Any, *rest: Any) -> tuple[Any, ...]:
    return (table, indices.long(), *rest)


def _largest_numpy(count: int) -> Any:
    def largest(np: Any, x: Any) -> Any:
        chosen = np.argpartition(x, -count, axis=-1)[:, -count:]
        values = np.take_along_axis(x, chosen, -1)
        order = np.argsort(-values, axis=-1, kind="stable")
        return np.take_along_axis(values, order, -1), np.take_along_axis(chosen, order, -1)

    return largest


CASES = [
    Case(
        "indexed", "gather 8192 of 50 k × 256", shared(_gather),
        _table(_ROWS, _WIDTH, _COUNT, False), _table(50, 9, 20, False), numpy=_gather,
        torch=Torch(lambda torch, table, i: torch.nn.functional.embedding(i, table), _wide_indices),
        work=traffic(8 * _COUNT * _WIDTH), tolerance=0,
    ),
    Case(
        "indexed", "scatter-add 8192 to 50 k × 256",
        lambda jax, table, i, updates: table.at[i].add(updates),
        _table(_ROWS, _WIDTH, _COUNT, True), _table(50, 9, 20, True), numpy=_scatter_add_numpy,
        torch=Torch(lambda torch, table, i, updates: torch.index_add(table, 0, i, updates),
                    _wide_indices),
        work=traffic(8 * _ROWS * _WIDTH + 12 * _COUNT * _WIDTH),
    ),
    Case(
        "indexed", "cumulative sum, 1 M", shared(lambda xp, x: xp.cumsum(x)), normal((2**20,)),
        normal((37,)), numpy=lambda np, x: np.cumsum(x),
        torch=Torch(lambda torch, x: torch.cumsum(x, 0)), work=traffic(8 * 2**20), tolerance=1e-4,
    ),
    Case(
        "indexed", "cumulative sums of rows, 1024²", shared(lambda xp, x: xp.cumsum(x, axis=1)),
        normal((1024, 1024)), normal((9, 37)), numpy=lambda np, x: np.cumsum(x, axis=1),
        torch=Torch(lambda torch, x: torch.cumsum(x, 1)), work=traffic(8 * 2**20), tolerance=1e-4,
    ),
    Case(
        "indexed", "top 50 of 64 × 50257", lambda jax, x: jax.lax.top_k(x, _TOP),
        normal((64, 50257)), normal((3, 100)), numpy=_largest_numpy(_TOP),
        torch=Torch(lambda torch, x: tuple(torch.topk(x, _TOP))), tolerance=0,
        work=traffic(4 * 64 * 50257, "read"),
    ),
    Case(
        "indexed", "sort, 1 M", shared(lambda xp, x: xp.sort(x)), normal((2**20,)),
        normal((37,)), numpy=lambda np, x: np.sort(x),
        torch=Torch(lambda torch, x: torch.sort(x)[0]), tolerance=0,
        aims={"JAX": 20.0, "NumPy": 0.5},
    ),
]  # fmt: skip
