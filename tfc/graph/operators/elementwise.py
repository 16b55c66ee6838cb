"""Operators of one element from each input: functions, comparisons, what chooses."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tfc.frontend.operations as ops
from tfc import numpy as tnp
from tfc import special
from tfc.errors import ShapeError
from tfc.frontend.promotion import as_tensor
from tfc.frontend.special.incomplete_gamma import gamma_number_by_a, gammainc_by_a
from tfc.frontend.tensor import evaluable
from tfc.graph.operators.complex_functions import INVERSE
from tfc.graph.operators.inference import comparison, elementwise, same
from tfc.graph.operators.registry import Attributes, Spec, find, operator
from tfc.graph.types import shapes
from tfc.graph.types.dtypes import as_dtype, bool_
from tfc.hlo.shape import Shape, element_type_of


def _unary(name: str, function: Callable[..., Any], infer: Any) -> None:
    """Enter a function of one array, without the keywords that it may have besides."""

    @operator(name, infer=infer)
    def row(x: Any) -> Any:
        return function(x)


def _binary(name: str, function: Callable[..., Any], infer: Any) -> None:
    """Enter a function of two arrays, without the keywords that it may have besides."""

    @operator(name, infer=infer)
    def row(x: Any, y: Any) -> Any:
        return function(x, y)


def _round(x: Any) -> Any:
    """To the nearest integer, halves to the even one."""
    return tnp.rint(x) if as_dtype(x.dtype).is_floating else x


def _sign(x: Any) -> Any:
    """-1, 0 or 1; of complex numbers the number divided by its absolute value."""
    return tnp.sign(x)


def _softsign(x: Any) -> Any:
    return x / (1 + tnp.abs(x))


UNARY: dict[str, Callable[..., Any]] = {
    "Abs": tnp.abs,
    "BesselI0": special.i0,
    "BesselI0e": special.i0e,
    "BesselI1": special.i1,
    "BesselI1e": special.i1e,
    "Ceil": tnp.ceil,
    "Conj": tnp.conj,
    "Cos": tnp.cos,
    "Cosh": tnp.cosh,
    "Dawsn": special.dawsn,
    "Digamma": special.digamma,
    "Erf": special.erf,
    "Erfc": special.erfc,
    "Erfinv": special.erfinv,
    "Exp": tnp.exp,
    "Expint": special.expi,
    "Expm1": tnp.expm1,
    "Floor": tnp.floor,
    "Inv": tnp.reciprocal,
    "Invert": tnp.invert,
    "Lgamma": special.gammaln,
    "Log": tnp.log,
    "Log1p": tnp.log1p,
    "LogicalNot": tnp.logical_not,
    "Ndtri": special.ndtri,
    "Neg": tnp.negative,
    "Reciprocal": tnp.reciprocal,
    "Rint": tnp.rint,
    "Round": _round,
    "Rsqrt": tnp.rsqrt,
    "Sigmoid": tnp.sigmoid,
    "Sign": _sign,
    "Sin": tnp.sin,
    "Sinh": tnp.sinh,
    "Softsign": _softsign,
    "Sqrt": tnp.sqrt,
    "Spence": special.spence,
    "Square": tnp.square,
    "Tan": tnp.tan,
    "Tanh": tnp.tanh,
    **INVERSE,
}

for _name, _function in UNARY.items():
    _unary(_name, _function, same)


def _of_booleans(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(bool_, inputs[0].shape)]


for _name, _function in {
    "IsFinite": tnp.isfinite,
    "IsInf": tnp.isinf,
    "IsNan": tnp.isnan,
}.items():
    _unary(_name, _function, _of_booleans)


def is_integer(x: Any) -> bool:
    """Whether an array holds integers."""
    return as_dtype(x.dtype).is_integer


def truncated_quotient(x: Any, y: Any) -> Any:
    """The quotient of integers without what follows the point, as C has it."""
    return tnp.floor_divide(x - tnp.fmod(x, y), y)


def _divide(x: Any, y: Any) -> Any:
    return truncated_quotient(x, y) if is_integer(x) else tnp.true_divide(x, y)


def _divide_or_zero(x: Any, y: Any) -> Any:
    """The quotient, 0 where it would be one by 0."""
    none = y == 0
    return tnp.where(none, tnp.zeros_like(x), x / tnp.where(none, tnp.ones_like(y), y))


def _multiply_or_zero(x: Any, y: Any) -> Any:
    """The product, 0 where the second factor is, whatever the first one is."""
    return tnp.where(y == 0, tnp.zeros_like(x), x * y)


def _xdivy(x: Any, y: Any) -> Any:
    """The quotient, 0 where the numerator is 0."""
    none = x == 0
    return tnp.where(none, tnp.zeros_like(x), x / tnp.where(none, tnp.ones_like(y), y))


def _times(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """x times a function of y, 0 where x is 0, whatever the function is."""

    def product(x: Any, y: Any) -> Any:
        none = x == 0
        return tnp.where(none, tnp.zeros_like(x), x * function(tnp.where(none, _ones(y), y)))

    return product


def _ones(x: Any) -> Any:
    return tnp.ones_like(x)


def _squared_difference(x: Any, y: Any) -> Any:
    """(x - y) times what it is the conjugate of."""
    difference = x - y
    return tnp.conj(difference) * difference if x.dtype.kind == "c" else difference * difference


def _maximum(x: Any, y: Any) -> Any:
    """The larger; of equal ones it is x that a gradient goes to, as in TensorFlow."""
    return tnp.where((x >= y) | (x != x), x, y)


def _minimum(x: Any, y: Any) -> Any:
    """The smaller; of equal ones it is x that a gradient goes to, as in TensorFlow."""
    return tnp.where((x <= y) | (x != x), x, y)


BINARY: dict[str, Callable[..., Any]] = {
    "Add": tnp.add,
    "AddV2": tnp.add,
    "Atan2": tnp.arctan2,
    "BitwiseAnd": tnp.bitwise_and,
    "BitwiseOr": tnp.bitwise_or,
    "BitwiseXor": tnp.bitwise_xor,
    "Div": _divide,
    "DivNoNan": _divide_or_zero,
    "FloorDiv": tnp.floor_divide,
    "FloorMod": tnp.mod,
    "Igamma": special.gammainc,
    "IgammaGradA": gammainc_by_a,
    "Igammac": special.gammaincc,
    "LeftShift": tnp.left_shift,
    "LogicalAnd": tnp.logical_and,
    "LogicalOr": tnp.logical_or,
    "Maximum": _maximum,
    "Minimum": _minimum,
    "Mod": tnp.fmod,
    "Mul": tnp.multiply,
    "MulNoNan": _multiply_or_zero,
    "NextAfter": tnp.nextafter,
    "Polygamma": special.polygamma,
    "Pow": tnp.power,
    "RandomGammaGrad": gamma_number_by_a,
    "RealDiv": tnp.true_divide,
    "RightShift": tnp.right_shift,
    "SquaredDifference": _squared_difference,
    "Sub": tnp.subtract,
    "TruncateDiv": truncated_quotient,
    "TruncateMod": tnp.fmod,
    "Xdivy": _xdivy,
    "Xlog1py": _times(tnp.log1p),
    "Xlogy": _times(tnp.log),
    "Zeta": special.zeta,
}

for _name, _function in BINARY.items():
    _binary(_name, _function, elementwise)

COMPARISONS: dict[str, Callable[..., Any]] = {
    "Equal": tnp.equal,
    "Greater": tnp.greater,
    "GreaterEqual": tnp.greater_equal,
    "Less": tnp.less,
    "LessEqual": tnp.less_equal,
    "NotEqual": tnp.not_equal,
}

for _name, _function in COMPARISONS.items():
    _binary(_name, _function, comparison)


@operator("Betainc")
def incomplete_beta(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function."""
    return special.betainc(a, b, x)


