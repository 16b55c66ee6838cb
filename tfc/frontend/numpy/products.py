"""Functions of the NumPy namespace that multiply and sum: matmul, dot, tensordot and friends.

All of them are one `contract`: dimensions are labelled, those that both operands share are batch
dimensions if the result has them and contracted if not, and HLO's dot does the rest.
"""

from collections.abc import Sequence
from typing import Any

from tfc.errors import ShapeError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.complex_numbers import conj
from tfc.frontend.numpy.creation import diagonal
from tfc.frontend.numpy.manipulation import moveaxis, normalize_axes, ravel, stack
from tfc.frontend.numpy.reductions import sum
from tfc.frontend.numpy_keywords import refuse_out
from tfc.frontend.promotion import promote
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import ElementType, element_type_of

Labels = Sequence[Any]


def contract(
    x: Tensor, y: Tensor, left: Labels, right: Labels, result: Labels, dtype: Any = None,
    precision: Any = None,
) -> Tensor:  # fmt: skip
    """Sum x times y over the labels that `result` lacks, and order the rest as it does.

    Args:
        left, right, result: one label for each dimension, none of them twice in one list.
        dtype: of the sums and the result; the operands' if left out.
        precision: as `matmul` takes it.

    Raises:
        ShapeError: dimensions of one label differ in size (DG-1, DG-2).
    """
    kind = None if dtype is None else element_type_of(dtype)
    x, left = sum_out(x, left, {*right, *result}, kind)
    y, right = sum_out(y, right, {*left, *result}, kind)
    shared = [label for label in left if label in right]
    batch = [label for label in shared if label in result]
    summed = [label for label in shared if label not in result]
    for label in shared:
        sizes = x.shape[left.index(label)], y.shape[right.index(label)]
        if sizes[0] != sizes[1]:
            raise ShapeError(
                f"a sum of products requires dimensions of equal size, got {sizes[0]} and "
                f"{sizes[1]} in {list(x.shape)} and {list(y.shape)} (DG-1)"
            )
    product = ops.dot(
        x, y,
        ([left.index(n) for n in summed], [right.index(n) for n in summed]),
        ([left.index(n) for n in batch], [right.index(n) for n in batch]), kind, precision,
    )  # fmt: skip
    made = batch + [n for n in left if n not in shared] + [n for n in right if n not in shared]
    return ops.transpose(product, [made.index(label) for label in result])


def sum_out(
    x: Tensor, labels: Labels, needed: set[Any], kind: ElementType | None = None
) -> tuple[Tensor, list[Any]]:
    """Sum over the dimensions that nothing else refers to, in the type of the sums, if stated."""
    gone = [d for d, label in enumerate(labels) if label not in needed]
    if not gone:
        return x, list(labels)
    total = ops.reduce_sum(ops.convert(x, kind) if kind else x, gone)
    return total, [label for label in labels if label in needed]


