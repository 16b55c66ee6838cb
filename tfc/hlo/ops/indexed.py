"""Gather and scatter: windows at many start indices, read from or combined into an array.

Semantics: GA-1…GA-8 of the operation semantics for gather, StableHLO's for batching dimensions and
scatter. A gathered window is clamped into the operand; a scattered window that does not fit is left
out, as in XLA.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfc.hlo.index_maps import Index, Piece, constant, element
from tfc.hlo.ir import Attributes, Instruction
from tfc.hlo.op import (
    Attribute,
    Call,
    Op,
    Value,
    describe,
    movement,
    register,
    require,
    require_array,
    require_computation,
)
from tfc.hlo.ops.movement import require_dimensions
from tfc.hlo.shape import AnyShape, Shape, TupleShape
from tfc.hlo.traits import Accuracy, Category, Cost

Array = np.ndarray


class Windows:
    """How start indices, windows and the operand belong together; gather and scatter name it alike.

    window_dims: the dimensions of the result (gather) or update (scatter) inside a window.
    dropped: operand dimensions of size one in every window, which the window leaves out.
    index_map: which operand dimension each component of a start index is for.
    operand_batch, indices_batch: dimensions of operand and start indices that run together.
    vector_dim: the dimension of the start indices that holds the components; their rank if each
        start index is a scalar.
    """

    def __init__(self, a: Attributes, names: Sequence[str], indices: Shape):
        self.window_dims, self.dropped, self.index_map = (a[n] for n in names[:3])
        self.operand_batch, self.indices_batch = (a.get(n, ()) for n in names[3:])
        self.vector_dim: int = a["index_vector_dim"]
        self.indices = indices

    def kept(self, rank: int) -> tuple[int, ...]:
        """The operand's dimensions that a window has, in order."""
        gone = (*self.dropped, *self.operand_batch)
        return tuple(d for d in range(rank) if d not in gone)

    @property
    def batch_dims(self) -> tuple[int, ...]:
        """The dimensions of the start indices that say which window."""
        return tuple(d for d in range(self.indices.rank) if d != self.vector_dim)

    def component(self, batch: Sequence, number: object) -> tuple:
        """Where, among the start indices, a component of the start index of a window is."""
        whole = list(batch)
        if self.vector_dim < self.indices.rank:  # else each start index is a scalar (GA-5)
            whole.insert(self.vector_dim, number)
        return tuple(whole)

    def split(self, index: Sequence) -> tuple[list, list]:
        """(which window, where in it) of an index of the result or update."""
        inside = [index[d] for d in self.window_dims]
        return [i for d, i in enumerate(index) if d not in self.window_dims], inside

    def batched(self, batch: Sequence) -> list[tuple[int, Any]]:
        """(operand dimension, index in it) for the batching dimensions of a window."""
        places = [self.batch_dims.index(i) for i in self.indices_batch]
        return [(d, batch[place]) for d, place in zip(self.operand_batch, places)]


