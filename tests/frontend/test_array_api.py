"""tfc.numpy is the Python array API standard 2024.12: each name, its parameters, its dtypes.

The table below is the standard's list of functions. Each call that it allows is taken, the defaults
are its own, and results have the dtypes of its promotion table. Values at the standard's special
cases are compared with NumPy, which is conforming, in test_numpy_values.py.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TfcError, TraceError
from tfc.frontend.program import Abstract, trace_function
from tfc.hlo.shape import Shape, element_type_of

STANDARD = """
abs(x, /)  acos(x, /)  acosh(x, /)  add(x1, x2, /)  asin(x, /)  asinh(x, /)  atan(x, /)
atan2(x1, x2, /)  atanh(x, /)  bitwise_and(x1, x2, /)  bitwise_left_shift(x1, x2, /)
bitwise_invert(x, /)  bitwise_or(x1, x2, /)  bitwise_right_shift(x1, x2, /)
bitwise_xor(x1, x2, /)  ceil(x, /)  clip(x, /, min=None, max=None)  conj(x, /)
copysign(x1, x2, /)  cos(x, /)  cosh(x, /)  divide(x1, x2, /)  equal(x1, x2, /)  exp(x, /)
expm1(x, /)  floor(x, /)  floor_divide(x1, x2, /)  greater(x1, x2, /)  greater_equal(x1, x2, /)
hypot(x1, x2, /)  imag(x, /)  isfinite(x, /)  isinf(x, /)  isnan(x, /)  less(x1, x2, /)
less_equal(x1, x2, /)  log(x, /)  log1p(x, /)  log2(x, /)  log10(x, /)  logaddexp(x1, x2, /)
logical_and(x1, x2, /)  logical_not(x, /)  logical_or(x1, x2, /)  logical_xor(x1, x2, /)
maximum(x1, x2, /)  minimum(x1, x2, /)  multiply(x1, x2, /)  negative(x, /)
nextafter(x1, x2, /)  not_equal(x1, x2, /)  positive(x, /)  pow(x1, x2, /)  real(x, /)
reciprocal(x, /)  remainder(x1, x2, /)  round(x, /)  sign(x, /)  signbit(x, /)  sin(x, /)
sinh(x, /)  square(x, /)  sqrt(x, /)  subtract(x1, x2, /)  tan(x, /)  tanh(x, /)  trunc(x, /)

arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)  empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')  ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)  tril(x, /, *, k=0)  triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)  zeros_like(x, /, *, dtype=None, device=None)

astype(x, dtype, /, *, copy=True, device=None)  can_cast(from_, to, /)  finfo(type, /)
iinfo(type, /)  isdtype(dtype, kind)  result_type(*arrays_and_dtypes)

broadcast_arrays(*arrays)  broadcast_to(x, /, shape)  concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)  flip(x, /, *, axis=None)  moveaxis(x, source, destination, /)
permute_dims(x, /, axes)  repeat(x, repeats, /, *, axis=None)  reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)  squeeze(x, /, axis)  stack(arrays, /, *, axis=0)
tile(x, repetitions, /)  unstack(x, /, *, axis=0)

matmul(x1, x2, /)  matrix_transpose(x, /)  tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)

take(x, indices, /, *, axis=None)  take_along_axis(x, indices, /, *, axis=-1)
argmax(x, /, *, axis=None, keepdims=False)  argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)  nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)  where(condition, x1, x2, /)
unique_all(x, /)  unique_counts(x, /)  unique_inverse(x, /)  unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)

cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)  mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)  any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
__array_namespace_info__()
"""
LINALG = """
cholesky(x, /, *, upper=False)  cross(x1, x2, /, *, axis=-1)  det(x, /)
diagonal(x, /, *, offset=0)  eigh(x, /)  eigvalsh(x, /)  inv(x, /)  matmul(x1, x2, /)
matrix_norm(x, /, *, keepdims=False, ord='fro')  matrix_power(x, n, /)
matrix_rank(x, /, *, rtol=None)  matrix_transpose(x, /)  outer(x1, x2, /)  pinv(x, /, *, rtol=None)
qr(x, /, *, mode='reduced')  slogdet(x, /)  solve(x1, x2, /)  svd(x, /, *, full_matrices=True)
svdvals(x, /)  tensordot(x1, x2, /, *, axes=2)  trace(x, /, *, offset=0, dtype=None)
vecdot(x1, x2, /, *, axis=-1)  vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""
FFT = """
fft(x, /, *, n=None, axis=-1, norm='backward')  ifft(x, /, *, n=None, axis=-1, norm='backward')
fftn(x, /, *, s=None, axes=None, norm='backward')
ifftn(x, /, *, s=None, axes=None, norm='backward')
rfft(x, /, *, n=None, axis=-1, norm='backward')  irfft(x, /, *, n=None, axis=-1, norm='backward')
rfftn(x, /, *, s=None, axes=None, norm='backward')
irfftn(x, /, *, s=None, axes=None, norm='backward')
hfft(x, /, *, n=None, axis=-1, norm='backward')  ihfft(x, /, *, n=None, axis=-1, norm='backward')
fftfreq(n, /, *, d=1.0, dtype=None, device=None)  rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fftshift(x, /, *, axes=None)  ifftshift(x, /, *, axes=None)
"""
CONSTANTS = "e inf nan newaxis pi"
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float32", "float64", "complex64", "complex128"]  # fmt: skip


def stated(table: str) -> dict[str, inspect.Signature]:
    """The standard's functions with their signatures."""
    found = {}
    for line in table.split("\n"):
        for text in filter(None, line.split("  ")):
            name, _, parameters = text.partition("(")
            found[name] = inspect.signature(eval(f"lambda {parameters.rstrip(')')}: None"))
    return found


FUNCTIONS = stated(STANDARD)
EXTENSIONS = {"linalg": stated(LINALG), "fft": stated(FFT)}
EMPTY, ONLY = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_ONLY
EITHER, NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


def departures(module: Any, name: str, signature: inspect.Signature) -> Iterator[str]:
    """How the signature of a function differs from what a call by the standard needs."""
    own = inspect.signature(getattr(module, name)).parameters
    listed = list(own.values())
    expected = signature.parameters.values()
    for place, parameter in enumerate(expected):
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            if listed[place].kind is not parameter.kind:
                yield f"{parameter} is {listed[place]}"
            continue
        found = listed[place] if parameter.kind is ONLY else own.get(parameter.name)
        kinds = {ONLY: (ONLY, EITHER), EITHER: (EITHER,), NAMED: (EITHER, NAMED)}[parameter.kind]
        if found is None or found.kind not in kinds:
            yield f"{parameter} is {found}"
        elif parameter.kind is EITHER and listed.index(found) != place:
            yield f"{parameter} is in another place"
        elif parameter.default is not EMPTY and found.default not in (parameter.default, None):
            yield f"{parameter} is {found} if it is left out"
    names = [p.name for p in expected if p.kind is not ONLY]
    count = sum(p.kind is ONLY for p in expected)
    for found in listed[count:]:
        has_default = found.default is not EMPTY or found.kind not in (ONLY, EITHER, NAMED)
        if found.name not in names and not has_default:
            yield f"{found} is needed"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_of_the_standard_take_its_calls(name: str):
    assert list(departures(tnp, name, FUNCTIONS[name])) == []
    assert name in tnp.__all__ or name.startswith("__")


@pytest.mark.parametrize(
    ("extension", "name"), [(e, name) for e, table in EXTENSIONS.items() for name in table]
)
def test_the_extensions_of_the_standard_take_its_calls(extension: str, name: str):
    for module in (getattr(tnp, extension), getattr(tfc, extension)):
        assert list(departures(module, name, EXTENSIONS[extension][name])) == []


def test_the_constants_and_dtypes_of_the_standard_are_there():
    for name in CONSTANTS.split():
        assert repr(getattr(tnp, name)) == repr(getattr(np, name))
    for name in DTYPES:
        assert tnp.zeros(2, dtype=getattr(tnp, name)).dtype == np.dtype(name)
    assert tnp.__array_api_version__ == "2024.12"


# --- dtypes -------------------------------------------------------------------------------------

SIGNED, UNSIGNED = DTYPES[1:5], DTYPES[5:9]
REAL, COMPLEX = DTYPES[9:11], DTYPES[11:13]


def promoted(x: str, y: str) -> str | None:
    """The standard's promotion table; None where it says nothing."""
    if x == y:
        return x
    for family in (SIGNED, UNSIGNED):
        if x in family and y in family:
            return family[max(family.index(x), family.index(y))]
    if x in REAL + COMPLEX and y in REAL + COMPLEX:
        is_wide = any(t in ("float64", "complex128") for t in (x, y))
        return (COMPLEX if {x, y} & set(COMPLEX) else REAL)[is_wide]
    if x in UNSIGNED and y in SIGNED:
        x, y = y, x
    if x in SIGNED and y in UNSIGNED and y != "uint64":
        return SIGNED[max(SIGNED.index(x), UNSIGNED.index(y) + 1)]
    return None


