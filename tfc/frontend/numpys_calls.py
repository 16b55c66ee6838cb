"""Calls outside of traces of functions that have a row: NumPy's own function, or the general way.

Here every hundred nanoseconds count: a call of NumPy's on ten elements takes five of them.
"""

import contextvars
import threading
from collections.abc import Callable
from functools import cache, wraps
from inspect import signature
from typing import Any

import numpy as np

from tfc.frontend.numpys_linalg import MODULES
from tfc.frontend.numpys_own import LIST, ROWS, TEXT, Own
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
    if row.operands == TEXT:
        return wraps(general)(_of_text(row, general))
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


def _of_text(row: Own, general: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a row for a text and the arrays after it."""
    dtypes, _ = _types(row)
    call, array = row.call, np.ndarray

    def is_array(arg: Any) -> bool:
        return type(arg) is array and arg.dtype in dtypes

    def wrapper(*args: Any, **named: Any) -> Any:
        if args and not named and not open_traces.traces and calls.uses_numpy:
            text, *operands = args
            if type(text) is str and all(map(is_array, operands)):
                try:
                    return np.asarray(_quiet.run(call, text, *operands))
                except Exception:
                    pass  # as above
        try:
            return general(*args, **named)
        except Exception as error:
            hide_frames(error)
            raise

    return wrapper


def _checks(row: Own, names: list[str]) -> list[Callable[[Any], bool]]:
    """For each argument that may be passed by its place, what tells whether the row covers it."""
    dtypes, _ = _types(row)
    array, needs_axis = np.ndarray, "axis" in row.options

    def is_array(arg: Any) -> bool:
        return type(arg) is array and arg.dtype in dtypes

    def has_axes(arg: Any) -> bool:
        return type(arg) is array and arg.dtype in dtypes and arg.ndim > 0

    def is_list(arg: Any) -> bool:
        return (type(arg) is list or type(arg) is tuple) and all(map(is_array, arg))

    if row.operands == LIST:
        operands = [is_list]
    else:
        operands = [has_axes if needs_axis else is_array] * row.operands
    return operands + [row.options.get(name, _nothing) for name in names[len(operands) :]]


def _alike(call: Callable[..., Any], names: list[str], count: int) -> int:
    """How many arguments NumPy's function takes at the same places: operands, and options."""
    try:
        found = signature(call).parameters.values()
    except (TypeError, ValueError):
        return count
    known = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    while known[count : count + 1] == names[count : count + 1] != []:
        count += 1
    return count


def _nothing(_: Any) -> bool:
    return False


def _with_options(
    row: Own, function: Callable[..., Any], general: Callable[..., Any]
) -> Callable[..., Any]:
    """The function of a row whose arrays are followed by options."""
    names = list(signature(function).parameters)
    checks, options, call, array = _checks(row, names), row.options, row.call, np.ndarray
    count = 1 if row.operands == LIST else row.operands
    most, warns = len(names), row.warns
    alike = cache(lambda: _alike(call, names, count))  # few calls have options without their names

    def covers(args: tuple[Any, ...], named: dict[str, Any]) -> bool:
        for check, arg in zip(checks, args):
            if not check(arg):
                return False
        for name, value in named.items():
            if name not in options or not options[name](value):
                return False
        return True

    def wrapper(*args: Any, **named: Any) -> Any:
        given = len(args)
        if (
            count <= given <= most
            and not open_traces.traces
            and calls.uses_numpy
            and covers(args, named)
        ):
            try:
                if given > count and given > alike():
                    by_name = {**dict(zip(names[count:], args[count:])), **named}
                    args_ = args[:count]
                else:
                    by_name, args_ = named, args
                made = _quiet.run(call, *args_, **by_name) if warns else call(*args_, **by_name)
                return made if type(made) is array else _as_arrays(made)
            except Exception:
                pass  # as above
        try:
            return general(*args, **named)
        except Exception as error:
            hide_frames(error)
            raise

    return wrapper
