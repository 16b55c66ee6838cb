"""What special functions share: operands in f64, polynomials, and derivatives of their own."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend.differentiation.custom.jvp import custom_jvp
from tfc.frontend.marked import CallRule, Flow, call_marked
from tfc.frontend.numpy.parts import require_real
from tfc.frontend.operations import compare, convert, full, full_like, operation, select
from tfc.frontend.promotion import as_tensor, broadcast_together, cast, result_type
from tfc.frontend.special.polynomials import Polynomial
from tfc.frontend.tensor import ArrayLike, Tensor, evaluable
from tfc.hlo.ir import Instruction
from tfc.hlo.shape import F64, element_type_of

Function = Callable[..., Tensor]


def special(function: Function) -> Function:
    """The function of real arrays that a function of Tensors of f64 with the same shape is.

    Its operands broadcast and meet in one float type, integers and booleans in f64; the result is
    rounded to that type.
    """

    @wraps(function)
    def wrapper(*operands: ArrayLike, **named: Any) -> Tensor:
        tensors = [as_tensor(o) for o in operands]
        for tensor in tensors:
            require_real(function.__name__, tensor)
        dtype = result_type(*tensors)
        if not element_type_of(dtype).is_float:
            dtype = np.dtype(np.float64)
        wide = broadcast_together(*(convert(cast(t, dtype), F64) for t in tensors))
        return cast(function(*wide, **named), dtype)

    return evaluable(wrapper)


def with_slopes(*slopes: Callable[..., Tensor]) -> Callable[[Function], custom_jvp]:
    """Give a function of Tensors its partial derivatives, each of (result, *operands)."""

    def decorate(function: Function) -> custom_jvp:
        found = custom_jvp(function)
        found.defjvps(*(lambda t, y, *xs, slope=slope: t * slope(y, *xs) for slope in slopes))
        return found

    return decorate


class _Partial(CallRule):
    """A function of several operands that has a derivative by the last one alone."""

    def __init__(self, name: str, slope: Callable[..., Tensor]):
        self.name, self.slope = name, slope

    def _refuse(self) -> TraceError:
        return TraceError(
            f"{self.name} has a derivative by its last argument alone; apply tfc.stop_gradient to "
            "the others"
        )

    def forward(self, call: Instruction, operands: Any) -> tuple[Tensor, Any, Any]:
        """The call as it is."""
        return operation("call", *operands, to_apply=call["to_apply"]), operands, None

    def backward(
        self, call: Instruction, residuals: Any, note: Any, cotangent: list[Flow], active: Any
    ) -> Any:
        """The cotangent times the slope, for the last operand."""
        if any(active[:-1]):
            raise self._refuse()
        (g,) = cotangent
        found = g * self.slope(*residuals) if isinstance(g, Tensor) else None
        return [*[None] * (len(residuals) - 1), found]

    def push(self, call: Instruction, operands: Any, tangents: Any) -> tuple[Tensor, Flow]:
        """The result, and the slope times the last tangent."""
        if any(t is not None for t in tangents[:-1]):
            raise self._refuse()
        value = operation("call", *operands, to_apply=call["to_apply"])
        return value, [tangents[-1] * self.slope(*operands)]


def with_last_slope(name: str, slope: Callable[..., Tensor]) -> Callable[[Function], Function]:
    """Give a function of Tensors its derivative by the last one; those by the others are refused.

    Args:
        slope: of the operands.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def called(*operands: Tensor) -> Tensor:
            return call_marked(name, function, operands, lambda _: _Partial(name, slope))[1][0]

        return called

    return decorate


def constant_slope(value: float) -> Callable[..., Tensor]:
    """The slope that is one number everywhere."""
    return lambda y, *_: full_like(value, y)


def polynomial(table: Polynomial, x: Tensor) -> Tensor:
    """The approximation at x, by Horner's rule."""
    middle, half = (table.low + table.high) / 2, (table.high - table.low) / 2
    t = (x - middle) * (1 / half)
    found = full_like(table.coefficients[-1], x)
    for coefficient in reversed(table.coefficients[:-1]):
        found = found * t + coefficient
    return found


def is_(direction: str, x: Tensor, y: Tensor | float) -> Tensor:
    """A comparison, maybe with a number."""
    return compare(direction, x, y if isinstance(y, Tensor) else full_like(y, x))


def where(pred: Tensor, on_true: Any, on_false: Any) -> Tensor:
    """`on_true` where `pred` holds; either may be a number."""
    sides = [v if isinstance(v, Tensor) else full(v, pred.shape, F64) for v in (on_true, on_false)]
    return select(pred, *sides)


def either(*preds: Tensor) -> Tensor:
    """The logical or."""
    found = preds[0]
    for pred in preds[1:]:
        found = operation("or", found, pred)
    return found


def both(*preds: Tensor) -> Tensor:
    """The logical and."""
    found = preds[0]
    for pred in preds[1:]:
        found = operation("and", found, pred)
    return found


def exp(x: Tensor) -> Tensor:
    """e to the x."""
    return operation("exponential", x)


def log(x: Tensor) -> Tensor:
    """The natural logarithm."""
    return operation("log", x)


def log1p(x: Tensor) -> Tensor:
    """log(1 + x)."""
    return operation("log-plus-one", x)


def root(x: Tensor) -> Tensor:
    """The square root."""
    return operation("sqrt", x)


def absolute(x: Tensor) -> Tensor:
    """The magnitude."""
    return operation("abs", x)


def floor(x: Tensor) -> Tensor:
    """The next whole number below."""
    return operation("floor", x)


def is_whole(x: Tensor) -> Tensor:
    """Whether x is a whole number."""
    return is_("EQ", floor(x), x)


def exp_of_minus_square(x: Tensor) -> Tensor:
    """exp(-x²) to an ulp or two, although x² is rounded.

    The square of x with half its digits is exact; what is left of x² is small.
    """
    short = convert(convert(x, element_type_of(np.float32)), F64)
    found = exp(-short * short) * exp((short - x) * (short + x))
    return where(is_("GT", absolute(x), 28), 0, found)


def sine_of_pi(x: Tensor) -> Tensor:
    """sin(πx), to an ulp or two of the result."""
    nearest = operation("round-nearest-even", x)
    found = operation("sine", (x - nearest) * np.pi)
    is_odd = is_("NE", floor(nearest * 0.5) * 2, nearest)
    return where(is_odd, -found, found)
