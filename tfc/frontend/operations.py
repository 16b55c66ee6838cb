"""HLO operations on Tensors: no promotion and no implicit broadcasting.

What the NumPy namespace and the gradient rules are written in. Operands may belong to an enclosing
trace; each result belongs to the current one. Shapes that do not fit raise ShapeError.
"""

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tfc.frontend.precision import stated_precision
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import current_trace, emit
from tfc.hlo import builder
from tfc.hlo.attributes.convolution_dimensions import ConvolutionDimensionNumbers
from tfc.hlo.attributes.window import Window
from tfc.hlo.ir import Computation, Instruction, has_side_effect, inline
from tfc.hlo.literal import Literal
from tfc.hlo.ops.contraction import free_dimensions
from tfc.hlo.ops.sum_types import higher_precision
from tfc.hlo.shape import PRED, AnyShape, ElementType, Shape, TupleShape


def adopt(tensor: Tensor) -> Tensor:
    """The Tensor in the current trace: itself, or captured from an enclosing one.

    Raises:
        TraceError: its trace is finished.
    """
    trace = current_trace()
    assert trace is not None, "operations are built inside a trace"
    if tensor.home is trace:
        return tensor
    return Tensor(trace.resolve(tensor.instruction, tensor.home), trace, tensor.weak)


def operation(
    opcode: str, *operands: Tensor, shape: AnyShape | None = None, **attributes: Hashable
) -> Tensor:
    """The Tensor that one HLO operation computes; `shape` is for ops that must state it.

    Raises:
        ShapeError: the operands or attributes break one of the op's constraints.
    """
    instructions = [adopt(o).instruction for o in operands]
    return wrap(emit(opcode, instructions, shape=shape, **attributes))


def wrap(instruction: Instruction) -> Tensor:
    """The Tensor of an instruction made in the current trace, which keeps it if it has effects."""
    trace = current_trace()
    assert trace is not None, "operations are built inside a trace"
    if has_side_effect(instruction):
        trace.effects.append(instruction)
    return Tensor(instruction, trace)


def inlined(computation: Computation, arguments: Sequence[Tensor]) -> Tensor:
    """The result of a computation for these arguments, its instructions put into this trace."""
    trace = current_trace()
    assert trace is not None, "operations are built inside a trace"
    root = inline(computation, [adopt(a).instruction for a in arguments])
    if computation.effects:
        # The value itself, so that what it is made of can be seen: the trace holds the effects.
        (packed,) = root.operands
        *effects, root = packed.operands
        trace.effects += effects
    return Tensor(root, trace)


def again(x: Instruction, operands: Sequence[Tensor]) -> Tensor:
    """The same instruction on other operands of the same shapes, in the current trace.

    What has effects is a new instruction even on the same operands: it is done once more.
    """
    instructions = tuple(adopt(o).instruction for o in operands)
    same = all(a is b for a, b in zip(instructions, x.operands)) and not has_side_effect(x)
    return wrap(x if same else x.with_(operands=instructions))


def constant(value: object, element_type: ElementType | None = None) -> Tensor:
    """A constant array; `element_type` converts plain Python numbers and lists."""
    dtype = None if element_type is None else element_type.dtype
    return operation("constant", literal=Literal(np.asarray(value, dtype)))


def full(value: object, dims: Sequence[int], element_type: ElementType) -> Tensor:
    """An array with the same value everywhere."""
    scalar = constant(value, element_type)
    return broadcast(scalar, dims, ()) if len(dims) else scalar


def full_like(value: object, tensor: Tensor) -> Tensor:
    """An array of a Tensor's shape with the same value everywhere."""
    return full(value, tensor.shape, tensor.array_shape.element_type)


def iota(element_type: ElementType, dims: Sequence[int], dimension: int) -> Tensor:
    """0, 1, 2 … along one dimension, repeated over the others."""
    return operation("iota", shape=Shape(element_type, tuple(dims)), iota_dimension=dimension)


