"""Functions of whole numbers: greatest common divisors, least common multiples, counts of bits."""

import numpy as np

from tfc.frontend.control.loops import while_loop
from tfc.frontend.numpy.arithmetic import absolute, is_zero, meet
from tfc.frontend.numpy.parts import require_kind
from tfc.frontend.numpy.reductions import any
from tfc.frontend.operations import full_like, operation, select
from tfc.frontend.promotion import as_tensor, cast
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import ELEMENT_TYPES

_WHOLE = ("signed", "unsigned")


@traceable
def gcd(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """The greatest common divisor, by Euclid's algorithm; that of 0 and x is |x|."""
    left, right = meet(x1, x2)
    require_kind("gcd", left, _WHOLE)
    return absolute(_euclid(left, right))


def _euclid(x: Tensor, y: Tensor) -> Tensor:
    """(x, y) -> (y, x mod y) until all y are zero; the x that are left."""

    def step(state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        first, second = state
        done = is_zero(second)
        rest = operation("remainder", first, select(done, full_like(1, second), second))
        return select(done, first, second), select(done, second, rest)

    return while_loop(lambda state: any(state[1]), step, (x, y))[0]


@traceable
def lcm(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """The least common multiple; 0 if either is."""
    left, right = meet(x1, x2)
    require_kind("lcm", left, _WHOLE)
    # Without signs the magnitude of the least integer is a number, too.
    sizes = [_unsigned(absolute(x)) for x in (left, right)]
    divisor = _euclid(*sizes)
    divisor = select(is_zero(divisor), full_like(1, divisor), divisor)
    found = operation("multiply", operation("divide", sizes[0], divisor), sizes[1])
    return operation("bitcast-convert", found, shape=left.array_shape)


def _unsigned(x: Tensor) -> Tensor:
    """The bits as those of an unsigned integer."""
    element_type = ELEMENT_TYPES[f"u{x.array_shape.element_type.bits}"]
    return operation("bitcast-convert", x, shape=x.array_shape.with_element_type(element_type))


@traceable
def bitwise_count(x: ArrayLike, /) -> Tensor:
    """How many bits of the magnitude are one, as uint8."""
    tensor = as_tensor(x)
    require_kind("bitwise_count", tensor, ("pred", *_WHOLE))
    if tensor.dtype == np.bool_:
        return cast(tensor, np.uint8)
    return cast(operation("popcnt", absolute(tensor)), np.uint8)