PAIRS = [(x, y, z) for x, y in product(DTYPES, DTYPES) if (z := promoted(x, y))]
NUMBERS, FLOATS = [*SIGNED, *UNSIGNED, *REAL, *COMPLEX], [*REAL, *COMPLEX]
WHOLE = [*SIGNED, *UNSIGNED]


def takes(names: str, dtypes: list[str]) -> dict[str, list[str]]:
    """Functions by name, of which dtypes they are."""
    return dict.fromkeys(names.split(), dtypes)


BINARY = {
    **takes("add subtract multiply pow", NUMBERS),
    **takes("divide", FLOATS),
    **takes("maximum minimum floor_divide remainder", [*WHOLE, *REAL]),
    **takes("bitwise_and bitwise_or bitwise_xor", ["bool", *WHOLE]),
    **takes("bitwise_left_shift bitwise_right_shift", WHOLE),
    **takes("atan2 copysign hypot logaddexp nextafter", REAL),
}
GIVE_BOOL = {
    **takes("equal not_equal", DTYPES),
    **takes("less less_equal greater greater_equal", [*WHOLE, *REAL]),
    **takes("logical_and logical_or logical_xor", ["bool"]),
}
UNARY = {
    **takes("negative positive sign square round", NUMBERS),
    **takes("conj", COMPLEX),
    **takes("ceil floor trunc", [*WHOLE, *REAL]),
    **takes("bitwise_invert", ["bool", *WHOLE]),
    **takes("exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh sqrt reciprocal", FLOATS),
    **takes("acos acosh asin asinh atan atanh", REAL),
}


def dtype_of_call(call: Callable[..., Any], *dtypes: str) -> str:
    """The dtype of what a call gives of traced arrays, for which nothing is computed."""
    given = [Abstract(Shape(element_type_of(t), (2,))) for t in dtypes]
    return trace_function("call", call, given).results[0].dtype.name


@pytest.mark.parametrize("name", [*BINARY, *GIVE_BOOL])
def test_dtypes_of_two_arrays_meet_as_in_the_table(name: str):
    function, taken = getattr(tnp, name), (BINARY | GIVE_BOOL)[name]
    for x, y, z in PAIRS:
        if x in taken and y in taken:
            assert dtype_of_call(function, x, y) == (z if name in BINARY else "bool"), (x, y)


@pytest.mark.parametrize("name", [*BINARY, *GIVE_BOOL])
def test_python_numbers_take_the_dtype_of_arrays(name: str):
    function, taken = getattr(tnp, name), (BINARY | GIVE_BOOL)[name]
    for dtype in taken:
        numbers = [True] if dtype == "bool" else [1]
        numbers += [2.5] if dtype in REAL + COMPLEX else []
        numbers += [1j] if dtype in COMPLEX else []
        for number in numbers:
            want = dtype if name in BINARY else "bool"
            assert dtype_of_call(lambda x, n=number: function(x, n), dtype) == want
            assert dtype_of_call(lambda x, n=number: function(n, x), dtype) == want


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array_keep_its_dtype(name: str):
    for dtype in UNARY[name]:
        assert dtype_of_call(getattr(tnp, name), dtype) == dtype


def test_other_functions_give_the_dtypes_of_the_standard():
    for dtype in NUMBERS:
        real = dtype.replace("complex64", "float32").replace("complex128", "float64")
        assert dtype_of_call(tnp.abs, dtype) == dtype_of_call(tnp.real, dtype) == real
        wide = {**dict.fromkeys(SIGNED, "int64"), **dict.fromkeys(UNSIGNED, "uint64")}
        for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
            assert dtype_of_call(getattr(tnp, name), dtype) == wide.get(dtype, dtype)
            narrow = partial(getattr(tnp, name), dtype=tnp.int16)
            assert dtype in COMPLEX or dtype_of_call(narrow, dtype) == "int16"
        for name in ("isnan", "isfinite", "isinf", "all", "any", "logical_not"):
            assert dtype_of_call(getattr(tnp, name), dtype) == "bool"
    for dtype in REAL:
        assert dtype_of_call(tnp.signbit, dtype) == "bool"
        assert {dtype_of_call(getattr(tnp, f), dtype) for f in ("mean", "var", "std")} == {dtype}


