"""What has a text form: the function that gives it, whose cases printer.py registers."""

from functools import singledispatch
from typing import Any


@singledispatch
def text_of(node: object) -> str:
    """The text form of an instruction, a computation or a module: what str() gives."""
    return repr(node)


class Printable:
    """What has a text form: str() gives it, and notebooks and failing tests show it."""

    __slots__ = ()

    def __str__(self) -> str:
        return text_of(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))
