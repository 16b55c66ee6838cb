"""The gradients of reduce-window, select-and-scatter, map and scan."""

from collections.abc import Sequence
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import (
    Cotangent,
    backward,
    forward,
    inline_calls,
    is_differentiable,
    vjp,
    zeros,
)
from tfc.frontend.differentiation.vjp import reducer
from tfc.frontend.numpy.reductions import highest, lowest
from tfc.frontend.numpy.windows import reduce_window
from tfc.frontend.operations import compare, full_like, operation, reduce_sum, select
from tfc.frontend.tensor import Tensor
from tfc.frontend.trace import Trace
from tfc.hlo import builder
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation
from tfc.hlo.ops.mapped import scan_parts
from tfc.hlo.ops.windows import window_of
from tfc.hlo.shape import AnyShape, ElementType, Shape, TupleShape


@vjp("reduce-window")
def _reduce_window(g: Cotangent, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    opcode = reducer(y.instruction["to_apply"])
    if opcode is None or not isinstance(g, Tensor):
        raise TraceError(
            f"reduce-window by {y.instruction['to_apply'].name} has no gradient; only reductions "
            "of one array by add, multiply, maximum and minimum have one"
        )
    x, init = operands
    window = window_of(y.instruction)
    if opcode == "add":
        each = zip(window.dimensions, x.shape, g.shape)
        back = Window(tuple(d.transposed(n, count) for d, n, count in each))
        summed = reduce_window(g, "add", 0, back) if x.size and g.size else None
        return [summed, reduce_sum(g, range(g.ndim))]
    if init.instruction.opcode != "constant":
        raise TraceError(
            f"reduce-window by {opcode} with an init value that is computed has no gradient"
        )
    running = window.cumulative(x.shape)
    if running is not None:
        return [_cumulative(opcode, g, x, y, init, *running), None]
    if opcode == "multiply" and all(d == WindowDimension(1) for d in window.dimensions):
        return [g * init, None]  # each window is one element: a running product along a size of 1
    if opcode == "multiply":
        raise TraceError(
            "reduce-window by multiply has a gradient only where it is cumulative (cumprod)"
        )
    element_type = x.array_shape.element_type
    direction = "GE" if opcode == "maximum" else "LE"
    first = operation(
        "select-and-scatter", x, g, ops.constant(0, element_type), window=window,
        select=_comparison(direction, element_type),
        scatter=ops.scalar_computation("add", element_type),
    )  # fmt: skip
    return [first, None]


def _comparison(direction: str, element_type: ElementType) -> Computation:
    """(x, y) -> x direction y, on scalars."""
    x, y = (builder.parameter(n, Shape(element_type)) for n in range(2))
    return Computation.make(direction.lower(), [x, y], builder.compare(direction, x, y))


def _cumulative(
    opcode: str, g: Tensor, x: Tensor, y: Tensor, init: Tensor, dimension: int, reverse: bool
) -> Tensor:
    """The gradient of a cumulative product or extreme, in one pass over the array.

    With y' the result one step earlier, it is r * y' for a product and r for the elements that beat
    y', where r = g + f * (r one step later): f is the next element for a product, and 1 or 0 as the
    next element leaves the extreme as it is or not. Nothing is divided, so zeros are no trouble.
    """
    earlier, later = [[(0, 0, 0)] * x.ndim for _ in range(2)]
    earlier[dimension], later[dimension] = ((-1, 1, 0), (1, -1, 0)) if reverse else (
        (1, -1, 0), (-1, 1, 0)
    )  # fmt: skip
    before = ops.pad(y, init, earlier)
    if opcode == "multiply":
        factor, wins = x, None
    else:
        wins = compare("GT" if opcode == "maximum" else "LT", x, before)
        factor = select(wins, full_like(0, x), full_like(1, x))
    zero = ops.constant(0, x.array_shape.element_type)
    total = _recurrence(ops.pad(factor, zero, later), g, dimension, not reverse)
    return total * before if wins is None else select(wins, total, full_like(0, total))


def _recurrence(factor: Tensor, g: Tensor, dimension: int, reverse: bool) -> Tensor:
    """r = g + factor * (r one step before) along a dimension."""
    shape = g.array_shape
    inside = Shape(shape.element_type, (*shape.dims[:dimension], *shape.dims[dimension + 1 :]))
    trace = Trace("recurrence")
    with trace:
        f, here, before = (ops.wrap(trace.parameter(inside)) for _ in range(3))
        result = here + f * before
        root = ops.make_tuple([result, result]).instruction
    scanned = operation(
        "scan", factor, g, zeros(inside), dimensions=(dimension,), num_carries=1,
        is_reverse=reverse, is_associative=False, to_apply=trace.computation(root),
    )  # fmt: skip
    return ops.elements(scanned)[0]


@vjp("select-and-scatter")
def _select_and_scatter(
    g: Tensor, y: Tensor, x: Tensor, source: Tensor, init: Tensor
) -> list[Cotangent]:
    pick, scatter = y.instruction["select"], reducer(y.instruction["scatter"])
    direction = pick.root.attributes.get("direction")
    in_order = pick.root.operands == pick.parameters
    if direction not in ("GE", "GT", "LE", "LT") or not in_order or scatter != "add":
        raise TraceError(
            "only a select-and-scatter that adds, and selects by comparing its two operands, has a "
            "gradient"
        )
    element_type = x.array_shape.element_type
    init_of = lowest if direction[0] == "G" else highest
    pair = operation(
        "reduce-window", x, g, ops.constant(init_of(element_type), element_type),
        ops.constant(0, element_type), window=window_of(y.instruction),
        to_apply=_selected(direction, element_type),
    )  # fmt: skip
    return [None, ops.elements(pair)[1], reduce_sum(g, range(g.ndim))]


def _selected(direction: str, element_type: ElementType) -> Computation:
    """(x, a, y, b) -> (x, a) if x direction y, else (y, b)."""
    x, a, y, b = (builder.parameter(n, Shape(element_type)) for n in range(4))
    test = builder.compare(direction, x, y)
    pair = [builder.instruction("select", [test, p, q]) for p, q in ((x, y), (a, b))]
    root = builder.instruction("tuple", pair)
    return Computation.make(f"select_{direction.lower()}", [x, a, y, b], root)


@vjp("map")
def _map(*_: Any) -> list[Cotangent]:
    raise TraceError("a map of a computation that is not elementwise throughout has no gradient")


@vjp("scan")
def _scan(g: Cotangent, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    """Two scans: one that gives what was carried into each step, one back over the steps."""
    count, outputs, dimension = scan_parts(y.instruction)
    reverse = y.instruction.attributes.get("is_reverse", False)
    step = inline_calls(y.instruction["to_apply"])
    parts = g if isinstance(g, list) else [g]
    # The carried values may have fewer dimensions than the inputs: all are stacked in front.
    inputs = [_moved(o, dimension, 0) for o in operands[:count]]
    inits = operands[count:]
    carried = []
    if inits:
        carried = _scanned(_entering(step, count, outputs), inputs, inits, reverse)[: len(inits)]
    flowing = [
        _moved(p, dimension, 0) if isinstance(p, Tensor) else _no_flow(s, inputs[0].shape[0])
        for p, s in zip(parts[:outputs], _leaves(step.root.shape))
        if is_differentiable(s)
    ]
    last = [
        p if isinstance(p, Tensor) else zeros(i.array_shape)
        for p, i in zip(parts[outputs:], inits)
        if is_differentiable(i.array_shape)
    ]
    back = _returning(step)
    made = iter(_scanned(back, [*inputs, *carried, *flowing], last, not reverse))
    to_inputs = [
        _moved(next(made), 0, dimension) if is_differentiable(i.array_shape) else None
        for i in inputs
    ]
    return [*to_inputs, *(next(made) if is_differentiable(i.array_shape) else None for i in inits)]


def _moved(tensor: Tensor, source: int, target: int) -> Tensor:
    order = [d for d in range(tensor.ndim) if d != source]
    order.insert(target, source)
    return ops.transpose(tensor, order)


def _no_flow(shape: AnyShape, length: int) -> Tensor:
    assert isinstance(shape, Shape), "a step gives arrays"
    return zeros(Shape(shape.element_type, (length, *shape.dims)))


def _scanned(
    step: Computation, inputs: Sequence[Tensor], inits: Sequence[Tensor], reverse: bool
) -> list[Tensor]:
    """The outputs and carries of a scan along the first dimension."""
    scanned = operation(
        "scan", *inputs, *inits, dimensions=(0,), num_carries=len(inits), is_reverse=reverse,
        is_associative=False, to_apply=step,
    )  # fmt: skip
    return ops.elements(scanned)


def _results(step: Computation, value: Tensor) -> list[Tensor]:
    return ops.elements(value) if isinstance(step.root.shape, TupleShape) else [value]


def _entering(step: Computation, count: int, outputs: int) -> Computation:
    """The step whose outputs are the values carried into it."""
    trace = Trace(f"{step.name}_entering")
    with trace:
        given = [ops.wrap(trace.parameter(p.shape)) for p in step.parameters]
        results = _results(step, forward(step, given)[step.root])
        root = ops.make_tuple([*given[count:], *results[outputs:]]).instruction
    return trace.computation(root)


def _returning(step: Computation) -> Computation:
    """The step back: (what the step took, cotangents of what it gave) -> those of what it took.

    Only floats have cotangents. The parameters are in the order of a scan: inputs, values carried
    into the step, cotangents of outputs, and as carries the cotangents of carries.
    """
    trace = Trace(f"{step.name}_gradient")
    with trace:
        taken = [ops.wrap(trace.parameter(p.shape)) for p in step.parameters]
        shapes = _leaves(step.root.shape)
        flowing: list[Cotangent] = [
            ops.wrap(trace.parameter(s)) if is_differentiable(s) else None for s in shapes
        ]
        values = forward(step, taken)
        is_tuple = isinstance(step.root.shape, TupleShape)
        found = backward(step, values, flowing if is_tuple else flowing[0], step.parameters)
        back = [
            f if isinstance(f, Tensor) else zeros(p.array_shape)
            for f, p in zip(found, step.parameters)
            if is_differentiable(p.shape)
        ]
        root = ops.make_tuple(back).instruction
    return trace.computation(root)


def _leaves(shape: AnyShape) -> tuple[AnyShape, ...]:
    return shape.elements if isinstance(shape, TupleShape) else (shape,)