@operator("PopulationCount")
def population_count(x: Any) -> Any:
    """How many bits of each integer are ones, of negative ones in two's complement."""
    unsigned = np.dtype(f"uint{x.dtype.itemsize * 8}")
    return tnp.astype(tnp.bitwise_count(tnp.asarray(x).view(unsigned)), np.dtype(np.uint8))


@operator("ToBool")
def as_condition(input: Any) -> Any:
    """Whether a number is not 0, or whether an array has elements."""
    return np.asarray(input.size > 0) if input.ndim else input != np.zeros((), input.dtype)


@operator("_UnaryOpsComposition")
def composed(x: Any, *, op_names: Sequence[str]) -> Any:
    """Functions one after the other, as TensorFlow's optimizer joins them."""
    for name in op_names:
        (x,) = find(name)([x], {})
    return x


@operator("ApproximateEqual", infer=comparison)
def approximately_equal(x: Any, y: Any, tolerance: float = 1e-5) -> Any:
    """Whether the difference is smaller than the tolerance."""
    return tnp.abs(x - y) < np.asarray(tolerance, x.dtype)


def _chosen(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[1].dtype, inputs[1].shape.merge_with(inputs[2].shape))]


@operator("Select", types="- T", infer=_chosen)
def select(condition: Any, t: Any, e: Any) -> Any:
    """Elements of the one or the other; a condition of rank 1 chooses rows, a scalar all."""
    if condition.ndim == 1 and t.ndim > 1:
        condition = tnp.reshape(condition, (-1,) + (1,) * (t.ndim - 1))
    return tnp.where(condition, t, e)


