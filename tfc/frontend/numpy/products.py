"""Functions of the NumPy namespace that sum products: matmul, dot, tensordot, einsum and friends.

All of them are one `contract`: dimensions are labelled, those that both operands share are batch
dimensions if the result has them and contracted if not, and HLO's dot does the rest.
"""

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.creation import diagonal
from tfc.frontend.numpy.manipulation import normalize_axes, ravel
from tfc.frontend.numpy.reductions import sum
from tfc.frontend.promotion import promote
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import S64

Labels = Sequence[Any]


def contract(x: Tensor, y: Tensor, left: Labels, right: Labels, result: Labels) -> Tensor:
    """Sum x times y over the labels that `result` lacks, and order the rest as it does.

    Args:
        left, right, result: one label for each dimension, none of them twice in one list.

    Raises:
        ShapeError: dimensions of one label differ in size (DG-1, DG-2).
    """
    x, left = _sum_out(x, left, {*right, *result})
    y, right = _sum_out(y, right, {*left, *result})
    shared = [label for label in left if label in right]
    batch = [label for label in shared if label in result]
    summed = [label for label in shared if label not in result]
    for label in shared:
        sizes = x.shape[left.index(label)], y.shape[right.index(label)]
        if sizes[0] != sizes[1]:
            raise ShapeError(
                f"a sum of products requires dimensions of equal size, got {sizes[0]} and "
                f"{sizes[1]} in {list(x.shape)} and {list(y.shape)} (DG-1)"
            )
    product = ops.dot(
        x, y,
        ([left.index(n) for n in summed], [right.index(n) for n in summed]),
        ([left.index(n) for n in batch], [right.index(n) for n in batch]),
    )  # fmt: skip
    made = batch + [n for n in left if n not in shared] + [n for n in right if n not in shared]
    return ops.transpose(product, [made.index(label) for label in result])


def _sum_out(x: Tensor, labels: Labels, needed: set[Any]) -> tuple[Tensor, list[Any]]:
    """Sum over the dimensions that nothing else refers to."""
    gone = [d for d, label in enumerate(labels) if label not in needed]
    if not gone:
        return x, list(labels)
    return ops.reduce_sum(x, gone), [label for label in labels if label in needed]


