"""Functions whose results have sizes that depend on values: NumPy's own where the values are known.

A Tensor's are not, so such a function takes the size of its result from the caller then, as in JAX.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tfc.errors import ShapeError, TraceError
from tfc.frontend import tree
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import FUNCTIONS, Tensor, evaluable
from tfc.frontend.trace import for_user

P = ParamSpec("P")
R = TypeVar("R")

_SIZED = ("size", "length", "fill_value")  # what NumPy's functions have not


def are_known(*values: Any) -> bool:
    """Whether there is no Tensor among the values, or in what they consist of."""
    return not any(isinstance(leaf, Tensor) for leaf in tree.flatten(values)[0])


def numpy_if_known(original: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function NumPy's own where all values are known and no size is asked for.

    Else it is traced, and evaluated at once outside a trace. It is entered in FUNCTIONS.

    Args:
        original: NumPy's function, or one that calls it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        traced = evaluable(function)

        @wraps(function)
        def wrapper(*args: P.args, **named: P.kwargs) -> R:
            sized = any(named.get(name) is not None for name in _SIZED)
            if sized or not are_known(args, named):
                return traced(*args, **named)
            if isinstance(named.get("axis"), bool):
                raise _refused(f"an axis must be an integer, got {named['axis']}")
            plain = {name: value for name, value in named.items() if name not in _SIZED}
            try:
                return original(*args, **plain)
            except (TypeError, ValueError, IndexError) as error:
                raise _refused(f"{function.__name__}: {error}") from None

        FUNCTIONS[function.__name__] = wrapper
        return wrapper

    return decorate


def _refused(message: str) -> ShapeError:
    error = ShapeError(message)
    for_user(error)
    return error


def require_size(name: str, size: int | None, word: str = "size") -> int:
    """The size of a result that depends on values that are not known.

    Raises:
        TraceError: it is not given.
    """
    if size is None:
        raise TraceError(
            f"the size of what {name} gives depends on values that are not known while tracing; "
            f"give it as {word}=…"
        )
    found = whole(size, f"the {word}")
    if found < 0:
        raise ShapeError(f"the {word} must not be negative, got {found}")
    return found
