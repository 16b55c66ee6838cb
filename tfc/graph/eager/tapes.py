"""Gradients of what was computed: GradientTape, and functions that give gradients of functions."""

from collections.abc import Callable, Sequence
from typing import Any

from tfc.errors import ShapeError
from tfc.frontend import tree
from tfc.graph.constants import convert_to_tensor
from tfc.graph.differentiation.gradients import gradients
from tfc.graph.eager.execution import eager_graph
from tfc.graph.eager.variables import Variable
from tfc.graph.operation import Tensor


class GradientTape:
    """Keeps what is computed within `with`, to take gradients of it.

    persistent: `gradient` may be called several times.
    """

    def __init__(self, persistent: bool = False):
        self._persistent, self._used = persistent, False
        self._watched: set[Tensor] = set()
        self._graph = eager_graph("GradientTape")

    def __enter__(self) -> "GradientTape":
        self._graph.tapes += 1
        return self

    def __exit__(self, *_: Any) -> None:
        self._graph.tapes -= 1

    def watch(self, tensor: Any) -> None:
        """Let gradients by a tensor be asked for, or by each of a list; variables need no word."""
        for leaf in tree.flatten(tensor)[0]:
            if isinstance(leaf, Tensor):
                self._watched.add(leaf)

    def gradient(self, target: Any, sources: Any, output_gradients: Any = None) -> Any:
        """The derivative of the target by the sources, nested as they are; None for none.

        Raises:
            RuntimeError: it was called before, and the tape is not persistent.
        """
        if self._used and not self._persistent:
            raise RuntimeError(
                "GradientTape.gradient can only be called once on non-persistent tapes."
            )
        self._used = True
        leaves, structure = tree.flatten(sources)
        found = gradients(target, leaves, output_gradients)
        known = [g if self._knows(x) else None for x, g in zip(leaves, found)]
        return tree.unflatten(structure, known)

    def _knows(self, source: Any) -> bool:
        """Whether it was watched, or computed while the tape was open."""
        return not isinstance(source, Tensor) or source in self._watched or bool(source.op.inputs)


def _by_arguments(
    f: Callable[..., Any], params: Sequence[int] | None, args: Sequence[Any], output: Any
) -> tuple[Any, list[Any]]:
    """The value of a function, and its gradients by its arguments."""
    tensors = [x if hasattr(x, "handle") else convert_to_tensor(x) for x in args]
    chosen = range(len(tensors)) if params is None else params
    with GradientTape() as tape:
        tape.watch(tensors)
        value = f(*tensors)
    return value, tape.gradient(value, [tensors[n] for n in chosen], output)


def gradients_function(
    f: Callable[..., Any], params: Sequence[int] | None = None
) -> Callable[..., list[Any]]:
    """A function that gives the gradients of another by its arguments.

    Args:
        params: the numbers of the arguments; all if left out.
    """
    return lambda *args, dy=None: _by_arguments(f, params, args, dy)[1]


def value_and_gradients_function(
    f: Callable[..., Any], params: Sequence[int] | None = None
) -> Callable[..., tuple[Any, list[Any]]]:
    """A function that gives another's value, and its gradients by its arguments."""
    return lambda *args, dy=None: _by_arguments(f, params, args, dy)


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives another's value, and pairs of gradients and the variables it uses."""

    def wrapper(*args: Any, **named: Any) -> Any:
        with Variable.noting() as used, GradientTape() as tape:
            value = f(*args, **named)
        if value is None:
            raise ShapeError("Cannot differentiate a function that returns None")
        variables = [v for v in used if v.trainable]
        return value, list(zip(tape.gradient(value, variables), variables))

    return wrapper


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives pairs of gradients and the variables that another one uses."""
    both = implicit_value_and_gradients(f)
    return lambda *args, **named: both(*args, **named)[1]