GATHER = (
    "offset_dims",
    "collapsed_slice_dims",
    "start_index_map",
    "operand_batching_dims",
    "start_indices_batching_dims",
)
SCATTER = (
    "update_window_dims",
    "inserted_window_dims",
    "scatter_dims_to_operand_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)


def gather_windows(x: Instruction) -> Windows:
    """The windows of a gather."""
    return Windows(x.attributes, GATHER, x.operands[1].array_shape)


def scatter_windows(x: Instruction) -> Windows:
    """The windows of a scatter."""
    return Windows(x.attributes, SCATTER, x.operands[len(x.operands) // 2].array_shape)


def _require_windows(op: str, windows: Windows, operand: Shape) -> None:
    """What gather and scatter ask of their dimension numbers alike."""
    indices = windows.indices
    require(indices.element_type.is_integer, op, "integer start indices", indices)
    require(
        0 <= windows.vector_dim <= indices.rank,
        op,
        f"an index_vector_dim within 0..{indices.rank}",
        windows.vector_dim,
        "GA-5",
    )
    components = 1 if windows.vector_dim == indices.rank else indices.dims[windows.vector_dim]
    require(
        len(windows.index_map) == components,
        op,
        f"a start index of {len(windows.index_map)} components",
        components,
        "GA-2",
    )
    placed = (*windows.index_map, *windows.operand_batch)
    require_dimensions(op, placed, operand.rank, "GA-2")
    require_dimensions(op, (*windows.dropped, *windows.operand_batch), operand.rank, "GA-1")
    require_dimensions(op, (*windows.indices_batch, windows.vector_dim), indices.rank + 1)
    for dims in (windows.window_dims, windows.dropped, windows.operand_batch):
        require(list(dims) == sorted(dims), op, "window dimensions in order", list(dims))
    sizes = (
        [operand.dims[d] for d in windows.operand_batch],
        [indices.dims[d] for d in windows.indices_batch],
    )
    require(
        sizes[0] == sizes[1], op, "batching dimensions of equal sizes", f"{sizes[0]} and {sizes[1]}"
    )


def _infer_gather(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> Shape:
    operand, indices = (require_array("gather", s) for s in shapes)
    windows, sizes = Windows(a, GATHER, indices), a["slice_sizes"]
    _require_windows("gather", windows, operand)
    fits = len(sizes) == operand.rank and all(0 <= s <= n for s, n in zip(sizes, operand.dims))
    require(fits, "gather", f"a slice size within each of {list(operand.dims)}", list(sizes))
    gone = (*windows.dropped, *windows.operand_batch)
    require(
        all(sizes[d] <= 1 for d in gone),
        "gather",
        "slice sizes of one in dropped dimensions",
        list(sizes),
        "GA-1",
    )
    kept, batch = windows.kept(operand.rank), windows.batch_dims
    require(
        len(windows.window_dims) == len(kept),
        "gather",
        f"{len(kept)} offset dimensions",
        list(windows.window_dims),
        "GA-3",
    )
    rank = len(kept) + len(batch)
    require_dimensions("gather", windows.window_dims, rank, "GA-3")
    inside, outside = iter(sizes[d] for d in kept), iter(indices.dims[d] for d in batch)
    dims = (next(inside if d in windows.window_dims else outside) for d in range(rank))
    return Shape(operand.element_type, tuple(dims))


def _start(windows: Windows, indices: Array, batch: Sequence[int]) -> dict[int, int]:
    """For each operand dimension that a start index names, where the window begins."""
    return {d: int(indices[windows.component(batch, k)]) for k, d in enumerate(windows.index_map)}


def _batches(windows: Windows) -> Iterator[tuple[int, ...]]:
    return np.ndindex(*(windows.indices.dims[d] for d in windows.batch_dims))


def takes_nothing(gather: Instruction) -> bool:
    """True if the slices of a gather have no elements, though its result, of zeros, may have."""
    return 0 in gather["slice_sizes"]


def _evaluate_gather(x: Instruction, values: Sequence[Value], _: Call) -> Array:
    operand, indices = values
    windows, sizes = gather_windows(x), x["slice_sizes"]
    if takes_nothing(x):
        return np.zeros(x.array_shape.dims, operand.dtype)
    result = np.empty(x.array_shape.dims, operand.dtype)
    gone = (*windows.dropped, *windows.operand_batch)
    for batch in _batches(windows):
        corner = [0] * operand.ndim
        for d, start in _start(windows, indices, batch).items():
            corner[d] = min(max(start, 0), operand.shape[d] - sizes[d])
        for d, i in windows.batched(batch):
            corner[d] = i
        window = operand[tuple(slice(c, c + s) for c, s in zip(corner, sizes))]
        place = iter(batch)
        at = tuple(
            slice(None) if d in windows.window_dims else next(place) for d in range(result.ndim)
        )
        result[at] = window.reshape([s for d, s in enumerate(sizes) if d not in gone])
    return result


def _index_gather(x: Instruction, index: Sequence[Index]) -> list[Piece]:
    operand, windows, sizes = x.operands[0].array_shape, gather_windows(x), x["slice_sizes"]
    batch, inside = windows.split(index)
    found = [constant(0)] * operand.rank
    for d, i in zip(windows.kept(operand.rank), inside):
        found[d] = i
    for d, i in windows.batched(batch):
        found[d] = i
    for k, d in enumerate(windows.index_map):
        at = windows.component(batch, constant(k))
        found[d] = found[d] + element(x.operands[1], at, operand.dims[d] - sizes[d])
    return [Piece(0, tuple(found))]


def window_sizes(windows: Windows, operand: Shape, update: Shape) -> list[int]:
    """The size of a scattered window in each dimension of the operand."""
    sizes = [1] * operand.rank
    for d, w in zip(windows.kept(operand.rank), windows.window_dims):
        sizes[d] = update.dims[w]
    return sizes


def _infer_scatter(shapes: Sequence[AnyShape], a: Attributes, _: AnyShape | None) -> AnyShape:
    arrays = [require_array("scatter", s) for s in shapes]
    count = len(arrays) // 2
    require(
        len(arrays) == 2 * count + 1 and count > 0,
        "scatter",
        "as many operands as updates, and indices between them",
        f"{len(arrays)} arrays",
    )
    operands, indices, updates = arrays[:count], arrays[count], arrays[count + 1 :]
    windows = Windows(a, SCATTER, indices)
    operand = operands[0]
    _require_windows("scatter", windows, operand)
    batch = [indices.dims[d] for d in windows.batch_dims]
    kept = windows.kept(operand.rank)
    for each, update in zip(operands, updates):
        alike = each.dims == operand.dims and update.dims == updates[0].dims
        require(
            alike and each.element_type == update.element_type,
            "scatter",
            "operands and updates that agree in dimensions and pairwise in type",
            describe(arrays),
        )
        right = update.rank == len(batch) + len(kept) and len(windows.window_dims) == len(kept)
        require(
            right,
            "scatter",
            f"updates of {len(kept)} window and {len(batch)} other dimensions",
            update,
        )
        require_dimensions("scatter", windows.window_dims, update.rank)
        rest, inside = windows.split(update.dims)
        fits = rest == batch and all(w <= operand.dims[d] for w, d in zip(inside, kept))
        require(
            fits, "scatter", f"updates with windows that fit, for start indices {batch}", update
        )
    scalars = [Shape(o.element_type) for o in operands]
    combined = scalars[0] if count == 1 else TupleShape(tuple(scalars))
    require_computation("scatter", "to_apply", a["to_apply"], [*scalars, *scalars], combined)
    return operand if count == 1 else TupleShape(tuple(operands))


def _evaluate_scatter(x: Instruction, values: Sequence[Value], call: Call) -> Value:
    count = len(values) // 2
    results = [np.array(v) for v in values[:count]]  # a scalar may be no array
    indices, updates = values[count], values[count + 1 :]
    windows, operand = scatter_windows(x), x.operands[0].array_shape
    sizes = window_sizes(windows, operand, x.operands[count + 1].array_shape)
    for batch in _batches(windows):
        corner = [0] * operand.rank
        for d, i in windows.batched(batch):
            corner[d] = i
        for d, start in _start(windows, indices, batch).items():
            corner[d] = start
        if any(c < 0 or c + s > n for c, s, n in zip(corner, sizes, operand.dims)):
            continue
        place = iter(batch)
        at = tuple(
            slice(None) if d in windows.window_dims else next(place) for d in range(updates[0].ndim)
        )
        inside = tuple(slice(c, c + s) for c, s in zip(corner, sizes))
        combined = call(
            x["to_apply"], [r[inside] for r in results] + [u[at].reshape(sizes) for u in updates]
        )
        for result, part in zip(results, combined if count > 1 else (combined,)):
            result[inside] = part
    return tuple(results) if count > 1 else results[0]


def _attributes(names: Sequence[str]) -> tuple[Attribute, ...]:
    """The dimension numbers in the order in which XLA prints them."""
    required = (Attribute(n, "ints") for n in names[:3])
    batching = (Attribute(n, "ints", required=False, default=()) for n in names[3:])
    return (*required, *batching, Attribute("index_vector_dim", "int"))


_SORTED = Attribute("indices_are_sorted", "bool", required=False, default=False)
# fmt: off
movement("gather", 2, _infer_gather, _evaluate_gather, _index_gather,
         (*_attributes(GATHER), Attribute("slice_sizes", "ints"), _SORTED), moved=1)
register(Op("scatter", None, _infer_scatter, _evaluate_scatter,
            (*_attributes(SCATTER), _SORTED,
             Attribute("unique_indices", "bool", required=False, default=False),
             Attribute("to_apply", "computation")),
            category=Category.REDUCTION, cost=Cost.OWN, accuracy=Accuracy.APPROXIMATE,
            aligned=1, any_order=True))
# fmt: on