def _chosen_by_broadcasting(inputs: Sequence[Any], attributes: Attributes) -> list[Spec]:
    return [(inputs[1].dtype, shapes.broadcast([x.shape for x in inputs]))]


@operator("SelectV2", types="- T", infer=_chosen_by_broadcasting)
def select_by_broadcasting(condition: Any, t: Any, e: Any) -> Any:
    """Elements of the one or the other; the three broadcast."""
    return tnp.where(condition, t, e)


@operator("ClipByValue", infer=same)
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    """The elements, those below and above the bounds replaced by them."""
    return _maximum(_minimum(t, clip_value_max), clip_value_min)


@operator("Cast", types="SrcT")
def cast(x: Any, *, DstT: Any, Truncate: bool = False) -> Any:
    """The elements as ones of another dtype; floats lose what follows the point."""
    wanted = as_dtype(DstT).dtype
    if x.dtype.kind == "c" and wanted.kind != "c":
        x = tnp.real(x)
    return tnp.astype(x, wanted)


@operator("Bitcast")
def bitcast(input: Any, *, type: Any) -> Any:
    """The same bits as elements of another dtype.

    Larger ones take up the last dimension, of smaller ones there is one more.
    """
    wanted = as_dtype(type).dtype
    ratio, dims = input.dtype.itemsize / wanted.itemsize, tuple(input.shape)
    if ratio > 1:
        dims = (*dims, int(ratio))
    elif ratio < 1:
        if not dims or dims[-1] * ratio != 1:
            raise ShapeError(
                f"a bitcast from {input.dtype} to {wanted} needs a last dimension of "
                f"{int(1 / ratio)}, got shape {dims}"
            )
        dims = dims[:-1]
    shape = Shape(element_type_of(wanted), dims)
    return evaluable(lambda x: ops.operation("bitcast-convert", as_tensor(x), shape=shape))(input)


@operator("Complex")
def complex_(real: Any, imag: Any, Tout: Any = None) -> Any:
    """Complex numbers of real and imaginary parts."""
    wanted = as_dtype(Tout).dtype if Tout is not None else np.dtype(np.complex64)
    unit = np.asarray(1j, wanted)
    return tnp.astype(real, wanted) + tnp.astype(imag, wanted) * unit


@operator("Real")
def real(input: Any) -> Any:
    """Real parts."""
    return tnp.real(input)


@operator("Imag")
def imag(input: Any) -> Any:
    """Imaginary parts."""
    return tnp.imag(input)


@operator("ComplexAbs")
def complex_absolute(x: Any) -> Any:
    """Absolute values of complex numbers."""
    return tnp.abs(x)


@operator("Angle")
def angle(input: Any) -> Any:
    """The angles of complex numbers in the plane."""
    return tnp.angle(input)
