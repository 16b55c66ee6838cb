"""Pickles and copies of jitted functions and compiled ones; other processes; refusals."""

import copy
import functools
import multiprocessing
import pickle

import cloudpickle
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError, UnsupportedError

X = np.arange(3, dtype=np.float32)


@tfc.jit
def doubled(x):
    return x * 2


def power(x, n, mode="up"):
    return x**n if mode == "up" else -(x**n)


raised = tfc.jit(power, static_argnums=1, static_argnames="mode", backend="interpreter")


class Scale:
    """Methods are found by their class's name, and their objects are pickled as ever."""

    def __init__(self, factor):
        self.factor = factor

    @functools.partial(tfc.jit, static_argnums=0)
    def apply(self, x):
        return x * self.factor


def again(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("function", [doubled, Scale.apply])
def test_what_a_decorator_made_is_pickled_by_name(function):
    assert again(function) is function
    assert copy.deepcopy(function) is function
    assert copy.copy(function) is function


def test_what_wraps_a_function_is_pickled_with_its_options():
    raised(X, 2)
    made = again(raised)
    assert made is not raised
    assert made.cache_size() == 0
    assert (made.static, made.donated, made.backend) == (
        raised.static,
        raised.donated,
        "interpreter",
    )
    np.testing.assert_array_equal(made(X, 2, mode="down"), -(X**2))
    assert again(raised) is made, "compiled once in a process, however often it arrives"


def test_copies_of_what_is_found_under_no_name_compile_again():
    function = tfc.jit(lambda x: x + 1)
    function(X)
    for made in (copy.copy(function), copy.deepcopy({"f": [function]})["f"][0]):
        assert made.cache_size() == 0
        np.testing.assert_array_equal(made(X), X + 1)
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(function)


def test_a_bound_method_is_pickled_with_its_object():
    np.testing.assert_array_equal(again(Scale(3).apply)(X), X * 3)


def test_cloudpickle_takes_functions_without_a_name():
    offset = np.float32(4)
    made = cloudpickle.loads(cloudpickle.dumps(tfc.jit(lambda x: x + offset)))
    np.testing.assert_array_equal(made(X), X + 4)
    assert cloudpickle.loads(cloudpickle.dumps(doubled)) is doubled


def test_cloudpickle_takes_what_main_defines_by_value(monkeypatch):
    namespace = {"tfc": tfc, "__name__": "__main__"}
    source = (
        "@tfc.jit(static_argnums=1)\ndef down(x, n):\n    return down(x, n - 1) * 2 if n else x"
    )
    exec(source, namespace)
    monkeypatch.setattr("__main__.down", namespace["down"], raising=False)
    assert again(namespace["down"]) is namespace["down"]
    text = cloudpickle.dumps(namespace["down"])
    monkeypatch.delattr("__main__.down")
    np.testing.assert_array_equal(cloudpickle.loads(text)(X, 3), X * 8)


def test_other_processes_run_what_they_are_sent():
    compiled = raised.lower(X, 3).compile()
    calls = [(doubled, (X,)), (raised, (X, 2)), (Scale(5).apply, (X,)), (compiled, (X,))]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        got = [task.get(120) for task in [pool.apply_async(f, args) for f, args in calls]]
    for result, expected in zip(got, (X * 2, X**2, X * 5, X**3)):
        np.testing.assert_array_equal(result, expected)


def test_a_compiled_function_is_compiled_again_with_its_options():
    options = tfc.Options(disabled=("fusion",))
    compiled = tfc.jit(lambda d: {"y": tnp.exp(d["x"]) + 1}).lower({"x": X}).compile(options)
    made = again(compiled)
    assert made is not compiled
    assert made.options == options
    assert made.as_text("hlo") == compiled.as_text("hlo")
    np.testing.assert_array_equal(made({"x": X})["y"], compiled({"x": X})["y"])
    assert copy.copy(compiled) is copy.deepcopy(compiled) is compiled


def test_an_executable_is_shared_by_copies_and_refuses_to_be_pickled():
    executable = tfc.compile(doubled.lower(X).hlo)
    assert copy.copy(executable) is copy.deepcopy(executable) is executable
    with pytest.raises(UnsupportedError, match="pickle its `source`"):
        pickle.dumps(executable)
    np.testing.assert_array_equal(tfc.compile(again(executable.source))(X)[0], X * 2)


def test_a_tensor_is_shared_by_copies_and_refuses_to_be_pickled():
    def f(x):
        assert copy.deepcopy([x])[0] is x
        assert copy.copy(x) is x
        return pickle.dumps(x)

    with pytest.raises(TraceError, match="cannot be pickled; return it from the traced function"):
        tfc.jit(f)(X)


def test_an_imported_function_is_pickled_by_its_module():
    imported = tfc.from_stablehlo(
        "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
        "  %y = stablehlo.add %x, %x : tensor<3xf32>\n  return %y : tensor<3xf32>\n}"
    )
    x = np.ones(3, np.float32)
    again = pickle.loads(pickle.dumps(imported))
    np.testing.assert_array_equal(again(x), imported(x))
    assert copy.deepcopy(imported) is imported
