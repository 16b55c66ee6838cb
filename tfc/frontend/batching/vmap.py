"""vmap: a function of one example becomes a function of many.

    def predict(w, x):
        return tnp.tanh(w @ x)

    of_many = tfc.vmap(predict, in_axes=(None, 0))

The function is traced for one example into a computation, whose operations are then taken for all
examples at once; the result is again made of plain operations, so that vmap, grad and jit nest in
any order.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from operator import index
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend import tree
from tfc.frontend.arguments import argument_names, call_python
from tfc.frontend.batching.axes import (
    Axis,
    argument_axes,
    batch_size,
    check_in_axes,
    checked_axis,
    spread,
)
from tfc.frontend.batching.values import Nest, Value, parts, shared
from tfc.frontend.batching.walk import Batch
from tfc.frontend.program import Abstract, Program, trace_function
from tfc.frontend.promotion import as_tensor, shortened
from tfc.frontend.tensor import Tensor, evaluable
from tfc.hlo.shape import Shape
from tfc.tracebacks import api_boundary


@api_boundary
def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """A function that applies `fun` to each of many examples, which are stacked along an axis.

    Args:
        in_axes: the axis of each positional argument that goes over the examples, or None for what
            all of them share: an integer or None for all arguments, or a tuple with an entry for
            each, which may be a prefix of the argument's structure. Negative axes count from the
            end. Arguments passed by name go over axis 0.
        out_axes: the axis of each result that goes over the examples, likewise; None for what is
            the same for all of them.
        axis_size: the number of examples, where no argument tells.

    Raises:
        TraceError: now, if in_axes is no such thing or an axis is named, as there are no named
            axes; when called, if the mapped axes differ in size or do not exist, if nothing is
            mapped, if axes do not fit the structure, if out_axes has None for a result that
            differs by example, or if an operation cannot be mapped (feeds, collectives).
    """
    if not callable(fun):
        raise TraceError(f"vmap requires a function, got {shortened(fun)}")
    for name, value in (("axis_name", axis_name), ("spmd_axis_name", spmd_axis_name)):
        if value is not None:
            raise TraceError(
                f"vmap does not take {name}, as tfc has no named axes and no collectives over "
                "them; reduce the results over their mapped axis instead"
            )
    check_in_axes(in_axes)
    stated = None if axis_size is None else _size(axis_size)

    @evaluable
    @wraps(fun)
    def mapped(*args: Any, **named: Any) -> Any:
        call = _Call(fun, args, named, in_axes)
        batch = Batch(batch_size(call.mapped, stated))
        program = call.trace()
        results = _run(batch, program, call.stacked())
        axes = spread("out_axes", out_axes, program.structure, "the result")
        names = tree.paths(program.structure, "result")
        each = zip(results, program.results, axes, names)
        made = [_placed(batch, *one) for one in each]
        return tree.unflatten(program.structure, made)

    return mapped


def _size(size: Any) -> int:
    try:
        number = index(size)
    except TypeError:
        number = -1
    if number < 0:
        raise TraceError(f"vmap requires an axis_size that is an integer from 0 on, got {size!r}")
    return number


class _Call:
    """A function and the arguments of one call of it.

    mapped: (name, axis, Tensor) of each leaf that goes over the examples.
    """

    def __init__(
        self, function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any], in_axes: Any
    ):
        self.function = function
        self.leaves, self.structure = tree.flatten((tuple(args), named))
        labels = argument_names(function, len(args))
        axes: list[Axis] = argument_axes(in_axes, args, labels)
        by_place, by_name = self.structure.children
        each = [*zip(labels, by_place.children), *zip(map(str, by_name.keys), by_name.children)]
        names = [path for label, part in each for path in tree.paths(part, label)]
        axes += [0] * (len(names) - len(axes))
        self.mapped: list[tuple[str, int, Tensor]] = []
        self.places: list[int] = []
        for place, (leaf, axis, name) in enumerate(zip(self.leaves, axes, names)):
            if axis is not None:
                tensor = as_tensor(leaf)
                shown = f"{name}, {tensor.array_shape.without_layout()}"
                at = checked_axis("in_axes", axis, tensor.ndim, shown)
                self.mapped.append((name, at, tensor))
                self.places.append(place)

    def trace(self) -> Program:
        """The function of one example's mapped leaves; it takes the others as they are."""

        def of_mapped(*given: Tensor) -> Any:
            leaves = list(self.leaves)
            for place, value in zip(self.places, given):
                leaves[place] = value
            args, named = tree.unflatten(self.structure, leaves)
            return call_python(self.function, *args, **named)

        name = getattr(self.function, "__name__", "function")
        return trace_function(name, of_mapped, [_one(t, axis) for _, axis, t in self.mapped])

    def stacked(self) -> list[Nest]:
        """The mapped leaves with the examples along dimension 0."""
        return [Value(_moved(t, axis, 0), True) for _, axis, t in self.mapped]


def _one(tensor: Tensor, axis: int) -> Abstract:
    """What is known of one example."""
    dims = tensor.shape[:axis] + tensor.shape[axis + 1 :]
    return Abstract(Shape(tensor.array_shape.element_type, dims))


def _moved(tensor: Tensor, source: int, destination: int) -> Tensor:
    """The Tensor with one axis in another place."""
    order = [d for d in range(tensor.ndim) if d != source]
    order.insert(destination, source)
    return ops.transpose(tensor, order)


def _run(batch: Batch, program: Program, arguments: list[Nest]) -> list[Nest]:
    """The values of the function's results for all examples."""
    captured = [shared(ops.wrap(c)) for c in program.captures]
    return list(parts(batch.run(program.computation(), [*arguments, *captured])))


def _placed(batch: Batch, value: Nest, traced: Tensor, axis: Axis, name: str) -> Tensor:
    """A result with the examples along an axis.

    Raises:
        TraceError: it has no such axis, or differs by example where it is to have none.
    """
    assert isinstance(value, Value), "the leaves of a result are arrays"
    shown = f"{name}, which is {traced.array_shape.without_layout()} for each example"
    if axis is None:
        if value.batched:
            raise TraceError(f"vmap has None in out_axes for {shown} and differs by example; give "
                             "it an axis")  # fmt: skip
        return Tensor(value.tensor.instruction, value.tensor.home, traced.weak)
    stacked = batch.stacked(value)
    return _moved(stacked, 0, checked_axis("out_axes", axis, stacked.ndim, f"the mapped {shown}"))
