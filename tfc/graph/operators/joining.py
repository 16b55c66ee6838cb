"""Operators that put arrays together, take them apart and move their elements."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import ShapeError
from tfc.graph.operators.differentiation import pulled_back
from tfc.graph.operators.registry import (
    Attributes,
    Spec,
    axis_of,
    is_known,
    known,
    known_numbers,
    operator,
)
from tfc.graph.types.shapes import TensorShape


def _stacked(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    shape = inputs[0].shape
    for x in inputs[1:]:
        shape = shape.merge_with(x.shape)
    if shape.dims is None:
        return [(inputs[0].dtype, shape)]
    axis = axis_of(attributes.get("axis", 0), len(shape.dims) + 1, "stack")
    return [(inputs[0].dtype, TensorShape([*shape.dims[:axis], len(inputs), *shape.dims[axis:]]))]


@operator("Pack", infer=_stacked)
def stack(*values: Any, axis: int = 0) -> Any:
    """Arrays of one shape along a new axis."""
    return tnp.stack(values, axis=axis)


@operator("Unpack")
def unstack(value: Any, num: int = -1, axis: int = 0) -> Any:
    """The arrays along an axis, which goes."""
    along = axis_of(axis, value.ndim, "unstack")
    count = value.shape[along]
    if num >= 0 and num != count:
        raise ShapeError(f"unstack into {num} parts needs a dimension of {num}, got {count}")
    place: list[Any] = [slice(None)] * value.ndim
    parts = []
    for n in range(count):
        place[along] = n
        parts.append(value[tuple(place)])
    return parts


def _concatenated(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """The shape of a concatenation: the other dimensions are known if any array's is."""
    *values, at = inputs
    axis = at.known_value()
    known_ranks = [x.shape for x in values if x.shape.dims is not None]
    if not known_ranks:
        return [(values[0].dtype, TensorShape(None))]
    rank = len(known_ranks[0].as_list())
    if axis is None:
        return [(values[0].dtype, TensorShape([None] * rank))]
    along = axis_of(axis, rank, "concat")
    others = TensorShape(None)
    total: int | None = 0
    for x in values:
        dims = x.shape.dims
        here = None if dims is None else dims[along] if along < len(dims) else None
        total = None if total is None or here is None else total + here
        if dims is not None:
            others = others.merge_with([None if n == along else d for n, d in enumerate(dims)])
    dims = others.as_list()
    dims[along] = total
    return [(values[0].dtype, TensorShape(dims))]


@operator("ConcatV2", types="T", infer=_concatenated)
def concat(*values: Any) -> Any:
    """Arrays one after the other; the axis comes last."""
    *arrays, axis = values
    return tnp.concatenate(arrays, axis=axis_of(axis, arrays[0].ndim, "concat"))


@operator("Concat", known=(0,))
def concat_axis_first(concat_dim: Any, *values: Any) -> Any:
    """Arrays one after the other; the axis comes first."""
    return tnp.concatenate(values, axis=axis_of(concat_dim, values[0].ndim, "concat"))


