"""Functions of the NumPy namespace that apply a function along axes or to each element, by vmap."""

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from math import prod
from re import fullmatch
from typing import Any

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.batching.vmap import vmap
from tfc.frontend.numpy.manipulation import Axes, expand_dims, moveaxis, normalize_axis
from tfc.frontend.promotion import as_tensor, broadcast_shapes, expand
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable, traceable
from tfc.tracebacks import api_boundary


@traceable
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Tensor:
    """What a function gives of each vector along an axis; its dimensions stand where the axis was.

    Args:
        func1d: (vector, *args, **kwargs) -> array; traced once, for all vectors.
    """
    tensor = as_tensor(arr)
    axis = normalize_axis(axis, tensor.ndim)
    rows = moveaxis(tensor, axis, -1)
    outer = rows.shape[:-1]
    flat = ops.reshape(rows, [prod(outer), rows.shape[-1]])
    found = as_tensor(vmap(lambda row: as_tensor(func1d(row, *args, **kwargs)))(flat))
    inner = found.ndim - 1
    made = ops.reshape(found, [*outer, *found.shape[1:]])
    return moveaxis(made, _range(len(outer), inner), _range(axis, inner))


def _range(first: int, count: int) -> tuple[int, ...]:
    """So many numbers from the first one on."""
    return tuple(range(first, first + count))


@traceable
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: Axes) -> Tensor:
    """A function of an array and an axis, applied along each of several axes in turn.

    Raises:
        ShapeError: the function gives an array of neither as many dimensions nor one less.
    """
    tensor = as_tensor(a)
    for axis in axes if isinstance(axes, Sequence) else (axes,):
        found = as_tensor(func(tensor, normalize_axis(axis, tensor.ndim)))
        if found.ndim == tensor.ndim - 1:
            found = expand_dims(found, normalize_axis(axis, tensor.ndim))
        if found.ndim != tensor.ndim:
            raise ShapeError(
                "apply_over_axes requires a function that gives as many dimensions as it takes, or "
                f"one less, got {found.ndim} of {tensor.ndim}"
            )
        tensor = found
    return tensor


@api_boundary
def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = (),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function of arrays that broadcast, made from one of scalars, or of the signature's arrays.

    Args:
        pyfunc: traced once, for all elements.
        excluded: the numbers of positional arguments, and the names, that it gets as they are.
        signature: which dimensions the function itself takes and gives: "(m,n),(n)->(m)".

    Raises:
        ShapeError: the signature is malformed.
    """
    names = None if signature is None else _parsed(signature)

    @evaluable
    @wraps(pyfunc)
    def vectorized(*args: Any, **named: Any) -> Any:
        places = [n for n in range(len(args)) if n not in excluded]
        free = {name: value for name, value in named.items() if name not in excluded}
        fixed = {name: value for name, value in named.items() if name in excluded}

        def of_elements(*elements: Any) -> Any:
            given = list(args)
            for place, element in zip(places, elements):
                given[place] = element
            return pyfunc(*given, **dict(zip(free, elements[len(places) :])), **fixed)

        tensors = [as_tensor(v) for v in (*(args[n] for n in places), *free.values())]
        return _over_elements(of_elements, tensors, names)

    return vectorized


def _parsed(signature: str) -> list[list[str]]:
    """The names of the dimensions of each argument."""
    group = r"\((?:\w+(?:,\w+)*)?\)"
    groups = rf"{group}(?:,{group})*"
    text = signature.replace(" ", "")
    if not fullmatch(rf"{groups}->{groups}", text):
        raise ShapeError(f"vectorize requires a signature like '(m,n),(n)->(m)', got {signature!r}")
    arguments = text.split("->")[0][1:-1].split("),(")
    return [names.split(",") if names else [] for names in arguments]


def _over_elements(
    function: Callable[..., Any], tensors: list[Tensor], names: list[list[str]] | None
) -> Any:
    """The function of all elements; of the arrays of the last dimensions where those have names."""
    names = [[] for _ in tensors] if names is None else names
    if len(names) != len(tensors):
        raise ShapeError(f"vectorize: {len(tensors)} arrays do not fit {len(names)} in a signature")
    sizes: dict[str, int] = {}
    for tensor, own in zip(tensors, names):
        inner = tensor.shape[tensor.ndim - len(own) :]
        if len(inner) < len(own) or any(sizes.setdefault(k, n) != n for k, n in zip(own, inner)):
            raise ShapeError(f"vectorize: {list(tensor.shape)} does not fit ({','.join(own)})")
    split = [t.ndim - len(own) for t, own in zip(tensors, names)]
    outer = broadcast_shapes(*(t.shape[:at] for t, at in zip(tensors, split)))
    if not outer:
        return function(*tensors)
    flat = []
    for tensor, at in zip(tensors, split):
        spread = expand(tensor, (*outer, *tensor.shape[at:]))
        flat.append(ops.reshape(spread, [prod(outer), *tensor.shape[at:]]))
    found = vmap(function)(*flat)
    several = isinstance(found, (tuple, list))
    made = [ops.reshape(r, [*outer, *r.shape[1:]]) for r in (found if several else [found])]
    return type(found)(made) if several else made[0]
