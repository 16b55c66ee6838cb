"""Derivatives of functions against finite differences: check_grads, compute_gradient.

tfc.testing.check_grads(f, (x,), order=2)
analytic, numeric = tfc.testing.compute_gradient(f, [x])
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tfc.errors import TfcError
from tfc.frontend import tree
from tfc.frontend.differentiation.gradient import vjp
from tfc.frontend.differentiation.linearization import jvp, linearize
from tfc.frontend.tensor import evaluable
from tfc.jitted import jit
from tfc.tracebacks import api_boundary

_STEP = 1e-4
# What finite differences of that step leave, by the bytes of a real number.
_TOLERANCES = {1: 1e-1, 2: 1e-2, 4: 2e-3, 8: 1e-5}
_MODES = ("fwd", "rev", "lin")

Function = Callable[..., Any]


@api_boundary
def check_grads(
    f: Function,
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of f at args against finite differences, in one random direction.

    Args:
        args: nested structures of arrays of floats.
        order: derivatives of derivatives are checked up to this order.
        modes: "fwd" checks jvp, "rev" vjp and "lin" linearize.
        atol, rtol: how much may differ; by default what the dtypes allow.
        eps: the step of the differences.

    Raises:
        AssertionError: a derivative differs; says which.
        TfcError: a mode is none of the three.
    """
    unknown = [mode for mode in modes if mode not in _MODES]
    if unknown:
        raise TfcError(f"check_grads knows the modes {', '.join(_MODES)}, got {unknown[0]!r}")
    _Check(tuple(modes), atol, rtol, eps or _STEP).derivatives(f, tuple(args), order, "")


class _Check:
    """One call of check_grads: the modes, the tolerances, the step."""

    def __init__(self, modes: tuple[str, ...], atol: float | None, rtol: float | None, step: float):
        self.modes, self.atol, self.rtol, self.step = modes, atol, rtol, step

    def derivatives(self, f: Function, args: tuple[Any, ...], order: int, of: str) -> None:
        """Check each mode at f, then the derivatives of what it gives."""
        ways = {"fwd": ("JVP", partial(jvp, f)), "lin": ("LIN", partial(_linear, f))}
        for mode in ("fwd", "lin"):
            name, push = ways[mode]
            if mode in self.modes:
                self.tangents(f, push, args, f"{name}{of}")
                if order > 1:
                    self.derivatives(push, (args, args), order - 1, f" of {name}{of}")
        if "rev" in self.modes:
            self.cotangents(f, args, f"VJP{of}")
            if order > 1:
                self.derivatives(partial(_pulled, f), args, order - 1, f" of VJP{of}")

    def tangents(self, f: Function, push: Function, args: tuple[Any, ...], name: str) -> None:
        """Check a directional derivative."""
        rng = np.random.default_rng(0)
        direction = _random(rng, args)
        value, slope = evaluable(push)(args, direction)
        self.compare(value, evaluable(f)(*args), f"{name} primal")
        self.compare(slope, _difference(f, args, direction, self.step), f"{name} tangent")

    def cotangents(self, f: Function, args: tuple[Any, ...], name: str) -> None:
        """Check what a random cotangent becomes, along a random direction."""
        rng = np.random.default_rng(0)
        value, pullback = vjp(f, *args)
        self.compare(value, evaluable(f)(*args), f"{name} primal")
        direction, cotangent = _random(rng, args), _random(rng, value)
        given = _product(direction, pullback(cotangent))
        wanted = _product(_difference(f, args, direction, self.step), cotangent)
        dtypes = [np.asarray(leaf).dtype for leaf in tree.flatten((args, value))[0]]
        narrowest = max(dtypes, key=_allowed, default=np.dtype(np.float64))
        self.compare(given, wanted, f"{name} cotangent projection", narrowest)

    def compare(self, got: Any, want: Any, name: str, dtype: np.dtype | None = None) -> None:
        """Check that two nested structures of arrays are close.

        Raises:
            AssertionError: they are not.
        """
        for x, y in zip(tree.flatten(got)[0], tree.flatten(want)[0], strict=True):
            x, y = np.asarray(x), np.asarray(y)
            allowed = _allowed(dtype or x.dtype)
            wide = np.complex128 if np.iscomplexobj(x) else np.float64
            np.testing.assert_allclose(
                x.astype(wide), y.astype(wide),
                rtol=(allowed if self.rtol is None else self.rtol) * max(x.size, 1),
                atol=(allowed if self.atol is None else self.atol) * max(x.size, 1),
                err_msg=name,
            )  # fmt: skip


