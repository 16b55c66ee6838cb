"""Python functions called by programs: values, effects, exceptions, threads, gradients."""

import copy
import gc
import pickle
import threading
import traceback

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import ShapeDtypeStruct
from tfc.errors import ShapeError, TraceError, UnsupportedError
from tfc.frontend.differentiation.gradient import grad
from tfc.runtime import functions

X = np.arange(4.0)
BACKENDS = ["cpu", "interpreter"]


def struct(x):
    return ShapeDtypeStruct(x.shape, x.dtype)


def ways(f, *arguments):
    """What a function gives evaluated at once, compiled, and compiled for the interpreter."""
    return [f(*arguments), *(tfc.jit(f, backend=b)(*arguments) for b in BACKENDS)]


def test_a_pure_callback_is_part_of_the_program_in_nested_structures():
    def host(p, *, scale):
        assert all(type(a) is np.ndarray for a in (p["x"], p["n"][0], scale))
        return {"sorted": np.sort(p["x"])[::-1] * scale, "count": len(p["x"]) + p["n"][0]}

    def f(x):
        results = {"sorted": struct(x), "count": ShapeDtypeStruct((), np.int64)}
        made = tfc.pure_callback(host, results, {"x": tnp.sin(x), "n": (3,)}, scale=2.0)
        return made["sorted"] + made["count"]

    for got in ways(f, X):
        np.testing.assert_allclose(got, np.sort(np.sin(X))[::-1] * 2 + 7)


def test_plain_numbers_and_lists_take_the_dtype_that_is_stated():
    stated = ShapeDtypeStruct(2, np.float32)
    for pair in ways(lambda x: tfc.pure_callback(lambda v: [1, 2], stated, x), X):
        np.testing.assert_array_equal(pair, [1, 2])
        assert pair.dtype == np.float32
    scalars = (np.float32(0), np.int8(0))
    for pair in ways(lambda x: tfc.pure_callback(lambda v: (1, 2), scalars, x), X):
        assert pair == (1, 2)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros(3), r"of host must return float64\[4\] as stated, got float64\[3\]"),
        (np.zeros(4, np.float32), r"float64\[4\] as stated, got float32\[4\]"),
        ((1, 2), r"float64\[4\] as stated, got float64\[2\]"),
    ],
)
def test_what_a_callback_returns_must_be_what_was_stated(returned, message):
    def host(x):
        return returned

    f = lambda x: tfc.pure_callback(host, struct(x), x)  # noqa: E731
    for run in (f, tfc.jit(f), tfc.jit(f, backend="interpreter")):
        with pytest.raises(ShapeError, match=message):
            run(X)


def test_pure_callbacks_that_nothing_uses_are_not_called():
    called = []

    @tfc.jit
    def f(x):
        tfc.pure_callback(lambda v: called.append(1) or v, struct(x), x)
        return x

    f(X)
    assert called == []


class MineError(Exception):
    pass


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("error", [MineError("no"), KeyboardInterrupt()])
def test_an_exception_reaches_the_caller_as_itself_with_its_traceback(backend, error):
    def host(x):
        raise error

    later = []

    @tfc.jit(backend=backend)
    def f(x):
        y = tfc.pure_callback(host, struct(x), x)
        tfc.debug.callback(later.append, y)
        return y

    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            f(X)
        assert caught.value is error
        frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert frames[-1] == "host"
    assert later == []
    assert tfc.jit(lambda x: x + 1)(1.0) == 2  # nothing of it stays behind


def test_programs_with_callbacks_run_in_several_threads_at_once():
    """Each thread waits in its callback for the other: neither may hold what the other needs."""
    meeting = threading.Barrier(2, timeout=20)

    def host(x):
        meeting.wait()
        return x * 2

    f = tfc.jit(lambda x: tfc.pure_callback(host, struct(x), x + 1))
    f.lower(X).compile()
    results = {}

    def run(number):
        results[number] = f(X + number)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for number in range(2):
        np.testing.assert_array_equal(results[number], (X + number + 1) * 2)


