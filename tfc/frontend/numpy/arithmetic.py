"""Elementwise functions of the NumPy namespace: arithmetic, logic, bits, choice.

Shapes broadcast and element types promote as in NumPy. HLO's integer division and remainder
truncate (BIN-3); floor_divide and remainder add what makes them floor, as Python's // and % do.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.numpy.namespace import require_device
from tfc.frontend.numpy.parts import is_complex, parts, require_kind, require_real
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import (
    as_tensor,
    broadcast_together,
    cast,
    promote,
    result_type,
    widen,
)
from tfc.frontend.tensor import ArrayLike, Tensor, alias, is_weak, traceable
from tfc.hlo.shape import PRED, element_type_of

_BITS = ("pred", "signed", "unsigned")  # the kinds of numbers that are taken for their bits


def meet(x: ArrayLike, y: ArrayLike, dtype: Any = None) -> list[Tensor]:
    """Both operands with one dtype and one shape."""
    return broadcast_together(*promote(x, y, dtype=dtype))


def named(function: Callable[..., Tensor], name: str, doc: str, *names: str):
    """Give a function made by a family its name and docstring, and enter it in FUNCTIONS."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return traceable(function, *names)


def _binary(name: str, opcode: str, doc: str, on_bool: str | None = None, *names: str):
    """A function of two operands that is one HLO op; `on_bool` is the op for booleans."""

    def function(x: ArrayLike, y: ArrayLike, /) -> Tensor:
        left, right = meet(x, y)
        if left.dtype != np.bool_:
            return operation(opcode, left, right)
        if on_bool is None:
            raise TraceError(f"{name} is not defined for booleans; use logical_xor or .astype(int)")
        return operation(on_bool, left, right)

    return named(function, name, doc, *names)


def _logical(name: str, opcode: str, doc: str):
    """A function of the truth values of two operands."""

    def function(x: ArrayLike, y: ArrayLike, /) -> Tensor:
        return operation(opcode, *broadcast_together(as_bool(x), as_bool(y)))

    return named(function, name, doc)


def _bitwise(name: str, opcode: str, doc: str, *names: str):
    """A function of the bits of two integers, or of two booleans."""

    def function(x: ArrayLike, y: ArrayLike, /) -> Tensor:
        left, right = meet(x, y)
        require_kind(name, left, _BITS)
        return operation(opcode, left, right)

    return named(function, name, doc, *names)


def as_bool(x: ArrayLike) -> Tensor:
    """The truth values: what differs from zero."""
    return cast(as_tensor(x), np.bool_)


# fmt: off
add      = _binary("add",      "add",      "x + y; booleans: or.", "or")
subtract = _binary("subtract", "subtract", "x - y.")
multiply = _binary("multiply", "multiply", "x * y; booleans: and.", "and")

logical_and = _logical("logical_and", "and", "True where both are not zero.")
logical_or  = _logical("logical_or",  "or",  "True where one of both is not zero.")
logical_xor = _logical("logical_xor", "xor", "True where exactly one of both is not zero.")

bitwise_and = _bitwise("bitwise_and", "and",        "x & y.")
bitwise_or  = _bitwise("bitwise_or",  "or",         "x | y.")
bitwise_xor = _bitwise("bitwise_xor", "xor",        "x ^ y.")
# fmt: on


