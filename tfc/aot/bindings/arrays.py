"""The arrays of a program as bindings see them: what they are called, and where they lie.

arg0 = arg_x   f32[2,3]   64 bytes behind the start of the block
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tfc.aot.elements import remark
from tfc.aot.placing import place
from tfc.aot.signature import WRONG_PROCESSOR, Leaf, Signature
from tfc.errors import TfcError


@dataclass(frozen=True)
class Array:
    """An argument, a variable or a result.

    names: what it is called by: by number first, then by name if it has one; a variable by name
        alone; none for the next value of a variable.
    name: what it is looked up by; "" for none.
    label: what messages and comments call it.
    at: bytes from the start of the block of memory that holds all buffers.
    initial: where what a variable holds at first begins in the object's array of such values; None
        for zeros.
    """

    names: tuple[str, ...]
    name: str
    label: str
    leaf: Leaf
    at: int
    initial: int | None = None

    @property
    def description(self) -> str:
        """Label, type and sizes: argument 0 (x): f32[2,3]."""
        shape = self.leaf.shape
        return f"{self.label}: {shape.without_layout()}{remark(shape.element_type)}"


def argument_arrays(signature: Signature) -> list[Array]:
    """The arguments, with the variables behind them."""
    placing = place(signature)
    at = {**placing.own, **placing.arguments}
    fed = len(signature.fed)
    found = []
    for number, leaf in enumerate(signature.arguments):
        if number < fed:
            names, label = _names("arg", number, leaf), f"argument {number} ({leaf.name})"
        else:
            names, label = (f"var_{leaf.called}",), f"variable {leaf.name}"
        initial = signature.initial_places.get(number)
        found.append(Array(names, leaf.name, label, leaf, at[number], initial))
    return found


def result_arrays(signature: Signature) -> list[Array]:
    """The results, with the next values of variables behind them."""
    placing = place(signature)
    at, aliases = {**placing.own, **placing.arguments}, dict(signature.aliases)
    fetched = len(signature.fetched)
    found = []
    for number, leaf in enumerate(signature.results):
        own = placing.results[number]
        names = _names("result", number, leaf) if number < fetched else ()
        label = f"result {number}" + (f" ({leaf.called})" if leaf.called else "")
        where = at[aliases[number]] if own is None else own
        found.append(Array(names, leaf.called, label, leaf, where))
    return found


def _names(kind: str, number: int, leaf: Leaf) -> tuple[str, ...]:
    by_number = (f"{kind}{number}",)
    return (*by_number, f"{kind}_{leaf.called}") if leaf.called else by_number


def failures(signature: Signature) -> list[tuple[int | None, str]]:
    """What the entry point returns where it fails, and what that means; None for all else."""
    found: list[tuple[int | None, str]] = [(None, "the computation failed")]
    if signature.is_checked:
        lacks = (
            f"this processor lacks instructions of {signature.cpus[0]}, for which the code was "
            "made: make it for another processor"
        )
        found.insert(0, (WRONG_PROCESSOR, lacks))
    return found


def checked_text(
    signature: Signature,
    language: str,
    keywords: Iterable[str],
    comment: str,
    text: Callable[[str], str],
) -> str:
    """The text of a binding, whose class has a name that means nothing else in it.

    Args:
        comment: what comments begin with, which last to the end of the line.
        text: the binding for a name of the class.

    Raises:
        TfcError: the class's name is a word of the language or of the binding.
    """
    name = signature.cpp_class.name
    said = rf'{comment}[^\n]*|""".*?"""|"[^"\n]*"'
    code = re.sub(said, "", text(_ANY_NAME), flags=re.DOTALL)
    if name in (*keywords, *re.findall(r"[A-Za-z_]\w*", code)):
        raise TfcError(
            f"the class must not be called '{name}' in {language}, where that is something else: "
            "choose another name"
        )
    return text(name)


_ANY_NAME = "NameOfTheClass"