@traceable
def matmul(
    x: ArrayLike, y: ArrayLike, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Tensor:
    """The matrix product over the last two dimensions; the others broadcast.

    A vector is a row on the left and a column on the right, and its dimension is dropped.

    Args:
        precision: "default", "high" or "highest" ("float32" is the highest), or one for each
            operand: above the default, products of bf16 are computed as those of f32. Or, of an f32
            product, what may be computed instead where that is faster: "tensorfloat32", "bfloat16",
            or by JAX's names of algorithms "TF32_TF32_F32", "TF32_TF32_F32_X3", "BF16_BF16_F32",
            "BF16_BF16_F32_X3", "…_X6", "…_X9", "F32_F32_F32". Any case will do. None leaves it to
            `tfc.default_matmul_precision`.
        preferred_element_type: the dtype of the sums and of the result, such as int32 for int8;
            the operands' if left out.

    Raises:
        ShapeError: a scalar operand, inner dimensions that differ, or no such precision for
            operands and a result of these dtypes.
    """
    left, right = promote(x, y)
    if not left.ndim or not right.ndim:
        raise ShapeError("matmul requires operands of one dimension or more; use * for scalars")
    rows = ["row"] if left.ndim > 1 else []
    columns = ["column"] if right.ndim > 1 else []
    (left, left_batch), (right, right_batch) = _batch(left, right), _batch(right, left)
    batch = sorted({*left_batch, *right_batch}, reverse=True)
    return contract(
        left, right,
        [*left_batch, *rows, "inner"], [*right_batch, "inner", *columns], [*batch, *rows, *columns],
        preferred_element_type, precision,
    )  # fmt: skip


def _batch(tensor: Tensor, other: Tensor) -> tuple[Tensor, list[int]]:
    """The operand of a matmul without dimensions to repeat, and its batch dimensions' labels.

    A label is the distance from the matrix. A dimension of size one that meets a larger one is
    dropped: the other operand's dimension is then free, and nothing needs to be repeated.
    """
    sizes = dict(zip(range(tensor.ndim - 2)[::-1], tensor.shape))
    partners = dict(zip(range(other.ndim - 2)[::-1], other.shape))
    kept = [label for label, n in sizes.items() if n != 1 or partners.get(label, 1) == 1]
    return ops.reshape(tensor, [*(sizes[label] for label in kept), *tensor.shape[-2:]]), kept


@traceable
def dot(
    x: ArrayLike, y: ArrayLike, *, precision: Any = None, preferred_element_type: Any = None
) -> Tensor:
    """Sums over the last dimension of x and the last but one of y; scalars multiply (DOT-1).

    Args:
        precision: as `matmul` takes it.
        preferred_element_type: the dtype of the sums and of the result; the operands' if left out.
    """
    left, right = promote(x, y)
    pairs = ([], []) if not left.ndim or not right.ndim else ([-1], [max(right.ndim - 2, 0)])
    return tensordot(
        left, right, pairs, precision=precision, preferred_element_type=preferred_element_type
    )


@traceable
def tensordot(
    x: ArrayLike, y: ArrayLike, axes: Any = 2, *, precision: Any = None,
    preferred_element_type: Any = None,
) -> Tensor:  # fmt: skip
    """Sums over paired axes: the last n of x with the first n of y, or two lists of axes.

    Args:
        precision: as `matmul` takes it.
        preferred_element_type: the dtype of the sums and of the result; the operands' if left out.

    Raises:
        ShapeError: the axes do not pair, or differ in size.
    """
    left, right = promote(x, y)
    if isinstance(axes, int):
        pairs = list(range(left.ndim - axes, left.ndim)), list(range(axes))
    else:
        if not isinstance(axes, Sequence) or len(axes) != 2 or isinstance(axes, str):
            raise ShapeError(f"tensordot requires a number of axes or two lists, got {axes!r}")
        pairs = axes[0], axes[1]
    from_left = normalize_axes(pairs[0], left.ndim)
    from_right = normalize_axes(pairs[1], right.ndim)
    if len(from_left) != len(from_right):
        raise ShapeError(f"tensordot requires as many axes of x as of y, got {axes}")
    left_labels: list[Any] = [("x", d) for d in range(left.ndim)]
    right_labels: list[Any] = [("y", d) for d in range(right.ndim)]
    for i, j in zip(from_left, from_right):
        right_labels[j] = left_labels[i]
    free = [n for d, n in enumerate(left_labels) if d not in from_left]
    free += [n for d, n in enumerate(right_labels) if d not in from_right]
    return contract(left, right, left_labels, right_labels, free, preferred_element_type, precision)


@traceable
def vdot(
    x: ArrayLike, y: ArrayLike, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Tensor:
    """The sum of products of all elements, those of x conjugated.

    Args:
        precision: as `matmul` takes it.
        preferred_element_type: the dtype of the sums and of the result; the operands' if left out.
    """
    return dot(
        ravel(conj(x)), ravel(y), precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


@traceable
def inner(
    x: ArrayLike, y: ArrayLike, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Tensor:
    """Sums of products over the last dimension of both; scalars multiply.

    Args:
        precision: as `matmul` takes it.
        preferred_element_type: the dtype of the sums and of the result; the operands' if left out.
    """
    left, right = promote(x, y)
    pairs = ([-1], [-1]) if left.ndim and right.ndim else ([], [])
    return tensordot(
        left, right, pairs, precision=precision, preferred_element_type=preferred_element_type
    )


@traceable
def outer(x: ArrayLike, y: ArrayLike) -> Tensor:
    """The product of each element of x with each of y."""
    left, right = promote(x, y)
    return ops.reshape(left, [left.size, 1]) * ops.reshape(right, [1, right.size])


@traceable
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: None = None,
) -> Tensor:
    """The sum of a diagonal of two dimensions; of small integers in 64 bits."""
    refuse_out("trace", out)
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


def _vectors(x: ArrayLike, y: ArrayLike, axis: int) -> list[Tensor]:
    """Two operands of one dtype with the axis last, whose other dimensions broadcast."""
    return [moveaxis(tensor, axis, -1) for tensor in promote(x, y)]


@traceable
def vecdot(
    x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: Any = None,
    preferred_element_type: Any = None,
) -> Tensor:  # fmt: skip
    """The sums of products along an axis of both, those of x1 conjugated; the rest broadcasts.

    Args:
        axis: counted in each operand by itself.
        precision: as `matmul` takes it.
        preferred_element_type: the dtype of the sums and of the result; the operands' if left out.

    Raises:
        ShapeError: the axis does not exist, or differs in size.
    """
    left, right = _vectors(x1, x2, axis)
    return _one_by_one("vecdot", conj(left), right, preferred_element_type, precision)


def _one_by_one(name: str, left: Tensor, right: Tensor, dtype: Any, precision: Any) -> Tensor:
    """Rows times columns as products of matrices of one row and one column."""
    if left.shape[-1] != right.shape[-1]:
        raise ShapeError(
            f"{name} requires vectors of equal size, got {list(left.shape)} and {list(right.shape)}"
        )
    rows = ops.reshape(left, (*left.shape[:-1], 1, left.shape[-1]))
    columns = ops.reshape(right, (*right.shape, 1))
    found = matmul(rows, columns, precision=precision, preferred_element_type=dtype)
    return ops.reshape(found, found.shape[:-2])


def _at_least(name: str, tensor: Tensor, rank: int) -> None:
    if tensor.ndim < rank:
        raise ShapeError(f"{name} requires {rank} dimensions or more, got {list(tensor.shape)}")


@traceable
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Matrices times vectors; the dimensions before them broadcast.

    Raises:
        ShapeError: there are no matrices or vectors, or the sizes differ.
    """
    matrix, vector = promote(x1, x2)
    _at_least("matvec", matrix, 2)
    _at_least("matvec", vector, 1)
    found = matmul(matrix, ops.reshape(vector, (*vector.shape, 1)))
    return ops.reshape(found, found.shape[:-1])


@traceable
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """Vectors, conjugated, times matrices; the dimensions before them broadcast.

    Raises:
        ShapeError: there are no vectors or matrices, or the sizes differ.
    """
    vector, matrix = promote(x1, x2)
    _at_least("vecmat", vector, 1)
    _at_least("vecmat", matrix, 2)
    row = ops.reshape(conj(vector), (*vector.shape[:-1], 1, vector.shape[-1]))
    found = matmul(row, matrix)
    return ops.reshape(found, (*found.shape[:-2], found.shape[-1]))


@traceable
def kron(a: ArrayLike, b: ArrayLike, /) -> Tensor:
    """The Kronecker product: each element of a times all of b, in its place."""
    left, right = promote(a, b)
    rank = max(left.ndim, right.ndim)
    dims = [[1] * (rank - t.ndim) + list(t.shape) for t in (left, right)]
    # Dimension d of both lies beside each other, and is then one.
    apart = [[n for size in d for n in ((size, 1), (1, size))[i]] for i, d in enumerate(dims)]
    product = ops.reshape(left, apart[0]) * ops.reshape(right, apart[1])
    return ops.reshape(product, [m * n for m, n in zip(*dims)])


@traceable
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1,
    axis: int | None = None,
) -> Tensor:  # fmt: skip
    """The cross products of vectors of two or three elements; other dimensions broadcast.

    Two vectors of two elements have one number, the third element of their product.

    Args:
        axisa, axisb, axisc: where the vectors lie in the operands and in the result.
        axis: all three of them.

    Raises:
        ShapeError: a vector has another number of elements.
    """
    first, second, into = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    left, right = promote(a, b)
    left, right = moveaxis(left, first, -1), moveaxis(right, second, -1)
    if {left.shape[-1], right.shape[-1]} - {2, 3}:
        raise ShapeError(
            "cross requires vectors of two or three elements, got "
            f"{left.shape[-1]} and {right.shape[-1]}"
        )
    x, y = ([v[..., i] for i in range(v.shape[-1])] for v in (left, right))
    if len(x) == len(y) == 2:
        return x[0] * y[1] - x[1] * y[0]
    x, y = (v if len(v) == 3 else [*v, ops.full_like(0, v[0])] for v in (x, y))
    pairs = ((1, 2), (2, 0), (0, 1))
    return moveaxis(stack([x[i] * y[j] - x[j] * y[i] for i, j in pairs], -1), -1, into)
