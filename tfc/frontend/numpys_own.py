"""Functions that NumPy's own of that name mean the same as, which eager calls with arrays take.

    tnp.cumsum(x, axis=0)  → x is an array of a dtype in the row, axis an integer → np.cumsum

A call that its row does not cover, or that NumPy refuses, goes the general way, which covers all
and explains mistakes. What NumPy computes may differ in units in the last place, and as in NumPy
the results of functions that only rearrange may share memory with their arguments. Nothing warns.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# The characters of dtypes.
BOOL, INTEGERS, WIDE, HALF, COMPLEX = "?", "bhilqBHILQ", "fd", "e", "FD"
REAL = BOOL + INTEGERS + HALF + WIDE
ALL = REAL + COMPLEX
NUMBERS = INTEGERS + HALF + WIDE + COMPLEX
SUMS = BOOL + INTEGERS + WIDE + COMPLEX  # NumPy adds halves in another type
LIST = -1  # a list of arrays comes first
TEXT = -2  # a text comes first, and arrays after it
_ALL_DTYPES = frozenset(map(np.dtype, ALL))

Option = Callable[[Any], bool]  # whether a value means the same to NumPy


def _whole(value: Any) -> bool:
    return type(value) is int


_INT = {int}


def _natural(value: Any) -> bool:
    return type(value) is int and value >= 0


def _digits(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 15


def _switch(value: Any) -> bool:
    return type(value) is bool


def _no(value: Any) -> bool:
    return value is False


def _whole_or_none(value: Any) -> bool:
    return value is None or type(value) is int


def _several(value: Any) -> bool:
    """An integer, or a tuple or a list of them."""
    kind = type(value)
    return kind is int or (kind in (tuple, list) and {*map(type, value)} <= _INT)


def _shape(value: Any) -> bool:
    """Sizes, of which one may be -1."""
    return _several(value) and min(value if type(value) is not int else (value,), default=0) >= -1


def _axes(value: Any) -> bool:
    return value is None or _several(value)


@dataclass(frozen=True)
class Own:
    """How NumPy's function is called.

    call: NumPy's function; takes what the options are called by name.
    dtypes: the characters of the dtypes of which it gives what tfc gives.
    operands: how many arrays come first; LIST for a list of them, TEXT for a text and any number.
    options: what may follow or be passed by name, and which values of it.
    takes_numbers: whether Python numbers may be among the arrays, and are weak to NumPy too.
    warns: whether NumPy may warn of numbers, as what only moves elements does not.
    """

    call: Callable[..., Any]
    dtypes: str = ALL
    operands: int = 1
    options: Mapping[str, Option] = field(default_factory=dict)
    takes_numbers: bool = False
    warns: bool = True


def _elementwise(names: str, dtypes: str = ALL, operands: int = 1) -> dict[str, Own]:
    """Rows of NumPy's universal functions."""
    return {n: Own(getattr(np, n), dtypes, operands, takes_numbers=True) for n in names.split()}


def _alike(names: str, dtypes: str = ALL, operands: int = 1, **options: Option) -> dict[str, Own]:
    """Rows of functions that are called the same way."""
    return {n: Own(getattr(np, n), dtypes, operands, options) for n in names.split()}


def _moving(names: str, operands: int = 1, **options: Option) -> dict[str, Own]:
    """Rows of functions that only move elements, or make them of nothing."""
    return {
        n: Own(getattr(np, n), operands=operands, options=options, warns=False)
        for n in names.split()
    }


def _bound(value: Any) -> bool:
    """A number or an array, of which NumPy says whether it fits; or none."""
    return value is None or type(value) in (int, float, np.ndarray)


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _float(value: Any) -> bool:
    return type(value) is float


def _filling(value: Any) -> bool:
    """A float, or one number as an array."""
    return type(value) is float or (
        type(value) is np.ndarray and not value.ndim and value.dtype in _ALL_DTYPES
    )


def _places(value: Any) -> bool:
    """Indices: integers, in an array or a list."""
    return _several(value) or (type(value) is np.ndarray and value.dtype.kind in "iu")


def _side(value: Any) -> bool:
    return value in ("left", "right")


def _dtype(value: Any) -> bool:
    """What says a dtype that is in all rows."""
    try:
        return isinstance(value, (type, str, np.dtype)) and np.dtype(value) in _ALL_DTYPES
    except TypeError:
        return False


