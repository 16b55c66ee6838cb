"""Dynamic slices, gathers, scatters and sorts that are plainer than they look: functions from an
instruction to its replacement, or None. Each states itself as before --> after; all are exact.
"""

from collections.abc import Sequence

import numpy as np

from tfc.hlo import builder
from tfc.hlo.evaluation.scalar_computations import over_arrays
from tfc.hlo.ir import Instruction
from tfc.hlo.ops.indexed import Windows, gather_windows, scatter_windows, window_sizes
from tfc.hlo.shape import Shape
from tfc.passes.analysis.value_ranges import bounds
from tfc.passes.rewriting.patterns import Function, constant_value
from tfc.passes.rewriting.replacing import made, repeated, splat
from tfc.passes.simplify.movement import same_shape


def constant_starts(starts: Sequence[Instruction], rank: int) -> list[int] | None:
    """The start indices of a dynamic slice, if all are constants."""
    if len(starts) == 1 and starts[0].array_shape.rank:
        if starts[0].opcode == "constant":
            return [int(v) for v in starts[0]["literal"].array]
        value = constant_value(starts[0])
        return None if value is None else [int(value)] * rank
    values = [constant_value(s) for s in starts]
    return None if None in values else [int(v) for v in values]  # type: ignore[arg-type]


def _clamped(starts: Sequence[int], dims: Sequence[int], sizes: Sequence[int]) -> list[int]:
    return [min(max(s, 0), n - size) for s, n, size in zip(starts, dims, sizes)]


def dynamic_slice_at_constants(x: Instruction) -> Instruction | None:
    """dynamic-slice(f32[9] a, 7), sizes={3} --> slice(a, [6:9]): starts are clamped"""
    operand, *starts = x.operands
    dims, sizes = operand.array_shape.dims, x["dynamic_slice_sizes"]
    known = constant_starts(starts, len(dims))
    if known is None:
        return None
    bounds = tuple((s, s + n, 1) for s, n in zip(_clamped(known, dims, sizes), sizes))
    return made(x, "slice", [operand], slice=bounds)


def dynamic_slice_of_splat(x: Instruction) -> Instruction | None:
    """dynamic-slice(broadcast(s), i) --> broadcast(s); likewise gather"""
    scalar = splat(x.operands[0])
    return None if scalar is None else repeated(scalar, x.array_shape)


def dynamic_slice_of_broadcast(x: Instruction) -> Instruction | None:
    """dynamic-slice(f32[4,3] broadcast(f32[3] a, {1}), i, j) --> broadcast(dynamic-slice(a, j))"""
    inner, *starts = x.operands
    if inner.opcode != "broadcast" or len(starts) != inner.array_shape.rank or len(starts) < 2:
        return None
    dimensions, sizes = inner.attributes.get("dimensions", ()), x["dynamic_slice_sizes"]
    if not dimensions:
        return None
    operands = [inner.operands[0], *(starts[d] for d in dimensions)]
    part = made(
        x, "dynamic-slice", operands, dynamic_slice_sizes=tuple(sizes[d] for d in dimensions)
    )
    return made(x, "broadcast", [part], dimensions=dimensions)


def dynamic_slice_of_update(x: Instruction) -> Instruction | None:
    """dynamic-slice(dynamic-update-slice(a, u, i), i), of the update's size --> u"""
    inner, *starts = x.operands
    if inner.opcode != "dynamic-update-slice" or list(inner.operands[2:]) != starts:
        return None
    return inner.operands[1] if inner.operands[1].shape == x.shape else None


def update_of_all(x: Instruction) -> Instruction | None:
    """f32[4] dynamic-update-slice(a, f32[4] u, i) --> u; an update without elements --> a"""
    operand, update = x.operands[:2]
    if not update.array_shape.size:
        return operand
    return update if update.shape == x.shape else None


def update_by_itself(x: Instruction) -> Instruction | None:
    """dynamic-update-slice(a, dynamic-slice(a, i), i) --> a"""
    operand, update, *starts = x.operands
    same = update.opcode == "dynamic-slice" and list(update.operands) == [operand, *starts]
    return operand if same else None


def update_of_update(x: Instruction) -> Instruction | None:
    """update(update(a, u, i), v, i) --> update(a, v, i), where update is dynamic-update-slice"""
    inner, update, *starts = x.operands
    if inner.opcode != "dynamic-update-slice" or list(inner.operands[2:]) != starts:
        return None
    if inner.operands[1].array_shape.dims != update.array_shape.dims:
        return None
    return made(x, "dynamic-update-slice", [inner.operands[0], update, *starts])


