"""Custom calls: every kind of target, tuples, layouts, errors. tests/aot has the object files."""

import ctypes
import gc

import numpy as np
import pytest

import tfc
from tfc.errors import ShapeError, TfcError, UnsupportedError
from tfc.hlo import evaluate, parse

VOID = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))

# The example of the specification (CC-1): z[0][0] = x[1] + y[1][0] = 42.
EXAMPLE = """
x = f32[2] parameter(0)
y = f32[2,3] parameter(1)
ROOT z = f32[3,3] custom-call(x, y), custom_call_target="myfunc"
"""
X = np.float32([1, 2])
Y = np.float32([[10, 20, 30], [40, 50, 60]])


def floats(address: int, count: int):
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_float * count)).contents


@VOID
def myfunc(out, arguments):
    x, y, z = floats(arguments[0], 2), floats(arguments[1], 6), floats(out, 9)
    z[:] = [x[1] + y[3]] + list(y) + list(x)


EXPECTED = np.float32([[42, 10, 20], [30, 40, 50], [60, 1, 2]])


def capsule(name: bytes | None):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return make(ctypes.cast(myfunc, ctypes.c_void_p).value, name, None)


class Cfunc:
    """What numba's cfunc looks like."""

    address = ctypes.cast(myfunc, ctypes.c_void_p).value


CAPSULE_NAME = b"xla._CUSTOM_CALL_TARGET"


@pytest.mark.parametrize(
    "target",
    [
        myfunc,
        ctypes.cast(myfunc, ctypes.c_void_p),
        ctypes.cast(myfunc, ctypes.c_void_p).value,
        capsule(CAPSULE_NAME),
        capsule(None),
        Cfunc(),
        lambda x, y: np.concatenate([[x[1] + y[1, 0]], y.ravel(), x]).astype("f4").reshape(3, 3),
    ],
    ids=["ctypes", "void pointer", "address", "capsule", "nameless capsule", "numba", "python"],
)
def test_every_kind_of_target(target):
    tfc.register_custom_call("myfunc", target)
    module = parse(EXAMPLE)
    np.testing.assert_array_equal(evaluate(module, X, Y), EXPECTED)
    np.testing.assert_array_equal(tfc.compile(module)(X, Y)[0], EXPECTED)


def test_code_keeps_the_target_it_was_compiled_with():
    tfc.register_custom_call("once", lambda x: x + 1)
    module = parse(
        'x = f32[] parameter(0)\nROOT y = f32[] custom-call(x), custom_call_target="once"'
    )
    first = tfc.compile(module)
    tfc.register_custom_call("once", lambda x: x + 2)
    gc.collect()
    assert [first(X[0])[0], tfc.compile(module)(X[0])[0]] == [2, 3]


TUPLES = """
t = (f32[2], (s32[3], token[])) parameter(0)
x = f32[2] parameter(1)
ROOT r = (f32[3], (pred[], f64[2])) custom-call(t, x), custom_call_target="tuples"
"""


def test_tuples_are_arrays_of_pointers():
    @VOID
    def native(out, arguments):
        t = ctypes.cast(arguments[0], ctypes.POINTER(ctypes.c_void_p))
        inner = ctypes.cast(t[1], ctypes.POINTER(ctypes.c_void_p))
        result = ctypes.cast(out, ctypes.POINTER(ctypes.c_void_p))
        nested = ctypes.cast(result[1], ctypes.POINTER(ctypes.c_void_p))
        integers = ctypes.cast(inner[0], ctypes.POINTER(ctypes.c_int32 * 3)).contents
        floats(result[0], 3)[:] = [i + floats(t[0], 2)[1] for i in integers]
        ctypes.cast(nested[0], ctypes.POINTER(ctypes.c_bool)).contents.value = True
        ctypes.cast(nested[1], ctypes.POINTER(ctypes.c_double * 2)).contents[:] = floats(
            arguments[1], 2
        )

    def function(t, x):
        assert t[1][1] == ()
        return (t[1][0] + t[0][1]).astype("f4"), (np.bool_(True), x.astype("f8"))

    module, numbers = parse(TUPLES), np.int32([1, 2, 3])
    for target in (native, function):
        tfc.register_custom_call("tuples", target)
        value = evaluate(module, (X, (numbers, ())), Y[0, :2])
        results = tfc.compile(module)(X, numbers, Y[0, :2])
        for got, want in zip(results, [value[0], *value[1]], strict=True):
            np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(results[0], [3, 4, 5])
        np.testing.assert_array_equal(results[2], [10, 20])


