"""XLA's operations that combine or compare elements by a function of scalars.

    XlaReduce(x, 0, reducer=f)      reduce(x, 0), to_apply=f     where f is a Subgraph

The function becomes a computation of scalars, which is all that differs from HLO's own operations.
"""

from collections.abc import Sequence
from typing import Any

from tfc.errors import UnsupportedError
from tfc.frontend import operations as ops
from tfc.frontend.program import Abstract, trace_function
from tfc.frontend.promotion import as_tensor
from tfc.frontend.tensor import Tensor, evaluable
from tfc.graph.control.facts import decided
from tfc.graph.evaluation import Context
from tfc.graph.operators.inference import same
from tfc.graph.operators.registry import Attributes, Spec, known, known_numbers, operator
from tfc.graph.operators.xla.dimension_numbers import dimension_numbers as fields_of
from tfc.graph.subgraph import Subgraph
from tfc.graph.types.shapes import TensorShape
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation
from tfc.hlo.shape import Shape


def _scalars(
    function: Subgraph, arguments: Sequence[Tensor], context: Context, count: int = 1
) -> Computation:
    """A function as a computation of scalars of the arguments' types.

    Args:
        count: how many results it has; several are a tuple.

    Raises:
        UnsupportedError: it has others, or uses values from around it.
    """
    scalars = [Abstract(Shape(x.array_shape.element_type)) for x in arguments]
    program = trace_function(
        "combine", lambda *given: list(context.call(function, given)), scalars
    )  # fmt: skip
    if program.captures:
        raise UnsupportedError("a function of scalars may use constants alone beside its arguments")
    if len(program.results) != count or any(x.ndim for x in program.results):
        raise UnsupportedError(f"a function of scalars gives {count} scalars here")
    if count > 1:
        return program.computation()
    return program.trace.computation(program.results[0].instruction)


def _without_dimensions(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    """Of each of the arrays reduced what is left."""
    made: list[Spec] = []
    for x in inputs[: len(inputs) // 2]:
        dims = x.shape.dims
        gone = {int(n) for n in attributes["dimensions_to_reduce"]}
        left = None if dims is None else [d for n, d in enumerate(dims) if n not in gone]
        made.append((x.dtype, TensorShape(left)))
    return made


@operator(
    "XlaReduce", "XlaVariadicReduce", "XlaVariadicReduceV2", types="", infer=_without_dimensions,
    decide=decided,
)  # fmt: skip
def reduce(
    *inputs: Any, dimensions_to_reduce: Sequence[int], reducer: Subgraph, context: Context
) -> list[Any]:
    """Elements combined along dimensions, of several arrays together, from a value for each."""

    def reduced(*values: Any) -> list[Any]:
        tensors = [as_tensor(x) for x in values]
        count = len(tensors) // 2
        given = [*tensors[:count], *tensors[:count]]
        made = ops.operation(
            "reduce", *tensors, dimensions=tuple(dimensions_to_reduce),
            to_apply=_scalars(reducer, given, context, count),
        )  # fmt: skip
        return ops.elements(made) if count > 1 else [made]

    return evaluable(reduced)(*inputs)


def _of_rank(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[0].dtype, TensorShape([None] * inputs[0].shape.ndims)
             if inputs[0].shape.dims is not None else TensorShape(None))]  # fmt: skip


def _window(sizes: Any, strides: Any, padding: Any, base: Any, apart: Any) -> Window:
    pairs = known(padding, "the padding of a window").reshape(-1, 2)
    numbers = [known_numbers(n, "a window") for n in (sizes, strides)]
    dilations = [known_numbers(n, "a window") if n is not None else (1,) * len(numbers[0])
                 for n in (base, apart)]  # fmt: skip
    return Window(
        tuple(
            WindowDimension(size, stride, int(low), int(high), *dilation)
            for size, stride, (low, high), *dilation in zip(*numbers, pairs, *dilations)
        )
    )


@operator(
    "XlaReduceWindow", types="T T Tindices", known=(2, 3, 4, 5, 6), infer=_of_rank, decide=decided
)  # fmt: skip
def reduce_window(
    input: Any,
    init_value: Any,
    window_dimensions: Any,
    window_strides: Any,
    base_dilations: Any,
    window_dilations: Any,
    padding: Any,
    *,
    computation: Subgraph,
    context: Context,
) -> Any:
    """The elements of each window combined."""
    given = window_dimensions, window_strides, padding, base_dilations, window_dilations
    window = _window(*given)

    def reduced(x: Any, first: Any) -> Any:
        tensors = [as_tensor(x), as_tensor(first)]
        combine = _scalars(computation, tensors, context)
        return ops.operation("reduce-window", *tensors, window=window, to_apply=combine)

    return evaluable(reduced)(input, init_value)


@operator(
    "XlaSelectAndScatter", types="T Tindices Tindices Tindices T T", known=(1, 2, 3),
    infer=same, decide=decided,
)  # fmt: skip
def select_and_scatter(
    operand: Any,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    source: Any,
    init_value: Any,
    *,
    select: Subgraph,
    scatter: Subgraph,
    context: Context,
) -> Any:
    """The elements of a source, each combined into the place that its window selects."""
    window = _window(window_dimensions, window_strides, padding, None, None)

    def scattered(*values: Any) -> Any:
        x, y, first = map(as_tensor, values)
        return ops.operation(
            "select-and-scatter", x, y, first, window=window,
            select=_scalars(select, [x, x], context), scatter=_scalars(scatter, [y, y], context),
        )  # fmt: skip

    return evaluable(scattered)(operand, source, init_value)


@operator("XlaScatter", types="T Tindices T", infer=same, decide=decided)
def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    *,
    dimension_numbers: Any,
    update_computation: Subgraph,
    context: Context,
) -> Any:
    """Windows of updates combined into the array, where rows of indices say."""
    fields = fields_of(dimension_numbers)
    if fields.get(5) or fields.get(6):
        raise UnsupportedError("XlaScatter with batching dimensions is not offered")

    def scattered(*values: Any) -> Any:
        x, at, more = map(as_tensor, values)
        return ops.operation(
            "scatter", x, at, more,
            update_window_dims=fields.get(1, ()), inserted_window_dims=fields.get(2, ()),
            scatter_dims_to_operand_dims=fields.get(3, ()),
            index_vector_dim=fields.get(4, (0,))[0],
            to_apply=_scalars(update_computation, [x, x], context),
        )  # fmt: skip

    return evaluable(scattered)(operand, scatter_indices, updates)


def _like_arrays(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(x.dtype, x.shape) for x in inputs[:-1]]


@operator("XlaVariadicSort", types="", infer=_like_arrays, decide=decided)
def sort(*inputs: Any, comparator: Subgraph, is_stable: bool, context: Context) -> list[Any]:
    """Arrays in one order along a dimension, the last input, in which a function puts elements."""
    (dimension,) = known_numbers(inputs[-1], "the dimension of a sort")

    def ordered(*values: Any) -> list[Any]:
        tensors = [as_tensor(x) for x in values]
        sides = [x for x in tensors for _side in range(2)]
        made = ops.operation(
            "sort", *tensors, dimensions=(dimension % tensors[0].ndim,), is_stable=is_stable,
            to_apply=_scalars(comparator, sides, context),
        )  # fmt: skip
        return ops.elements(made) if len(tensors) > 1 else [made]

    return evaluable(ordered)(*inputs[:-1])
