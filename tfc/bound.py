"""What is jitted: functions, methods (obj.step(x), obj.step.lower(x)), and where they are found."""

import sys
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from tfc.compiled import Compiled, Lowered
from tfc.errors import TraceError


class BoundFunction(partial):
    """A jitted function whose first argument is an object, also where it is lowered."""

    @property
    def __self__(self) -> Any:
        return self.args[0]

    @property
    def __func__(self) -> Any:
        return self.func

    @property
    def __name__(self) -> str:
        return self.__func__.__name__

    def lower(self, *args: Any, **named: Any) -> Lowered:
        """Trace the method of this object for arguments of these shapes and dtypes.

        Raises:
            TraceError: the method uses a Tensor in a way that a graph cannot express.
        """
        return self.__func__.lower(*self.args, *args, **named)

    def bind(self, *args: Any, **named: Any) -> tuple[Compiled, list[np.ndarray]]:
        """What a call with these arguments runs, and the arrays that it runs it with."""
        return self.__func__.bind(*self.args, *args, **named)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundFunction):
            return NotImplemented
        return self.__func__ is other.__func__ and self.__self__ is other.__self__

    def __hash__(self) -> int:
        return hash((self.__func__, id(self.__self__)))


def check_callable(function: Any) -> None:
    """Check that a function is one.

    Raises:
        TraceError: it is something else, such as what @classmethod makes.
    """
    if isinstance(function, (classmethod, staticmethod)):
        kind = type(function).__name__
        raise TraceError(f"tfc.jit takes a function, got a {kind}; write @{kind} above @tfc.jit")
    if not callable(function):
        raise TraceError(f"tfc.jit takes a function, got {function!r}")


def is_found_by_name(function: Any) -> bool:
    """True if its module has it under its name, so that the name is enough to find it again."""
    try:
        return attrgetter(function.__qualname__)(sys.modules[function.__module__]) is function
    except (AttributeError, KeyError, TypeError):
        return False
