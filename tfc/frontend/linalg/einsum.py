"""einsum: sums of products by Einstein's convention, two operands at a time in a cheap order."""

from collections.abc import Sequence
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.products import contract, sum_out
from tfc.frontend.promotion import as_tensor, promote
from tfc.frontend.python_numbers import whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable, traceable
from tfc.hlo.shape import S64, element_type_of

Term = tuple[Tensor, list[Any]]


@traceable
def einsum(
    subscripts: Any, /, *operands: Any, optimize: Any = "greedy", precision: Any = None,
    preferred_element_type: Any = None,
) -> Tensor:  # fmt: skip
    """Sums of products by Einstein's convention: einsum("bij,jk->bik", x, y).

    Args:
        subscripts: one letter for each dimension; "..." stands for dimensions that broadcast.
            Operands may take turns with lists of numbers: einsum(x, [0, 1], y, [1, 2], [0, 2]).
        optimize: the order of the products: "greedy" or "optimal" by cost, False from the left,
            or a path of `einsum_path`.
        precision: of the products, as `matmul` takes it.
        preferred_element_type: the dtype of the sums and of the result; the operands' if left out.

    Raises:
        ShapeError: the subscripts do not fit the operands.
    """
    text, given = _as_text(subscripts, operands)
    tensors = promote(*given)
    inputs, output = _parse(text, tensors)
    terms = [_take_diagonal(t, labels) for t, labels in zip(tensors, inputs)]
    terms = _drop_ones(terms)
    for step in _path(text, tensors, optimize):
        picked = [terms.pop(i) for i in sorted(step, reverse=True)]
        term = picked.pop()
        while picked:
            rest = [labels for _, labels in [*terms, *picked[:-1]]]
            needed = {n for labels in rest for n in labels} | {*output}
            term = _multiply(term, picked.pop(), needed, preferred_element_type, precision)
        terms.append(term)
    kind = None if preferred_element_type is None else element_type_of(preferred_element_type)
    tensor, labels = sum_out(*terms[0], {*output}, kind)
    found = ops.transpose(tensor, [labels.index(label) for label in output])
    return found if kind is None else ops.convert(found, kind)


@evaluable
def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "greedy") -> tuple[Any, str]:
    """(path, description): the order in which einsum multiplies, as numpy.einsum_path gives it.

    Raises:
        ShapeError: the subscripts do not fit the operands.
    """
    text, given = _as_text(subscripts, operands)
    return _numpys_path(text, [as_tensor(o) for o in given], optimize)


def _as_text(subscripts: Any, operands: Sequence[Any]) -> tuple[str, Sequence[ArrayLike]]:
    """Subscripts and operands, whichever way they were given."""
    if isinstance(subscripts, str):
        if not operands:
            raise ShapeError(f"einsum requires subscripts and operands, got {subscripts!r} alone")
        return subscripts, operands
    given = [subscripts, *operands]
    if len(given) < 2:
        raise ShapeError("einsum requires subscripts and operands, got an operand alone")
    arrays, lists = given[0::2], given[1::2]
    text = ",".join(_letters(part) for part in lists[: len(given) // 2])
    if len(given) % 2:
        return f"{text}->{_letters(arrays.pop())}", arrays
    return text, arrays


def _letters(part: Any) -> str:
    """A list of numbers and ... as letters, whose order is that of the numbers."""
    if not isinstance(part, (list, tuple)):
        raise ShapeError(
            f"einsum requires a list of numbers for each operand, got {type(part).__name__}"
        )
    symbols, found = ascii_uppercase + ascii_lowercase, ""
    for item in part:
        number = 0 if item is Ellipsis else whole(item, "a subscript of einsum")
        if not 0 <= number < len(symbols):
            raise ShapeError(f"einsum takes subscripts from 0 to 51, got {number}")
        found += "..." if item is Ellipsis else symbols[number]
    return found


def _path(text: str, tensors: Sequence[Tensor], optimize: Any) -> list[tuple[int, ...]]:
    if optimize is False:
        return [(0, 1)] * (len(tensors) - 1) or [(0,)]
    return _numpys_path(text, tensors, optimize)[0][1:]


def _numpys_path(text: str, tensors: Sequence[Tensor], optimize: Any) -> tuple[Any, str]:
    """What NumPy says on arrays of these shapes, which take no memory."""
    shapes = [np.broadcast_to(np.float64(0), t.shape) for t in tensors]
    try:
        return np.einsum_path(text, *shapes, optimize="greedy" if optimize is True else optimize)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ShapeError(f"einsum {text!r}: {error}") from error


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


def _drop_ones(terms: list[Term]) -> list[Term]:
    """Labels of their own for dimensions of size one that meet larger ones: they are repeated."""
    largest: dict[Any, int] = {}
    for tensor, labels in terms:
        for n, label in zip(tensor.shape, labels):
            largest[label] = max(largest.get(label, 1), n)
    return [
        (tensor, [(number, label) if n == 1 < largest[label] else label
                  for n, label in zip(tensor.shape, labels)])
        for number, (tensor, labels) in enumerate(terms)
    ]  # fmt: skip


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


def _multiply(x: Term, y: Term, needed: set[Any], dtype: Any, precision: Any) -> Term:
    """The product of two terms, summed over what nothing else needs."""
    batch = [label for label in x[1] if label in y[1] and label in needed]
    free = [label for label in [*x[1], *y[1]] if label in needed and label not in batch]
    labels = [*batch, *free]
    return contract(x[0], y[0], x[1], y[1], labels, dtype, precision), labels
