"""Functions that reshape tensors, put them together, take them apart, move their elements."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import alike, operation, result
from tfc.graph.constants import convert_to_tensor
from tfc.graph.functions.creation import shape_tensor
from tfc.graph.functions.reductions import either
from tfc.graph.graph import get_default_graph
from tfc.graph.operation import Tensor
from tfc.graph.types.dtypes import as_dtype, float32
from tfc.graph.types.shapes import broadcast

newaxis = None  # within x[…], a new dimension of 1


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements in another shape; -1 stands for the dimension that is left.

    Raises:
        ValueError: it has more or fewer elements.
    """
    with get_default_graph().name_scope(name or "Reshape") as scope:
        x = convert_to_tensor(tensor, name="tensor")
        return result("Reshape", x, shape_tensor(shape), name=scope)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """A further dimension of 1 at a place.

    Raises:
        ValueError: the place is not stated, or beyond the others.
    """
    place = either(axis, dim, "axis and dim")
    if place is None:
        raise ShapeError("expand_dims takes an axis")
    return result("ExpandDims", input, place, name=name)


def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """Without the dimensions of 1, or without those stated."""
    axes = either(axis, squeeze_dims, "axis and squeeze_dims", ())
    listed = [int(n) for n in np.ravel(np.asarray(axes, np.int64))]
    return result("Squeeze", input, name=name, squeeze_dims=listed)


def transpose(a: Any, perm: Any = None, name: str | None = None, conjugate: bool = False) -> Tensor:
    """The dimensions in another order, in reverse if none is stated."""
    with get_default_graph().name_scope(name or "transpose") as scope:
        x = convert_to_tensor(a, name="a")
        if perm is None:
            if x.shape.ndims is None:
                rank = result("Rank", x)
                last = result("Sub", rank, np.int32(1))
                places = result("Range", np.int32(0), rank, np.int32(1))
                perm = result("Sub", last, places)
            else:
                perm = np.arange(x.shape.ndims, dtype=np.int32)[::-1]
        conjugated = conjugate and x.dtype.is_complex
        order = convert_to_tensor(perm, name="perm")
        return result("ConjugateTranspose" if conjugated else "Transpose", x, order, name=scope)


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The last two dimensions exchanged.

    Raises:
        ValueError: there are none.
    """
    x = convert_to_tensor(a)
    rank = x.shape.ndims
    if rank is None or rank < 2:
        raise ShapeError(f"matrix_transpose takes rank 2 at least, got {x.shape}")
    return transpose(x, [*range(rank - 2), rank - 1, rank - 2], name, conjugate)


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors one after the other along an axis."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    with get_default_graph().name_scope(name) as scope:
        tensors = alike(*values, names=[f"values_{n}" for n in range(len(values))])
        place = convert_to_tensor(axis, name="axis")
        if place.shape.ndims not in (0, None):
            raise ShapeError(f"concat takes one axis, got {axis!r}")
        if len(tensors) == 1:
            return result("Identity", tensors[0], name=scope)
        return result("ConcatV2", *tensors, place, name=scope, N=len(tensors), Tidx=place.dtype)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape along a new axis.

    Raises:
        ValueError: their shapes differ, or the axis is beyond their dimensions.
    """
    with get_default_graph().name_scope(name) as scope:
        if not isinstance(values, (list, tuple)):
            values = list(convert_to_tensor(values))
        tensors = alike(*values)
        return result("Pack", *tensors, name=scope, axis=axis, N=len(tensors))


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The tensors along an axis, which goes.

    Raises:
        ValueError: how many there are is neither known nor stated.
    """
    x = convert_to_tensor(value)
    if num is None:
        dims = x.shape.dims
        if dims is not None and not -len(dims) <= axis < len(dims):
            raise ShapeError(f"axis = {axis} not in [{-len(dims)}, {len(dims)})")
        num = None if dims is None else dims[axis]
        if num is None:
            raise ShapeError(f"cannot infer num from shape {x.shape}: state it")
    return list(operation("Unpack", [x], name, axis=axis, num=num).outputs)


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: str = "split"
) -> list[Tensor]:
    """Parts along an axis: of equal size if their number is stated, or of the sizes stated.

    Raises:
        ValueError: the dimension is no multiple of the number, or the sizes do not make it up.
    """
    x = convert_to_tensor(value)
    if isinstance(num_or_size_splits, (int, np.integer)):
        count = int(num_or_size_splits)
        return list(operation("Split", [axis, x], name, num_split=count).outputs)
    sizes = convert_to_tensor(num_or_size_splits)
    count = sizes.shape.num_elements() if num is None else int(num)
    if count is None:
        raise ShapeError("cannot infer num from the sizes of a split: state it")
    return list(operation("SplitV", [x, sizes, axis], name, num_split=count).outputs)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """The tensor repeated along each dimension."""
    return result("Tile", input, multiples, name=name)


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """A border around a tensor: of one value, or of what it mirrors.

    Args:
        mode: CONSTANT; REFLECT, SYMMETRIC: mirrored without and with the outermost elements.
    """
    kind = mode.upper()
    with get_default_graph().name_scope(name or "Pad") as scope:
        x = convert_to_tensor(tensor, name="tensor")
        widths = convert_to_tensor(paddings, name="paddings")
        if kind in ("REFLECT", "SYMMETRIC"):
            return result("MirrorPad", x, widths, name=scope, mode=kind)
        if kind != "CONSTANT":
            raise ShapeError(f"pad knows CONSTANT, REFLECT and SYMMETRIC, got mode {mode!r}")
        if not hasattr(constant_values, "op") and constant_values == 0:
            return result("Pad", x, widths, name=scope)
        filling = convert_to_tensor(constant_values, x.dtype, name="constant_values")
        return result("PadV2", x, widths, filling, name=scope)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements in reverse order along axes."""
    x = convert_to_tensor(tensor, name="tensor")
    axes = axis if hasattr(axis, "op") else np.ravel(np.asarray(axis, np.int32))
    return result("ReverseV2", x, axes, name=name)


