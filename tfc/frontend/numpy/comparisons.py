"""Comparisons of the NumPy namespace, and what follows from them: maximum, minimum, clip.

Complex numbers are ordered as in NumPy: by their real parts, those with equal real parts by their
imaginary ones; a complex number is NaN if a part is.
"""

from collections.abc import Callable

from tfc.frontend import operations as ops
from tfc.frontend.numpy.arithmetic import is_negative, meet, named
from tfc.frontend.numpy.parts import is_complex, parts
from tfc.frontend.numpy_keywords import refuse_out
from tfc.frontend.operations import compare, full_like, operation, select
from tfc.frontend.promotion import as_tensor, broadcast_together
from tfc.frontend.tensor import ArrayLike, Tensor, traceable
from tfc.hlo.shape import S64, U64


def is_nan(x: Tensor) -> Tensor:
    """True where a float is NaN, or a part of a complex number: what differs from itself."""
    return compare("NE", x, x)


def ordered(direction: str, x: Tensor, y: Tensor) -> Tensor:
    """Compare elementwise: direction EQ, NE, GE, GT, LE or LT; false beside NaN, but for NE."""
    if not is_complex(x) or direction in ("EQ", "NE"):
        return compare(direction, x, y)
    (x_real, x_imag), (y_real, y_imag) = parts(x), parts(y)
    numbers = operation("not", operation("or", is_nan(x_imag), is_nan(y_imag)))
    apart = operation("and", compare(direction[0] + "T", x_real, y_real), numbers)
    together = operation("and", compare("EQ", x_real, y_real), compare(direction, x_imag, y_imag))
    return operation("or", apart, together)


def _are_far_apart(x: Tensor, y: Tensor) -> bool:
    """Whether two integers meet in no integer type that holds the values of both."""
    types = [t.array_shape.element_type for t in (x, y)]
    if not all(t.is_integer for t in types) or (x.weak and y.weak):
        return False
    if x.weak or y.weak:
        number, other = (x, types[1]) if x.weak else (y, types[0])
        literal = number.instruction.attributes.get("literal")
        low, high = other.limits
        if literal is None or number.shape:
            return False
        return not low <= literal.array.item() <= high
    return types[0].kind != types[1].kind and U64 in types


def _compare_integers(direction: str, x: Tensor, y: Tensor) -> Tensor:
    """Compare integers by their values, whatever their types."""
    if U64 not in (t.array_shape.element_type for t in (x, y)):
        return compare(direction, ops.convert(x, S64), ops.convert(y, S64))
    # Signed ones below zero are below all others; the rest fit into u64.
    is_first = x.array_shape.element_type.kind == "signed"
    below = is_negative(x if is_first else y)
    verdict = direction in (("LT", "LE", "NE") if is_first else ("GT", "GE", "NE"))
    alike = compare(direction, ops.convert(x, U64), ops.convert(y, U64))
    return select(below, full_like(verdict, below), alike)


def _comparison(name: str, direction: str, doc: str):
    """A function that compares two operands and gives bool."""

    def function(x: ArrayLike, y: ArrayLike, /) -> Tensor:
        left, right = as_tensor(x), as_tensor(y)
        if _are_far_apart(left, right):
            return _compare_integers(direction, *broadcast_together(left, right))
        return ordered(direction, *meet(left, right))

    return named(function, name, doc)


def _choice(name: str, opcode: str, direction: str, on_bool: str, doc: str):
    """A function that gives one of two operands, the one that is NaN if any is."""

    def function(x: ArrayLike, y: ArrayLike, /) -> Tensor:
        left, right = meet(x, y)
        if is_complex(left):
            stays = operation("or", ordered(direction, left, right), is_nan(left))
            return select(stays, left, right)
        is_truth = left.array_shape.element_type.kind == "pred"
        return operation(on_bool if is_truth else opcode, left, right)

    return named(function, name, doc)


def _ignoring_nan(name: str, function: Callable[..., Tensor], doc: str):
    def ignoring(x: ArrayLike, y: ArrayLike, /) -> Tensor:
        left, right = meet(x, y)
        chosen = select(is_nan(left), right, function(left, right))
        return select(is_nan(right), left, chosen)

    return named(ignoring, name, doc)


# fmt: off
equal         = _comparison("equal",         "EQ", "x == y, elementwise.")
not_equal     = _comparison("not_equal",     "NE", "x != y, elementwise.")
less          = _comparison("less",          "LT", "x < y, elementwise.")
less_equal    = _comparison("less_equal",    "LE", "x <= y, elementwise.")
greater       = _comparison("greater",       "GT", "x > y, elementwise.")
greater_equal = _comparison("greater_equal", "GE", "x >= y, elementwise.")

maximum = _choice("maximum", "maximum", "GE", "or",  "The larger; NaN if either is.")
minimum = _choice("minimum", "minimum", "LE", "and", "The smaller; NaN if either is.")
fmax = _ignoring_nan("fmax", maximum, "The larger; the other one where one is NaN.")
fmin = _ignoring_nan("fmin", minimum, "The smaller; the other one where one is NaN.")
# fmt: on


@traceable
def clip(
    a: ArrayLike,
    min: ArrayLike = None,
    max: ArrayLike = None,
    out: None = None,
    *,
    a_min: ArrayLike = None,
    a_max: ArrayLike = None,
) -> Tensor:
    """a moved into [min, max]; None leaves a side open; max where min > max (CLP-1).

    Args:
        a_min, a_max: NumPy's older names for min and max.
    """
    refuse_out("clip", out)
    min, max = a_min if min is None else min, a_max if max is None else max
    tensor = as_tensor(a)
    if min is not None:
        tensor = maximum(tensor, min)
    return tensor if max is None else minimum(tensor, max)
