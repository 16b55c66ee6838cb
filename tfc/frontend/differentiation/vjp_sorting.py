"""The gradients of sort and topk: cotangents go back to where the elements came from."""

from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import Cotangent, vjp
from tfc.frontend.operations import operation
from tfc.frontend.tensor import Tensor
from tfc.hlo import builder
from tfc.hlo.ir import Computation, Instruction, inline
from tfc.hlo.shape import S32, S64, ElementType, Shape


@vjp("sort")
def _sort(g: Cotangent, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    (dimension,) = y.instruction["dimensions"]
    dims = operands[0].shape
    number = S32 if dims[dimension] < 1 << 31 else S64
    *_, order = ops.elements(
        operation(
            "sort", *operands, ops.iota(number, dims, dimension), dimensions=(dimension,),
            is_stable=True, to_apply=_with_numbers(y.instruction["to_apply"], number),
        )
    )  # fmt: skip
    parts = g if isinstance(g, list) else [g]
    return [_put_back(part, order, dims, dimension) for part in parts]


def _with_numbers(comparator: Computation, number: ElementType) -> Computation:
    """The comparator for one operand more, which it ignores."""
    sides = [p.shape for p in comparator.parameters] + [Shape(number)] * 2
    parameters: list[Instruction] = [builder.parameter(i, s) for i, s in enumerate(sides)]
    root = inline(comparator, parameters[:-2])
    return Computation.make(f"{comparator.name}_numbered", parameters, root)


@vjp("topk")
def _topk(g: list[Cotangent], y: Tensor, x: Tensor) -> list[Cotangent]:
    _, positions = ops.elements(y)
    return [_put_back(g[0], positions, x.shape, x.ndim - 1)]


def _put_back(
    g: Cotangent, positions: Tensor, dims: tuple[int, ...], dimension: int
) -> Tensor | None:
    """Each element of g at its position along a dimension of an array of zeros."""
    if g is None:
        return None
    assert isinstance(g, Tensor), "the element of a sort is an array"
    element_type = g.array_shape.element_type
    others = tuple(d for d in range(len(dims)) if d != dimension)
    return operation(
        "scatter", ops.full(0, dims, element_type), positions, g,
        update_window_dims=(), inserted_window_dims=(dimension,),
        scatter_dims_to_operand_dims=(dimension,), input_batching_dims=others,
        scatter_indices_batching_dims=others, index_vector_dim=len(dims), unique_indices=True,
        to_apply=ops.scalar_computation("add", element_type),
    )  # fmt: skip