@alias("bitwise_left_shift")
def left_shift(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """x << y; booleans count as int8."""
    left, right = _numbers(x, y)
    require_kind("left_shift", left, _BITS)
    return operation("shift-left", left, right)


@alias("bitwise_right_shift")
def right_shift(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """x >> y; signed integers keep their sign, booleans count as int8."""
    left, right = _numbers(x, y)
    require_kind("right_shift", left, _BITS)
    unsigned = left.array_shape.element_type.kind == "unsigned"
    return operation("shift-right-logical" if unsigned else "shift-right-arithmetic", left, right)


@alias("bitwise_not", "bitwise_invert")
def invert(x: ArrayLike, /) -> Tensor:
    """All bits inverted; for booleans, not."""
    tensor = as_tensor(x)
    require_kind("invert", tensor, _BITS)
    return operation("not", tensor)


@traceable
def logical_not(x: ArrayLike, /) -> Tensor:
    """True where x is zero."""
    return operation("not", as_bool(x))


@traceable
def negative(x: ArrayLike, /) -> Tensor:
    """-x; unsigned integers wrap."""
    tensor = as_tensor(x)
    if tensor.dtype == np.bool_:
        raise TraceError("negative is not defined for booleans; use logical_not")
    return operation("negate", tensor)


@traceable
def positive(x: ArrayLike, /) -> Tensor:
    """+x: x itself."""
    return as_tensor(x)


@alias("abs")
def absolute(x: ArrayLike, /) -> Tensor:
    """The magnitude."""
    tensor = as_tensor(x)
    if tensor.dtype == np.bool_ or tensor.array_shape.element_type.kind == "unsigned":
        return tensor
    return operation("abs", tensor)


@traceable
def sign(x: ArrayLike, /) -> Tensor:
    """-1, 0 or 1 by the sign, NaN for NaN; of complex numbers x / abs(x), as in NumPy 2."""
    tensor = as_tensor(x)
    numeric = ("signed", "unsigned", "float", "complex")
    require_kind("sign", tensor, numeric)
    if is_complex(tensor):
        return _complex_sign(tensor)
    # HLO's sign of -0.0 is -0.0 (UN-2), NumPy's is 0.0.
    return operation("add", operation("sign", tensor), full_like(0, tensor))


def _complex_sign(z: Tensor) -> Tensor:
    """The number of magnitude 1 in the same direction, also at infinity; 0 for 0."""
    infinite = [is_infinite(part) for part in parts(z)]
    sides = [
        select(end, operation("sign", part), full_like(0, part))
        for end, part in zip(infinite, parts(z))
    ]
    nowhere = operation("and", *infinite)  # infinite in both parts: the direction is not known
    unknown = full_like(complex(np.nan, np.nan), z)
    edge = select(nowhere, unknown, operation("complex", *sides))
    direction = select(is_zero(z), full_like(0, z), operation("sign", z))
    return select(operation("or", *infinite), edge, direction)


def is_infinite(x: Tensor) -> Tensor:
    """True where a float is an infinity."""
    return compare("EQ", operation("abs", x), full_like(np.inf, x))


@traceable
def square(x: ArrayLike, /) -> Tensor:
    """x * x."""
    (tensor,) = _numbers(x)
    return operation("multiply", tensor, tensor)


@alias("true_divide")
def divide(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """x / y in floating point; integers and booleans are divided as float64."""
    dtype = result_type(x, y)
    element_type = element_type_of(dtype)
    is_exact = element_type.is_integer or element_type == PRED
    return operation("divide", *meet(x, y, dtype=np.float64 if is_exact else dtype))


@traceable
def reciprocal(x: ArrayLike, /) -> Tensor:
    """1 / x in the operand's own dtype; integers by zero give 0, booleans count as int8."""
    (tensor,) = _numbers(x)
    found = operation("divide", full_like(1, tensor), tensor)
    if not tensor.array_shape.element_type.is_integer:
        return found
    return select(is_zero(tensor), full_like(0, tensor), found)


def _numbers(*values: ArrayLike) -> list[Tensor]:
    """Operands with one dtype and shape; booleans count as int8 where a number is needed."""
    dtype = result_type(*values)
    return broadcast_together(*promote(*values, dtype=np.int8 if dtype == np.bool_ else dtype))


def is_zero(x: Tensor) -> Tensor:
    """True where x is zero, of either sign."""
    return compare("EQ", x, full_like(0, x))


def is_negative(x: Tensor) -> Tensor:
    """True where x is below zero; not for -0.0."""
    return compare("LT", x, full_like(0, x))


def _must_step_down(rest: Tensor, y: Tensor) -> Tensor:
    """Where a truncated quotient lies above the floored one: a remainder of the other sign."""
    opposite = operation("xor", is_negative(rest), is_negative(y))
    return operation("and", compare("NE", rest, full_like(0, rest)), opposite)


@traceable
def floor_divide(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """The largest integer not above x / y; integers by zero give 0, floats as IEEE division."""
    return _floored("floor_divide", x, y)[0]


@alias("mod")
def remainder(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """x - floor(x / y) * y: the remainder with the sign of y; integers by zero give 0."""
    return _floored("remainder", x, y)[1]


@traceable
def divmod(x: ArrayLike, y: ArrayLike, /) -> tuple[Tensor, Tensor]:
    """(floor_divide(x, y), remainder(x, y))."""
    return _floored("divmod", x, y)


def _floored(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Tensor, Tensor]:
    left, right = _numbers(x, y)
    require_real(name, left)
    if not left.array_shape.element_type.is_float:
        return _floored_integers(left, right)
    # The steps below each round.
    quotient, rest = _floored_floats(widen(left), widen(right))
    # Whole numbers do not move: without this, the gradient would divide by a y that is zero.
    return cast(ops.stop_gradient(quotient), left.dtype), cast(rest, left.dtype)


def _floored_integers(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    by_zero, zero = is_zero(y), full_like(0, y)
    quotient, rest = operation("divide", x, y), operation("remainder", x, y)
    if x.array_shape.element_type.kind == "signed":
        down = _must_step_down(rest, y)
        quotient = select(down, quotient - full_like(1, quotient), quotient)
        rest = select(down, rest + y, rest)
    return select(by_zero, zero, quotient), select(by_zero, zero, rest)


def _floored_floats(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """NumPy's divmod: the remainder is exact, the quotient follows from it, zeros keep signs."""
    zero, one, is_below = full_like(0, x), full_like(1, x), is_negative(y)
    ratio, rest = operation("divide", x, y), operation("remainder", x, y)
    quotient = operation("divide", x - rest, y)
    down = _must_step_down(rest, y)
    # Adding 0 gives a zero the sign of y, and unlike a constant does not stop the gradient.
    moved = select(down, rest + y, rest)
    signed = select(is_below, operation("negate", moved), moved) + zero
    floored_rest = select(is_below, operation("negate", signed), signed)
    quotient = select(down, quotient - one, quotient)
    whole = operation("floor", quotient)
    whole = select(compare("GT", quotient - whole, full_like(0.5, x)), whole + one, whole)
    # Where the quotient is zero the ratio is finite: times zero, it leaves a zero of its sign.
    whole = select(is_zero(quotient), ratio * zero, whole)
    by_zero = is_zero(y)
    return select(by_zero, ratio, whole), select(by_zero, rest, floored_rest)


@traceable
def fmod(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """The remainder with the sign of x, as C's fmod; integers by zero give 0."""
    left, right = _numbers(x, y)
    require_real("fmod", left)
    rest = operation("remainder", left, right)
    if left.array_shape.element_type.is_float:
        return rest
    return select(is_zero(right), full_like(0, right), rest)


@alias("pow")
def power(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """x to the power y. A Python exponent 0.5, 1, 2, 3 or 4 is computed exactly as its product.

    Raises:
        TraceError: an integer to a negative Python number, which NumPy refuses too.
    """
    left, right = _numbers(x, y)
    if isinstance(y, (int, float)) and is_weak(y):
        if y < 0 and left.array_shape.element_type.is_integer:
            raise TraceError(f"integers cannot be raised to the negative power {y}; convert first")
        if y == 0.5:
            return operation("sqrt", left)
        if y in (1, 2, 3, 4):
            return _small_power(left, int(y))
    return operation("power", left, right)


def _small_power(x: Tensor, exponent: int) -> Tensor:
    if exponent == 1:
        return x
    squared = operation("multiply", x, x)
    if exponent == 2:
        return squared
    return operation("multiply", squared, x if exponent == 3 else squared)


@traceable
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """x where the condition holds, else y; NaN in the unchosen side does not show (SEL-4)."""
    return select(*broadcast_together(as_bool(condition), *promote(x, y)))


@traceable
def astype(x: ArrayLike, dtype: Any, copy: bool = True, *, device: Any = None) -> Tensor:
    """The values as another dtype; floats truncate to integers and saturate, NaN gives 0."""
    require_device(device)
    return cast(as_tensor(x), dtype)
