"""Generators: reduce-window, select-and-scatter, map and scan."""

from tfc.hlo import builder
from tfc.hlo.attributes.window import Window, WindowDimension
from tfc.hlo.ir import Computation, Instruction
from tfc.hlo.shape import S32, Shape
from tfc.testing.generators.contraction import drawn_reducer, identity
from tfc.testing.generators.grower import ANY, Grower, generates


def _window(g: Grower, dims: tuple[int, ...], dilated: bool) -> Window:
    """A window over these sizes; one in four is cumulative along one of them."""
    if dims and not g.integer(0, 3):
        along = g.integer(0, len(dims) - 1)
        n = max(dims[along], 1)
        low, high = (n - 1, 0) if g.integer(0, 1) else (0, n - 1)
        plain = [WindowDimension(1) for _ in dims]
        return Window((*plain[:along], WindowDimension(n, 1, low, high), *plain[along + 1 :]))
    return Window(tuple(_dimension(g, n, dilated) for n in dims))


def _dimension(g: Grower, n: int, dilated: bool) -> WindowDimension:
    if not g.integer(0, 2):
        return WindowDimension(1)
    gap, spread = (g.integer(1, 2) if dilated else 1 for _ in range(2))
    made = WindowDimension(
        g.integer(1, 3), g.integer(1, 3), g.integer(-1, 2), g.integer(-1, 2), gap, spread
    )
    if made.padded(n) < 0:
        return WindowDimension(made.size, made.stride)
    return made


@generates("reduce-window")
def _reduce_window(g: Grower) -> Instruction:
    x = g.operand(ANY)
    element_type, dims = x.array_shape.element_type, x.array_shape.dims
    window = _window(g, dims, dilated=True)
    reducer = drawn_reducer(g, element_type)
    init = identity(reducer, element_type)
    to_apply = builder.scalar_computation(reducer, element_type)
    if g.integer(0, 2):
        return builder.instruction("reduce-window", [x, init], window=window, to_apply=to_apply)
    other = g.like(Shape(S32, dims))
    parameters = [builder.parameter(n, Shape(t)) for n, t in enumerate((element_type, S32) * 2)]
    made = [builder.binary(reducer, parameters[0], parameters[2]),
            builder.binary("add", parameters[1], parameters[3])]  # fmt: skip
    both = Computation.make("both", parameters, builder.instruction("tuple", made))
    zero = builder.constant(0, S32)
    pair = builder.instruction(
        "reduce-window", [x, other, init, zero], window=window, to_apply=both
    )
    return builder.instruction("get-tuple-element", [g.add(pair)], index=g.integer(0, 1))


@generates("select-and-scatter")
def _select_and_scatter(g: Grower) -> Instruction:
    x = g.operand(ANY - {"pred", "complex"})
    element_type, dims = x.array_shape.element_type, x.array_shape.dims
    window = _window(g, dims, dilated=False)
    source = g.like(Shape(element_type, window.counts(dims)))
    pair = [builder.parameter(n, Shape(element_type)) for n in range(2)]
    direction = g.pick(["GE", "GT", "LE", "LT"])
    return builder.instruction(
        "select-and-scatter", [x, source, g.scalar(element_type)], window=window,
        select=Computation.make("select", pair, builder.compare(direction, pair[0], pair[1])),
        scatter=builder.scalar_computation(g.pick(["add", "maximum"]), element_type),
    )  # fmt: skip


@generates("map")
def _map(g: Grower) -> Instruction:
    x = g.operand(ANY - {"pred", "complex"})
    shape = x.array_shape
    operands = [x, g.like(shape), g.like(Shape(S32, shape.dims))]
    parameters = [builder.parameter(n, Shape(o.array_shape.element_type))
                  for n, o in enumerate(operands)]  # fmt: skip
    left, right, count = parameters
    larger = builder.binary("maximum", left, right)
    test = builder.compare("GT", count, builder.constant(g.integer(-1, 1), S32))
    root = builder.instruction("select", [test, larger, left])
    if g.integer(0, 1):  # a computation that is not elementwise through and through
        one = Computation.make("one", [left], builder.binary("add", left, left))
        root = builder.instruction(
            "conditional", [test, larger, right], true_computation=one, false_computation=one
        )
    return builder.instruction(
        "map", operands, dimensions=tuple(range(shape.rank)),
        to_apply=Computation.make("mapped", parameters, root),
    )  # fmt: skip


@generates("scan")
def _scan(g: Grower) -> Instruction:
    """(running maxima, running maxima negated, last) along one dimension of an array."""
    x = g.operand(ANY - {"pred", "complex"}, min_rank=1)
    shape = x.array_shape
    dimension = g.integer(0, shape.rank - 1)
    inside = Shape(shape.element_type, (*shape.dims[:dimension], *shape.dims[dimension + 1 :]))
    given = [builder.parameter(n, inside) for n in range(2)]
    running = builder.binary("maximum", given[0], given[1])
    root = builder.instruction("tuple", [running, builder.unary("negate", running), running])
    made = builder.instruction(
        "scan", [x, g.like(inside)], dimensions=(dimension,), num_carries=1,
        is_reverse=bool(g.integer(0, 1)), is_associative=False,
        to_apply=Computation.make("step", given, root),
    )  # fmt: skip
    return builder.instruction("get-tuple-element", [g.add(made)], index=g.integer(0, 2))