@traceable
def matmul(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """The matrix product over the last two dimensions; the others broadcast.

    A vector is a row on the left and a column on the right, and its dimension is dropped.

    Raises:
        ShapeError: a scalar operand, or inner dimensions that differ.
    """
    left, right = promote(x, y)
    if not left.ndim or not right.ndim:
        raise ShapeError("matmul requires operands of one dimension or more; use * for scalars")
    rows = ["row"] if left.ndim > 1 else []
    columns = ["column"] if right.ndim > 1 else []
    (left, left_batch), (right, right_batch) = _batch(left, right), _batch(right, left)
    batch = sorted({*left_batch, *right_batch}, reverse=True)
    return contract(
        left, right,
        [*left_batch, *rows, "inner"], [*right_batch, "inner", *columns], [*batch, *rows, *columns],
    )  # fmt: skip


def _batch(tensor: Tensor, other: Tensor) -> tuple[Tensor, list[int]]:
    """The operand of a matmul without dimensions to repeat, and its batch dimensions' labels.

    A label is the distance from the matrix. A dimension of size one that meets a larger one is
    dropped: the other operand's dimension is then free, and nothing needs to be repeated.
    """
    sizes = dict(zip(range(tensor.ndim - 2)[::-1], tensor.shape))
    partners = dict(zip(range(other.ndim - 2)[::-1], other.shape))
    kept = [label for label, n in sizes.items() if n != 1 or partners.get(label, 1) == 1]
    return ops.reshape(tensor, [*(sizes[label] for label in kept), *tensor.shape[-2:]]), kept


@traceable
def dot(x: ArrayLike, y: ArrayLike) -> Tensor:
    """Sums over the last dimension of x and the last but one of y; scalars multiply (DOT-1)."""
    left, right = promote(x, y)
    if not left.ndim or not right.ndim:
        return left * right
    return tensordot(left, right, ([left.ndim - 1], [max(right.ndim - 2, 0)]))


@traceable
def tensordot(x: ArrayLike, y: ArrayLike, axes: Any = 2) -> Tensor:
    """Sums over paired axes: the last n of x with the first n of y, or two lists of axes."""
    left, right = promote(x, y)
    if isinstance(axes, int):
        pairs = list(range(left.ndim - axes, left.ndim)), list(range(axes))
    else:
        if not isinstance(axes, Sequence) or len(axes) != 2 or isinstance(axes, str):
            raise ShapeError(f"tensordot requires a number of axes or two lists, got {axes!r}")
        pairs = axes[0], axes[1]
    from_left = normalize_axes(pairs[0], left.ndim)
    from_right = normalize_axes(pairs[1], right.ndim)
    if len(from_left) != len(from_right):
        raise ShapeError(f"tensordot requires as many axes of x as of y, got {axes}")
    left_labels: list[Any] = [("x", d) for d in range(left.ndim)]
    right_labels: list[Any] = [("y", d) for d in range(right.ndim)]
    for i, j in zip(from_left, from_right):
        right_labels[j] = left_labels[i]
    free = [n for d, n in enumerate(left_labels) if d not in from_left]
    free += [n for d, n in enumerate(right_labels) if d not in from_right]
    return contract(left, right, left_labels, right_labels, free)


@traceable
def vdot(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """The sum of products of all elements, those of x conjugated."""
    return dot(ravel(conj(x)), ravel(y))


@traceable
def inner(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """Sums of products over the last dimension of both."""
    left, right = promote(x, y)
    if not left.ndim or not right.ndim:
        return left * right
    return tensordot(left, right, ([-1], [-1]))


@traceable
def outer(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The product of each element of x with each of y."""
    left, right = promote(x, y)
    return ops.reshape(left, [left.size, 1]) * ops.reshape(right, [1, right.size])


@traceable
def trace(a: ArrayLike, offset: int = 0) -> Tensor:
    """The sum of a diagonal of a matrix; of small integers in 64 bits."""
    return sum(diagonal(a, offset))


@traceable
def einsum(subscripts: str, /, *operands: ArrayLike) -> Tensor:
    """Sums of products by Einstein's convention: einsum("bij,bjk->bik", x, y).

    Args:
        subscripts: one letter for each dimension; "..." stands for dimensions that broadcast.

    Raises:
        ShapeError: the subscripts do not fit the operands.
    """
    if not isinstance(subscripts, str) or not operands:
        raise ShapeError(f"einsum requires subscripts and operands, got {subscripts!r} alone")
    tensors = promote(*operands)
    inputs, output = _parse(subscripts, tensors)
    terms = [_take_diagonal(t, labels) for t, labels in zip(tensors, _drop_ones(tensors, inputs))]
    shapes = [np.broadcast_to(np.float64(0), t.shape) for t in tensors]
    try:
        path = np.einsum_path(subscripts, *shapes, optimize="greedy")[0][1:]
    except ValueError as error:
        raise ShapeError(f"einsum {subscripts!r}: {error}") from error
    for step in path:
        picked = [terms.pop(i) for i in sorted(step, reverse=True)]
        term = picked.pop()
        while picked:
            rest = [labels for _, labels in [*terms, *picked[:-1]]]
            term = _multiply(term, picked.pop(), {n for labels in rest for n in labels} | {*output})
        terms.append(term)
    tensor, labels = _sum_out(*terms[0], {*output})
    return ops.transpose(tensor, [labels.index(label) for label in output])


def _parse(subscripts: str, tensors: Sequence[Tensor]) -> tuple[list[list[Any]], list[Any]]:
    """One label for each dimension of each operand, and those of the result."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ShapeError(
            f"einsum {subscripts!r} has {len(terms)} terms for {len(tensors)} operands"
        )
    inputs = [_labels(term, t.ndim, subscripts) for term, t in zip(terms, tensors)]
    spread = max(len([n for n in labels if isinstance(n, int)]) for labels in inputs)
    if arrow:
        return inputs, _labels(right, len(right.replace("...", "")) + spread, subscripts)
    letters = left.replace(",", "").replace("...", "")
    once = sorted(n for n in set(letters) if letters.count(n) == 1)
    return inputs, [*range(spread)[::-1], *once]


def _labels(term: str, rank: int, subscripts: str) -> list[Any]:
    """The letters of a term; the dimensions under "..." are numbered from the right."""
    before, dots, after = term.partition("...")
    spread = rank - len(before) - len(after)
    if any(n not in ascii_letters for n in before + after) or (spread if not dots else spread < 0):
        raise ShapeError(f"einsum {subscripts!r}: '{term}' does not fit {rank} dimensions")
    return [*before, *range(spread)[::-1], *after]


def _drop_ones(tensors: Sequence[Tensor], inputs: list[list[Any]]) -> list[list[Any]]:
    """Labels of their own for dimensions of size one under "..." that meet larger ones."""
    largest: dict[Any, int] = {}
    for tensor, labels in zip(tensors, inputs):
        for n, label in zip(tensor.shape, labels):
            largest[label] = max(largest.get(label, 1), n)
    return [
        [
            (number, label) if isinstance(label, int) and n == 1 < largest[label] else label
            for n, label in zip(tensor.shape, labels)
        ]
        for number, (tensor, labels) in enumerate(zip(tensors, inputs))
    ]


def _take_diagonal(tensor: Tensor, labels: list[Any]) -> tuple[Tensor, list[Any]]:
    """The elements whose indices agree wherever a label is repeated."""
    while len(set(labels)) < len(labels):
        second = next(d for d, label in enumerate(labels) if label in labels[:d])
        first = labels.index(labels[second])
        if tensor.shape[first] != tensor.shape[second]:
            raise ShapeError(f"einsum requires equal sizes for '{labels[second]}' in both places")
        rows, columns = (ops.iota(S64, tensor.shape, d) for d in (first, second))
        kept = ops.select(ops.compare("EQ", rows, columns), tensor, ops.full_like(0, tensor))
        tensor = ops.reduce_sum(kept, [second])
        labels = labels[:second] + labels[second + 1 :]
    return tensor, labels


def _multiply(
    x: tuple[Tensor, list[Any]], y: tuple[Tensor, list[Any]], needed: set[Any]
) -> tuple[Tensor, list[Any]]:
    """The product of two terms, summed over what nothing else needs."""
    batch = [label for label in x[1] if label in y[1] and label in needed]
    free = [label for label in [*x[1], *y[1]] if label in needed and label not in batch]
    return contract(x[0], y[0], x[1], y[1], [*batch, *free]), [*batch, *free]