reverse_v2 = reverse


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements moved along axes, those that leave come in at the other end."""
    return result("Roll", input, shift, axis, name=name)


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """The first elements of each row in reverse order; how many, each row says."""
    along = either(seq_axis, seq_dim, "seq_axis and seq_dim")
    batch = either(batch_axis, batch_dim, "batch_axis and batch_dim", 0)
    dims = {"seq_dim": along, "batch_dim": batch}
    return result("ReverseSequence", input, seq_lengths, name=name, **dims)


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """Where each number of a permutation is."""
    return result("InvertPermutation", x, name=name)


def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """The coordinates of a grid, an array of the grid's shape for each axis.

    Args:
        indexing: xy: the first axis goes along columns; ij: along rows.
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid knows indexing xy and ij, got {indexing!r}")
    with get_default_graph().name_scope(name):
        axes = alike(*args)
        order = list(range(len(axes)))
        if indexing == "xy" and len(axes) > 1:
            order[:2] = [1, 0]
        sizes = [result("Size", axes[order.index(n)]) for n in range(len(axes))]
        shape = stack(sizes)
        made = []
        for x, place in zip(axes, order):
            lined = reshape(x, [-1 if n == place else 1 for n in range(len(axes))])
            made.append(result("BroadcastTo", lined, shape))
        return made


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements repeated to fill a shape."""
    return result("BroadcastTo", input, shape_tensor(shape), name=name)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> Any:
    """The TensorShape that tensors of two shapes broadcast to."""
    return broadcast([shape_x, shape_y])


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape that tensors of two shapes broadcast to, as a tensor."""
    return result("BroadcastArgs", shape_tensor(shape_x), shape_tensor(shape_y))


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """A part of a tensor, from where it begins, of a size; -1 is up to the end."""
    with get_default_graph().name_scope(name or "Slice") as scope:
        x = convert_to_tensor(input_, name="input")
        return result(
            "Slice", x, shape_tensor(begin, "begin"), shape_tensor(size, "size"), name=scope
        )


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """What x[begin:end:stride, …] is: a bit of a mask says what the number at its place means."""
    with get_default_graph().name_scope(name or "StridedSlice") as scope:
        x = convert_to_tensor(input_, name="input")
        first, last = shape_tensor(begin, "begin"), shape_tensor(end, "end")
        if strides is None:
            steps = result("OnesLike", first)
        else:
            steps = shape_tensor(strides, "strides")
        masks = {
            "begin_mask": begin_mask,
            "end_mask": end_mask,
            "ellipsis_mask": ellipsis_mask,
            "new_axis_mask": new_axis_mask,
            "shrink_axis_mask": shrink_axis_mask,
        }
        return result("StridedSlice", x, first, last, steps, name=scope, **masks)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = 0,
    batch_dims: int = 0,
) -> Tensor:
    """The slices along an axis that indices name.

    An index outside of the dimension is an error where it is known before the program is compiled;
    compiled code takes the nearest one within it.
    """
    return result("GatherV2", params, indices, axis, name=name, batch_dims=batch_dims)


def gather_nd(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """The elements, or slices, that rows of indices name."""
    return result("GatherNd", params, indices, name=name)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """1 at the place that each index names along a new axis, 0 elsewhere; or other values."""
    with get_default_graph().name_scope(name or "one_hot") as scope:
        found = dtype
        for value in (on_value, off_value):
            if found is None and value is not None:
                found = convert_to_tensor(value).dtype
        wanted = float32 if found is None else as_dtype(found)
        on = convert_to_tensor(1 if on_value is None else on_value, wanted, name="on_value")
        off = convert_to_tensor(0 if off_value is None else off_value, wanted, name="off_value")
        return result(
            "OneHot", indices, depth, on, off, name=scope, axis=-1 if axis is None else axis
        )


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements of x or y; without them the places that are true, a row of indices each.

    Raises:
        ValueError: one of x and y is left out.
    """
    if (x is None) != (y is None):
        raise ShapeError("x and y must both be non-None or both be None")
    condition = convert_to_tensor(condition, name="condition")
    if x is None:
        return result("Where", condition, name=name)
    with get_default_graph().name_scope(name or "Select") as scope:
        x, y = alike(x, y, names=("t", "e"))
        return result("Select", condition, x, y, name=scope)


def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: int = 0) -> Tensor:
    """The slices for which a mask is true: how many there are is known only when it runs."""
    with get_default_graph().name_scope(name):
        x, mask = convert_to_tensor(tensor), convert_to_tensor(mask)
        rank = mask.shape.ndims
        if not rank or x.shape.dims is None:
            raise ShapeError("boolean_mask takes a mask of known rank, 1 or more")
        x.shape[axis : axis + rank].assert_is_compatible_with(mask.shape)
        dims = x.shape.dims
        lead = [-1 if n is None else n for n in dims[:axis]]
        rest = [-1 if n is None else n for n in dims[axis + rank :]]
        flat = reshape(x, [*lead, -1, *rest]) if rank > 1 else x
        hits = squeeze(result("Where", reshape(mask, [-1])), [1])
        return gather(flat, hits, axis=axis)


def parallel_stack(values: Sequence[Any], name: str = "parallel_stack") -> Tensor:
    """Tensors of one shape along a new first axis."""
    return stack(values, 0, name)