@operator("Split", types="- T", known=(0,))
def split(split_dim: Any, value: Any, num_split: int = 1) -> Any:
    """Parts of one size along an axis."""
    axis = axis_of(split_dim, value.ndim, "split")
    size = value.shape[axis]
    if size % num_split:
        raise ShapeError(f"a dimension of {size} does not split into {num_split} equal parts")
    return _parts(value, axis, [size // num_split] * num_split)


@operator("SplitV", types="T Tlen", known=(1, 2))
def split_sizes(value: Any, size_splits: Any, split_dim: Any, num_split: int = 0) -> Any:
    """Parts of stated sizes along an axis; one of -1 is what is left."""
    axis = axis_of(split_dim, value.ndim, "split")
    sizes = list(known_numbers(size_splits, "the sizes of a split"))
    if -1 in sizes:
        sizes[sizes.index(-1)] = value.shape[axis] - sum(n for n in sizes if n >= 0)
    if sum(sizes) != value.shape[axis] or min(sizes, default=0) < 0:
        raise ShapeError(f"parts of {sizes} do not make up a dimension of {value.shape[axis]}")
    return _parts(value, axis, sizes)


def _parts(value: Any, axis: int, sizes: Sequence[int]) -> list[Any]:
    place: list[Any] = [slice(None)] * value.ndim
    parts, at = [], 0
    for size in sizes:
        place[axis] = slice(at, at + size)
        parts.append(value[tuple(place)])
        at += size
    return parts


@operator("Transpose", types="T Tperm", known=(1,))
def transpose(x: Any, perm: Any) -> Any:
    """The dimensions in another order."""
    return tnp.transpose(x, known_numbers(perm, "the permutation of a transpose"))


@operator("ConjugateTranspose", types="T Tperm", known=(1,))
def conjugate_transpose(x: Any, perm: Any) -> Any:
    """The dimensions in another order, the elements conjugate."""
    return tnp.conj(transpose(x, perm))


@operator("Tile", types="T Tmultiples", known=(1,))
def tile(input: Any, multiples: Any) -> Any:
    """The array repeated along each dimension."""
    counts = known_numbers(multiples, "how often a tile repeats")
    if len(counts) != input.ndim:
        raise ShapeError(f"tile needs {input.ndim} multiples, got {list(counts)}")
    return tnp.tile(input, counts)


def _offsets(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(x.dtype, x.shape) for x in inputs[1:]]


@operator("ConcatOffset", types="- shape_type", known=(0,), infer=_offsets)
def concat_offsets(concat_dim: Any, *shape: Any) -> list[Any]:
    """Where each array of these shapes begins in their concatenation."""
    axis = axis_of(concat_dim, shape[0].shape[0], "concat")
    on = np.arange(shape[0].shape[0]) == axis
    found, total = [], tnp.zeros_like(shape[0])
    for dims in shape:
        found.append(total)
        total = total + tnp.where(on, dims, np.zeros((), dims.dtype))
    return found


def _padding(paddings: Any) -> list[tuple[int, int]]:
    pairs = known(paddings, "the widths of a padding")
    return [(int(low), int(high)) for low, high in pairs.reshape(-1, 2)]


@operator("Pad", types="T Tpaddings", known=(1,))
def pad(input: Any, paddings: Any) -> Any:
    """Zeros around an array."""
    return tnp.pad(input, _padding(paddings))


@operator("PadV2", types="T Tpaddings", known=(1,))
def pad_value(input: Any, paddings: Any, constant_values: Any) -> Any:
    """One value around an array."""
    return tnp.pad(input, _padding(paddings), constant_values=constant_values)


@operator("MirrorPad", types="T Tpaddings", known=(1,))
def mirror_pad(input: Any, paddings: Any, *, mode: str) -> Any:
    """The array mirrored around itself: REFLECT leaves out the border, SYMMETRIC repeats it."""
    return tnp.pad(input, _padding(paddings), mode=mode.lower())


@operator("MirrorPadGrad", types="T Tpaddings", known=(1,))
def mirror_pad_gradient(input: Any, paddings: Any, *, mode: str) -> Any:
    """The sums of what MirrorPad made of each element."""
    dims = [size - low - high for size, (low, high) in zip(input.shape, _padding(paddings))]
    zeros = tnp.zeros(dims, input.dtype)
    return pulled_back(lambda x: mirror_pad(x, paddings, mode=mode), zeros, input)


@operator("ReverseV2", types="T Tidx", known=(1,))
def reverse(tensor: Any, axis: Any) -> Any:
    """The elements in reverse order along axes."""
    axes = known_numbers(axis, "the axes of a reversal")
    return tnp.flip(tensor, axes) if axes else tensor


@operator("Reverse", types="-", known=(1,))
def reverse_by_flags(tensor: Any, dims: Any) -> Any:
    """The elements in reverse order along the dimensions whose flag is true."""
    axes = tuple(n for n, on in enumerate(known(dims, "the flags of a reversal")) if on)
    return tnp.flip(tensor, axes) if axes else tensor


@operator("Roll", types="T Tshift Taxis", known=(2,), hints=(1,))
def roll(input: Any, shift: Any, axis: Any) -> Any:
    """The elements moved along axes, those that leave come in at the other end."""
    axes = known_numbers(axis, "the axes of a roll")
    if is_known(shift):
        return tnp.roll(input, known_numbers(shift, "a shift"), axes)
    shifts = tnp.reshape(shift, (-1,))
    for n, along in enumerate(axes):
        size = np.asarray(input.shape[along], shift.dtype)
        source = tnp.mod(np.arange(input.shape[along]).astype(shift.dtype) - shifts[n], size)
        input = tnp.take(input, source, axis=along, mode="clip")
    return input


@operator("ReverseSequence", types="T Tlen")
def reverse_sequence(input: Any, seq_lengths: Any, *, seq_dim: int, batch_dim: int = 0) -> Any:
    """The first elements of each row in reverse order; how many, each row says."""
    x = tnp.moveaxis(input, (batch_dim, seq_dim), (0, 1))
    place = np.arange(x.shape[1])[None, :]
    lengths = tnp.reshape(tnp.astype(seq_lengths, np.dtype(np.int64)), (-1, 1))
    source = tnp.where(place < lengths, lengths - 1 - place, place)
    source = tnp.reshape(source, source.shape + (1,) * (x.ndim - 2))
    made = tnp.take_along_axis(x, tnp.broadcast_to(source, x.shape), axis=1)
    return tnp.moveaxis(made, (0, 1), (batch_dim, seq_dim))


@operator("InvertPermutation")
def invert_permutation(x: Any) -> Any:
    """Where each number is."""
    return tnp.astype(tnp.argsort(x), x.dtype)
