"""Looking into a program that runs: debug.print, debug.callback.

    tfc.debug.print("loss {l:.3f} at step {s}", l=loss, s=step)

They are effects: each runs once for each time that it is reached, in the order of the program's
text, whoever uses what is around it.
"""

import sys
from collections.abc import Callable
from string import Formatter
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import tree
from tfc.frontend.callbacks.host import called_back
from tfc.frontend.promotion import NOT_NUMERIC
from tfc.frontend.tensor import Tensor, evaluable


@evaluable
def callback(function: Callable[..., Any], *args: Any, ordered: bool = False, **named: Any) -> None:
    """Call a Python function with NumPy arrays while the program runs, for its effect.

    Args:
        function: what it returns is not looked at. An exception reaches whoever runs the program.
        args, named: nested structures of arrays; what is no array is passed as it is.
        ordered: for JAX's signature; effects are always in order.

    Raises:
        TraceError: `function` cannot be called.
    """
    if not callable(function):
        raise TraceError(f"debug.callback requires a function, got {function!r}")
    leaves, structure = tree.flatten((args, named))
    moving = [n for n, leaf in enumerate(leaves) if _is_array(leaf)]

    def run(*arrays: np.ndarray) -> None:
        filled = list(leaves)
        for place, array in zip(moving, arrays):
            filled[place] = array
        positional, by_name = tree.unflatten(structure, filled)
        function(*positional, **by_name)

    run.__name__ = getattr(function, "__name__", "a function")
    called_back("debug.callback", run, None, (tuple(leaves[n] for n in moving), {}), effect=True)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) or np.asarray(leaf).dtype.kind not in NOT_NUMERIC


class _Checker(Formatter):
    """Finds what a format does not use; formats nothing, as values are not known yet."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [n for n in range(len(args)) if n not in used_args]
        unused += [name for name in kwargs if name not in used_args]
        if unused:
            raise TraceError(
                f"debug.print does not use the arguments {unused} in its format; an f-string is "
                "made before the values are known: pass a plain text and the values beside it"
            )


@evaluable
def print(fmt: str, *args: Any, ordered: bool = False, **named: Any) -> None:
    """Print values while the program runs, to Python's standard output.

    Args:
        fmt: a text in which str.format puts the arguments: "x is {x}".
        args, named: nested structures of arrays, and whatever else is to be printed.
        ordered: for JAX's signature; what is printed is always in order.

    Raises:
        TraceError: the format does not use an argument, or uses one that is not there.
    """
    try:
        _Checker().format(fmt, *args, **named)
    except (IndexError, KeyError, AttributeError, ValueError) as error:
        raise TraceError(f"debug.print cannot format {fmt!r}: {error!r}") from None

    def write(*positional: Any, **by_name: Any) -> None:
        sys.stdout.write(fmt.format(*positional, **by_name) + "\n")

    callback(write, *args, **named)