def noting():
    """A list, and a function that notes a value in it while the program runs."""
    noted = []
    return noted, lambda x: tfc.debug.callback(lambda v: noted.append(float(v)), x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_effects_run_once_each_in_order_whoever_uses_them(backend):
    noted, note = noting()

    def inner(x):
        note(x * 3)
        return x

    def f(x):
        note(x)
        note(x)
        tfc.jit(inner)(x)  # whose result nothing uses
        note(x * 2)
        return None

    tfc.jit(f, backend=backend)(1.0)
    assert noted == [1, 1, 3, 2]
    f(1.0)
    assert noted[4:] == [1, 1, 3, 2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_effects_in_loops_and_branches_that_give_nothing_else(backend):
    noted, note = noting()

    def f(x):
        def body(number, value):
            note(number)
            tfc.cond(number == 1, lambda: note(value), lambda: None)
            return value + 1

        tfc.fori_loop(0, 3, body, x)
        tfc.scan(lambda carry, v: (note(v), (carry, None))[1], 0, tnp.arange(2.0) + 20)
        return x

    tfc.jit(f, backend=backend)(10.0)
    assert noted == [0, 1, 11, 2, 20, 21]


def test_effects_are_kept_by_derivatives():
    noted, note = noting()

    def f(x):
        note(x)
        return tnp.sin(x) * 2

    for derivative in (tfc.grad(f), lambda x: tfc.jvp(f, (x,), (1.0,))[1],
                       lambda x: tfc.linearize(f, x)[1](1.0)):  # fmt: skip
        noted.clear()
        assert tfc.jit(derivative)(0.0) == 2
        assert noted == [0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_print_formats_values_when_they_are_known(backend, capsys):
    @tfc.jit(backend=backend)
    def f(x):
        tfc.debug.print("x = {x}, half {:.2f} of {name}", x[1] / 2, x=x, name="x", ordered=True)
        tfc.debug.print("and {{no}} value")
        return x

    f(X)
    f(X + 1)
    tfc.debug.print("at once {}", 3)
    assert capsys.readouterr().out.splitlines() == [
        "x = [0. 1. 2. 3.], half 0.50 of x", "and {no} value",
        "x = [1. 2. 3. 4.], half 1.00 of x", "and {no} value", "at once 3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda x: tfc.debug.print(f"{x}", x), r"does not use the arguments \[0\].* an f-string"),
        (lambda x: tfc.debug.print("{y}", x=x), "cannot format '{y}': KeyError"),
        (lambda x: tfc.debug.callback(3, x), "requires a function, got 3"),
        (lambda x: tfc.pure_callback(abs, None, x, vmap_method="all"), "vmap_method must be one"),
        (lambda x: tfc.pure_callback(abs, 3, x), "pure_callback of abs must have a shape"),
        (lambda x: tfc.py_func(abs, [x], x.dtype), "must be told the shapes of its results"),
    ],
)
def test_calls_that_cannot_be_made_are_refused(run, message):
    with pytest.raises(TraceError, match=message):
        tfc.jit(run)(1.0)


def test_py_func_is_an_operation_with_a_gradient():
    """The documents' ReLU and matrix product, whose gradients are Python functions, too."""

    def relu(x):
        return tfc.py_func(
            lambda v: np.maximum(v, 0), [x], x.dtype, shape=x.shape,
            grad=lambda v, g: tfc.py_func(lambda a, b: np.where(a > 0, b, 0), [v, g], v.dtype,
                                          shape=v.shape))  # fmt: skip

    def product(x, y):
        shapes = [(x.shape[0], y.shape[1]), ()]
        made, total = tfc.py_func(
            lambda a, b: (a @ b, np.sum(a)), [x, y], [x.dtype, x.dtype], shape=shapes,
            grad=lambda a, b, g, h: (g @ b.T + h, a.T @ g))  # fmt: skip
        return made + total

    x, y = X.reshape(2, 2) - 1.5, X[::-1].reshape(2, 2)

    def loss(f, g):
        return lambda x, y: tnp.sum(f(g(x, y)) ** 2)

    plain = loss(lambda v: tnp.maximum(v, 0), lambda a, b: a @ b + tnp.sum(a))
    want = tfc.grad(plain, (0, 1))(x, y)
    for got in ways(tfc.grad(loss(relu, product), (0, 1)), x, y):
        for mine, his in zip(got, want):
            np.testing.assert_allclose(mine, his)


def test_a_py_func_with_effects_is_kept_and_one_without_is_not():
    called = []

    @tfc.jit
    def f(x):
        for stateful in (True, False):
            tfc.py_func(lambda v, s=stateful: called.append(s), [x], [], stateful=stateful)
        return x

    with pytest.raises(TypeError):
        f(X)  # it returned None where a list of no arrays was stated
    assert called == [True]


def test_callbacks_have_no_derivative_of_their_own():
    f = lambda x: tnp.sum(tfc.pure_callback(np.sin, struct(x), x))  # noqa: E731
    for run in (lambda: tfc.grad(f)(X), lambda: tfc.jvp(f, (X,), (X,))):
        with pytest.raises(TraceError, match=r"pure_callback of sin has no derivative: give it"):
            run()
    np.testing.assert_array_equal(grad(lambda x: f(tfc.stop_gradient(x)) + x.sum())(X), np.ones(4))


def test_object_files_cannot_have_callbacks(tmp_path):
    def f(x):
        return tfc.pure_callback(np.sin, struct(x), x)

    with pytest.raises(
        UnsupportedError, match="pure_callback of sin runs in the Python process that traced it"
    ):
        tfc.aot.compile(f, "f64[4]", cpp_class="F", out_dir=tmp_path)


def test_a_function_is_freed_with_the_last_program_that_calls_it():
    class Held:
        def __call__(self, x):
            return x * 2

    gc.collect()
    before = len(functions._callbacks)
    lowered = tfc.jit(lambda x: tfc.pure_callback(Held(), struct(x), x)).lower(X)
    compiled = lowered.compile()
    assert len(functions._callbacks) == before + 1
    np.testing.assert_array_equal(compiled(X), X * 2)
    text = lowered.as_text()
    with pytest.raises(UnsupportedError, match="is a function of this process, so what calls it"):
        pickle.dumps(lowered)
    del lowered, compiled
    gc.collect()
    assert len(functions._callbacks) == before
    with pytest.raises(UnsupportedError, match="is no more, or is of another process"):
        tfc.compile(tfc.hlo.parse(text))


def test_shapes_and_dtypes_without_values():
    def f(p, n):
        return {"sum": tnp.sum(p["x"], 0), "n": n, "weak": 1.0}

    given = {"x": ShapeDtypeStruct((3, 4), "float32")}
    found = tfc.eval_shape(f, given, n=np.int8(2))
    assert found == {
        "sum": ShapeDtypeStruct((4,), np.float32),
        "n": ShapeDtypeStruct((), np.int8),
        "weak": ShapeDtypeStruct((), np.float64, weak_type=True),
    }
    assert copy.copy(found["sum"]) == found["sum"]
    assert str(found["sum"]) == "ShapeDtypeStruct(shape=(4,), dtype=float32)"
    assert (len(found["sum"]), found["sum"].size, found["sum"].ndim) == (4, 4, 1)
    assert tfc.eval_shape(lambda x: x, found["weak"]).weak_type
    lowered = tfc.jit(f).lower(given, n=ShapeDtypeStruct((), np.int8))
    made = lowered.compile()({"x": np.ones((3, 4), np.float32)}, n=np.int8(5))
    np.testing.assert_array_equal(made["sum"], np.full(4, 3))
    with pytest.raises(TraceError, match="has no elements to run with; it is for lower"):
        tfc.jit(f)(given, n=1)
