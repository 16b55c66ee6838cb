"""Functions that make tensors of shapes and numbers, and those that only pass tensors on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfc.errors import ShapeError
from tfc.graph.building import alike, operation, result
from tfc.graph.constants import constant, convert_to_tensor
from tfc.graph.graph import Graph, get_default_graph
from tfc.graph.operation import Operation, Tensor
from tfc.graph.operators.partial_values import partial_shape
from tfc.graph.types.dtypes import as_dtype, bool_, float32, int32
from tfc.graph.types.shapes import TensorShape


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value each run is given: `feed_dict`."""
    wanted, dims = as_dtype(dtype), TensorShape(shape)
    return operation("Placeholder", (), name, dtype=wanted, shape=dims).outputs[0]


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor whose value runs may be given."""
    x = convert_to_tensor(input, name="input")
    wanted = {"shape": TensorShape(shape), "dtype": x.dtype}
    return result("PlaceholderWithDefault", x, name=name, **wanted)


def shape_tensor(shape: Any, name: str = "shape") -> Tensor:
    """The int32 tensor that a shape is: numbers, a TensorShape, or what is a tensor."""
    if isinstance(shape, TensorShape):
        return constant(np.asarray(shape.known(), np.int32), name=name)
    if isinstance(shape, (list, tuple)) and not shape:
        return constant(np.zeros(0, np.int32), name=name)
    if isinstance(shape, (list, tuple)) and not any(hasattr(n, "op") for n in shape):
        return constant(np.asarray([int(n) for n in shape], np.int32), name=name)
    return convert_to_tensor(shape, name=name)


def _constant_fill(shape: Any, dtype: Any, name: str, value: int) -> Tensor:
    wanted = as_dtype(dtype)
    filling = wanted.as_numpy_dtype(value)
    with get_default_graph().name_scope(name) as scope:
        if hasattr(shape, "op") or _holds_tensor(shape):
            dims = shape_tensor(shape)
        else:
            known = TensorShape(shape).known()
            if int(np.prod(known)) < 1000:
                return constant(np.full(known, filling), wanted, name=scope)
            dims = shape_tensor(known)
        if dims.shape.ndims == 0:
            dims = result("Reshape", dims, np.array([1], np.int32))
        return result("Fill", dims, constant(filling, wanted, name="Const"), name=scope)


def _holds_tensor(shape: Any) -> bool:
    return isinstance(shape, (list, tuple)) and any(hasattr(n, "op") for n in shape)


def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Zeros of a shape."""
    return _constant_fill(shape, dtype, name or "zeros", 0)


def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Ones of a shape."""
    return _constant_fill(shape, dtype, name or "ones", 1)


def _like(tensor: Any, dtype: Any, name: str, optimize: bool, value: int) -> Tensor:
    with get_default_graph().name_scope(name) as scope:
        x = convert_to_tensor(tensor, name="tensor")
        wanted = x.dtype if dtype is None else as_dtype(dtype)
        if optimize and x.shape.is_fully_defined():
            return _constant_fill(x.shape.known(), wanted, scope, value)
        if wanted == x.dtype:
            return result("OnesLike" if value else "ZerosLike", x, name=scope)
        filling = constant(wanted.as_numpy_dtype(value), wanted)
        return result("Fill", result("Shape", x, out_type=int32), filling, name=scope)


def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros in the shape of a tensor."""
    return _like(tensor, dtype, name or "zeros_like", optimize, 0)


def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones in the shape of a tensor."""
    return _like(tensor, dtype, name or "ones_like", optimize, 1)


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of one value throughout."""
    with get_default_graph().name_scope(name or "Fill") as scope:
        return result("Fill", shape_tensor(dims, "dims"), value, name=scope)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """Numbers from `start`, or 0, up to `limit`, which is not among them."""
    if limit is None:
        start, limit = 0, start
    with get_default_graph().name_scope(name) as scope:
        values = [x if hasattr(x, "op") else np.asarray(x) for x in (start, limit, delta)]
        wanted = dtype
        if wanted is None and not any(hasattr(x, "op") for x in values):
            parts = [convert_to_tensor(x) for x in (start, limit, delta)]
            order = ["int32", "int64", "float32", "float64"]
            wanted = max((x.dtype.name for x in parts), key=_ranked(order))
        tensors = alike(start, limit, delta, dtype=wanted, names=("start", "limit", "delta"))
        return result("Range", *tensors, name=scope)


