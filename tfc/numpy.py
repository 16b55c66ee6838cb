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
from tfc.frontend.linalg.polynomials import (
    convolve,
    correlate,
    poly,
    polyadd,
    polyder,
    polydiv,
    polyfit,
    polyint,
    polymul,
    polysub,
    polyval,
    roots,
)

# isort: off
# fmt: off
from ml_dtypes import (
    bfloat16, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2,
    float8_e5m2fnuz, int4, uint4,
)
from numpy import (
    bool, bool_, byte, cdouble, complex64, complex128, complexfloating, csingle, double, dtype,
    euler_gamma, float16, float32, float64, floating, generic, half, inexact, int8, int16, int32,
    int64, int_, intc, integer, intp, longlong, number, short, signedinteger, single, ubyte, uint,
    uint8, uint16, uint32, uint64, uintc, uintp, ulonglong, unsignedinteger, ushort,
)
# fmt: on
# isort: on

from tfc.frontend.numpy.absent import absence as _absence
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
from tfc.frontend.numpy.conversions import asarray, copy
from tfc.frontend.numpy.conversions import asarray as asanyarray
from tfc.frontend.numpy.conversions import asarray as ascontiguousarray
from tfc.frontend.numpy.creation import (
    arange,
    diag,
    diagflat,
    diagonal,
    eye,
    fromfunction,
    full,
    full_like,
    identity,
    ones,
    ones_like,
    tri,
    tril,
    triu,
    zeros,
    zeros_like,
)
from tfc.frontend.numpy.creation import zeros as empty
from tfc.frontend.numpy.creation import zeros_like as empty_like
from tfc.frontend.numpy.dtypes import can_cast, finfo, iinfo, isdtype, issubdtype, promote_types
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
from tfc.frontend.numpy.indexing.choosing import choose, compress, extract, piecewise, place, select
from tfc.frontend.numpy.indexing.counting import (
    bincount,
    histogram,
    histogram2d,
    histogram_bin_edges,
    histogramdd,
)
from tfc.frontend.numpy.indexing.editing import delete, fill_diagonal, insert, trim_zeros
from tfc.frontend.numpy.indexing.grids import (
    c_,
    diag_indices,
    diag_indices_from,
    indices,
    ix_,
    mask_indices,
    mgrid,
    ogrid,
    r_,
    ravel_multi_index,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
    unravel_index,
)
from tfc.frontend.numpy.indexing.locating import argwhere, flatnonzero, nonzero, where
from tfc.frontend.numpy.indexing.ordering import (
    argpartition,
    lexsort,
    nanargmax,
    nanargmin,
    partition,
    sort_complex,
)
from tfc.frontend.numpy.indexing.searching import digitize, interp, searchsorted
from tfc.frontend.numpy.indexing.sets import (
    intersect1d,
    isin,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from tfc.frontend.numpy.indexing.taking import put, put_along_axis, take, take_along_axis
from tfc.frontend.numpy.indexing.updates import at
from tfc.frontend.numpy.manipulation import (
    array,
    atleast_1d,
    atleast_2d,
    atleast_3d,
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
from tfc.frontend.numpy.manipulation import concatenate as concat
from tfc.frontend.numpy.manipulation import transpose as permute_dims
from tfc.frontend.numpy.mapped import apply_along_axis, apply_over_axes, vectorize
from tfc.frontend.numpy.namespace import ARRAY_API_VERSION as __array_api_version__
from tfc.frontend.numpy.namespace import __array_namespace_info__, from_dlpack
from tfc.frontend.numpy.numbers.bessel import i0
from tfc.frontend.numpy.numbers.elementary import (
    deg2rad,
    fabs,
    float_power,
    heaviside,
    logaddexp2,
    rad2deg,
    sinc,
)
from tfc.frontend.numpy.numbers.elementary import deg2rad as radians
from tfc.frontend.numpy.numbers.elementary import rad2deg as degrees
from tfc.frontend.numpy.numbers.float_parts import frexp, ldexp, modf, nextafter, spacing
from tfc.frontend.numpy.numbers.integers import bitwise_count, gcd, lcm
from tfc.frontend.numpy.numbers.packing import packbits, unpackbits
from tfc.frontend.numpy.numbers.predicates import (
    allclose,
    array_equal,
    array_equiv,
    iscomplex,
    isneginf,
    isposinf,
    isreal,
    isrealobj,
    isscalar,
    ndim,
    shape,
    size,
)
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
from tfc.frontend.numpy.rearranging.joining import append, block, column_stack, dstack, resize
from tfc.frontend.numpy.rearranging.padding import pad
from tfc.frontend.numpy.rearranging.splitting import array_split, dsplit, hsplit, unstack, vsplit
from tfc.frontend.numpy.rearranging.turning import broadcast_shapes, rollaxis, rot90, vander
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
from tfc.frontend.numpy.sorting import argsort, sort
from tfc.frontend.numpy.spacings import geomspace, linspace, logspace
from tfc.frontend.numpy.statistics.averages import average, corrcoef, cov
from tfc.frontend.numpy.statistics.differences import diff, ediff1d, gradient, trapezoid, unwrap
from tfc.frontend.numpy.statistics.nan_functions import (
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)
from tfc.frontend.numpy.statistics.quantiles import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)
from tfc.frontend.numpy.statistics.tapers import bartlett, blackman, hamming, hanning, kaiser
from tfc.frontend.numpy.windows import cumprod, cumsum, cumulative_prod, cumulative_sum
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
        raise AttributeError(_absence(name, __all__), name=name)
    if name in _of_operations:
        globals()[name] = function  # found without this function from now on
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for op in _OPS.values() for name in op.numpy)})
