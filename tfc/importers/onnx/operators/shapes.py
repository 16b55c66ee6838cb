"""Shapes: reading them, and arrays under other ones."""

from typing import Any

import numpy as np

import tfc.numpy as tnp
from tfc.errors import ModelFileError, UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.promotion import broadcast_shapes
from tfc.hlo.shape import S64, element_type_of
from tfc.importers.onnx.table import of_text, operator
from tfc.importers.onnx.tensors import dtype_of
from tfc.importers.values import whole_numbers
from tfc.importers.walk import Call


@operator("Shape")
def shape(data: Any, *, start: int = 0, end: int | None = None) -> Any:
    """The sizes of the dimensions, or of some of them."""
    sizes = np.array(data.shape, np.int64)
    return sizes[_bound(start, data.ndim) : _bound(data.ndim if end is None else end, data.ndim)]


def _bound(place: int, rank: int) -> int:
    return min(max(place + rank if place < 0 else place, 0), rank)


@operator("Size")
def size(data: Any) -> Any:
    """The number of elements."""
    return np.array(data.size, np.int64)


@operator("Reshape", since=5, needs=("shape",))
@of_text
def reshape(data: Any, shape: Any, *, allowzero: int = 0) -> Any:
    """The elements under other dimensions: 0 keeps one, -1 is what is left."""
    dims = whole_numbers(shape)
    if not allowzero:
        dims = [data.shape[d] if n == 0 else n for d, n in enumerate(dims)]
    if -1 in dims and 0 in dims and not data.size:
        dims = [0 if n == -1 else n for n in dims]
    return tnp.reshape(data, tuple(dims))


@operator("Flatten")
@of_text
def flatten(x: Any, *, axis: int = 1) -> Any:
    """A matrix: the dimensions before an axis, and those from it on."""
    axis = axis + x.ndim if axis < 0 else axis
    rows = int(np.prod(x.shape[:axis], dtype=np.int64))
    return tnp.reshape(x, (rows, int(np.prod(x.shape[axis:], dtype=np.int64))))


@operator("Squeeze", since=13, needs=("axes",))
@of_text
def squeeze(data: Any, axes: Any = None) -> Any:
    """Without dimensions of size one: those named, or all."""
    return tnp.squeeze(data, None if axes is None else tuple(whole_numbers(axes)))


@operator("Squeeze", until=12)
@of_text
def squeeze_by_attribute(data: Any, *, axes: tuple[int, ...] | None = None) -> Any:
    """Without dimensions of size one: those named, or all."""
    return tnp.squeeze(data, axes)


@operator("Unsqueeze", since=13, needs=("axes",))
@of_text
def unsqueeze(data: Any, axes: Any) -> Any:
    """With further dimensions of size one."""
    return tnp.expand_dims(data, tuple(whole_numbers(axes)))


@operator("Unsqueeze", until=12)
@of_text
def unsqueeze_by_attribute(data: Any, *, axes: tuple[int, ...]) -> Any:
    """With further dimensions of size one."""
    return tnp.expand_dims(data, tuple(axes))


@operator("Transpose")
@of_text
def transpose(data: Any, *, perm: tuple[int, ...] | None = None) -> Any:
    """The dimensions in another order; reversed when left out."""
    return tnp.transpose(data, perm)


@operator("Expand", since=8, needs=("shape",))
def expand(data: Any, shape: Any) -> Any:
    """Repeated to a shape, by the rules of broadcasting both ways."""
    return tnp.broadcast_to(data, broadcast_shapes(data.shape, whole_numbers(shape)))


@operator("Tile", since=6, needs=("repeats",))
def tile(data: Any, repeats: Any) -> Any:
    """Repeated along each dimension."""
    return tnp.tile(data, tuple(whole_numbers(repeats)))


@operator("Concat")
def concat(*inputs: Any, axis: int = 1) -> Any:
    """Arrays one after the other along an axis."""
    return inputs[0] if len(inputs) == 1 else tnp.concatenate(list(inputs), axis)


