"""Operators on shapes: asking for them, making arrays of them, giving arrays others."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc import numpy as tnp
from tfc.errors import ShapeError
from tfc.graph.operators.inference import infer_by_tracing, same, stated
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.operators.registry import Attributes, Spec, find, known, known_numbers, operator
from tfc.graph.types.dtypes import as_dtype, int32
from tfc.graph.types.shapes import TensorShape


def _integers(attributes: Attributes, default: Any = int32) -> Any:
    return as_dtype(attributes.get("out_type", default))


def _rank_of(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(_integers(attributes), TensorShape([x.shape.ndims])) for x in inputs]


@operator("Shape", "ShapeN", infer=_rank_of)
def shape(*input: Any, out_type: Any = np.int32) -> Any:
    """The dimensions of an array, of several."""
    return [np.asarray(x.shape, as_dtype(out_type).dtype) for x in input]


def _scalar(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(_integers(attributes), TensorShape(()))]


@operator("Size", infer=_scalar)
def size(input: Any, out_type: Any = np.int32) -> Any:
    """The number of elements."""
    return np.asarray(int(np.prod(input.shape)), as_dtype(out_type).dtype)


@operator("Rank", infer=_scalar)
def rank(input: Any) -> Any:
    """The number of dimensions."""
    return np.asarray(input.ndim, np.int32)


def _reshaped(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """The dimensions that are known of the shape asked for; -1 is what is left, if that is known.

    Raises:
        ShapeError: there are more or fewer elements.
    """
    x, wanted = inputs
    value = wanted.known_value()
    if value is None:
        return [(x.dtype, partial_shape(wanted))]
    dims = [int(n) for n in value.ravel()]
    if sum(n < 0 for n in dims) > 1:
        raise ShapeError(f"a shape has one -1 at most, got {dims}")
    count, rest = x.shape.num_elements(), int(np.prod([n for n in dims if n >= 0]))
    if -1 not in dims:
        if count is not None and count != rest:
            raise ShapeError(
                f"cannot reshape a tensor with {count} elements to shape {dims} ({rest} elements)"
            )
        return [(x.dtype, TensorShape(dims))]
    if count is None or not rest:
        return [(x.dtype, TensorShape(_left_over(x.shape, dims)))]
    if count % rest:
        raise ShapeError(
            f"cannot reshape a tensor with {count} elements to shape {dims}: {count} is no "
            f"multiple of {rest}"
        )
    return [(x.dtype, TensorShape(count // rest if n < 0 else n for n in dims))]


def _left_over(given: TensorShape, dims: Sequence[int]) -> list[int | None]:
    return [None if n < 0 else n for n in dims]


@operator("Reshape", types="T Tshape", known=(1,), infer=_reshaped)
def reshape(tensor: Any, shape: Any) -> Any:
    """The elements in another shape; -1 stands for the dimension that is left."""
    return tnp.reshape(tensor, known_numbers(shape, "the shape of a reshape"))


@operator("ExpandDims", types="T Tdim", known=(1,))
def expand_dims(input: Any, dim: Any) -> Any:
    """A further dimension of 1."""
    return tnp.expand_dims(input, int(known(dim, "the place of a new dimension").ravel()[0]))


def _squeezed(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    x, axes = inputs[0], tuple(attributes.get("squeeze_dims") or ())
    dims = x.shape.dims
    if dims is None or (not axes and None in dims):
        return [(x.dtype, TensorShape(None))]
    out = {n % len(dims) if -len(dims) <= n < len(dims) else n for n in axes}
    if any(n >= len(dims) or n < 0 or dims[n] not in (1, None) for n in out):
        raise ShapeError(f"squeeze of dimensions {list(axes)} needs dimensions of 1, got {x.shape}")
    if not axes:
        out = {n for n, size in enumerate(dims) if size == 1}
    return [(x.dtype, TensorShape(size for n, size in enumerate(dims) if n not in out))]


@operator("Squeeze", infer=_squeezed)
def squeeze(input: Any, squeeze_dims: Sequence[int] = ()) -> Any:
    """Without the dimensions of 1, or without those stated."""
    return tnp.squeeze(input, axis=tuple(squeeze_dims) or None)


def _filled(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[1].dtype, partial_shape(inputs[0]))]


@operator("Fill", types="index_type T", known=(0,), infer=_filled)
def fill(dims: Any, value: Any) -> Any:
    """An array of one value throughout."""
    return tnp.broadcast_to(value, known_numbers(dims, "the shape of a fill"))


def _broadcast(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[0].dtype, partial_shape(inputs[1]))]


@operator("BroadcastTo", types="T Tidx", known=(1,), infer=_broadcast)
def broadcast_to(input: Any, shape: Any) -> Any:
    """The elements repeated to fill a shape."""
    return tnp.broadcast_to(input, known_numbers(shape, "the shape to broadcast to"))


@operator("BroadcastArgs", known=(0, 1))
def broadcast_shapes(s0: Any, s1: Any) -> Any:
    """The shape that arrays of two shapes broadcast to."""
    both = (known_numbers(s, "a shape to broadcast") for s in (s0, s1))
    return np.asarray(np.broadcast_shapes(*both), s0.dtype)


def _axes_of_sums(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    if any(x.known_value() is None for x in inputs):
        return [(x.dtype, TensorShape([None])) for x in inputs]
    return infer_by_tracing(find("BroadcastGradientArgs"), inputs, attributes)


@operator("BroadcastGradientArgs", known=(0, 1), infer=_axes_of_sums)
def axes_of_sums(s0: Any, s1: Any) -> list[np.ndarray]:
    """The axes over which the gradients of two shapes that broadcast are sums."""
    shapes = [known_numbers(s, "a shape to broadcast") for s in (s0, s1)]
    rank = max(map(len, shapes))
    whole = [(1,) * (rank - len(s)) + s for s in shapes]
    return [np.array([n for n in range(rank) if dims[n] == 1], s0.dtype) for dims in whole]


@operator("DataFormatDimMap", infer=same)
def dimension_in_format(x: Any, src_format: str = "NHWC", dst_format: str = "NCHW") -> Any:
    """The dimensions of one data format as those of another."""
    table = np.array([dst_format.index(letter) for letter in src_format], x.dtype)
    return tnp.take(table, tnp.mod(x, np.asarray(len(table), x.dtype)), axis=0)


@operator("DataFormatVecPermute", infer=same)
def sizes_in_format(x: Any, src_format: str = "NHWC", dst_format: str = "NCHW") -> Any:
    """Numbers for the dimensions of one data format in the order of another."""
    start, end = src_format, dst_format
    if x.shape[0] == len(start) - 2:  # those between batch and channels
        start, end = (word.replace("N", "").replace("C", "") for word in (start, end))
    return tnp.take(x, np.array([start.index(letter) for letter in end]), axis=0)


def _empty(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(as_dtype(attributes["dtype"]), partial_shape(inputs[0]))]


@operator("Empty", types="-", known=(0,), infer=_empty)
def empty(shape: Any, *, dtype: Any, init: bool = False) -> Any:
    """An array of a shape, of zeros whether they are asked for or not."""
    return np.zeros(known_numbers(shape, "the shape of an array"), as_dtype(dtype).dtype)


@operator("FakeParam", types="", infer=lambda _, attributes: [stated(attributes)])
def parameter_nobody_uses(*, dtype: Any, shape: Any) -> Any:
    """Zeros where a branch hands on a value that only another one computes."""
    return np.zeros(TensorShape(shape).known(), as_dtype(dtype).dtype)


def _counted(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    if any(x.known_value() is None for x in inputs):
        return [(inputs[0].dtype, TensorShape([None]))]
    return infer_by_tracing(find("Range"), inputs, attributes)


@operator("Range", types="Tidx", known=(0, 1, 2), infer=_counted)
def count(start: Any, limit: Any, delta: Any) -> Any:
    """Numbers from the first, up to the limit, which is not among them."""
    values = [known(x, "a bound of a range").reshape(()) for x in (start, limit, delta)]
    first, last, step = (x.item() for x in values)
    if not step:
        raise ShapeError("a range needs a step other than 0")
    return np.arange(first, last, step, dtype=values[0].dtype)


@operator("LinSpace", types="T Tidx", known=(2,), hints=(2,))
def linspace(start: Any, stop: Any, num: Any) -> Any:
    """Numbers at equal distances, both ends among them."""
    count = int(known(num, "how many numbers there are"))
    if count == 1:
        return tnp.reshape(start, (1,))
    place = np.arange(count, dtype=np.float64).astype(start.dtype)
    step = (stop - start) / np.asarray(count - 1, start.dtype)
    made = start + step * place
    return tnp.concatenate([made[:-1], tnp.reshape(stop, (1,))])
