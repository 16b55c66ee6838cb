"""The gradient table: for each op, how a cotangent flows from its result back to its operands.

The order is the registry's. `g` is the cotangent of the result, `y` the result, `x` … the operands.
A test walks the registry and names each op that has no row here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import pi, sqrt
from typing import Any

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.differentiation.reverse import (
    Cotangent,
    backward,
    forward,
    nondifferentiable,
    vjp,
)
from tfc.frontend.operations import compare, full_like, operation, reduce_sum, select
from tfc.frontend.precision import kept_precision
from tfc.frontend.tensor import Tensor
from tfc.hlo import builder
from tfc.hlo.ir import Computation
from tfc.hlo.ops.contraction import dot_dimensions, free_dimensions
from tfc.hlo.ops.ragged_expansion import expand_ragged_dot
from tfc.hlo.shape import TupleShape


def derivative(opcode: str, slope: Callable[[Tensor, Tensor], Any]) -> None:
    """A rule for an op of one operand: `slope(x, y)` is dy/dx."""
    vjp(opcode)(lambda g, y, x: [g * slope(x, y)])


def partials(opcode: str, *slopes: Callable[[Tensor, Tensor, Tensor], Any]) -> None:
    """A rule for an op of two operands: `slopes` are its partial derivatives of (x1, x2, y)."""
    vjp(opcode)(lambda g, y, x1, x2: [g * slope(x1, x2, y) for slope in slopes])


_cos, _exp, _log, _rsqrt, _sin = (
    partial(operation, name) for name in ("cosine", "exponential", "log", "rsqrt", "sine")
)
_cosh, _sinh, _negate = (partial(operation, name) for name in ("cosh", "sinh", "negate"))


def _where(pred: Tensor, on_true: Tensor, on_false: Tensor | float) -> Tensor:
    other = on_false if isinstance(on_false, Tensor) else full_like(on_false, on_true)
    return select(pred, on_true, other)


def _is(direction: str, x: Tensor, y: Tensor | float) -> Tensor:
    return compare(direction, x, y if isinstance(y, Tensor) else full_like(y, x))


# fmt: off
derivative("acos",                  lambda x, y: -_rsqrt(1 - x * x))
derivative("acosh",                 lambda x, y: _rsqrt((x - 1) * (x + 1)))
derivative("asin",                  lambda x, y: _rsqrt(1 - x * x))
derivative("asinh",                 lambda x, y: _rsqrt(x * x + 1))
derivative("atanh",                 lambda x, y: 1 / ((1 - x) * (1 + x)))
derivative("cbrt",                  lambda x, y: 1 / (3 * y * y))
nondifferentiable("ceil")
derivative("cosh",                  lambda x, y: _sinh(x))
derivative("cosine",                lambda x, y: -_sin(x))
nondifferentiable("count-leading-zeros")
derivative("erf",                   lambda x, y: 2 / sqrt(pi) * _exp(-x * x))
derivative("exponential",           lambda x, y: y)
derivative("exponential-minus-one", lambda x, y: y + 1)
nondifferentiable("floor", "is-finite")
derivative("log",                   lambda x, y: 1 / x)
derivative("log-plus-one",          lambda x, y: 1 / (1 + x))
derivative("logistic",              lambda x, y: y * (1 - y))
vjp("negate")(lambda g, y, x: [_negate(g)])
nondifferentiable("not", "popcnt", "round-nearest-afz", "round-nearest-even")
derivative("rsqrt",                 lambda x, y: -0.5 * y / x)
derivative("sine",                  lambda x, y: _cos(x))
derivative("sinh",                  lambda x, y: _cosh(x))
derivative("sqrt",                  lambda x, y: 0.5 / y)
derivative("tan",                   lambda x, y: 1 + y * y)
derivative("tanh",                  lambda x, y: 1 - y * y)

vjp("add")(lambda g, y, x1, x2: [g, g])
nondifferentiable("and")
partials("atan2", lambda x1, x2, y: x2 / (x1 * x1 + x2 * x2),
                  lambda x1, x2, y: -x1 / (x1 * x1 + x2 * x2))
vjp("divide")(lambda g, y, x1, x2: [g / x2, _negate(g) * y / x2])
vjp("maximum")(lambda g, y, x1, x2: [_winner(g, "GT", x1, x2), _winner(g, "GT", x2, x1)])
vjp("minimum")(lambda g, y, x1, x2: [_winner(g, "LT", x1, x2), _winner(g, "LT", x2, x1)])
vjp("multiply")(lambda g, y, x1, x2: [g * x2, g * x1])
nondifferentiable("or")
vjp("power")(lambda g, y, x1, x2: [g * _power_by_base(x1, x2), g * _power_by_exponent(x1, x2, y)])
vjp("remainder")(lambda g, y, x1, x2: [g, _negate(g) * _whole((x1 - y) / x2)])
nondifferentiable("shift-left", "shift-right-arithmetic", "shift-right-logical")
vjp("subtract")(lambda g, y, x1, x2: [g, _negate(g)])
nondifferentiable("xor", "compare")
vjp("select")(lambda g, y, pred, x1, x2: [None, _chosen(g, pred, True), _chosen(g, pred, False)])
# fmt: on


def _winner(g: Tensor, direction: str, mine: Tensor, other: Tensor) -> Tensor:
    """All of g where this operand wins, half of it where both are equal, as in JAX."""
    tied = _where(_is("EQ", mine, other), g * 0.5, 0)
    return _where(_is(direction, mine, other), g, tied)


def _power_by_base(x: Tensor, exponent: Tensor) -> Tensor:
    is_zero = _is("EQ", exponent, 0)
    lowered = _where(is_zero, full_like(1, exponent), exponent - 1)
    return _where(is_zero, full_like(0, x), exponent * operation("power", x, lowered))


def _power_by_exponent(x: Tensor, exponent: Tensor, y: Tensor) -> Tensor:
    # Where x is 0 the power does not change with a positive exponent; at 0 ** 0, 0 as in JAX.
    flat = _is("EQ", x, 0)
    if not x.array_shape.element_type.is_complex:
        flat = operation("and", flat, _is("GE", exponent, 0))
    return _where(flat, full_like(0, x), _log(_where(flat, full_like(1, x), x)) * y)


def _whole(x: Tensor) -> Tensor:
    """What is a whole number but for rounding."""
    return operation("round-nearest-even", x)


def _chosen(g: Cotangent, pred: Tensor, side: bool) -> Cotangent:
    """g where this side was chosen, zero elsewhere: what was not chosen cannot leak (SEL-4)."""
    if isinstance(g, list):
        return [_chosen(part, pred, side) for part in g]
    if g is None:
        return None
    zero = full_like(0, g)
    return select(pred, g, zero) if side else select(pred, zero, g)


@vjp("clamp")
def _clamp(g: Tensor, _: Tensor, low: Tensor, x: Tensor, high: Tensor) -> list[Cotangent]:
    lower, upper = (b if b.ndim else ops.broadcast(b, x.shape, ()) for b in (low, high))
    inside = operation("and", _is("GT", x, lower), _is("LT", x, upper))
    under = operation("and", _is("LT", x, lower), _is("LE", lower, upper))
    over = _is("GT", operation("maximum", x, lower), upper)
    bounds = [(low, _where(under, g, 0)), (high, _where(over, g, 0))]
    to_low, to_high = (
        part if b.ndim or not x.ndim else reduce_sum(part, range(x.ndim)) for b, part in bounds
    )
    return [to_low, _where(inside, g, 0), to_high]


nondifferentiable("bitcast-convert")


@vjp("broadcast")
def _broadcast(g: Tensor, y: Tensor, _: Tensor) -> list[Cotangent]:
    dimensions = y.instruction.attributes.get("dimensions", ())
    summed = reduce_sum(g, [d for d in range(y.ndim) if d not in dimensions])
    left = sorted(dimensions)  # the order in which the sum leaves the operand's dimensions
    return [ops.transpose(summed, [left.index(d) for d in dimensions])]


@vjp("reshape")
def _reshape(g: Tensor, _: Tensor, x: Tensor) -> list[Cotangent]:
    return [ops.reshape(g, x.shape)]


@vjp("transpose")
def _transpose(g: Tensor, y: Tensor, _: Tensor) -> list[Cotangent]:
    permutation = y.instruction["dimensions"]
    return [ops.transpose(g, [permutation.index(d) for d in range(y.ndim)])]


@vjp("reverse")
def _reverse(g: Tensor, y: Tensor, _: Tensor) -> list[Cotangent]:
    return [ops.reverse(g, y.instruction["dimensions"])]


@vjp("slice")
def _slice(g: Tensor, y: Tensor, x: Tensor) -> list[Cotangent]:
    if not y.size:
        return [None]
    padding = []
    for (start, _, stride), count, size in zip(y.instruction["slice"], y.shape, x.shape):
        end = start + (count - 1) * stride + 1
        padding.append((start, size - end, stride - 1))
    return [ops.pad(g, ops.constant(0, g.array_shape.element_type), padding)]


@vjp("concatenate")
def _concatenate(g: Tensor, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    (dimension,), parts, start = y.instruction["dimensions"], [], 0
    for operand in operands:
        end = start + operand.shape[dimension]
        parts.append(ops.slice_along(g, dimension, start, end))
        start = end
    return parts


@vjp("pad")
def _pad(g: Tensor, y: Tensor, _: Tensor, __: Tensor) -> list[Cotangent]:
    padding = y.instruction["padding"]
    zero = ops.constant(0, g.array_shape.element_type)
    bare = ops.pad(g, zero, [(-low, -high, 0) for low, high, _ in padding])
    inside = ops.slice_(bare, [(0, n, k + 1) for n, (_, __, k) in zip(bare.shape, padding)])
    everywhere = range(y.ndim)
    return [inside, reduce_sum(g, everywhere) - reduce_sum(inside, everywhere)]


vjp("copy")(lambda g, y, x: [g])
nondifferentiable("iota")


@vjp("dynamic-slice")
def _dynamic_slice(g: Tensor, y: Tensor, x: Tensor, *starts: Tensor) -> list[Cotangent]:
    spread = operation("dynamic-update-slice", full_like(0, x), g, *starts)
    return [spread, *[None] * len(starts)]


@vjp("dynamic-update-slice")
def _dynamic_update(
    g: Tensor, y: Tensor, x: Tensor, update: Tensor, *starts: Tensor
) -> list[Cotangent]:
    kept = operation("dynamic-update-slice", g, full_like(0, update), *starts)
    window = operation("dynamic-slice", g, *starts, dynamic_slice_sizes=update.shape)
    return [kept, window, *[None] * len(starts)]


@vjp("dot")
def _dot(g: Tensor, y: Tensor, lhs: Tensor, rhs: Tensor) -> list[Cotangent]:
    lhs_batch, lhs_contracting, rhs_batch, rhs_contracting = dot_dimensions(
        y.instruction.attributes
    )
    lhs_free = free_dimensions(lhs.ndim, lhs_batch, lhs_contracting)
    rhs_free = free_dimensions(rhs.ndim, rhs_batch, rhs_contracting)
    batch = tuple(range(len(lhs_batch)))
    start = len(batch) + len(lhs_free)
    from_lhs, from_rhs = range(len(batch), start), range(start, start + len(rhs_free))
    kept, turned = kept_precision(y.instruction), kept_precision(y.instruction, turned=True)
    return [
        _dot_operand(g, (batch, from_rhs), rhs, (rhs_batch, rhs_free, rhs_contracting),
                     lhs, (lhs_batch, lhs_free, lhs_contracting), kept),
        _dot_operand(g, (batch, from_lhs), lhs, (lhs_batch, lhs_free, lhs_contracting),
                     rhs, (rhs_batch, rhs_free, rhs_contracting), turned),
    ]  # fmt: skip


Dimensions = Sequence[Sequence[int]]


def _dot_operand(
    g: Tensor,
    of_g: Dimensions,
    other: Tensor,
    of_other: Dimensions,
    mine: Tensor,
    of_mine: Dimensions,
    kept: Mapping[str, Any],
) -> Tensor:
    """The cotangent of one operand of a dot: g times the other operand, over its free dimensions.

    Args:
        of_g: the dimensions of g that are batch, and that come from the other operand.
        of_other, of_mine: each operand's batch, free and contracting dimensions.
        kept: the attributes of a precision: mine, which g takes the place of, and the other's.
    """
    batch, free, contracting = of_other
    wide = g.array_shape.element_type
    contracted, shared = (of_g[1], free), (of_g[0], batch)
    product = ops.dot(g, ops.convert(other, wide), contracted, shared, **kept)
    # Now: batch, my free dimensions, then the other's contracting ones in ascending order.
    paired = dict(zip(contracting, of_mine[2]))
    order = [*of_mine[0], *of_mine[1], *(paired[d] for d in sorted(contracting))]
    placed = ops.transpose(product, [order.index(d) for d in range(mine.ndim)])
    return ops.convert(placed, mine.array_shape.element_type)


@vjp("ragged-dot")
def _ragged_dot(g: Tensor, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    """Back through the plain operations that it stands for."""
    parameters = [builder.parameter(n, o.array_shape) for n, o in enumerate(operands)]
    root = expand_ragged_dot(y.instruction.with_(operands=tuple(parameters)))
    plain = Computation.make("ragged", parameters, root)
    return backward(plain, forward(plain, operands), g, plain.parameters)


@vjp("reduce")
def _reduce(g: Cotangent, y: Tensor, *operands: Tensor) -> list[Cotangent]:
    opcode = reducer(y.instruction["to_apply"])
    if opcode is None or isinstance(g, list):
        raise TraceError(
            f"reduce by {y.instruction['to_apply'].name} has no gradient; only reductions by add, "
            "multiply, maximum and minimum have one"
        )
    assert g is not None, "rules are asked only where something flows back"
    x, init = operands
    dimensions = y.instruction["dimensions"]
    if opcode == "add":
        return [_spread(g, x, dimensions), reduce_sum(g, range(g.ndim))]
    if init.instruction.opcode != "constant":
        raise TraceError(f"reduce by {opcode} with an init value that is computed has no gradient")
    if opcode == "multiply":
        factor = _spread(g, x, dimensions) * ops.broadcast(init, x.shape, ())
        return [_product_rule(factor, x, dimensions), None]
    won = _is("EQ", x, _spread(y, x, dimensions))
    count = reduce_sum(ops.convert(won, x.array_shape.element_type), dimensions)
    return [_where(won, _spread(g / count, x, dimensions), 0), None]


def reducer(computation: Computation) -> str | None:
    """The op of a reduction by (x, y) -> op(x, y), or None for another."""
    root = computation.root
    plain = root.opcode in ("add", "multiply", "maximum", "minimum")
    same = len(computation.parameters) == 2 and set(root.operands) == set(computation.parameters)
    return root.opcode if plain and same else None


def _spread(g: Tensor, x: Tensor, dimensions: Sequence[int]) -> Tensor:
    """A value for each reduced row, repeated for each element of x."""
    return ops.broadcast(g, x.shape, free_dimensions(x.ndim, dimensions))


def _product_rule(g: Tensor, x: Tensor, dimensions: Sequence[int]) -> Tensor:
    """g times the product of all other elements of the row: no division, so zeros are no trouble.

    The products of the elements before and after each one are scans of log2(n) steps.
    """
    kept = free_dimensions(x.ndim, dimensions)
    order = [*dimensions, *kept]
    count = 1
    for d in dimensions:
        count *= x.shape[d]
    rows = ops.reshape(ops.transpose(x, order), [count, *(x.shape[d] for d in kept)])
    others = _exclusive_product(rows, 1) * _exclusive_product(rows, -1)
    moved = ops.reshape(others, [x.shape[d] for d in order])
    return g * ops.transpose(moved, [order.index(d) for d in range(x.ndim)])


def _exclusive_product(rows: Tensor, direction: int) -> Tensor:
    """For each row, the product of those before it (1) or after it (-1)."""
    result, step = _shifted(rows, direction), 1
    while step < rows.shape[0]:
        result = result * _shifted(result, direction * step)
        step *= 2
    return result


def _shifted(rows: Tensor, by: int) -> Tensor:
    """Rows moved down by `by`, ones moving in."""
    one = ops.constant(1, rows.array_shape.element_type)
    return ops.pad(rows, one, [(by, -by, 0), *[(0, 0, 0)] * (rows.ndim - 1)])


nondifferentiable("parameter", "constant")
vjp("tuple")(lambda g, y, *operands: g)


@vjp("get-tuple-element")
def _element(g: Cotangent, y: Tensor, x: Tensor) -> list[Cotangent]:
    shape = x.instruction.shape
    assert isinstance(shape, TupleShape), "its operand is a tuple"
    parts: list[Cotangent] = [None] * len(shape.elements)
    parts[y.instruction["index"]] = g
    return [parts]


@vjp("call", "fusion")
def _called(*_: Any) -> list[Cotangent]:
    raise AssertionError("calls are put in place before differentiation (inline_calls)")
