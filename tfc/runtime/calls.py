"""How calls outside any trace are run, which the frontend asks and `tfc/__init__.py` says."""

from collections.abc import Callable
from typing import Any

from tfc.errors import InternalError


def _nobody(*_: Any) -> Any:
    raise InternalError("nothing runs calls outside of traces; importing tfc says what does")


class Calls:
    """How calls outside any trace are run.

    run: (function, args, named, is_library) -> its result, with NumPy arrays in place of Tensors.
        What a function of a library does is decided by its arguments alone.
    uses_numpy: whether functions that NumPy has as well are left to it (numpys_own.py).
    """

    def __init__(self) -> None:
        self.run: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], bool], Any] = (
            _nobody
        )
        self.uses_numpy = True


calls = Calls()
