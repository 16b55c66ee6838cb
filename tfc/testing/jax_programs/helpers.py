"""What random JAX programs call that is no single function of JAX: methods, and transformations."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Array = Any


def rows(x: Array, *indices: Array) -> Array:
    """x[i, j, …]."""
    return x[indices]


def last_rows(x: Array, indices: Array) -> Array:
    """x[..., i]."""
    return x[..., indices]


def strided(x: Array, start: int, stop: int, step: int) -> Array:
    """x[start:stop:step]."""
    return x[start:stop:step]


def at(x: Array, method: str, indices: Array, update: Array, mode: str | None = None) -> Array:
    """x.at[indices].method(update), where method is set, add, multiply, max or min."""
    return getattr(x.at[indices], method)(update, mode=mode)


def at_last(x: Array, method: str, indices: Array, update: Array) -> Array:
    """x.at[..., indices].method(update)."""
    return getattr(x.at[..., indices], method)(update)


def at_get(x: Array, indices: Array, fill: Any) -> Array:
    """x[indices], with a value for indices outside of it."""
    return x.at[indices].get(mode="fill", fill_value=fill)


def at_slice(x: Array, method: str, start: int, stop: int, step: int, update: Array) -> Array:
    """x.at[start:stop:step].method(update)."""
    return getattr(x.at[start:stop:step], method)(update)


def mapped(f: Callable[..., Any], in_axes: Any, out_axes: Any, *xs: Array) -> Any:
    """vmap(f)(*xs)."""
    return jax.vmap(f, in_axes, out_axes)(*xs)


def gradient(f: Callable[..., Any], x: Array, *others: Array) -> Array:
    """The gradient of the sum of f(x, …) in x."""
    return jax.grad(lambda v: f(v, *others).sum().real)(x)


def gradient_of_scan(f: Callable[..., Any], carry: Array, xs: Array, reverse: bool) -> Any:
    """The gradients of the sum of what a scan gives, in its first carry and in what it scans."""

    def total(carry: Array, xs: Array) -> Array:
        last, ys = lax.scan(f, carry, xs, reverse=reverse)
        return last.sum().real + ys.sum().real

    return jax.grad(total, (0, 1))(carry, xs)


def tangent(f: Callable[..., Any], x: Array, direction: Array) -> Array:
    """The derivative of f at x in a direction."""
    return jax.jvp(f, (x,), (direction,))[1]


def jacobian(f: Callable[..., Any], x: Array) -> Array:
    """All derivatives of f at x, by columns."""
    return jax.jacfwd(f)(x)


def called(f: Callable[..., Any], *xs: Array) -> Any:
    """A compiled function in a compiled function: a call."""
    return jax.jit(f)(*xs)


def rematerialized(f: Callable[..., Any], x: Array) -> Array:
    """The gradient of the sum of f, which computes f again."""
    return jax.grad(lambda v: jax.checkpoint(f)(v).sum())(x)


def while_below(f: Callable[..., Any], times: Any, x: Any) -> Any:
    """f applied again and again while a counter is below a number that is an argument."""
    state = lax.while_loop(lambda s: s[0] < times, lambda s: (s[0] + 1, f(s[1])), (0, x))
    return state[1]


def while_pair(f: Callable[..., Any], times: int, x: Array, y: Array) -> Any:
    """(x, y) -> f(x, y), again and again."""
    body = lambda s: (s[0] + 1, *f(s[1], s[2]))  # noqa: E731
    return lax.while_loop(lambda s: s[0] < times, body, (0, x, y))[1:]


def fitted(x: Array, dims: Sequence[int], dtype: str) -> Array:
    """The elements of x, repeated as need be, in other dimensions and of another dtype."""
    x = x.real if jnp.iscomplexobj(x) and not jnp.issubdtype(dtype, jnp.complexfloating) else x
    return jnp.resize(x, dims).astype(dtype)


def key_of(x: Array) -> Array:
    """A random key that depends on a whole number."""
    return jax.random.fold_in(jax.random.PRNGKey(7), x.astype("uint32"))


def segments(reduce: Callable[..., Any], x: Array, places: Array, count: int) -> Array:
    """The sums (or the like) of the rows of x that go to each place."""
    return reduce(x, places, num_segments=count)


def _identity(method: str, x: Array) -> Array:
    """What changes nothing when it is combined: with another start, any result is right."""
    if method == "add":
        return jnp.zeros((), x.dtype)
    if jnp.issubdtype(x.dtype, jnp.floating):
        return jnp.asarray(-jnp.inf if method == "max" else jnp.inf, x.dtype)
    limits = jnp.iinfo(x.dtype)
    return jnp.asarray(limits.min if method == "max" else limits.max, x.dtype)


def reduced(x: Array, method: str, axes: Sequence[int]) -> Array:
    """A reduction by add, max or min."""
    return lax.reduce(x, _identity(method, x), getattr(lax, method), axes)


def window(x: Array, method: str, *shape: Any) -> Array:
    """A reduction by add, max or min over windows: their dimensions, strides and padding."""
    return lax.reduce_window(x, _identity(method, x), getattr(lax, method), *shape)


def convolved(x: Array, kernel: Array, strides: Any, padding: Any, dilation: Any) -> Array:
    """A convolution of what is a batch of features as it is."""
    return lax.conv_general_dilated(x, kernel, strides, padding, rhs_dilation=dilation)


def truth(x: Array) -> Array:
    """Whether the first element is positive: a scalar."""
    return jnp.ravel(x)[0].real > 0
