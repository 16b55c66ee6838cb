"""Elements of arrays in a random order, or chosen at random."""

from math import ceil, log, prod

import numpy as np

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy import functions
from tfc.frontend.numpy.indexing.searching import searchsorted
from tfc.frontend.numpy.indexing.taking import take
from tfc.frontend.numpy.manipulation import normalize_axis
from tfc.frontend.numpy.sorting import sorted_together
from tfc.frontend.numpy.windows import cumsum
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.python_numbers import Dims, sizes, whole
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.shape import S32
from tfc.random import threefry
from tfc.random.arguments import float_type_of
from tfc.random.integers import randint
from tfc.random.uniforms import gumbel, uniform


@evaluable
def permutation(key: ArrayLike, x: ArrayLike, axis: int = 0, independent: bool = False) -> Tensor:
    """The elements along an axis in a random order; of an integer x, 0 … x - 1 as int32.

    Args:
        independent: give each vector along the axis an order of its own.

    Raises:
        ShapeError: the key is not uint32[2], or x neither an array nor an integer.
    """
    if not isinstance(x, Tensor) and not np.ndim(x):
        numbers = ops.iota(S32, [whole(x, "what is permuted, if it is no array,")], 0)
        return _shuffled(key, numbers, normalize_axis(axis, 1))
    tensor = as_tensor(x)
    place = normalize_axis(axis, tensor.ndim)
    if independent or tensor.ndim == 1:
        return _shuffled(key, tensor, place)
    return take(tensor, _shuffled(key, ops.iota(S32, [tensor.shape[place]], 0), 0), place)


def _shuffled(key: ArrayLike, tensor: Tensor, axis: int) -> Tensor:
    """Sorted by random numbers, again and again, so that equal ones matter little."""
    rounds = ceil(3 * log(max(1, tensor.size)) / log(2**32 - 1))
    words = threefry.words_of(key)
    for _ in range(rounds):
        words, drawn_by = _pair(words)
        order = threefry.bits(drawn_by, tensor.shape, 32)
        tensor = sorted_together([order, tensor], axis)[1]
    return tensor


def _pair(words: threefry.Words) -> tuple[threefry.Words, threefry.Words]:
    keys = threefry.split_one(words, 2)
    return threefry.words_of(keys[0]), threefry.words_of(keys[1])


@evaluable
def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: Dims = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Tensor:
    """Elements of `a` along an axis, or of 0 … a - 1 as int32, each as likely or by `p`.

    Args:
        shape: how many are drawn; it takes the axis' place.
        replace: False draws none of them twice.
        p: a vector of probabilities, which need not add up to 1 where elements are replaced.
        mode: that of `gumbel`, which draws by `p` without replacement.

    Raises:
        ShapeError: the key is not uint32[2], there is nothing or not enough to draw from, or `p`
            has not an element for each.
    """
    dims = sizes(shape)
    array = None if not isinstance(a, Tensor) and not np.ndim(a) else as_tensor(a)
    place = 0 if array is None else normalize_axis(axis, array.ndim)
    count = whole(a, "what is drawn from") if array is None else array.shape[place]
    _check_enough(count, prod(dims), replace)
    if p is None and not replace:
        mixed = permutation(key, count if array is None else array, place)
        chosen = ops.slice_along(mixed, place, 0, prod(dims))
        return _with_axis(chosen, place, dims)
    places = _places(key, count, dims, replace, p, mode)
    return places if array is None else take(array, places, place)


def _check_enough(count: int, draws: int, replace: bool) -> None:
    if draws and (count <= 0 or (not replace and draws > count)):
        raise ShapeError(
            f"choice cannot draw {draws} of {count} elements"
            + ("" if replace else " without replacement")
        )


def _with_axis(tensor: Tensor, axis: int, dims: list[int]) -> Tensor:
    """The tensor with the elements along an axis under other dimensions."""
    return ops.reshape(tensor, (*tensor.shape[:axis], *dims, *tensor.shape[axis + 1 :]))


def _places(
    key: ArrayLike,
    count: int,
    dims: list[int],
    replace: bool,
    p: ArrayLike | None,
    mode: str | None,
) -> Tensor:
    """s32: the numbers of the elements that are chosen."""
    if p is None:
        return randint(key, dims, 0, max(count, 1))
    chances = as_tensor(p)
    chances = cast(chances, float_type_of(chances))
    if chances.shape != (count,):
        raise ShapeError(
            f"choice requires a vector p of {count} probabilities, got {list(chances.shape)}"
        )
    if replace:
        sums = cumsum(chances)
        unit = uniform(key, dims, chances.dtype)
        return ops.convert(searchsorted(sums, sums[-1] * (1 - unit)), S32)
    noisy = gumbel(key, (count,), chances.dtype, mode) + functions.log(chances)
    chosen = ops.elements(operation("topk", noisy, k=prod(dims), largest=True))[1]
    return ops.reshape(chosen, dims)
