"""A JAX program as data: it can be called, printed as Python, and made smaller.

    Function ::= parameters:Type* steps:Step* results:int*
    Step     ::= function arguments keywords element type:Type     -- one value, numbered in order
    argument ::= Ref(number) | Name(dotted) | Function | literal | tuple or list of arguments

Values are numbered: the parameters 0 … n-1, then the steps.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfc.testing.jax_programs import helpers

ROOTS = {"jax": jax, "jnp": jnp, "lax": lax, "helpers": helpers, "np": np}


@dataclass(frozen=True)
class Type:
    """The dimensions and the dtype of a value."""

    dims: tuple[int, ...]
    dtype: str

    @property
    def spec(self) -> jax.ShapeDtypeStruct:
        """What JAX traces with."""
        return jax.ShapeDtypeStruct(self.dims, jnp.dtype(self.dtype))


@dataclass(frozen=True)
class Ref:
    """A value of the function at hand."""

    number: int


@dataclass(frozen=True)
class Name:
    """What a dotted name stands for: a function, or a dtype."""

    dotted: str


@dataclass(frozen=True)
class Step:
    """A call of a function, of whose result `element` is taken, if it is one of several."""

    function: str
    arguments: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...]
    element: int | None
    type: Type


@dataclass(frozen=True, eq=False)  # JAX hashes what it traces, and lists have no hash
class Function:
    """Steps over parameters; several results are a tuple."""

    parameters: tuple[Type, ...]
    steps: tuple[Step, ...]
    results: tuple[int, ...]
    as_tuple: bool = False

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of all values."""
        return (*self.parameters, *(s.type for s in self.steps))

    def __call__(self, *arguments: Any) -> Any:
        """What JAX computes, or traces."""
        values = list(arguments)
        for step in self.steps:
            values.append(call(step, values))
        results = tuple(values[n] for n in self.results)
        return results if self.as_tuple else results[0]


def named(dotted: str) -> Any:
    """What a dotted name stands for."""
    root, *rest = dotted.split(".")
    found: Any = ROOTS[root]
    for name in rest:
        found = getattr(found, name)
    return found


def call(step: Step, values: Sequence[Any]) -> Any:
    """The value of a step, from the values before it."""

    def given(argument: Any) -> Any:
        match argument:
            case Ref(number):
                return values[number]
            case Name(dotted):
                return named(dotted)
            case tuple() | list():
                return type(argument)(map(given, argument))
        return argument

    function: Callable[..., Any] = named(step.function)
    result = function(*map(given, step.arguments), **{k: given(v) for k, v in step.keywords})
    return result if step.element is None else result[step.element]


def parts(argument: Any) -> Iterator[Any]:
    """An argument, and what is in it if it is a tuple or a list."""
    yield argument
    if isinstance(argument, (tuple, list)):
        for element in argument:
            yield from parts(element)


def operands(step: Step) -> tuple[int, ...]:
    """The numbers of the values that a step takes."""
    found = parts((step.arguments, tuple(v for _, v in step.keywords)))
    return tuple(a.number for a in found if isinstance(a, Ref))


def functions_in(function: Function) -> Iterator[str]:
    """The names of what is called, within functions that are arguments, too."""
    for step in function.steps:
        yield step.function
        for argument in parts((step.arguments, tuple(v for _, v in step.keywords))):
            if isinstance(argument, Function):
                yield from functions_in(argument)
            elif isinstance(argument, Name):
                yield argument.dotted


def renumbered(step: Step, numbers: dict[int, int]) -> Step:
    """The step over values that have other numbers."""

    def given(argument: Any) -> Any:
        if isinstance(argument, Ref):
            return Ref(numbers[argument.number])
        if isinstance(argument, (tuple, list)):
            return type(argument)(map(given, argument))
        return argument

    keywords = tuple((k, given(v)) for k, v in step.keywords)
    return replace(step, arguments=given(step.arguments), keywords=keywords)


def source(function: Function, name: str = "program", indent: str = "") -> str:
    """The function as Python."""
    count = len(function.parameters)
    names = [f"{'xyzuvw'[n] if n < 6 else f'x{n}'}" for n in range(count)]
    names += [f"v{n}" for n in range(count, count + len(function.steps))]
    inner = indent + "    "
    lines = [f"{indent}def {name}({', '.join(names[:count])}):"]

    def shown(argument: Any) -> str:
        match argument:
            case Ref(number):
                return names[number]
            case Name(dotted):
                return dotted
            case Function():
                inside = f"{name}_{sum(line.lstrip().startswith('def') for line in lines)}"
                lines.append(source(argument, inside, inner))
                return inside
            case tuple():
                return f"({', '.join(map(shown, argument))}{',' if len(argument) == 1 else ''})"
            case list():
                return f"[{', '.join(map(shown, argument))}]"
        return repr(argument)

    for number, step in enumerate(function.steps, count):
        given = [shown(a) for a in step.arguments]
        given += [f"{k}={shown(v)}" for k, v in step.keywords]
        element = "" if step.element is None else f"[{step.element}]"
        dims = ",".join(map(str, step.type.dims))
        lines.append(f"{inner}{names[number]} = {step.function}({', '.join(given)}){element}"
                     f"  # {step.type.dtype}[{dims}]")  # fmt: skip
    results = ", ".join(names[n] for n in function.results)
    lines.append(f"{inner}return ({results},)" if function.as_tuple else f"{inner}return {results}")
    return "\n".join(lines)
