"""What is compiled for several sizes of batch, as a function that makes the program for a size.

model(x), "f32[?,8] x"  ─►  n ─► the module for f32[n,8]
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tfc.aot.batches.programs import Make
from tfc.aot.batches.resizing import resized
from tfc.aot.batches.rules import Rows, Sizes
from tfc.aot.source import ArgumentSpec, module_of
from tfc.aot.state import with_state
from tfc.errors import ShapeError
from tfc.frontend import tree
from tfc.frontend.abstract import ShapeDtypeStruct
from tfc.hlo.ir import Module
from tfc.hlo.shape import leaves
from tfc.importers.interface import ImportedModel

_OPEN = re.compile(r"\[\s*\?")


def batched_source(source: Any, args: Sequence[Any], state: int = 0) -> Make:
    """What makes the program of a function or module for a batch.

    Args:
        args: as `module_of` takes them, with an open first dimension in those that have rows:
            "f32[?,8]", ArgumentSpec((None, 8)).
        state: how many of them are state; see `with_state`.

    Raises:
        ShapeError: no argument has rows, or those of a module do not agree.
    """
    if not any(map(_is_open, tree.flatten(list(args))[0])):
        raise ShapeError(
            "which arguments have the batch as their first dimension? write it as ?, as in f32[?,8]"
        )
    if isinstance(source, Module):
        return _of_module(source, args)

    def make(size: int) -> Any:
        sized = [tree.map_leaves(lambda leaf: _sized(leaf, size), arg) for arg in args]
        return with_state(source, sized, state) if state else module_of(source, sized)

    return make


def batched_model(model: ImportedModel) -> Make:
    """What makes the program of an imported model, whose inputs are open in their first dimension.

    Raises:
        ShapeError: no input is, or others are open, too.
    """
    ports: list[Any] = list(model.inputs)
    names = {p.dims[0] for p in ports if p.dims and not isinstance(p.dims[0], int)}
    if not names:
        raise ShapeError(f"no input of {model.file} has an open first size, as a batch has")

    def make(size: int) -> Any:
        examples = [_example(port, names, size) for port in ports]
        return module_of(model.lower(*examples).hlo, ())

    return make


def _example(port: Any, names: set[Any], size: int) -> ShapeDtypeStruct:
    """An input for a batch of a size.

    Raises:
        ShapeError: other sizes of it are open.
    """
    sizes = []
    for number, dim in enumerate(port.dims or ()):
        is_batch = dim in names and (dim is not None or number == 0)
        sizes.append(size if is_batch else dim)
    if port.dims is None or not all(isinstance(n, int) for n in sizes):
        raise ShapeError(
            f"the input {port} has open sizes beside the batch: give all of its sizes by --shape, "
            "or make only the first one open"
        )
    return ShapeDtypeStruct(tuple(sizes), port.dtype)


def _is_open(leaf: Any) -> bool:
    if isinstance(leaf, ArgumentSpec):
        return None in leaf.shape[:1]
    return isinstance(leaf, str) and _OPEN.search(leaf) is not None


def _sized(leaf: Any, size: int) -> Any:
    """An argument for a batch of a size."""
    if not _is_open(leaf):
        return leaf
    if isinstance(leaf, ArgumentSpec):
        return replace(leaf, shape=(size, *leaf.shape[1:]))
    return _OPEN.sub(f"[{size}", leaf, count=1)


def _of_module(module: Module, args: Sequence[Any]) -> Make:
    """What makes a module for another size of its batch.

    Raises:
        ShapeError: the module's own batch is not of one size, or of a single row.
    """
    shapes = [shape for p in module.entry.parameters for shape in leaves(p.shape)]
    flat = tree.flatten(list(args))[0]
    is_open = [_is_open(leaf) for leaf in flat]
    sizes = {s.dims[0] for s, o in zip(shapes, is_open) if o and s.dims}
    if len(sizes) != 1 or min(sizes) < 2:
        raise ShapeError(
            f"{module.name} must itself be for a batch of one size of 2 or more, to show what is "
            f"done with rows; it is for {', '.join(map(str, sorted(sizes))) or 'none'}"
        )
    (own,) = sizes
    found = module_of(module, [_sized(leaf, own) for leaf in flat])
    places = [Rows(0, 1) if o else None for o in is_open]
    return lambda n: found if n == own else resized(found, places, Sizes(own, n))[0]
