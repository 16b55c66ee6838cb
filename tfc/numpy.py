"""NumPy's functions on traced Tensors: `import tfc.numpy as tnp`.

They broadcast and promote as NumPy 2 does. In a traced function they build the program; outside,
given arrays, they are evaluated at once and give NumPy arrays. Arrays are never written to.
Elementary functions of floats are made from the definitions of their operations.

Every name below that does not begin with an underscore is public.
"""

# ruff: noqa: F401

from collections.abc import Callable as _Callable
from math import e, inf, nan, pi

from tfc import fft, linalg
from tfc.frontend.linalg.einsum import einsum, einsum_path
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
from tfc.frontend.numpy.functions import generated as _generated_function
from tfc.frontend.numpy.functions import round as around
from tfc.frontend.numpy.functions import trunc as fix
from tfc.frontend.numpy.indexing.taking import put, put_along_axis, take, take_along_axis
from tfc.frontend.numpy.indexing.updates import at
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
from tfc.frontend.numpy.products import (
    cross,
    dot,
    inner,
    kron,
    matmul,
    matvec,
    outer,
    tensordot,
    trace,
    vdot,
    vecdot,
    vecmat,
)
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
from tfc.frontend.tensor import Tensor as _Tensor
from tfc.hlo.op import OPS as _OPS

newaxis = None

_of_operations = {name for op in _OPS.values() for name in op.numpy}
_public = {name for name in dir() if name[0] != "_"} | _of_operations
__all__ = sorted(_public)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> _Callable[..., _Tensor]:
    """The function of an elementwise op that is declared to have this name, made from it."""
    function = _generated_function(name)
    if function is None:
        raise AttributeError(f"module 'tfc.numpy' has no attribute '{name}'", name=name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for op in _OPS.values() for name in op.numpy)})
