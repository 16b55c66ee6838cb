"""Gradients kept within bounds."""

from typing import Any

import numpy as np

from tfc.frontend import tree
from tfc.frontend.numpy import comparisons
from tfc.frontend.numpy.arithmetic import absolute, square, where
from tfc.frontend.numpy.functions import isnan, sqrt
from tfc.frontend.numpy.reductions import sum
from tfc.frontend.tensor import ArrayLike, evaluable
from tfc.optim.transformation import (
    GradientTransformation,
    Tree,
    array_of,
    number_like,
    stateless,
    tree_map,
)


@evaluable
def global_norm(updates: Tree) -> Any:
    """The square root of the sum of the squares of all elements of all leaves."""
    total: Any = np.float32(0)
    for leaf in tree.flatten(updates)[0]:
        total = total + sum(square(absolute(array_of(leaf))))
    return sqrt(total)


def clip(max_delta: ArrayLike) -> GradientTransformation:
    """Each element within -max_delta … max_delta."""

    def update(updates: Tree, _: Tree) -> Tree:
        return tree_map(lambda u: _within(u, number_like(max_delta, u)), updates)

    return stateless(update)


def _within(update: Any, bound: Any) -> Any:
    return comparisons.clip(update, -bound, bound)


def clip_by_global_norm(max_norm: float) -> GradientTransformation:
    """All elements made smaller by one factor, so that the global norm is max_norm at most."""

    def update(updates: Tree, _: Tree) -> Tree:
        norm = global_norm(updates)

        def clipped(leaf: Any) -> Any:
            of_leaf = number_like(norm, leaf)
            return where(norm < max_norm, leaf, leaf / of_leaf * number_like(max_norm, leaf))

        return tree_map(clipped, updates)

    return stateless(update)


def zero_nans() -> GradientTransformation:
    """Elements that are NaN become 0."""

    def update(updates: Tree, _: Tree) -> Tree:
        return tree_map(lambda u: where(isnan(u), number_like(0, u), u), updates)

    return stateless(update)
