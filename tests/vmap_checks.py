"""Functions written over tfc and over JAX do the same, eager and compiled."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tfc
import tfc.numpy as tnp

MODES: list[Callable[..., Any]] = [lambda f: f, tfc.jit]


def same(got, expected, rtol=1e-9):
    """The same nested structure of arrays, by JAX and by tfc."""
    left, right = jax.tree.flatten(got), jax.tree.flatten(expected)
    assert left[1] == right[1]
    for x, y in zip(left[0], right[0]):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-12)


def check(write, *args, rtol=1e-9, eager=False, **named):
    """A function written over (tfc or jax, NumPy's functions) does the same in both, compiled.

    Args:
        eager: outside of a trace, too.
    """
    expected = jax.jit(write(jax, jnp))(*args, **named)
    for mode in MODES if eager else MODES[1:]:
        same(mode(write(tfc, tnp))(*args, **named), expected, rtol)