@operator("Split", since=13, needs=("split",))
def split(
    data: Any, split: Any = None, *, axis: int = 0, num_outputs: int | None = None, node: Call
) -> Any:
    """Parts along an axis: of stated sizes, or equal ones of which the last may be smaller."""
    return parts(
        data, axis, len(node.node.outputs), None if split is None else whole_numbers(split)
    )


@operator("Split", until=12)
def split_by_attribute(
    data: Any, *, axis: int = 0, split: tuple[int, ...] | None = None, node: Call
) -> Any:
    """Parts along an axis, of stated sizes or equal ones."""
    return parts(data, axis, len(node.node.outputs), split)


def parts(data: Any, axis: int, count: int, sizes: Any) -> tuple[Any, ...]:
    """The parts of an array along an axis.

    Raises:
        ModelFileError: they do not add up to its size.
    """
    whole = data.shape[axis]
    if sizes is None:
        each = -(-whole // count)
        sizes = [min(each, max(whole - each * n, 0)) for n in range(count)]
    if sum(sizes) != whole or min(sizes, default=0) < 0:
        raise ModelFileError(f"parts of the sizes {list(sizes)} do not make up {whole}")
    ends = np.cumsum(sizes)[:-1].tolist()
    return tuple(tnp.split(data, ends, axis))


@operator("ConstantOfShape", since=9, needs=("shape",))
def constant_of_shape(shape: Any, *, value: np.ndarray | None = None) -> Any:
    """An array with one value everywhere."""
    fill = np.zeros((), np.float32) if value is None else value.reshape(-1)[0]
    return tnp.broadcast_to(np.asarray(fill), tuple(whole_numbers(shape)))


@operator("Constant")
def constant(
    *,
    value: Any = None,
    sparse_value: Any = None,
    value_float: float | None = None,
    value_floats: tuple[float, ...] | None = None,
    value_int: int | None = None,
    value_ints: tuple[int, ...] | None = None,
) -> Any:
    """A constant of a function, whose value the call gives."""
    if value_float is not None or value_floats is not None:
        return np.array(value_floats if value_float is None else value_float, np.float32)
    if value_int is not None or value_ints is not None:
        return np.array(value_ints if value_int is None else value_int, np.int64)
    found = sparse_value if value is None else value
    if found is None:
        raise UnsupportedError("text is not supported")
    return found


@operator("Range", since=11, needs=("start", "limit", "delta"))
def range_(start: Any, limit: Any, delta: Any) -> Any:
    """start, start + delta … before the limit."""
    first, last, step = (np.asarray(v).reshape(()) for v in (start, limit, delta))
    if not step:
        raise ModelFileError("a range needs a step that is not zero")
    difference = (last.astype(np.float64) - first.astype(np.float64)) / step.astype(np.float64)
    count = max(0, int(np.ceil(difference)))
    numbers = ops.convert(ops.iota(S64, [count], 0), element_type_of(first.dtype))
    return numbers * step.astype(first.dtype) + first


@operator("EyeLike", since=9)
def eye_like(x: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    """Ones on a diagonal of a matrix of a shape."""
    rows, columns = x.shape
    made = tnp.eye(rows, columns, k=k, dtype=np.float32)
    return tnp.astype(made, x.dtype if dtype is None else dtype_of(dtype))


@operator("DepthToSpace")
def depth_to_space(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    """Blocks of channels as squares of pixels."""
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        apart = tnp.transpose(tnp.reshape(x, (n, b, b, c // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
    else:
        apart = tnp.transpose(tnp.reshape(x, (n, c // (b * b), b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return tnp.reshape(apart, (n, c // (b * b), h * b, w * b))


@operator("SpaceToDepth")
def space_to_depth(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    """Squares of pixels as blocks of channels."""
    n, c, h, w = x.shape
    b = blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    apart = tnp.transpose(tnp.reshape(x, (n, c, h // b, b, w // b, b)), order)
    return tnp.reshape(apart, (n, c * b * b, h // b, w // b))
