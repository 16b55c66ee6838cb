"""Loops whose iterations are a few operations each: recurrences, searches, small states."""

from typing import Any

import numpy as np

from benchmarks.case import Arguments, Case, Statement, normal

_MANY, _SOME, _FEW = 1_000_000, 100_000, 9


def _counted(count: int, *arrays: Any) -> Arguments:
    """A number of iterations, and arrays."""
    return lambda: (np.int32(count), *arrays)


def _collatz(jax: Any, most: Any) -> Any:
    """The longest of the sequences that begin below a number."""
    lax, where = jax.lax, jax.numpy.where

    def length(n: Any) -> Any:
        def step(s: Any) -> Any:
            return where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1

        return lax.while_loop(lambda s: s[0] != 1, step, (n, n * 0))[1]

    def longest(i: Any, best: Any) -> Any:
        return jax.numpy.maximum(best, length(i + 1))

    return lax.fori_loop(0, most, longest, most * 0)


def _divisors(jax: Any, count: Any) -> Any:
    """The sum of the greatest common divisors with a number, by Euclid."""

    def divisor(i: Any, total: Any) -> Any:
        step = lambda s: (s[1], s[0] % s[1])  # noqa: E731
        return total + jax.lax.while_loop(lambda s: s[1] != 0, step, (i + 1, count))[0]

    return jax.lax.fori_loop(0, count, divisor, count * 0)


def _generator(jax: Any, count: Any) -> Any:
    """Random numbers, each from the one before."""
    return jax.lax.fori_loop(0, count, lambda i, s: s * 1664525 + 1013904223, count * 0)


def _branches(jax: Any, count: Any, x: Any) -> Any:
    """One of two functions in each iteration."""

    def step(i: Any, v: Any) -> Any:
        return jax.lax.cond(i % 3 == 0, lambda v: v * 0.5 - 0.25, lambda v: v * 0.5 + 0.5, v)

    return jax.lax.fori_loop(0, count, step, x)


def _filtered(jax: Any, x: Any) -> Any:
    """A recursive filter of second order."""

    def step(state: Any, x: Any) -> Any:
        y = 0.9 * state[0] - 0.2 * state[1] + x
        return (y, state[0]), y

    zero = x[0] * 0
    return jax.lax.scan(step, (zero, zero), x)[1]


def _orbit(jax: Any, count: Any, start: Any) -> Any:
    """A pendulum with friction by Runge and Kutta's method of fourth order."""

    def f(v: Any) -> Any:
        return jax.numpy.stack([v[1], -v[0] - 0.1 * v[1], v[0] - v[2]])

    def step(i: Any, v: Any) -> Any:
        a = f(v)
        b = f(v + 0.005 * a)
        c = f(v + 0.005 * b)
        return v + 0.01 / 6 * (a + 2 * b + 2 * c + f(v + 0.01 * c))

    return jax.lax.fori_loop(0, count, step, start)


def _tracked(jax: Any, a: Any, x: Any) -> Any:
    """A Kalman filter with a state of 4."""

    def step(state: Any, z: Any) -> Any:
        m, p = state
        m, p = 0.9 * a @ m, 0.81 * a @ p @ a.T + 0.01 * jax.numpy.eye(4, dtype=p.dtype)
        gain = p[:, 0] / (p[0, 0] + 0.1)
        return (m + gain * (z - m[0]), p - gain[:, None] * p[0]), m

    return jax.lax.scan(step, (a[0], jax.numpy.eye(4, dtype=a.dtype)), x)[1]


def _most_likely(jax: Any, table: Any, x: Any) -> Any:
    """Viterbi's forward pass over 8 states."""

    def step(scores: Any, x: Any) -> Any:
        sums = scores[:, None] + table
        best = sums.max(0) + x
        return best - best.max(), best

    return jax.lax.scan(step, x[0], x)[1]


def _remembering(jax: Any, w: Any, x: Any) -> Any:
    """A recurrent layer of 16."""

    def step(h: Any, x: Any) -> Any:
        h = jax.numpy.tanh(h @ w + x)
        return h, h

    return jax.lax.scan(step, x[0], x)[1]


def _distance(jax: Any, a: Any, b: Any) -> Any:
    """The edit distance of two texts, a row of the table in each iteration."""
    jnp, lax = jax.numpy, jax.lax

    def row(before: Any, letter: Any) -> Any:
        replaced = before[:-1] + (b != letter).astype(b.dtype)
        best = jnp.minimum(before[1:] + 1, replaced)

        def column(left: Any, best: Any) -> Any:
            here = jnp.minimum(left + 1, best)
            return here, here

        first = before[0] + 1
        return jnp.concatenate([first[None], lax.scan(column, first, best)[1]]), None

    return lax.scan(row, jnp.arange(b.shape[0] + 1, dtype=b.dtype), a)[0]


def _letters(length: int) -> Arguments:
    generator = np.random.default_rng(0)
    return lambda: tuple(generator.integers(0, 4, length).astype(np.int32) for _ in range(2))


def _case(name: str, statement: Statement, arguments: Arguments, small: Arguments) -> Case:
    return Case("loops", name, statement, arguments, small, tolerance=1e-4)


_TURN = np.eye(4, k=1, dtype=np.float32) - np.eye(4, k=-1, dtype=np.float32)


def _readings(count: int) -> Arguments:
    return lambda: (_TURN * np.float32(0.6), *normal((count,))())


CASES = [
    _case("Collatz sequences below 10 k", _collatz, _counted(10_000), _counted(_FEW)),
    _case("100 k greatest common divisors", _divisors, _counted(_SOME), _counted(_FEW)),
    _case("linear congruences, 1 M", _generator, _counted(_MANY), _counted(_FEW)),
    _case(
        "a branch in each of 1 M", _branches,
        _counted(_MANY, np.float32(0.3)), _counted(_FEW, np.float32(0.3)),
    ),
    _case("recursive filter, 1 M", _filtered, normal((_MANY,)), normal((37,))),
    _case(
        "Runge-Kutta in 3 dimensions, 100 k", _orbit,
        _counted(_SOME, np.float32([1, 0, 0.5])), _counted(_FEW, np.float32([1, 0, 0.5])),
    ),
    _case("Kalman filter, 100 k", _tracked, _readings(_SOME), _readings(5)),
    _case("Viterbi, 100 k × 8", _most_likely, normal((8, 8), (_SOME, 8)), normal((3, 3), (5, 3))),
    _case(
        "recurrent layer of 16, 100 k", _remembering,
        normal((16, 16), (_SOME, 16), scale=0.3), normal((5, 5), (7, 5), scale=0.3),
    ),
    _case("edit distance 1000 × 1000", _distance, _letters(1000), _letters(9)),
]  # fmt: skip