@pytest.mark.parametrize(
    ("constraint", "seen"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        (", operand_layout_constraints={f32[2,3]{0,1}}", [0, 3, 1, 4, 2, 5]),
    ],
)
def test_layouts_are_row_major_unless_constrained(constraint: str, seen: list[int]):
    """CC-1: the target sees memory in the layout of the constraint, whatever lies before it."""
    found = []

    @VOID
    def target(out, arguments):
        found.append(list(floats(arguments[0], 6)))
        floats(out, 6)[:] = range(6)

    tfc.register_custom_call("layouts", target)
    module = parse(
        "HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}\n"
        "ENTRY e { x = f32[2,3]{0,1} parameter(0)\nROOT y = f32[2,3]{1,0} custom-call(x), "
        f'custom_call_target="layouts"{constraint} }}'
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (result,) = tfc.compile(module)(x)
    assert found == [seen]
    np.testing.assert_array_equal(result, x)


def test_many_calls_of_one_target_and_empty_arrays():
    tfc.register_custom_call("rows", lambda *arrays: np.concatenate(arrays))
    text = "x = f32[2] parameter(0)\ne = f32[0] parameter(1)\n"
    text += 'a = f32[4] custom-call(x, e, x), custom_call_target="rows"\n'
    text += 'b = f32[0] custom-call(e), custom_call_target="rows"\n'
    module = parse(text + 'ROOT c = f32[6] custom-call(a, b, x), custom_call_target="rows"')
    arrays = X, np.zeros(0, np.float32)
    np.testing.assert_array_equal(tfc.compile(module)(*arrays)[0], np.tile(X, 3))
    np.testing.assert_array_equal(evaluate(module, *arrays), np.tile(X, 3))


CALL = 'x = f32[] parameter(0)\nROOT y = f32[2] custom-call(x), custom_call_target="{}"{}'


def test_what_a_python_function_returns_is_checked():
    tfc.register_custom_call("wrong", lambda x: np.zeros(3))
    module = parse(CALL.format("wrong", ""))
    for run in (lambda: evaluate(module, X[0]), lambda: tfc.compile(module)(X[0])):
        with pytest.raises(ShapeError, match=r"'wrong': expected float32\[2\], got float64\[3\]"):
            run()


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("nobody", "", r"'nobody' is not registered; call tfc.register_custom_call\('nobody'"),
        (
            "f",
            ", api_version=API_VERSION_TYPED_FFI",
            r"write its target as void target\(void\* out",
        ),
        ("f", ", api_version=API_VERSION_STATUS_RETURNING", "which is API_VERSION_ORIGINAL"),
        ("f", ", output_to_operand_aliasing={{}: (0, {})}", "let its target copy what it changes"),
    ],
)
def test_what_cannot_be_called_is_refused(name: str, more: str, message: str):
    tfc.register_custom_call("f", lambda x: np.stack([x, x]))
    module = parse(CALL.format(name, more))
    for run in (lambda: evaluate(module, X[0]), lambda: tfc.compile(module)):
        with pytest.raises(UnsupportedError, match=message):
            run()


@pytest.mark.parametrize("target", [None, True, "f", 0, ctypes.c_void_p(0), 1.5])
def test_what_is_no_target_is_refused(target):
    with pytest.raises(TfcError, match="must be an address, a function pointer, a capsule"):
        tfc.register_custom_call("f", target)


def test_names_and_platforms_are_checked():
    with pytest.raises(TfcError, match="not empty"):
        tfc.register_custom_call("", lambda: 0)
    with pytest.raises(UnsupportedError, match="platforms 'cpu' and 'gpu' only, got 'ROCM'"):
        tfc.register_custom_call("f", lambda: 0, platform="ROCM")


def test_constraints_must_fit_the_operands():
    with pytest.raises(tfc.errors.ParseError, match=r"operand_layout_constraints .* \(CC-1\)"):
        parse(CALL.format("f", ", operand_layout_constraints={f32[3]{0}}"))


def test_executables_in_reference_cycles_are_freed():
    for _ in range(3):
        cycle = [tfc.compile(parse("x = f32[] parameter(0)\nROOT y = f32[] negate(x)"))]
        cycle.append(cycle)
        del cycle
        gc.collect()
