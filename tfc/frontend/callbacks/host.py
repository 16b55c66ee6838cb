"""pure_callback, and what all callbacks share: the custom call of a Python function.

y = tfc.pure_callback(function, tfc.ShapeDtypeStruct(x.shape, x.dtype), x)
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError, TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.abstract import shape_of
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import evaluable
from tfc.frontend.tree import Structure
from tfc.hlo.shape import Shape, TupleShape
from tfc.runtime.functions import register_callback

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")


@evaluable
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    vmap_method: str | None = None,
    vectorized: bool | None = None,
    **named: Any,
) -> Any:
    """What a Python function returns, called with NumPy arrays while the program runs, on the CPU.

    The program may call it once, several times or never, as if it had no effects. An exception
    reaches whoever runs the program.

    Args:
        callback: takes the arguments, nested as they are, as NumPy arrays of its own.
        result_shape_dtypes: what it returns: a nested structure of what has a shape and a dtype,
            such as ShapeDtypeStructs.
        args, named: nested structures of arrays.
        vmap_method: what `vmap` makes of it: "sequential" and "sequential_unrolled" call it for one
            element after the other, as it is when left out; "expand_dims" and "broadcast_all" once,
            with a dimension more in front: of size one, or repeated, for arguments that are not
            mapped over. If no argument is mapped over, it is called once, for all elements.
        vectorized: True is "expand_dims" and False "sequential", as in older versions of JAX.

    Raises:
        TraceError: a result's shape or dtype is not stated, or there is no such vmap_method.
        ShapeError (when it runs): the function returned something else than was stated.
    """
    if vmap_method is None and vectorized is not None:
        vmap_method = "expand_dims" if vectorized else "sequential"
    if vmap_method not in (None, *VMAP_METHODS):
        raise TraceError(f"vmap_method must be one of {VMAP_METHODS}, got {vmap_method!r}")
    return called_back(
        "pure_callback", callback, result_shape_dtypes, (args, named), vmap_method=vmap_method
    )


def called_back(
    kind: str,
    function: Callable[..., Any],
    results: Any,
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    effect: bool = False,
    vmap_method: str | None = None,
) -> Any:
    """Call a Python function from the program being traced.

    Args:
        kind: which function of tfc makes the call, for errors.
        results: the structure of what it returns, of shapes and dtypes.
        effect: the call is kept, and runs once, in its place among others that are.
    """
    leaves, given = tree.flatten(arguments)
    stated, returned = tree.flatten(results)
    title = f"{kind} of {getattr(function, '__name__', 'a function')}"
    paths = tree.paths(returned, "result")
    shapes = [shape_of(s, f"{p} of {title}") for s, p in zip(stated, paths)]

    def giving(shapes: Sequence[Shape]) -> Callable[..., Any]:
        def run(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
            positional, named = tree.unflatten(given, arrays)
            return _arrays(function(*positional, **named), returned, shapes, title)

        return run

    made = ops.operation(
        "custom-call", *(as_tensor(leaf) for leaf in leaves), shape=TupleShape(tuple(shapes)),
        custom_call_target=register_callback(title, giving, shapes, vmap_method),
        custom_call_has_side_effect=True if effect else None,
    )  # fmt: skip
    return tree.unflatten(returned, ops.elements(made))


def _arrays(
    value: Any, structure: Structure, shapes: Sequence[Shape], title: str
) -> tuple[np.ndarray, ...]:
    """The arrays in what a function returned; Python numbers and lists take the dtype stated.

    Raises:
        ShapeError: they are not what was stated.
    """
    leaves, found = ([value], structure) if structure.is_leaf else tree.flatten(value)
    if found != structure:
        raise ShapeError(f"{title} must return the structure {structure} as stated, got {found}")
    arrays = []
    for leaf, shape in zip(leaves, shapes):
        dtype = shape.element_type.dtype
        is_typed = hasattr(leaf, "dtype")
        array = np.asarray(leaf) if is_typed else np.asarray(leaf, dtype)
        if array.dtype != dtype or array.shape != shape.dims:
            raise ShapeError(
                f"{title} must return {dtype}{list(shape.dims)} as stated, got "
                f"{array.dtype}{list(array.shape)}"
            )
        arrays.append(array)
    return tuple(arrays)
