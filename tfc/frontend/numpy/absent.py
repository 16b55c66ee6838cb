"""Names that NumPy or jax.numpy has and tfc.numpy has not, and what to use instead of each."""

from collections.abc import Iterable
from types import ModuleType

import numpy as np

from tfc.errors import did_you_mean

_FILES = "numpy.{name} reads and writes outside of traced functions; pass its array as an argument"
_TEXT = "use numpy.{name} on a result, or tfc.debug.print in a traced function"
_WRITES = "arrays are never written to; use x.at[...].set(...), or tfc.numpy.where"
_NO_DTYPE = "there are no elements of that dtype; use tfc.numpy.{other}"
_NO_NUMBERS = "elements are numbers and booleans; keep the others in NumPy"
_FLAGS = "no value raises an error here; look for NaN and infinities with tfc.numpy.isfinite"
_LAYOUT = "values have no order in memory; leave it out"
_LOOPS = "arrays are computed as a whole; use tfc.vmap, tfc.scan or tfc.fori_loop"
_CLASSES = "there are plain arrays only; use tfc.numpy.{other}"
_DATES = "there are no dates; convert them to numbers with NumPy first"
_SETTINGS = "it is a setting of NumPy; call numpy.{name}"


def _each(names: str, advice: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), advice)


def _instead(**names: str) -> dict[str, str]:
    """Older and other names of functions that exist."""
    return {name: f"use tfc.numpy.{other}" for name, other in names.items()}


ADVICE: dict[str, str] = {
    **_each("load save savez savez_compressed loadtxt savetxt genfromtxt fromfile fromregex memmap "
            "fromstring fromiter frombuffer", _FILES),
    **_each("array2string array_repr array_str base_repr binary_repr format_float_positional "
            "format_float_scientific info typename", _TEXT),
    "top_k": "use tfc.nn.top_k, which gives the largest along the last axis",
    "minmax": "use tfc.numpy.min and tfc.numpy.max, which are one kernel in a traced function",
    **_each("copyto putmask", _WRITES),
    **_each("longdouble float128 float96", _NO_DTYPE.format(other="float64")),
    **_each("clongdouble complex256 complex192", _NO_DTYPE.format(other="complex128")),
    **_each("float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e8m0fnu",
            _NO_DTYPE.format(other="float8_e4m3fn")),
    **_each("int1 int2", _NO_DTYPE.format(other="int4")),
    **_each("uint1 uint2", _NO_DTYPE.format(other="uint4")),
    **_each("object_ str_ bytes_ void character flexible ScalarType sctypeDict typecodes strings "
            "char rec ma", _NO_NUMBERS),
    **_each("errstate seterr geterr seterrcall geterrcall ComplexWarning", _FLAGS),
    **_each("asfortranarray isfortran require shares_memory may_share_memory byte_bounds", _LAYOUT),
    **_each("nditer nested_iters ndenumerate ndindex flatiter broadcast frompyfunc iterable",
            _LOOPS),
    **_each("matrix asmatrix bmat mat recarray record", _CLASSES.format(other="array")),
    **_each("poly1d", "keep the coefficients in an array"),
    **_each("datetime64 timedelta64 isnat busday_count busday_offset is_busday busdaycalendar "
            "datetime_as_string datetime_data", _DATES),
    **_each("set_printoptions get_printoptions printoptions setbufsize getbufsize show_config "
            "show_runtime get_include test", _SETTINGS),
    **_each("ndarray", "arrays are numpy.ndarray outside of traced functions, tfc.Tensor in them"),
    **_each("ufunc", "functions are plain; reduce by tfc.numpy.sum, max and their like"),
    **_each("random", "use tfc.random, whose functions take a key"),
    **_each("asarray_chkfinite", "use tfc.numpy.asarray; values are not known while tracing"),
    **_each("s_ index_exp", "use slice objects, or numpy.{name}, which makes them"),
    **_each("min_scalar_type mintypecode common_type", "use tfc.numpy.result_type"),
    **_each("real_if_close", "use tfc.numpy.real; a dtype does not depend on values"),
    **_instead(
        product="prod", cumproduct="cumprod", sometrue="any", alltrue="all",
        trapz="trapezoid", row_stack="vstack", round_="round", msort="sort", float_="float64",
        complex_="complex128", Inf="inf", Infinity="inf", infty="inf", PINF="inf", NaN="nan",
        find_common_type="result_type", asfarray="asarray", long="int64", ulong="uint64",
        False_="bool_", True_="bool_", unicode_="array", string_="array", NINF="inf",
        array_type="asarray",
    ),
}  # fmt: skip


def absence(name: str, known: Iterable[str]) -> str:
    """The sentence about a name that tfc.numpy has not: what to use instead.

    Args:
        known: the names that it has.
    """
    return f"module 'tfc.numpy' has no attribute '{name}'{_advice(name, known)}"


def _advice(name: str, known: Iterable[str]) -> str:
    if name in ADVICE:
        return ": " + ADVICE[name].format(name=name)
    found = None if name.startswith("_") else getattr(np, name, None)
    if found is None:
        return did_you_mean(name, known)
    if isinstance(found, ModuleType):
        return f": use the module numpy.{name} outside of traced functions"
    if isinstance(found, type):
        return f": use numpy.{name} outside of traced functions"
    return f": compute it by other functions, or call numpy.{name} outside of traced functions"