def convert(tensor: Tensor, element_type: ElementType) -> Tensor:
    """The values as another element type."""
    if tensor.array_shape.element_type == element_type:
        return tensor
    if tensor.array_shape.element_type.is_complex and element_type == PRED:
        # NumPy looks at both parts, HLO at the real one.
        return operation("compare", tensor, full_like(0, tensor), direction="NE")
    return operation("convert", tensor, shape=Shape(element_type, tensor.shape))


def broadcast(tensor: Tensor, dims: Sequence[int], dimensions: Sequence[int]) -> Tensor:
    """Repeat an array; its dimension k becomes dimension `dimensions[k]` of the result (BC-3)."""
    shape = Shape(tensor.array_shape.element_type, tuple(dims))
    return operation("broadcast", tensor, shape=shape, dimensions=tuple(dimensions))


def reshape(tensor: Tensor, dims: Sequence[int]) -> Tensor:
    """The same elements in row-major order under other dimensions (RS-1)."""
    if tensor.shape == tuple(dims):
        return tensor
    return operation("reshape", tensor, shape=Shape(tensor.array_shape.element_type, tuple(dims)))


def transpose(tensor: Tensor, permutation: Sequence[int]) -> Tensor:
    """Dimension `permutation[k]` becomes dimension k."""
    if list(permutation) == list(range(tensor.ndim)):
        return tensor
    return operation("transpose", tensor, dimensions=tuple(permutation))


def reverse(tensor: Tensor, dimensions: Sequence[int]) -> Tensor:
    """The elements in the opposite order along `dimensions`."""
    return operation("reverse", tensor, dimensions=tuple(dimensions)) if dimensions else tensor


def slice_(tensor: Tensor, bounds: Sequence[tuple[int, int, int]]) -> Tensor:
    """The elements in (start, limit, stride) of each dimension (SL-1)."""
    if all(b == (0, n, 1) for b, n in zip(bounds, tensor.shape)):
        return tensor
    return operation("slice", tensor, slice=tuple(bounds))


def slice_along(tensor: Tensor, dimension: int, start: int, limit: int, stride: int = 1) -> Tensor:
    """The elements in one interval of one dimension."""
    bounds = [(0, n, 1) for n in tensor.shape]
    bounds[dimension] = (start, limit, stride)
    return slice_(tensor, bounds)