def update_of_splat(x: Instruction) -> Instruction | None:
    """dynamic-update-slice(f32[9] broadcast(s), f32[3] u, 2) --> pad(u, s, 2_4)"""
    operand, update, *starts = x.operands
    scalar, sizes = splat(operand), update.array_shape.dims
    known = constant_starts(starts, len(sizes))
    if scalar is None or known is None:
        return None
    dims = x.array_shape.dims
    places = zip(_clamped(known, dims, sizes), dims, sizes)
    padding = tuple((start, n - size - start, 0) for start, n, size in places)
    return made(x, "pad", [update, scalar], padding=padding)


def gather_of_one_window(x: Instruction) -> Instruction | None:
    """f32[1,8] gather(f32[9,8] a, s32[1,1] i), of rows --> reshape(dynamic-slice(a, i, 0))"""
    operand, indices = x.operands
    windows, rank = gather_windows(x), x.operands[0].array_shape.rank
    if any(indices.array_shape.dims[d] != 1 for d in windows.batch_dims) or not rank:
        return None
    zero = builder.constant(0, indices.array_shape.element_type)
    starts = [zero] * rank
    for number, d in enumerate(windows.index_map):
        starts[d] = _components(indices, windows.vector_dim, number)
    sizes = tuple(x["slice_sizes"])
    part = made(x, "dynamic-slice", [operand, *starts], dynamic_slice_sizes=sizes)
    return builder.reshape(part, x.array_shape.dims)


def _components(indices: Instruction, vector_dim: int, number: int) -> Instruction:
    """One component of every start index, along the dimensions that are not of size one."""
    shape = indices.array_shape
    if vector_dim < shape.rank and shape.dims[vector_dim] > 1:
        at = [(0, n, 1) for n in shape.dims]
        at[vector_dim] = (number, number + 1, 1)
        indices = builder.instruction("slice", [indices], slice=tuple(at))
    return builder.reshape(indices, tuple(n for n in indices.array_shape.dims if n != 1))


def gather_of_neighbours(x: Instruction) -> Instruction | None:
    """f32[3,8] gather(f32[9,8] a, s32[3,1] {2,3,4}), of rows --> slice(a, [2:5], [0:8])"""
    operand, indices = x.operands
    windows, sizes = gather_windows(x), x["slice_sizes"]
    dims = operand.array_shape.dims
    if len(windows.index_map) != 1 or len(windows.batch_dims) != 1 or windows.operand_batch:
        return None
    (dimension,) = windows.index_map
    wanted = tuple(1 if d == dimension else n for d, n in enumerate(dims))
    if windows.dropped != (dimension,) or tuple(sizes) != wanted:
        return None
    run = _progression(indices, dims[dimension])
    if run is None:
        return None
    cut = tuple(run if d == dimension else (0, n, 1) for d, n in enumerate(dims))
    part = made(x, "slice", [operand], slice=cut)
    (place,) = (d for d in range(x.array_shape.rank) if d not in windows.window_dims)
    order = [d for d in range(len(dims)) if d != dimension]
    order.insert(place, dimension)
    return made(x, "transpose", [part], dimensions=tuple(order))


def _progression(indices: Instruction, limit: int) -> tuple[int, int, int] | None:
    """start, end and stride of ascending constants below a limit that lie equally far apart."""
    if indices.opcode == "reshape":
        indices = indices.operands[0]
    total = indices.array_shape.size
    if indices.opcode == "iota" and total == indices.array_shape.dims[indices["iota_dimension"]]:
        low, high = bounds(indices)
        return (low, high + 1, 1) if total > 0 and high == total - 1 < limit else None
    if indices.opcode != "constant" or total < 2:
        return None
    values = indices["literal"].array.reshape(-1).astype(np.int64)
    steps = np.diff(values)
    even = steps[0] > 0 and (steps == steps[0]).all()
    if not even or values[0] < 0 or values[-1] >= limit:
        return None
    return int(values[0]), int(values[-1]) + 1, int(steps[0])


def gather_of_clamped(x: Instruction) -> Instruction | None:
    """gather(f32[9] a, clamp(0, i, 8)) --> gather(a, i): a gather clamps its indices"""
    operand, indices = x.operands
    windows = gather_windows(x)
    if indices.opcode != "clamp" or len(windows.index_map) != 1:
        return None
    (dimension,) = windows.index_map
    last = operand.array_shape.dims[dimension] - x["slice_sizes"][dimension]
    low, high = bounds(indices.operands[0]), bounds(indices.operands[2])
    if low[1] > 0 or high[0] < last:
        return None
    return made(x, "gather", [operand, indices.operands[1]], **x.attributes)


