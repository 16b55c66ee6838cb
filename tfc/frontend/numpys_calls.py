"""Calls outside of traces of functions that have a row: NumPy's own function, or the general way.

Here every hundred nanoseconds count: a call of NumPy's on ten elements takes five of them.
"""

import contextvars
import threading
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from tfc.frontend.numpys_linalg import MODULES
from tfc.frontend.numpys_own import LIST, ROWS, Own
from tfc.frontend.trace import open_traces
from tfc.runtime.calls import calls
from tfc.tracebacks import hide_frames


class _Quiet(threading.local):
    """Calls of NumPy that warn of nothing, in a context of each thread's own."""

    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


_quiet = _Quiet()


_ALL_ROWS = {**ROWS, **MODULES}


def directly(
    function: Callable[..., Any], general: Callable[..., Any], name: str
) -> Callable[..., Any]:
    """A function that is NumPy's where the row of that name says so, and else the general one."""
    row = _ALL_ROWS.get(name)
    if row is None:
        return general
    is_plain = row.operands > 0 and not row.options
    made = _of_arrays(row, general) if is_plain else _with_options(row, function, general)
    return wraps(general)(made)


def _types(row: Own) -> tuple[frozenset[np.dtype], frozenset[type]]:
    """The dtypes of arrays that a row is for, and the types of numbers."""
    found = frozenset(map(np.dtype, row.dtypes))
    numbers = {bool, int, float, *(dtype.type for dtype in found)}
    return found, frozenset(numbers if row.takes_numbers else ())


def _as_arrays(made: Any) -> Any:
    """What NumPy gives, with arrays in place of its numbers."""
    if type(made) in (tuple, list):
        return type(made)(map(np.asarray, made))
    return made if isinstance(made, tuple) else np.asarray(made)  # tuples with names hold arrays


def _of_arrays(row: Own, general: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a row without options, where every hundred nanoseconds count."""
    dtypes, numbers = _types(row)
    count, call, array = row.operands, row.call, np.ndarray

    def wrapper(*args: Any, **named: Any) -> Any:
        if len(args) == count and not named and not open_traces.traces and calls.uses_numpy:
            for arg in args:
                kind = type(arg)
                if arg.dtype not in dtypes if kind is array else kind not in numbers:
                    break
            else:
                try:
                    made = _quiet.run(call, *args)
                    return made if type(made) is array else _as_arrays(made)
                except Exception:
                    pass  # the general way explains what is wrong, or does what NumPy does not
        try:
            return general(*args, **named)
        except Exception as error:
            hide_frames(error)
            raise

    return wrapper


def _with_options(
    row: Own, function: Callable[..., Any], general: Callable[..., Any]
) -> Callable[..., Any]:
    """The function of a row whose arrays are followed by options."""
    dtypes, _ = _types(row)
    needs_axis = "axis" in row.options and row.operands != LIST
    names = list(signature(function).parameters)
    is_list, call, array = row.operands == LIST, row.call, np.ndarray
    count = 1 if is_list else row.operands

    def are_covered(operands: Any) -> bool:
        for arg in operands:
            if type(arg) is not array or arg.dtype not in dtypes or (needs_axis and not arg.ndim):
                return False
        return True

    def covers(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        if is_list and type(args[0]) is not list and type(args[0]) is not tuple:
            return False
        for name, value in options.items():
            option = row.options.get(name)
            if option is None or not option(value):
                return False
        return are_covered(args[0] if is_list else args)

    def wrapper(*args: Any, **named: Any) -> Any:
        if count <= len(args) <= len(names) and not open_traces.traces and calls.uses_numpy:
            options = named
            if len(args) > count:
                options = {**dict(zip(names[count:], args[count:])), **named}
            if covers(args[:count], options):
                try:
                    made = _quiet.run(call, *args[:count], **options)
                    return made if type(made) is array else _as_arrays(made)
                except Exception:
                    pass  # as above
        try:
            return general(*args, **named)
        except Exception as error:
            hide_frames(error)
            raise

    return wrapper