def dynamic_slice(tensor: Tensor, starts: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """The window of the given sizes that begins at scalar start indices, clamped to fit."""
    return operation("dynamic-slice", tensor, *starts, dynamic_slice_sizes=tuple(sizes))


def dynamic_update_slice(tensor: Tensor, update: Tensor, starts: Sequence[Tensor]) -> Tensor:
    """The tensor with a window replaced; scalar start indices are clamped to make it fit."""
    return operation("dynamic-update-slice", tensor, update, *starts)


def pad(tensor: Tensor, value: Tensor, padding: Sequence[tuple[int, int, int]]) -> Tensor:
    """Put `value` around and between elements: (low, high, interior) of each dimension (PAD-1)."""
    if not any(any(p) for p in padding):
        return tensor
    return operation("pad", tensor, value, padding=tuple(padding))


def concatenate(tensors: Sequence[Tensor], dimension: int) -> Tensor:
    """The arrays one after the other along one dimension (CON-1)."""
    if len(tensors) == 1:
        return tensors[0]
    return operation("concatenate", *tensors, dimensions=(dimension,))


def compare(direction: str, lhs: Tensor, rhs: Tensor) -> Tensor:
    """Compare elementwise: direction EQ, NE, GE, GT, LE or LT (CMP-1)."""
    return operation("compare", lhs, rhs, direction=direction)


def select(pred: Tensor, on_true: Tensor, on_false: Tensor) -> Tensor:
    """`on_true` where `pred` holds, else `on_false` (SEL-1)."""
    return operation("select", pred, on_true, on_false)


@cache
def scalar_computation(opcode: str, element_type: ElementType) -> Computation:
    """The computation (x, y) -> opcode(x, y) on scalars, one object for each request."""
    return builder.scalar_computation(opcode, element_type)


def reduce(
    tensor: Tensor, opcode: str, init: object, dimensions: Sequence[int], keep: bool = False
) -> Tensor:
    """Combine the elements along `dimensions` by a binary op; `keep` leaves them with size one."""
    element_type = tensor.array_shape.element_type
    result = tensor
    if dimensions:
        result = operation(
            "reduce", tensor, constant(init, element_type), dimensions=tuple(dimensions),
            to_apply=scalar_computation(opcode, element_type),
        )  # fmt: skip
    if not keep:
        return result
    return reshape(result, [1 if d in dimensions else n for d, n in enumerate(tensor.shape)])


def reduce_sum(tensor: Tensor, dimensions: Sequence[int], keep: bool = False) -> Tensor:
    """The sum of the elements along `dimensions`, in their own element type; or, of pred."""
    opcode = "or" if tensor.array_shape.element_type == PRED else "add"
    return reduce(tensor, opcode, 0, dimensions, keep)


def dot(
    lhs: Tensor,
    rhs: Tensor,
    contracting: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
    result: ElementType | None = None,
    precision: Any = None,
    **kept: Any,
) -> Tensor:
    """Sums of products over paired dimensions; the result has batch, lhs free, rhs free (DG-1…3).

    Args:
        result: the element type in which to accumulate; the operands' if left out.
        precision: as tfc.numpy.matmul takes it.
        kept: the attributes of a precision in place of it, as another product states them.

    Raises:
        ShapeError: the dimensions do not pair, or there is no such precision for these operands.
    """
    types = [o.array_shape.element_type for o in (lhs, rhs)]
    attributes: dict[str, Any] = {
        "lhs_batch_dims": tuple(batch[0]) or None,
        "lhs_contracting_dims": tuple(contracting[0]),
        "rhs_batch_dims": tuple(batch[1]) or None,
        "rhs_contracting_dims": tuple(contracting[1]),
        **(kept or stated_precision(precision, [*types, result or higher_precision(*types)])),
    }
    shape = None
    if result is not None and result != types[0]:
        dims = [lhs.shape[d] for d in batch[0]]
        dims += [lhs.shape[d] for d in free_dimensions(lhs.ndim, batch[0], contracting[0])]
        dims += [rhs.shape[d] for d in free_dimensions(rhs.ndim, batch[1], contracting[1])]
        shape = Shape(result, tuple(dims))
    return operation("dot", lhs, rhs, shape=shape, **attributes)


def convolution(
    lhs: Tensor,
    rhs: Tensor,
    window: Window,
    labels: ConvolutionDimensionNumbers,
    groups: int = 1,
    batch_groups: int = 1,
    result: ElementType | None = None,
    precision: Any = None,
    **kept: Any,
) -> Tensor:
    """Sums of products at each place of a window (CGP-1…7).

    Args:
        result: the element type in which to accumulate; the operands' if left out.
        precision, kept: as `dot` takes them.

    Raises:
        ShapeError: the arrays do not fit, or there is no such precision for them.
    """
    types = [o.array_shape.element_type for o in (lhs, rhs)]
    return operation(
        "convolution", lhs, rhs, shape=Shape(result) if result else None, window=window,
        dim_labels=labels, feature_group_count=groups, batch_group_count=batch_groups,
        **(kept or stated_precision(precision, [*types, result or higher_precision(*types)])),
    )  # fmt: skip


def stop_gradient(tensor: Tensor) -> Tensor:
    """The same values, constant to differentiation: a bitcast, since bits have no derivative."""
    return operation("bitcast-convert", tensor, shape=tensor.array_shape)


def make_tuple(tensors: Sequence[Tensor]) -> Tensor:
    """One tuple-shaped value of several."""
    return operation("tuple", *tensors)


def elements(tensor: Tensor) -> list[Tensor]:
    """The elements of a tuple-shaped value; those of a `tuple` instruction itself."""
    shape = tensor.instruction.shape
    assert isinstance(shape, TupleShape), "only tuples have elements"
    if tensor.instruction.opcode == "tuple":
        return [Tensor(o, tensor.home) for o in tensor.instruction.operands]
    return [operation("get-tuple-element", tensor, index=i) for i in range(len(shape.elements))]