def _fitting(call: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, of Python integers only those that all dtypes of the arrays can hold."""

    def function(*operands: Any) -> Any:
        for operand in operands:
            if type(operand) is int and not (0 <= operand < 128 or _has_floats(operands)):
                raise OverflowError
        return call(*operands)

    return function


def _has_floats(operands: tuple[Any, ...]) -> bool:
    return any(type(o) is np.ndarray and o.dtype.kind in "fc" for o in operands)


def _of_matrices(call: Callable[..., Any], *ranks: int) -> Callable[..., Any]:
    """NumPy's function of matrices: of arrays of these ranks, where not of two and more."""

    def function(a: Any, *options: Any, **named: Any) -> Any:
        if a.ndim < 2 or (ranks and a.ndim not in ranks):
            raise ValueError
        return call(a, *options, **named)

    return function


def _of_elements(call: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function where there are elements: of none it warns."""

    def function(a: Any, **options: Any) -> Any:
        if not np.size(a):
            raise ValueError
        return call(a, **options)

    return function


def _arange(start: int, stop: int | None = None, step: int = 1) -> Any:
    return np.arange(start) if stop is None and step == 1 else np.arange(start, stop, step)


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    return _fitting(np.clip)(x, min, max)


def _of_few(call: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function where there are few elements: of many tfc's own is quicker."""

    def function(*operands: Any, **options: Any) -> Any:
        if not all(0 < operand.size <= _MANY for operand in operands):
            raise ValueError
        return call(*operands, **options)

    return function


def _deviation(call: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, with a number of degrees of freedom where there are few elements."""
    of_any, of_few = _of_elements(call), _of_few(call)
    return lambda a, **options: (of_few if "ddof" in options else of_any)(a, **options)


def _einsum(subscripts: str, *operands: Any) -> Any:
    """Of few elements; of many tfc's order of products is the quicker one."""
    if any(operand.size > _MANY for operand in operands):
        raise ValueError
    return np.einsum(subscripts, *operands)


def _unstack(x: Any, axis: int = 0) -> Any:
    return tuple(np.moveaxis(x, axis, 0))


def _sort(a: Any, axis: int | None = -1, stable: bool = True, descending: bool = False) -> Any:
    """Of floats NumPy's fastest order, in which zeros of both signs stay as in a stable one."""
    is_float = a.dtype.kind == "f"
    if a.dtype.kind == "c" or (stable and is_float and (a.size < _MANY or _mixes_zeros(a))):
        return np.sort(a, axis, stable=True)
    made = np.sort(a, axis)
    if stable and is_float and a.ndim == 1:
        first, last = np.searchsorted(made, 0, "left"), np.searchsorted(made, 0, "right")
        if last - first > 1:
            made[first:last] = a[a == 0]
    return made


def _mixes_zeros(a: Any) -> bool:
    """Whether matrices have zeros of both signs, which a vector's sort puts right itself."""
    if a.ndim == 1:
        return False
    signs = np.signbit(a[a == 0])
    return bool(signs.any() and not signs.all())


def _argsort(a: Any, axis: int | None = -1, stable: bool = True, descending: bool = False) -> Any:
    if a.size > _MANY:
        raise ValueError  # tfc's own stable order is several times as fast
    return np.argsort(a, axis, stable=stable)


def _astype(x: Any, dtype: Any, copy: bool = True) -> Any:
    """The conversions but those to integers, which NumPy leaves open for what does not fit."""
    source, target = x.dtype.kind, np.dtype(dtype).kind
    if (source in "fc" and target in "iu") or (source == "c" and target != "c"):
        raise ValueError
    return x.astype(dtype, copy=copy)


_MANY = 4096
_ORDER = {"axis": _whole_or_none, "stable": _switch, "descending": _no}
_ALONG = {"axis": _axes, "keepdims": _switch}
# fmt: off
ROWS: dict[str, Own] = {
    **_elementwise("sin cos tan sinh cosh tanh exp log log1p sqrt log2 log10 exp2 absolute "
                   "positive sign square floor ceil trunc rint isnan isinf isfinite signbit "
                   "logical_not invert negative"),
    **_elementwise("cbrt expm1 arcsin arccos arctan arcsinh arccosh arctanh", REAL),
    **_elementwise("reciprocal", HALF + WIDE),
    **_elementwise("add subtract multiply floor_divide remainder fmod power maximum minimum fmax "
                   "fmin logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
                   "equal not_equal less less_equal greater greater_equal "
                   "left_shift right_shift divmod arctan2 hypot copysign logaddexp", operands=2),
    **_elementwise("divide", REAL, 2),
    "where": Own(_fitting(np.where), ALL, 3, takes_numbers=True),
    "clip": Own(_clip, options={"min": _bound, "max": _bound}),
    **_alike("conj", NUMBERS), **_alike("round", NUMBERS, decimals=_digits),
    **_alike("real imag nan_to_num"), **_alike("angle", NUMBERS, deg=_switch),
    **_alike("isclose", operands=2, rtol=_float, atol=_float, equal_nan=_switch),
    **_alike("array_equal allclose", operands=2),
    **_elementwise("rad2deg deg2rad fabs", HALF + WIDE), **_elementwise("spacing", WIDE),
    **_elementwise("isposinf isneginf", REAL), **_elementwise("bitwise_count", INTEGERS),
    **_alike("modf frexp", HALF + WIDE), **_alike("isreal iscomplex"),
    **_elementwise("gcd lcm", INTEGERS, 2),
    **_elementwise("heaviside nextafter logaddexp2", HALF + WIDE, 2),
    **_elementwise("float_power", INTEGERS + WIDE + COMPLEX, 2),
    **{name: Own(_of_few(getattr(np, name)), WIDE) for name in ("sinc", "i0")},
    **{name: Own(_of_few(getattr(np, name)), SUMS, 2) for name in ("convolve", "correlate")},
    **_alike("unwrap cov corrcoef ediff1d gradient polyint polyder poly", WIDE),
    **_alike("polyval polyadd polysub", WIDE, 2), **_alike("polyfit", WIDE, 2, deg=_natural),
    **_alike("cross kron", SUMS, 2), **_alike("digitize", operands=2), **_alike("diagflat"),
    # products
    **_alike("vecdot", SUMS, 2), "einsum": Own(_einsum, INTEGERS + WIDE + COMPLEX, TEXT),
    **_alike("matmul dot inner outer vdot", SUMS, 2), **_alike("tensordot", SUMS, 2, axes=_whole),
    "trace": Own(_of_matrices(np.trace, 2), SUMS, options={"offset": _whole}),
    # along axes
    **{name: Own(getattr(np, name), SUMS, 1, _ALONG) for name in ("sum", "prod")},
    **{name: Own(getattr(np, name), ALL, 1, _ALONG)
       for name in ("max", "min", "ptp", "all", "any", "count_nonzero")},
    **{name: Own(_of_elements(getattr(np, name)), SUMS, 1, _ALONG)
       for name in ("mean",)},
    **{name: Own(_deviation(getattr(np, name)), SUMS, 1, {**_ALONG, "ddof": _natural})
       for name in ("std", "var")},
    "median": Own(_of_elements(np.median), BOOL + INTEGERS + WIDE, 1, _ALONG),
    **{name: Own(_of_elements(getattr(np, name)), WIDE, 1, {"q": _float, "axis": _axes})
       for name in ("quantile", "percentile")},
    **_alike("argmax argmin", axis=_whole_or_none, keepdims=_switch),
    **_alike("cumsum cumprod", SUMS, axis=_whole_or_none),
    **{name: Own(call, options=_ORDER)
       for name, call in (("sort", _sort), ("argsort", _argsort))},
    **_alike("searchsorted", operands=2, side=_side),
    **{name: Own(getattr(np, name), SUMS, 1, _ALONG) for name in ("nansum", "nanprod")},
    **_alike("nancumsum nancumprod", SUMS, axis=_whole_or_none),
    **_alike("diff", SUMS, n=_natural, axis=_whole),
    **_alike("lexsort", operands=LIST), **_alike("sort_complex"),
    # what only moves elements
    **_moving("take", indices=_places, axis=_whole_or_none),
    **_moving("transpose", axes=_axes), **_moving("swapaxes", axis1=_whole, axis2=_whole),
    **_moving("moveaxis", source=_several, destination=_several),
    "reshape": Own(lambda a, shape: a.reshape(shape), options={"shape": _shape}),
    "matrix_transpose": Own(lambda a: a.mT), **_moving("broadcast_to", shape=_several),
    **_moving("ravel atleast_1d atleast_2d fliplr flipud"),
    **_moving("expand_dims", axis=_several), **_moving("squeeze flip", axis=_axes),
    **_moving("roll", shift=_several, axis=_axes), **_moving("tile", reps=_several),
    **_moving("repeat", repeats=_whole, axis=_whole_or_none),
    **_moving("concatenate", operands=LIST, axis=_whole_or_none),
    **_moving("stack", operands=LIST, axis=_whole), **_moving("vstack hstack", operands=LIST),
    **{name: Own(_of_matrices(getattr(np, name)), options={"k": _whole})
       for name in ("tril", "triu")},
    **_moving("diag", k=_whole), **_moving("rot90", k=_whole), **_moving("atleast_3d copy"),
    **_moving("rollaxis", axis=_whole, start=_whole),
    **_moving("append", operands=2),
    **_moving("take_along_axis", operands=2, axis=_whole),
    **_moving("dstack column_stack", operands=LIST),
    **_moving("hsplit vsplit dsplit", indices_or_sections=_several),
    **_moving("array_split", indices_or_sections=_several, axis=_whole),
    "unstack": Own(_unstack, options={"axis": _whole}, warns=False),
    "diagonal": Own(_of_matrices(np.diagonal, 2), options={"offset": _whole}),
    **_moving("split", indices_or_sections=_several, axis=_whole),
    # new arrays
    **_moving("array zeros_like ones_like", dtype=_dtype),
    "astype": Own(_astype, options={"dtype": _dtype, "copy": _switch}),
    **_moving("full_like", fill_value=_filling, dtype=_dtype),
    **_moving("full", operands=0, shape=_several, fill_value=_filling, dtype=_dtype),
    **_moving("indices", operands=0, dimensions=_several, dtype=_dtype),
    **_moving("zeros ones", operands=0, shape=_several, dtype=_dtype),
    **_moving("eye tri", operands=0, N=_natural, M=_natural, k=_whole, dtype=_dtype),
    **_moving("identity", operands=0, n=_natural, dtype=_dtype),
    "arange": Own(_arange, ALL, 0, dict.fromkeys(("start", "stop", "step"), _whole_or_none),
                  warns=False),
    **_alike("linspace", operands=0, start=_number, stop=_number, num=_whole, endpoint=_switch),
}
# fmt: on