@pytest.mark.parametrize(("x", "y", "z"), PAIRS)
def test_result_type_is_the_table(x: str, y: str, z: str):
    assert tnp.result_type(getattr(tnp, x), getattr(tnp, y)) == np.dtype(z)
    assert tnp.result_type(np.zeros(2, x), np.dtype(y)) == tnp.promote_types(x, y) == np.dtype(z)
    assert tnp.can_cast(x, z)
    assert tnp.can_cast(z, x) == (z == x)


# --- what the namespace says of itself ----------------------------------------------------------


def test_a_tensors_namespace_is_this_one():
    def f(x: tfc.Tensor) -> tfc.Tensor:
        assert x.__array_namespace__(api_version="2023.12") is tnp
        assert x.device == "cpu"
        assert x.to_device("cpu", stream=None) is x
        for call in (lambda: x.to_device("gpu"), lambda: x.__array_namespace__(api_version="1")):
            with pytest.raises(ShapeError):
                call()
        for call in (x.__dlpack__, x.__dlpack_device__, lambda: tnp.from_dlpack(x)):
            with pytest.raises(TraceError):
                call()
        return x.mT

    assert tfc.jit(f)(np.ones((2, 3))).shape == (3, 2)


def test_the_namespace_says_what_it_has():
    info = tnp.__array_namespace_info__()
    assert info.capabilities()["data-dependent shapes"] is False
    assert info.devices() == [info.default_device()] == ["cpu"]
    assert info.default_dtypes()["real floating"] == tnp.ones(1).dtype
    assert info.default_dtypes(device="cpu")["integral"] == tnp.asarray(1).dtype
    assert set(info.dtypes()) == set(DTYPES)
    assert list(info.dtypes(kind=("bool", "complex floating"))) == ["bool", *COMPLEX]
    assert list(info.dtypes(kind="unsigned integer")) == UNSIGNED
    with pytest.raises(ShapeError, match="on the device 'cpu', got 'tpu'"):
        info.dtypes(device="tpu")
    with pytest.raises(ShapeError, match="requires one of the kinds"):
        info.dtypes(kind="text")


@pytest.mark.parametrize(
    "call",
    [
        lambda d: tnp.zeros(2, device=d), lambda d: tnp.ones(2, device=d),
        lambda d: tnp.empty(2, device=d), lambda d: tnp.full(2, 1, device=d),
        lambda d: tnp.eye(2, device=d), lambda d: tnp.arange(2, device=d),
        lambda d: tnp.linspace(0, 1, 2, device=d), lambda d: tnp.asarray([1, 2], device=d),
        lambda d: tnp.zeros_like([1, 2], device=d), lambda d: tnp.ones_like([1, 2], device=d),
        lambda d: tnp.empty_like([1, 2], device=d), lambda d: tnp.full_like([1, 2], 3, device=d),
        lambda d: tnp.astype(np.ones(2), int, device=d),
        lambda d: tnp.from_dlpack(np.ones(2), device=d),
    ],
)  # fmt: skip
def test_arrays_are_made_on_the_only_device(call: Callable[[Any], Any]):
    assert len(call("cpu")) == len(call(None)) == 2
    with pytest.raises(TfcError, match="on the device 'cpu', got 'cuda'"):
        call("cuda")


def test_dlpack_shares_memory_unless_a_copy_is_asked_for():
    x = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(tnp.from_dlpack(x), x)
    assert not np.shares_memory(tnp.from_dlpack(x, copy=True), x)
    assert np.array_equal(np.from_dlpack(tnp.sin(x)), np.sin(x))
    with pytest.raises(TraceError, match="an array with __dlpack__, got list"):
        tnp.from_dlpack([1, 2])


def test_asarray_copies_as_it_is_told():
    x = np.arange(3.0)
    assert tnp.asarray(x) is x
    assert tnp.asarray(x, copy=False, dtype=tnp.float64) is x
    assert not np.shares_memory(tnp.asarray(x, copy=True), x)
    for call in (lambda: tnp.asarray(x, dtype=int, copy=False),
                 lambda: tnp.asarray([1], copy=False)):  # fmt: skip
        with pytest.raises(ShapeError, match="copy=False forbids"):
            call()
    with pytest.raises(TfcError):
        tnp.asarray(np.array(["a"]))
