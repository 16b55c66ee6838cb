"""Which arguments of a function are meant: chosen by number or by name, passed by place or by name.

def f(x, n=1, *rest, mode="a", **more)
numbers (1,)     → number 1, name n            names "n"    → the same
numbers (-1,)    → refused: *rest has no end   names "mode" → name mode, no number
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from operator import index
from typing import Any

from tfc.errors import TraceError, did_you_mean

Numbers = int | Sequence[int]
Names = str | Iterable[str]

_UNKNOWN = Signature(
    [Parameter("args", Parameter.VAR_POSITIONAL), Parameter("named", Parameter.VAR_KEYWORD)]
)


@dataclass(frozen=True)
class Chosen:
    """Some arguments of a function.

    numbers: the places of those that may be passed by place, in ascending order.
    names: the names of those that may be passed by name.
    """

    numbers: tuple[int, ...] = ()
    names: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)

    def __and__(self, other: "Chosen") -> list[int | str]:
        """The arguments that are in both: each by its number, or its name if it has no number."""
        numbers = set(self.numbers) & set(other.numbers)
        return sorted(numbers) or sorted(self.names & other.names)


def signature_of(function: Callable[..., Any]) -> Signature:
    """The signature of a function; any arguments at all where Python cannot tell."""
    try:
        return signature(function)
    except (TypeError, ValueError):
        return _UNKNOWN


def call_python(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """The result of a user's function.

    Raises:
        TraceError: it does not take these arguments.
    """
    try:
        known = signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return function(*args, **named)
    try:
        known.bind(*args, **named)
    except TypeError as error:
        called = getattr(function, "__name__", "the function")
        raise TraceError(f"{called}{known} cannot take these arguments: {error}") from None
    return function(*args, **named)


def choose(option: str, called: str, known: Signature, numbers: Numbers, names: Names) -> Chosen:
    """The arguments that an option such as "static" names, by `numbers`, by `names` or both.

    A number stands for the name that its parameter has, and the other way round.

    Args:
        called: the function's name, for errors.

    Raises:
        TraceError: a number or a name is of no argument of the function.
    """
    parameters = list(known.parameters.values())
    by_place = [p for p in parameters if p.kind in _PLACES]
    found = {_place(f"{option}_argnums", called, known, n) for n in _listed(option, numbers)}
    listed = {names} if isinstance(names, str) else set(names)
    for name in listed:
        _check_name(f"{option}_argnames", called, known, name)
    found |= {n for n, p in enumerate(by_place) if p.name in listed}
    listed |= {p.name for n, p in enumerate(by_place) if n in found and p.kind not in _NAMELESS}
    return Chosen(tuple(sorted(found)), frozenset(listed))


_PLACES = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NAMELESS = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def _listed(option: str, numbers: Numbers) -> list[int]:
    try:
        return [index(n) for n in numbers] if isinstance(numbers, Iterable) else [index(numbers)]
    except TypeError:
        raise TraceError(
            f"{option}_argnums takes a number or several, got {numbers!r}; names go into "
            f"{option}_argnames"
        ) from None


def _place(option: str, called: str, known: Signature, number: int) -> int:
    kinds = [p.kind for p in known.parameters.values()]
    count = sum(kind in _PLACES for kind in kinds)
    is_open = Parameter.VAR_POSITIONAL in kinds
    if number < 0 and is_open:
        raise TraceError(
            f"{option} of {called} must be counted from the first argument, as it takes any number "
            f"of them, got {number}"
        )
    if number < -count or (number >= count and not is_open):
        raise TraceError(
            f"{option} of {called} must be among its {count} arguments, got {number}"
            + _advice(option, kinds)
        )
    return number % count if number < 0 else number


def _advice(option: str, kinds: Sequence[Any]) -> str:
    """What to do about a number that is too large, if the function has arguments without one."""
    if Parameter.KEYWORD_ONLY not in kinds:
        return ""
    return f"; arguments that are only passed by name go into {option.replace('nums', 'names')}"


def _check_name(option: str, called: str, known: Signature, name: Any) -> None:
    """Check that an argument of that name exists.

    Raises:
        TraceError: it does not.
    """
    if not isinstance(name, str):
        raise TraceError(f"{option} of {called} takes names, got {name!r}")
    kinds = {p.kind for p in known.parameters.values()}
    accepted = [n for n, p in known.parameters.items() if p.kind not in _NAMELESS]
    if name in accepted or Parameter.VAR_KEYWORD in kinds:
        return
    if name in known.parameters and known.parameters[name].kind is Parameter.POSITIONAL_ONLY:
        return  # it has a number
    among = ", ".join(accepted) or "none"
    raise TraceError(
        f"{option} of {called} must be among its arguments ({among}), got '{name}'"
        + did_you_mean(name, accepted)
    )


def argument_names(function: Callable[..., Any], count: int) -> list[str]:
    """What the first positional arguments of a function are called: x, y, rest[0] …"""
    found: list[str] = []
    for parameter in signature_of(function).parameters.values():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            return found[:count] + [f"{parameter.name}[{n}]" for n in range(count - len(found))]
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            found.append(parameter.name)
    return found[:count] + [f"args[{n}]" for n in range(len(found), count)]
