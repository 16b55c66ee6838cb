"""Whole matrices of derivatives: jacfwd, jacrev, jacobian, hessian.

Each column of a Jacobian is what jvp gives along a vector of the standard basis of the argument,
each row what vjp takes back of one of the result; vmap computes all of them at once.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import call_python
from tfc.frontend.batching.vmap import vmap
from tfc.frontend.differentiation.gradient import Pulled, check_pair, place
from tfc.frontend.differentiation.linearization import Traced
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor, evaluable
from tfc.frontend.tree import Structure

Function = Callable[..., Any]


def jacfwd(
    fun: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Function:
    """A function that gives the Jacobian of `fun`, column by column in forward mode.

    That is the cheaper way where results have more elements than arguments.

    Args:
        argnums: the argument, or arguments, to differentiate by; they hold floats and may be
            nested.
        has_aux: `fun` returns (result, aux); return (Jacobian, aux).
        holomorphic: the function is holomorphic, of complex numbers.

    Returns (when called): for each array of the result the structure of the argument (for several
        argnums a tuple of them), with arrays of the result's dimensions, then the argument's.

    Raises:
        TraceError (when called): an argument or a result is not of floats.
    """
    return _jacobian("jacfwd", fun, argnums, has_aux, holomorphic, _columns)


def jacrev(
    fun: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Function:
    """A function that gives the Jacobian of `fun`, row by row in reverse mode.

    That is the cheaper way where arguments have more elements than results. Arguments, what is
    returned and errors are those of `jacfwd`.
    """
    return _jacobian("jacrev", fun, argnums, has_aux, holomorphic, _rows)


jacobian = jacrev


def hessian(
    fun: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Function:
    """A function that gives the matrices of second derivatives: jacfwd of jacrev.

    Args:
        argnums, has_aux, holomorphic: as of `jacfwd`.

    Returns (when called): for each array of the result the structure of the argument twice, with
        arrays of the result's dimensions, then the argument's twice.
    """
    first = jacrev(fun, argnums, has_aux, holomorphic)
    return jacfwd(first, argnums, has_aux, holomorphic)


# (function of the chosen arguments, the chosen arguments, has_aux, name) ->
# (the leaves and structure of the result with aux, blocks): blocks[result][argument], Tensors.
Blocks = tuple[list[Tensor], Structure, list[list[Tensor]]]


def _jacobian(
    name: str,
    fun: Function,
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    make: Callable[..., Blocks],
) -> Function:
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @evaluable
    @wraps(fun)
    def jacobian_of(*args: Any, **named: Any) -> Any:
        places = [place(n, len(args)) for n in numbers]
        chosen = tuple(args[p] for p in places)
        leaves, structure = tree.flatten(chosen)
        paths = tree.paths(structure, "argument ")
        tensors = [as_tensor(leaf) for leaf in leaves]
        _check("inputs", name, tensors, paths, holomorphic)

        def of_chosen(*values: Any) -> Any:
            filled = list(args)
            for number, value in zip(places, values):
                filled[number] = value
            made = call_python(fun, *filled, **named)
            if has_aux:
                check_pair(name, made)
            return made

        of_chosen.__name__ = getattr(fun, "__name__", "function")
        given = tree.unflatten(structure, tensors)
        results, returned, blocks = make(of_chosen, given, tensors, has_aux, name, holomorphic)
        rows = [tree.unflatten(structure, row) for row in blocks]
        found = [row[0] for row in rows] if isinstance(argnums, int) else rows
        if not has_aux:
            return tree.unflatten(returned, found)
        aux = tree.unflatten(returned, results)[1]
        return tree.unflatten(returned.children[0], found), aux

    return jacobian_of


def _check(
    what: str, name: str, tensors: Sequence[Tensor], paths: Sequence[str], holomorphic: bool
) -> None:
    """Check that the arguments, or the results, are of the kind that has such a Jacobian.

    Raises:
        TraceError: one is of integers, or of complex numbers where holomorphic does not say so.
    """
    for tensor, path in zip(tensors, paths):
        element_type = tensor.array_shape.element_type
        if holomorphic and not element_type.is_complex:
            raise TraceError(
                f"{name} with holomorphic=True requires {what} of complex dtype, got "
                f"{tensor.dtype} for {path}"
            )
        if not holomorphic and not element_type.is_float:
            raise TraceError(
                f"{name} requires {what} of floating-point dtype, got {tensor.dtype} for {path}; "
                "holomorphic=True is for holomorphic functions of complex numbers"
            )


def _differentiated(
    results: Sequence[Tensor], structure: Structure, has_aux: bool, name: str, holomorphic: bool
) -> list[Tensor]:
    """The leaves that are differentiated: all, or those of the first of a pair."""
    kept = structure.children[0] if has_aux else structure
    paths = tree.paths(kept, "result")
    _check("outputs", name, results[: len(paths)], paths, holomorphic)
    return list(results[: len(paths)])


def _columns(
    function: Function, given: Any, tensors: list[Tensor], has_aux: bool, name: str, complex_: bool
) -> Blocks:
    """By forward mode: for each argument what the result becomes along its basis."""
    traced = Traced(function, given)
    results, _ = traced.push([None] * len(tensors))
    kept = _differentiated(results, traced.structure, has_aux, name, complex_)
    blocks: list[list[Tensor]] = [[] for _ in kept]
    for number, tensor in enumerate(tensors):

        def along(direction: Tensor, number: int = number) -> list[Tensor]:
            moves = [direction if n == number else None for n in range(len(tensors))]
            return traced.push(moves)[1][: len(kept)]

        columns = vmap(along, out_axes=-1)(_basis(tensor))
        for block, column, result in zip(blocks, columns, kept):
            block.append(ops.reshape(column, [*result.shape, *tensor.shape]))
    return results, traced.structure, blocks


def _rows(
    function: Function, given: Any, tensors: list[Tensor], has_aux: bool, name: str, complex_: bool
) -> Blocks:
    """By reverse mode: for each result what its basis is taken back to."""
    pulled = Pulled(function, given, name)
    structure = pulled.program.structure
    kept = _differentiated(pulled.results, structure, has_aux, name, complex_)
    blocks = []
    for number, result in enumerate(kept):

        def back(cotangent: Tensor, number: int = number) -> list[Tensor]:
            given = [cotangent if n == number else None for n in range(len(pulled.results))]
            return tree.flatten(pulled.take(given))[0]

        found = vmap(back)(_basis(result))
        blocks.append([ops.reshape(f, [*result.shape, *t.shape]) for f, t in zip(found, tensors)])
    return pulled.results, structure, blocks


def _basis(tensor: Tensor) -> Tensor:
    """The vectors of the standard basis of a Tensor's space, along a new first dimension."""
    flat = ops.constant(np.eye(tensor.size, dtype=tensor.dtype))
    return ops.reshape(flat, [tensor.size, *tensor.shape])