def _allowed(dtype: np.dtype) -> float:
    kind = np.dtype(dtype)
    width = kind.itemsize // 2 if kind.kind == "c" else kind.itemsize
    return _TOLERANCES.get(width, 1e-5) if _is_inexact(kind) else 0.0


def _is_inexact(dtype: np.dtype) -> bool:
    return dtype.kind not in "biu"


def _linear(f: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    value, f_jvp, *_ = linearize(f, *primals)
    return value, f_jvp(*tangents)


def _pulled(f: Function, *args: Any) -> tuple[Any, ...]:
    value, pullback = vjp(f, *args)
    return pullback(value)


def _random(rng: np.random.Generator, like: Any) -> Any:
    """Random numbers in the structure, shapes and dtypes of others; zeros for integers."""

    def draw(leaf: Any) -> np.ndarray:
        array = np.asarray(leaf)
        numbers = np.asarray(rng.standard_normal(array.shape))
        if array.dtype.kind == "c":
            numbers = numbers + 1j * rng.standard_normal(array.shape)
        return np.asarray(numbers if _is_inexact(array.dtype) else 0 * numbers, array.dtype)

    return tree.map_leaves(draw, like)


def _difference(f: Function, args: tuple[Any, ...], direction: Any, step: float) -> Any:
    """How f changes along a direction, by a step to both sides."""
    leaves, structure = tree.flatten(args)
    moves, _ = tree.flatten(direction)

    def moved(by: float) -> list[np.ndarray]:
        given = [np.asarray(leaf) for leaf in leaves]
        shifted = [
            (g + by * m.astype(g.dtype)).astype(g.dtype) if _is_inexact(g.dtype) else g
            for g, m in zip(given, moves)
        ]
        found, _ = tree.flatten(evaluable(f)(*tree.unflatten(structure, shifted)))
        return [np.asarray(leaf) for leaf in found]

    _, form = tree.flatten(evaluable(f)(*args))
    slopes = [
        (_wide(high) - _wide(low)) / (2 * step) if _is_inexact(high.dtype) else 0 * high
        for high, low in zip(moved(step), moved(-step))
    ]
    return tree.unflatten(form, slopes)


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _product(xs: Any, ys: Any) -> Any:
    """The sum of the products of all floats of two structures, without conjugation."""
    pairs = zip(tree.flatten(xs)[0], tree.flatten(ys)[0], strict=True)
    products = [np.sum(_wide(np.asarray(x)) * _wide(np.asarray(y))) for x, y in pairs]
    return np.real(sum(products))


@api_boundary
def compute_gradient(
    f: Function, x: Sequence[Any], delta: float = 1e-3
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The Jacobians of a function by each argument: by differentiation, and by differences.

    Args:
        f: takes the arrays of `x`, returns one array of floats.
        x: a list of arrays of floats.
        delta: the step of the differences, to both sides.

    Returns:
        (analytic, numeric): for each argument an array with a row for each element of the result
        and a column for each of the argument.
    """
    arrays = [np.asarray(a) for a in x]
    compiled = jit(f)
    value = np.asarray(compiled(*arrays))
    pull = jit(lambda g, *given: vjp(f, *given)[1](g))
    analytic = [np.zeros((value.size, a.size), a.dtype) for a in arrays]
    for row in range(value.size):
        basis = np.zeros(value.shape, value.dtype)
        basis.reshape(-1)[row] = 1
        for jacobian, part in zip(analytic, pull(basis, *arrays)):
            jacobian[row] = np.asarray(part).reshape(-1)
    numeric = [np.zeros((value.size, a.size), a.dtype) for a in arrays]
    for number, (array, jacobian) in enumerate(zip(arrays, numeric)):
        for column in range(array.size):
            sides = []
            for step in (delta, -delta):
                moved = [a.copy() for a in arrays]
                moved[number].reshape(-1)[column] += step
                sides.append(np.asarray(compiled(*moved)))
            jacobian[:, column] = ((sides[0] - sides[1]) / (2 * delta)).reshape(-1)
    return analytic, numeric


@api_boundary
def compute_gradient_error(f: Function, x: Sequence[Any], delta: float = 1e-3) -> float:
    """The largest difference between the two Jacobians of `compute_gradient`."""
    pairs = zip(*compute_gradient(f, x, delta))
    return max((float(np.abs(a - n).max(initial=0)) for a, n in pairs), default=0.0)
