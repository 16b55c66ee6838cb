"""Bessel functions of the first kind, of whole orders.

    Jₙ₋₁ = 2n/z Jₙ - Jₙ₊₁

is stable downwards: what it gives is in proportion to them, and J₀ + 2 (J₂ + J₄ + …) = 1. For z
above 50 and the order it is stable upwards, too, from J₀ and J₁ by Hankel's expansion.
"""

from math import pi

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend.control.loops import fori_loop
from tfc.frontend.numpy.arithmetic import where
from tfc.frontend.numpy.comparisons import maximum, minimum
from tfc.frontend.numpy.functions import cos, floor, sin, sqrt
from tfc.frontend.numpy.manipulation import stack
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.operations import constant, convert, full, full_like
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.python_numbers import whole
from tfc.frontend.special.elementwise import with_slopes
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import F64

_FAR = 50  # from there on Hankel's expansion is right
_NEAR = 1e-3  # up to there three terms of the series at 0 are
_HUGE = 1e150


def _downwards(z: Tensor, most: int, start: int) -> Tensor:
    """J of the orders up to `most`, for z from 0.001 to well below `start`."""
    orders = constant(np.arange(most + 1.0).reshape(-1, *[1] * z.ndim))

    def step(number: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        n = convert(start - number, F64)
        above, here, total, found = state
        below = (2 * n / z) * here - above
        scale = where(abs(below) > _HUGE, 1 / _HUGE, 1.0)
        found = where(orders == n - 1, below, found) * scale
        is_even = (n - 1) * 0.5 == floor((n - 1) * 0.5)
        total = where(is_even, total + below, total) * scale
        return here * scale, below * scale, total, found

    none, tiny = full_like(0, z), full_like(1 / _HUGE, z)
    begun = (none, tiny, none, full(0, (most + 1, *z.shape), F64))
    _, first, total, found = fori_loop(0, start, step, begun)
    return found / (2 * total - first)


def _upwards(z: Tensor, most: int) -> Tensor:
    """J of the orders up to `most`, for z above 50 and that."""
    plus, minus = cos(z) + sin(z), sin(z) - cos(z)
    found = []
    for order, (cosine, sine) in enumerate(((plus, minus), (minus, -plus))):
        term, sums = full_like(1, z), [full_like(1, z), full_like(0, z)]
        for k in range(1, 18):
            term = term * ((4 * order * order - (2 * k - 1) ** 2) / (8 * k)) / z
            sums[k % 2] = sums[k % 2] + (term if k % 4 < 2 else -term)
        found.append((sums[0] * cosine - sums[1] * sine) / sqrt(pi * z))
    for order in range(1, most):
        found.append((2 * order / z) * found[order] - found[order - 1])
    return stack(found[: most + 1])


def _of_tiny(z: Tensor, most: int) -> Tensor:
    """J of the orders up to `most`, for z up to 0.001."""
    quarter, found, power = z * z * 0.25, [], full_like(1, z)
    for n in range(most + 1):
        rest = 1 - quarter / (n + 1) * (1 - quarter / (2 * (n + 2)))
        found.append(power * rest)
        power = power * z * (0.5 / (n + 1))
    return stack(found)


def _orders(z: Tensor, most: int) -> Tensor:
    """J of the orders up to `most` along a dimension more, in front."""
    function = with_slopes(lambda _, z: _slope(z, most))(lambda z: _values(z, most))
    return function(z)


def _slope(z: Tensor, most: int) -> Tensor:
    """Jₙ' = (Jₙ₋₁ - Jₙ₊₁) / 2, where J₋₁ is -J₁."""
    values = [*_orders(z, most + 1)]
    below = [-values[1], *values]
    return stack([(below[n] - values[n + 1]) * 0.5 for n in range(most + 1)])


def _values(z: Tensor, most: int) -> Tensor:
    size = abs(z)
    far = max(_FAR, most)
    start = far + 30 + 8 * round(far ** (1 / 3))
    found = _downwards(minimum(maximum(size, _NEAR), far), most, start)
    found = where(size > far, _upwards(maximum(size, far), most), found)
    found = where(size < _NEAR, _of_tiny(minimum(size, _NEAR), most), found)
    found = where(size == np.inf, 0.0, where(size == size, found, np.nan))
    signs = constant((-1.0) ** np.arange(most + 1)).reshape(-1, *[1] * z.ndim)
    return where(z < 0, found * signs, found)


@evaluable
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Tensor:
    """J₀(z), J₁(z) … of the orders up to v, along a dimension more in front.

    Right to 50 ulp of the largest of them.

    Args:
        v: 0 or more.
        n_iter: for JAX's signature; as many steps are taken as are needed.

    Raises:
        ShapeError: v is no whole number, or negative.
    """
    most, tensor = whole(v, "the order v of bessel_jn"), as_tensor(z)
    require_real("bessel_jn", tensor)
    if most < 0:
        raise ShapeError(f"bessel_jn requires an order v of 0 or more, got {most}")
    dtype = tensor.dtype if tensor.array_shape.element_type.is_float else np.dtype(np.float64)
    return cast(_orders(convert(cast(tensor, dtype), F64), most), dtype)
