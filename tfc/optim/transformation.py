"""What an optimizer is: init and update; and how several become one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import tree
from tfc.frontend.numpy.arithmetic import astype
from tfc.frontend.promotion import dtype_of
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.tracebacks import api_boundary

Tree = Any  # a nested structure of arrays
Schedule = Callable[[Any], Any]  # from the number of steps done to a number


class GradientTransformation(NamedTuple):
    """Two pure functions that make updates of gradients.

    init: parameters -> state.
    update: (updates, state, parameters) -> (updates, state); where the parameters do not matter
        they may be left out.
    """

    init: Callable[[Tree], Tree]
    update: Callable[..., tuple[Tree, Tree]]


class EmptyState(NamedTuple):
    """The state of what remembers nothing."""


def array_of(value: ArrayLike) -> Any:
    """A Tensor, or an array of a number, whose dtype is known."""
    return value if isinstance(value, (Tensor, np.ndarray, np.generic)) else np.asarray(value)


def number_like(value: ArrayLike, leaf: ArrayLike) -> Any:
    """A number, or a scalar Tensor, in the dtype of a leaf, which it must not change."""
    return astype(value, dtype_of(leaf))


def tree_map(function: Callable[..., Any], first: Tree, *others: Tree) -> Tree:
    """The nested structure of what a function makes of the leaves at the same place.

    Raises:
        TraceError: the structures differ.
    """
    leaves, structure = tree.flatten(first)
    columns = [leaves]
    for other in others:
        found, other_structure = tree.flatten(other)
        if other_structure != structure:
            raise TraceError(
                "an optimizer requires gradients, parameters and state of the same structure, got "
                f"{structure} and {other_structure}"
            )
        columns.append(found)
    return tree.unflatten(structure, [function(*map(array_of, place)) for place in zip(*columns)])


def stateless(function: Callable[[Tree, Tree], Tree]) -> GradientTransformation:
    """The transformation that remembers nothing: (updates, parameters) -> updates."""

    @api_boundary
    def update(updates: Tree, state: EmptyState, params: Tree = None) -> tuple[Tree, EmptyState]:
        return evaluable(function)(updates, params), state

    return GradientTransformation(lambda params: EmptyState(), update)


def stateful(
    init: Callable[[Tree], Tree], update: Callable[[Tree, Tree, Tree], tuple[Tree, Tree]]
) -> GradientTransformation:
    """The transformation of two functions that work on Tensors; outside a trace, on arrays too."""
    step = evaluable(update)

    @api_boundary
    def stepped(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        return step(updates, state, params)

    return GradientTransformation(evaluable(init), stepped)


def needs_parameters(name: str, params: Tree) -> None:
    """Refuse that the parameters are left out.

    Raises:
        TraceError: they are.
    """
    if params is None:
        raise TraceError(f"{name} requires the parameters: update(gradients, state, parameters)")


@api_boundary
def apply_updates(params: Tree, updates: Tree) -> Tree:
    """The parameters with the updates added, in the parameters' dtypes.

    Raises:
        TraceError: their structures differ.
    """
    return evaluable(_applied)(params, updates)


def _applied(params: Tree, updates: Tree) -> Tree:
    return tree_map(lambda p, u: astype(p + u, p.dtype), params, updates)


def identity() -> GradientTransformation:
    """The updates as they are."""
    return GradientTransformation(
        lambda params: EmptyState(), lambda updates, state, params=None: (updates, state)
    )


def set_to_zero() -> GradientTransformation:
    """Updates of zero: what is frozen."""
    return stateless(lambda updates, params: tree_map(lambda u: u * number_like(0, u), updates))


def chain(*transformations: GradientTransformation) -> GradientTransformation:
    """Transformations one after the other; the state is the tuple of theirs."""

    def init(params: Tree) -> tuple[Tree, ...]:
        return tuple(each.init(params) for each in transformations)

    @api_boundary
    def update(updates: Tree, state: Sequence[Tree], params: Tree = None) -> tuple[Tree, Tree]:
        if len(state) != len(transformations):
            raise TraceError(
                f"a chain of {len(transformations)} transformations requires as many states, got "
                f"{len(state)}: use what its init gave"
            )
        states = []
        for each, old in zip(transformations, state):
            updates, new = each.update(updates, old, params)
            states.append(new)
        return updates, tuple(states)

    return GradientTransformation(init, update)


def masked(
    inner: GradientTransformation, mask: Tree | Callable[[Tree], Tree]
) -> GradientTransformation:
    """The transformation for those leaves alone whose mask is True; others pass as they are.

    Args:
        mask: Python booleans in the structure of the parameters, or a function that makes them of
            the parameters, or of the updates.
    """

    def chosen(like: Tree) -> list[bool]:
        booleans, structure = tree.flatten(mask(like) if callable(mask) else mask)
        if structure != tree.flatten(like)[1] or not all(isinstance(b, bool) for b in booleans):
            raise TraceError(
                "masked requires a mask of Python booleans in the structure of the parameters, "
                f"got {structure}"
            )
        return booleans

    def kept(like: Tree, booleans: list[bool]) -> Tree:
        leaves, structure = tree.flatten(like)
        # None is a structure without leaves, so the inner transformation sees nothing there.
        return tree.unflatten(structure, [v if b else None for v, b in zip(leaves, booleans)])

    def init(params: Tree) -> Tree:
        return inner.init(kept(params, chosen(params)))

    @api_boundary
    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        booleans = chosen(updates)
        inside = None if params is None else kept(params, booleans)
        made, state = inner.update(kept(updates, booleans), state, inside)
        leaves, structure = tree.flatten(updates)
        new = iter(tree.flatten(made)[0])
        merged = [next(new) if b else leaf for leaf, b in zip(leaves, booleans)]
        return tree.unflatten(structure, merged), state

    return GradientTransformation(init, update)
