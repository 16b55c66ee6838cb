"""NumPy's functions on traced Tensors: `import tfc.numpy as tnp`.

They broadcast and promote as NumPy 2 does. In a traced function they build the program; outside,
given arrays, they are evaluated at once and give NumPy arrays. Arrays are never written to.
Elementary functions of floats are made from the definitions of their operations.
"""

from collections.abc import Callable
from math import e, inf, nan, pi

from tfc.frontend.numpy import fft, linalg
from tfc.frontend.numpy.arithmetic import (
    absolute,
    add,
    astype,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    divide,
    divmod,
    floor_divide,
    fmod,
    invert,
    left_shift,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    multiply,
    negative,
    positive,
    power,
    reciprocal,
    remainder,
    right_shift,
    sign,
    square,
    subtract,
    where,
)
from tfc.frontend.numpy.arithmetic import absolute as abs
from tfc.frontend.numpy.arithmetic import divide as true_divide
from tfc.frontend.numpy.arithmetic import invert as bitwise_invert
from tfc.frontend.numpy.arithmetic import invert as bitwise_not
from tfc.frontend.numpy.arithmetic import left_shift as bitwise_left_shift
from tfc.frontend.numpy.arithmetic import power as pow
from tfc.frontend.numpy.arithmetic import remainder as mod
from tfc.frontend.numpy.arithmetic import right_shift as bitwise_right_shift
from tfc.frontend.numpy.comparisons import (
    clip,
    equal,
    fmax,
    fmin,
    greater,
    greater_equal,
    less,
    less_equal,
    maximum,
    minimum,
    not_equal,
)
from tfc.frontend.numpy.complex_numbers import angle, conj, imag, iscomplexobj, real
from tfc.frontend.numpy.complex_numbers import conj as conjugate
from tfc.frontend.numpy.creation import (
    arange,
    diag,
    diagonal,
    eye,
    full,
    full_like,
    identity,
    linspace,
    ones,
    ones_like,
    tri,
    tril,
    triu,
    zeros,
    zeros_like,
)
from tfc.frontend.numpy.creation import zeros_like as empty_like
from tfc.frontend.numpy.functions import (
    arctan,
    arctan2,
    ceil,
    copysign,
    exp2,
    floor,
    generated,
    hypot,
    isclose,
    isfinite,
    isinf,
    isnan,
    log2,
    log10,
    logaddexp,
    nan_to_num,
    rint,
    round,
    signbit,
    trunc,
)
from tfc.frontend.numpy.functions import arctan as atan
from tfc.frontend.numpy.functions import arctan2 as atan2
from tfc.frontend.numpy.functions import round as around
from tfc.frontend.numpy.functions import trunc as fix
from tfc.frontend.numpy.indexing import take
from tfc.frontend.numpy.manipulation import (
    array,
    atleast_1d,
    atleast_2d,
    broadcast_arrays,
    broadcast_to,
    concatenate,
    expand_dims,
    flip,
    fliplr,
    flipud,
    hstack,
    matrix_transpose,
    meshgrid,
    moveaxis,
    pad,
    ravel,
    repeat,
    reshape,
    roll,
    split,
    squeeze,
    stack,
    swapaxes,
    tile,
    transpose,
    vstack,
)
from tfc.frontend.numpy.manipulation import array as asarray
from tfc.frontend.numpy.manipulation import transpose as permute_dims
from tfc.frontend.numpy.products import dot, einsum, inner, matmul, outer, tensordot, trace, vdot
from tfc.frontend.numpy.reductions import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    max,
    mean,
    min,
    prod,
    ptp,
    std,
    sum,
    var,
)
from tfc.frontend.numpy.reductions import max as amax
from tfc.frontend.numpy.reductions import min as amin
from tfc.frontend.numpy.sorting import argsort, median, percentile, quantile, searchsorted, sort
from tfc.frontend.numpy.windows import cumprod, cumsum
from tfc.frontend.promotion import result_type
from tfc.frontend.tensor import Tensor
from tfc.hlo.op import OPS

newaxis = None

__all__ = [
    "abs",
    "absolute",
    "add",
    "all",
    "amax",
    "amin",
    "angle",
    "any",
    "arange",
    "arctan",
    "arctan2",
    "argmax",
    "argmin",
    "argsort",
    "around",
    "array",
    "asarray",
    "astype",
    "atan",
    "atan2",
    "atleast_1d",
    "atleast_2d",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "broadcast_arrays",
    "broadcast_to",
    "ceil",
    "clip",
    "concatenate",
    "conj",
    "conjugate",
    "copysign",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "diag",
    "diagonal",
    "divide",
    "divmod",
    "dot",
    "e",
    "einsum",
    "empty_like",
    "equal",
    "exp2",
    "expand_dims",
    "eye",
    "fft",
    "fix",
    "flip",
    "fliplr",
    "flipud",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hstack",
    "hypot",
    "identity",
    "imag",
    "inf",
    "inner",
    "invert",
    "isclose",
    "iscomplexobj",
    "isfinite",
    "isinf",
    "isnan",
    "left_shift",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "moveaxis",
    "multiply",
    "nan",
    "nan_to_num",
    "negative",
    "newaxis",
    "not_equal",
    "ones",
    "ones_like",
    "outer",
    "pad",
    "percentile",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "power",
    "prod",
    "ptp",
    "quantile",
    "ravel",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "right_shift",
    "rint",
    "roll",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "sort",
    "split",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "tensordot",
    "tile",
    "trace",
    "transpose",
    "tri",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "var",
    "vdot",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]
_generated = [name for op in OPS.values() for name in op.numpy]
__all__ += _generated  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Callable[..., Tensor]:
    """The function of an elementwise op that is declared to have this name, made from it."""
    function = generated(name)
    if function is None:
        raise AttributeError(f"module 'tfc.numpy' has no attribute '{name}'", name=name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for op in OPS.values() for name in op.numpy)})
