"""Functions with state: a step of training becomes a class that keeps what it trains.

def step(params, momenta, x, y):  ...  return params, momenta, loss        state=2

    arguments x, y · result loss · variables params_w, params_b, momenta_w, …
"""

from collections.abc import Sequence
from typing import Any

from tfc.aot.interface import Interface, State
from tfc.aot.source import bound_names, module_of, traced_module
from tfc.errors import TfcError
from tfc.frontend import tree
from tfc.hlo.ir import Module
from tfc.hlo.shape import leaves


def with_state(function: Any, args: Sequence[Any], count: int) -> Interface:
    """The module of a function whose first arguments are state, and its first results their next.

    Args:
        args: as `module_of` takes them.
        count: how many of them are state.

    Raises:
        TfcError: the function is none, or does not give the state first, in the shapes it has.
    """
    if not callable(function) or isinstance(function, Module):
        raise TfcError(f"state is of functions, got {type(function).__name__}")
    if not 0 < count <= len(args):
        raise TfcError(
            f"state must be 1 to {len(args)}, as there are so many arguments, got {count}"
        )
    names = bound_names(function, args)

    def reordered(*given: Any) -> Any:
        """Takes the state last, and gives it last."""
        rest, held = given[: len(args) - count], given[len(args) - count :]
        made = function(*held, *rest)
        if not isinstance(made, tuple) or len(made) < count:
            raise TfcError(
                f"{reordered.__name__} must return a tuple that begins with its {count} arguments "
                f"of state as they are next, got {type(made).__name__}"
            )
        if tree.flatten(held)[1] != tree.flatten(made[:count])[1]:
            raise TfcError(
                f"{reordered.__name__} must return its state in the containers that it takes it in"
            )
        return (*made[count:], *made[:count])

    reordered.__name__ = getattr(function, "__name__", "function")
    examples = [*args[count:], *args[:count]]
    module = traced_module(reordered, examples, [*names[count:], *names[:count]])
    leaf_count = len(tree.flatten(list(args[:count]))[0])
    return _interface(module, leaf_count)


def _interface(module: Module, count: int) -> Interface:
    """What a class has of a module whose last leaves are state.

    Raises:
        TfcError: what the state becomes is not as it is.
    """
    parameters = module.entry.parameters[-count:]
    results = list(leaves(module.entry.root.shape))
    first = len(results) - count, len(module.entry.parameters) - count
    states = []
    for number, parameter in enumerate(parameters):
        made = results[first[0] + number]
        if not made.is_compatible(parameter.array_shape):
            raise TfcError(
                f"the state {parameter.name} is {parameter.array_shape.without_layout()}, but "
                f"becomes {made.without_layout()}"
            )
        states.append(State(parameter.name, first[1] + number, first[0] + number))
    alias = ", ".join(f"{{{s.result}}}: ({s.argument}, {{}}, may-alias)" for s in states)
    attributes = (("input_output_alias", f"{{ {alias} }}"),)
    named = Module(module.name, module.entry, attributes)
    return Interface(module_of(named, ()), states=tuple(states))
