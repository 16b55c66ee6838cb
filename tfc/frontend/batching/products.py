"""Batching of products: dot, ragged-dot and convolution."""

from typing import Any

from tfc.frontend import operations as ops
from tfc.frontend.batching.movement import moved
from tfc.frontend.batching.values import Nest, Value
from tfc.frontend.batching.walk import Batch, batches
from tfc.frontend.tensor import Tensor
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.ops.contraction import DOT_DIMENSIONS, dot_dimensions, free_dimensions
from tfc.hlo.ops.convolution import group_counts
from tfc.hlo.ops.ragged_expansion import expand_ragged_dot
from tfc.hlo.shape import Shape


@batches("dot")
def _dot(_: Batch, x: Instruction, lhs: Value, rhs: Value) -> Nest:
    """One dot: the batch is one of its batch dimensions, or a free one of the only operand with it.

    A batch of vectors times one matrix takes the vectors first, so that the batch comes first.
    """
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = dot_dimensions(x.attributes)
    if lhs.batched and rhs.batched:
        dimensions = [(0, *moved(lhs_batch)), moved(lhs_contracting),
                      (0, *moved(rhs_batch)), moved(rhs_contracting)]  # fmt: skip
        return Value(_product(x, lhs.tensor, rhs.tensor, dimensions), True)
    count = len(lhs_batch)
    if lhs.batched:
        dimensions = [moved(lhs_batch), moved(lhs_contracting), rhs_batch, rhs_contracting]
        return Value(_to_front(_product(x, lhs.tensor, rhs.tensor, dimensions), count), True)
    right = [moved(rhs_batch), moved(rhs_contracting)]
    rhs_rank, lhs_rank = (o.array_shape.rank for o in x.operands[::-1])
    if not free_dimensions(rhs_rank, rhs_batch, rhs_contracting):
        turned = _product(
            x, rhs.tensor, lhs.tensor, [*right, lhs_batch, lhs_contracting], turned=True
        )
        return Value(_to_front(turned, count), True)
    made = _product(x, lhs.tensor, rhs.tensor, [lhs_batch, lhs_contracting, *right])
    return Value(
        _to_front(made, count + len(free_dimensions(lhs_rank, lhs_batch, lhs_contracting))), True
    )


def _product(
    x: Instruction,
    lhs: Tensor,
    rhs: Tensor,
    dimensions: list[tuple[int, ...]],
    turned: bool = False,
) -> Tensor:
    """The dot of other operands and dimensions; `turned` if each stands in the other's place."""
    precisions = x.attributes.get("operand_precision")
    changes: dict[str, Any] = dict(zip(DOT_DIMENSIONS, dimensions))
    changes = {name: dims or (None if "batch" in name else ()) for name, dims in changes.items()}
    if turned and precisions:
        changes["operand_precision"] = precisions[::-1]
    stated = Shape(x.array_shape.element_type)
    return ops.operation("dot", lhs, rhs, shape=stated, **{**x.attributes, **changes})


def _to_front(tensor: Tensor, dimension: int) -> Tensor:
    """The tensor with one dimension before all others."""
    others = [d for d in range(tensor.ndim) if d != dimension]
    return ops.transpose(tensor, [dimension, *others])


@batches("ragged-dot")
def _ragged_dot(batch: Batch, x: Instruction, *operands: Value) -> Nest:
    """The plain operations that it stands for: the groups of the batch's elements differ."""
    parameters = [builder.parameter(n, o.array_shape) for n, o in enumerate(x.operands)]
    root = expand_ragged_dot(x.with_(operands=tuple(parameters)))
    return batch.run(Computation.make("ragged", parameters, root), operands)


@batches("convolution")
def _convolution(batch: Batch, x: Instruction, lhs: Value, rhs: Value) -> Nest:
    """One convolution: the batch goes into its batch, into the result's features, or into groups.

    A batch of images is one of more images, a batch of kernels one of more features; if both differ
    by element, each element is a group.
    """
    labels, size = x["dim_labels"], batch.size
    groups, batch_groups = group_counts(x.attributes)
    of_image, of_kernel = (o.tensor for o in (lhs, rhs))
    if not rhs.batched:
        of_image, dimension, parts = fold(of_image, labels.lhs[0], batch_groups), labels.out[0], 1
    elif not lhs.batched:
        parts = groups * batch_groups
        of_kernel, dimension = fold(of_kernel, labels.rhs[0], parts), labels.out[1]
    else:
        of_kernel, dimension, parts = fold(of_kernel, labels.rhs[0], 1), labels.out[1], 1
        if batch_groups == 1:
            of_image, groups = fold(of_image, labels.lhs[1], 1), groups * size
        else:
            of_image, batch_groups = fold(of_image, labels.lhs[0], 1), batch_groups * size
    changed = {"feature_group_count": groups, "batch_group_count": batch_groups}
    attributes = {**x.attributes, **changed, "convolution_kind": None}
    stated = Shape(x.array_shape.element_type)
    made = ops.operation("convolution", of_image, of_kernel, shape=stated, **attributes)
    return Value(unfold(made, dimension, size, parts), True)


def fold(tensor: Tensor, dimension: int, groups: int) -> Tensor:
    """A batch as part of a dimension of its elements, within each of that dimension's groups.

    [n, …, groups * k, …] -> […, groups * n * k, …]
    """
    size, *dims = tensor.shape
    before, whole, after = dims[:dimension], dims[dimension], dims[dimension + 1 :]
    parts = [groups] if groups > 1 else []
    split = ops.reshape(tensor, [size, *before, *parts, whole // groups, *after])
    at = dimension + 1 + len(parts)  # where the batch goes: after the groups
    order = [*range(1, at), 0, *range(at, split.ndim)]
    return ops.reshape(ops.transpose(split, order), [*before, whole * size, *after])


def unfold(tensor: Tensor, dimension: int, size: int, groups: int) -> Tensor:
    """The batch that `fold` made part of a dimension, first again."""
    dims = tensor.shape
    before, whole, after = dims[:dimension], dims[dimension], dims[dimension + 1 :]
    parts = [groups] if groups > 1 else []
    split = ops.reshape(tensor, [*before, *parts, size, whole // (groups * size), *after])
    first = _to_front(split, dimension + len(parts))
    return ops.reshape(first, [size, *before, whole // size, *after])