def _ranked(order: Sequence[str]) -> Any:
    return lambda name: order.index(name) if name in order else -1


def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """Numbers at equal distances, both ends among them."""
    with get_default_graph().name_scope(name or "LinSpace") as scope:
        start, stop = alike(start, stop, names=("start", "stop"))
        return result("LinSpace", start, stop, num, name=scope)


lin_space = linspace


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """The identity matrix, once for each place of a batch."""
    wanted = as_dtype(dtype).dtype
    matrix = np.eye(int(num_rows), None if num_columns is None else int(num_columns), dtype=wanted)
    dims = () if batch_shape is None else TensorShape(batch_shape).known()
    return constant(np.broadcast_to(matrix, (*dims, *matrix.shape)), name=name or "eye")


def identity(input: Any, name: str | None = None) -> Tensor:
    """The tensor itself, as the result of an operation of its own."""
    return result("Identity", input, name=name)


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """The tensors themselves, as the results of one operation."""
    tensors = [convert_to_tensor(x) for x in input]
    return list(operation("IdentityN", tensors, name, T=[x.dtype for x in tensors]).outputs)


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing."""
    return operation("NoOp", (), name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that runs after those given, or after those that make the tensors given."""
    graph = get_default_graph()
    flat = [x for x in _flattened(inputs) if x is not None]
    with graph.control_dependencies([getattr(x, "op", x) for x in flat]):
        return operation("NoOp", (), name or "group_deps")


def _flattened(values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return [leaf for value in values for leaf in _flattened(value)]
    return [values]


def tuple_(
    tensors: Sequence[Any], name: str | None = None, control_inputs: Sequence[Any] | None = None
) -> list[Any]:
    """The tensors, none of which is there before all are.

    Raises:
        ValueError: there are none.
    """
    graph: Graph = get_default_graph()
    with graph.name_scope(name or "tuple"):
        given = [x for x in tensors if x is not None]
        if not given:
            raise ShapeError("tuple takes one tensor at least")
        gate = group(*given, *(control_inputs or ()), name="group_deps")
        with graph.control_dependencies([gate]):
            return [
                None if x is None else gate if isinstance(x, Operation) else identity(x)
                for x in tensors
            ]


def shape(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The dimensions as a tensor."""
    with get_default_graph().name_scope(name or "Shape") as scope:
        x = convert_to_tensor(input, name="input")
        return result("Shape", x, name=scope, out_type=as_dtype(out_type))


def shape_n(input: Sequence[Any], out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """The dimensions of tensors."""
    made = operation("ShapeN", input, name, out_type=as_dtype(out_type), N=len(input))
    return list(made.outputs)


def size(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The number of elements as a tensor."""
    return result("Size", input, name=name, out_type=as_dtype(out_type))


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions as a tensor."""
    return result("Rank", input, name=name)


def known_shape(tensor: Any) -> TensorShape:
    """The shape that the value of a tensor is, as far as the graph tells: a TensorShape."""
    return partial_shape(convert_to_tensor(tensor))


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None
) -> Tensor:
    """True at the first elements of each row, as many as its length says."""
    with get_default_graph().name_scope(name or "SequenceMask"):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            every = np.arange(lengths.shape.with_rank(lengths.shape.ndims or 1).ndims or 0)
            maxlen = result("Max", lengths, every.astype(np.int32), keep_dims=False)
        limit = convert_to_tensor(maxlen, lengths.dtype)
        zero, one = constant(0, lengths.dtype), constant(1, lengths.dtype)
        places = result("Range", zero, limit, one)
        made = result("Less", places, result("ExpandDims", lengths, np.int32(-1)))
        wanted = as_dtype(dtype)
        return made if wanted == bool_ else result("Cast", made, DstT=wanted)
