"""py_func: a Python function of NumPy arrays as an operation, with a gradient if one is given."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend.abstract import ShapeDtypeStruct
from tfc.frontend.callbacks.host import called_back
from tfc.frontend.differentiation.custom.vjp import custom_vjp
from tfc.frontend.tensor import evaluable


@evaluable
def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
    *,
    shape: Any = None,
    grad: Callable[..., Any] | None = None,
) -> Any:
    """What a Python function returns, called with NumPy arrays while the program runs, on the CPU.

    An exception reaches whoever runs the program. Object files cannot have it.

    Args:
        func: takes the arrays of `inp`, and returns an array, or several if `Tout` is a list.
        inp: a list of arrays.
        Tout: the dtype of the result, or a list of them; a ShapeDtypeStruct says the shape, too.
        stateful: the function has effects: it is called once whenever the program comes to it, in
            order with others. False lets a call be dropped whose result nothing uses.
        name: for errors; the function's own when left out.
        shape: the result's dimensions, or a list of them for a list of results.
        grad: (*inp, *cotangents of the results) -> the cotangent of each input, or of the only
            one; None for zero. It is traced, and may call py_func.

    Raises:
        TraceError: the shape of a result is not stated.
        ShapeError (when it runs): the function returned something else than was stated.
    """
    several = isinstance(Tout, (list, tuple))
    dtypes = list(Tout) if several else [Tout]
    shapes = list(shape) if several and shape is not None else [shape] * len(dtypes)
    if len(shapes) != len(dtypes):
        raise TraceError(f"py_func needs as many shapes as results, got {len(shapes)}")
    stated = [_stated(d, s) for d, s in zip(dtypes, shapes)]

    def call(*inputs: Any) -> list[Any]:
        return called_back("py_func", run, stated, (inputs, {}), effect=stateful)

    def run(*arrays: Any) -> list[Any]:
        made = func(*arrays)
        return list(made) if several else [made]

    run.__name__ = name or getattr(func, "__name__", "a function")
    if grad is None:
        results = call(*inp)
    else:
        given = grad
        with_gradient = custom_vjp(call)

        def back(inputs: tuple[Any, ...], cotangents: list[Any]) -> tuple[Any, ...]:
            made = given(*inputs, *cotangents)
            return tuple(made) if isinstance(made, (tuple, list)) else (made,)

        with_gradient.defvjp(lambda *inputs: (call(*inputs), inputs), back)
        results = with_gradient(*inp)
    return results if several else results[0]


def _stated(dtype: Any, shape: Any) -> ShapeDtypeStruct:
    """The shape and dtype of one result.

    Raises:
        TraceError: the shape is not stated.
    """
    is_class = isinstance(dtype, type)  # np.float32 has descriptors of such names
    if not is_class and hasattr(dtype, "shape") and hasattr(dtype, "dtype"):
        return ShapeDtypeStruct(dtype.shape, dtype.dtype)
    if shape is None:
        raise TraceError(
            "py_func must be told the shapes of its results, as programs are compiled for known "
            "shapes: pass shape=, or a ShapeDtypeStruct in Tout"
        )
    return ShapeDtypeStruct(shape, np.dtype(dtype))