def scatter_of_nothing(x: Instruction) -> Instruction | None:
    """scatter(a, s32[0,1] i, f32[0] u) --> a"""
    operands = x.operands[: len(x.operands) // 2]
    if x.operands[-1].array_shape.size:
        return None
    return operands[0] if len(operands) == 1 else made(x, "tuple", operands)


def scatter_of_one_window(x: Instruction) -> Instruction | None:
    """scatter(f32[9] a, s32[1] {4}, f32[2] u), overwriting --> dynamic-update-slice(a, u, 4)"""
    if len(x.operands) != 3:
        return None
    operand, indices, update = x.operands
    windows, to_apply = scatter_windows(x), x["to_apply"]
    if to_apply.root is not to_apply.parameters[1] or windows.operand_batch:
        return None
    if any(indices.array_shape.dims[d] != 1 for d in windows.batch_dims):
        return None
    dims = operand.array_shape.dims
    sizes = window_sizes(windows, operand.array_shape, update.array_shape)
    starts = [builder.constant(0, indices.array_shape.element_type)] * len(dims)
    for number, d in enumerate(windows.index_map):
        starts[d] = _components(indices, windows.vector_dim, number)
        low, high = bounds(starts[d])
        if low < 0 or high > dims[d] - sizes[d]:
            return None  # a window that does not fit is left out, not moved
    part = builder.reshape(update, sizes)
    return made(x, "dynamic-update-slice", [operand, part, *starts]) if starts else part


def scatter_over_splat(x: Instruction) -> Instruction | None:
    """scatter(f32[4,9] broadcast(s), s32[4] i, f32[4] u) --> select(iota = i, to_apply(s, u), s)

    The example's windows are an element of each row. All of the result is written in either case.
    """
    if len(x.operands) != 3 or splat(x.operands[0]) is None:
        return None
    operand, indices, update = x.operands
    windows, shape = scatter_windows(x), operand.array_shape
    over = _update_dims(windows, shape, update.array_shape)
    number_type = indices.array_shape.element_type
    if over is None or max(shape.dims, default=0) > number_type.limits[1]:
        return None
    spread = [d for d in over if shape.dims[d] != 1]
    part = builder.reshape(update, tuple(shape.dims[d] for d in spread))
    combined = over_arrays(
        x["to_apply"], [operand, builder.broadcast(part, shape.dims, tuple(spread))]
    )
    if combined is None:
        return None
    result, numbers = combined[0], Shape(number_type, shape.dims)
    rows = tuple(d for d in windows.operand_batch if shape.dims[d] != 1)
    for number, d in enumerate(windows.index_map):
        place = _components(indices, windows.vector_dim, number)
        place = builder.broadcast(place, shape.dims, rows)
        chosen = builder.compare("EQ", builder.iota(numbers, d), place)
        result = builder.instruction("select", [chosen, result, operand])
    return result


def _update_dims(windows: Windows, operand: Shape, update: Shape) -> list[int] | None:
    """The operand's dimension for each dimension of an update that is not of size one.

    None unless each element of the operand has at most one place in the update: batches run along
    dimensions of the operand, in order, and windows along whole dimensions.
    """
    places = [d for d in range(operand.rank) if d not in windows.index_map]
    whole = dict(zip(windows.window_dims, windows.kept(operand.rank)))
    if any(update.dims[u] != operand.dims[d] or d not in places for u, d in whole.items()):
        return None
    if any(d in places and operand.dims[d] != 1 for d in windows.dropped):
        return None
    batches = dict(zip(windows.indices_batch, windows.operand_batch))
    outside = (u for u in range(update.rank) if u not in windows.window_dims)
    found = {**whole, **{u: batches.get(b, -1) for u, b in zip(outside, windows.batch_dims)}}
    over = [found[u] for u in range(update.rank) if update.dims[u] != 1]
    return over if over == sorted(over) and -1 not in over else None


def sort_of_single(x: Instruction) -> Instruction | None:
    """f32[4,1] sort(a), dimensions={1} --> a; so is what repeats a scalar sorted"""
    (dimension,), operands = x["dimensions"], x.operands
    single = operands[0].array_shape.dims[dimension] <= 1
    if not single and any(splat(o) is None for o in operands):
        return None
    return operands[0] if len(operands) == 1 else made(x, "tuple", operands)


INDEXED: dict[str, tuple[Function, ...]] = {
    "dynamic-slice": (
        same_shape,
        dynamic_slice_at_constants,
        dynamic_slice_of_splat,
        dynamic_slice_of_broadcast,
        dynamic_slice_of_update,
    ),
    "dynamic-update-slice": (update_of_all, update_by_itself, update_of_update, update_of_splat),
    "gather": (
        dynamic_slice_of_splat,
        gather_of_one_window,
        gather_of_neighbours,
        gather_of_clamped,
    ),
    "scatter": (scatter_of_nothing, scatter_of_one_window, scatter_over_splat),
    "sort": (sort_of_single,),
}
