"""Making a JAX program that fails small: fewer results, calls and parameters, failing still."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tfc.testing.jax_programs.program import Function, operands, parts, renumbered
from tfc.testing.shrinking import SECONDS


def shrink(
    function: Function, fails: Callable[[Function], bool], seconds: float = SECONDS
) -> Function:
    """The smallest function found in the time given that still fails."""
    end = time.monotonic() + seconds
    while True:
        for smaller in simpler(function):
            if time.monotonic() > end:
                return function
            if fails(smaller):
                function = smaller
                break
        else:
            return function


def simpler(function: Function) -> Iterator[Function]:
    """The functions that are one change simpler, the boldest first."""
    count = len(function.parameters)
    total = count + len(function.steps)
    if len(function.results) > 1:
        for result in function.results:
            yield trimmed(replace(function, results=(result,)))
    for number in range(count, total):
        if (number,) != function.results:
            yield trimmed(replace(function, results=(number,)))
    without = trimmed(function)
    if len(without.types) < len(function.types):
        yield without
    yield from with_parameters(function)
    yield from with_operands(function)
    yield from with_simpler_arguments(function)


def trimmed(function: Function) -> Function:
    """The function without the steps and parameters that its results do not need."""
    count = len(function.parameters)
    needed = set(function.results)
    for number in range(count + len(function.steps) - 1, count - 1, -1):
        if number in needed:
            needed.update(operands(function.steps[number - count]))
    kept = sorted(needed)
    numbers = {old: new for new, old in enumerate(kept)}
    return Function(
        tuple(function.parameters[n] for n in kept if n < count),
        tuple(renumbered(function.steps[n - count], numbers) for n in kept if n >= count),
        tuple(numbers[n] for n in function.results),
        function.as_tuple,
    )


def with_parameters(function: Function) -> Iterator[Function]:
    """A parameter in place of each step, the last ones first, which need the most."""
    count = len(function.parameters)
    for at in reversed(range(len(function.steps))):
        number = count + at
        if number in function.results:
            continue
        numbers = {n: n + (n >= count) for n in range(count + len(function.steps))}
        numbers[number] = count
        steps = [renumbered(s, numbers) for s in function.steps]
        parameters = (*function.parameters, function.steps[at].type)
        results = tuple(numbers[n] for n in function.results)
        yield trimmed(Function(parameters, tuple(steps), results, function.as_tuple))


def with_operands(function: Function) -> Iterator[Function]:
    """An earlier value of the same type in place of each step."""
    count, types = len(function.parameters), function.types
    for at in range(len(function.steps)):
        number = count + at
        for earlier in operands(function.steps[at]):
            if types[earlier] == types[number]:
                numbers = {n: n for n in range(len(types))} | {number: earlier}
                steps = tuple(renumbered(s, numbers) for s in function.steps)
                results = tuple(numbers[n] for n in function.results)
                yield trimmed(replace(function, steps=steps, results=results))
                break


def with_simpler_arguments(function: Function) -> Iterator[Function]:
    """Simpler functions as arguments of calls, of the same parameters and type of result."""
    for at, step in enumerate(function.steps):
        inside = [a for a in parts(step.arguments) if isinstance(a, Function)]
        for old in inside:
            for new in _simpler_inside(old):
                arguments = _substituted(step.arguments, old, new)
                steps = list(function.steps)
                steps[at] = replace(step, arguments=arguments)
                yield replace(function, steps=tuple(steps))


def _simpler_inside(function: Function) -> Iterator[Function]:
    """Simpler functions that can stand for one: equal parameters, and results of equal types."""
    count, types = len(function.parameters), function.types
    for at in reversed(range(len(function.steps))):
        number = count + at
        for earlier in range(number):
            if types[earlier] == types[number]:
                numbers = {n: n for n in range(len(types))} | {number: earlier}
                yield _without_unused(replace(
                    function,
                    steps=tuple(renumbered(s, numbers) for s in function.steps),
                    results=tuple(numbers[n] for n in function.results),
                ))  # fmt: skip
                break


def _without_unused(function: Function) -> Function:
    """The function without steps that nothing needs; its parameters stay."""
    count = len(function.parameters)
    needed = {*range(count), *function.results}
    for number in range(count + len(function.steps) - 1, count - 1, -1):
        if number in needed:
            needed.update(operands(function.steps[number - count]))
    kept = sorted(needed)
    numbers = {old: new for new, old in enumerate(kept)}
    steps = tuple(renumbered(function.steps[n - count], numbers) for n in kept if n >= count)
    return replace(function, steps=steps, results=tuple(numbers[n] for n in function.results))


def _substituted(argument: object, old: Function, new: Function):
    if argument is old:
        return new
    if isinstance(argument, (tuple, list)):
        return type(argument)(_substituted(a, old, new) for a in argument)
    return argument
