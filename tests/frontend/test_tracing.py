"""Tracing and jit: errors at the user's line, captures, leaks, structures, the cache."""

# ruff: noqa: PLW0108  # the functions that are traced are written as a user would write them

import threading
from collections import namedtuple
from contextlib import suppress

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TfcError, TraceError, UnsupportedError
from tfc.frontend import tree
from tfc.hlo import evaluate, parse, verify

Point = namedtuple("Point", "x y")
X = np.arange(3, dtype=np.float32)


def jit(function, **named):
    return tfc.jit(function, backend="interpreter", **named)


def notes(error):
    return "\n".join(getattr(error.value, "__notes__", ()))


STRUCTURES = [1, None, [], (), {}, [1, (2, None)], {"b": 1, "a": [2, {"z": 3, "y": 4}]},
              Point(1, 2), {1: 2, "a": 3}, [Point({"k": 1}, (2,))]]  # fmt: skip


@pytest.mark.parametrize("value", STRUCTURES, ids=str)
def test_unflatten_is_the_inverse_of_flatten(value):
    leaves, structure = tree.flatten(value)
    assert tree.unflatten(structure, leaves) == value
    assert len(tree.paths(structure, "x")) == len(leaves)
    assert hash(structure) == hash(tree.flatten(value)[1])


def test_tensors_are_shown_by_their_shape():
    shown = []
    jit(lambda x: shown.append(f"{x} {x!r}") or x)(X)
    assert shown == ["Tensor(f32[3]) Tensor(f32[3])"]


def test_dictionaries_are_taken_in_the_order_of_their_keys():
    assert tree.flatten({"b": 1, "a": 2})[0] == [2, 1]
    paths = tree.paths(tree.flatten({"b": Point(1, 2), "a": [3]})[1], "p")
    assert paths == ["p['a'][0]", "p['b'].x", "p['b'].y"]


REFUSED = [
    (lambda x: 1 if x > 0 else 2, r"tfc\.cond"), (lambda x: int(x), "int()"),
    (lambda x: float(x), "float()"), (lambda x: len(x), "a scalar has no length"),
    (lambda x: list(x), r"tfc\.fori_loop"), (lambda x: np.asarray(x), "has no value while tracing"),
    (lambda x: [1, 2, 3][x], "used as an index"), (lambda x: tnp.ones(3)[x:], "used as an index"),
    (lambda x: range(x), r"tfc\.while_loop"), (lambda x: x and 1, r"tfc\.numpy\.where"),
    (lambda x: x.item(), "item()"), (lambda x: tnp.zeros(x), "static_argnums"),
    (lambda x: tnp.arange(x), "static_argnums"), (lambda x: max(x, 2), "truth value"),
    (lambda x: "text", "of type str; results are arrays"),
    (lambda x: f"{x:.2f}", r"the format '\.2f' needs the value"),
    (lambda x: {"a": [{x: 1}]}, "as the key of a dictionary"),
    (lambda x: {(1, 2): x, ("a", 1): x}, r"keys must have an order, got \(1, 2\), \('a', 1\)"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_data_dependent_python_is_refused_with_advice(number):
    function, advice = REFUSED[number]
    with pytest.raises(TraceError, match=advice):
        jit(function)(np.int32(1))


def test_errors_show_the_users_line_once():
    @jit
    def choose(x):
        if x > 0:  # the line that is shown
            return x
        return -x

    with pytest.raises(TraceError) as error:
        choose(1.0)
    (note,) = error.value.__notes__
    assert "test_tracing.py:" in note
    assert "if x > 0:  # the line that is shown" in note


def test_shape_errors_show_the_users_line():
    def add(x, y):
        return tnp.exp(x) + y  # shapes differ

    with pytest.raises(ShapeError) as error:
        jit(add)(np.ones(3), np.ones(4))
    assert "# shapes differ" in notes(error)
    with pytest.raises(ShapeError) as error:
        tnp.add(np.ones(3), np.ones(4))  # outside a trace
    assert "# outside a trace" in notes(error)


def test_instructions_remember_the_users_line():
    def f(x):
        return tnp.tanh(x)

    root = jit(f).lower(X).hlo.entry.root.operands[0]
    assert root.metadata.source_file == __file__
    assert root.metadata.source_line == f.__code__.co_firstlineno + 1
    assert root.metadata.op_name == "f/tanh"


def test_writing_to_a_tensor_is_refused():
    def f(x):
        x[0] = 1
        return x

    with pytest.raises(TraceError, match=r"cannot be written to; x.at\[key\].set"):
        jit(f)(X)


def test_a_leaked_tensor_is_refused_and_its_origin_shown():
    kept = []

    def keep(x):
        kept.append(x * 2)  # made here
        return x

    jit(keep)(X)
    for use in (lambda: jit(lambda y: y + kept[0])(X), lambda: tnp.sin(kept[0]),
                lambda: jit(lambda y: y)(kept[0])):  # fmt: skip
        with pytest.raises(TraceError, match=r"f32\[3\] leaked out of keep.*# made here"):
            use()


def test_a_leaked_tensor_says_so_whatever_it_is_used_for():
    class Layer:
        kept = None

        def __call__(self, x):
            self.kept = x * 2  # made here
            return x

    layer = Layer()
    jit(layer)(X)
    for use in (bool, int, float, complex, list, np.asarray, np.sin, lambda x: [1][x],
                lambda x: 1 if x > 0 else 2, lambda x: x in [1], lambda x: x.item(), abs,
                lambda x: tfc.cond(x[0] > 0, abs, abs, x), lambda x: tfc.vjp(tnp.sin, x),
                jit(lambda x: x).lower(X).compile()):  # fmt: skip
        with pytest.raises(TraceError, match=r"leaked out of .*# made here") as error:
            use(layer.kept)
        assert "test_tracing.py:" in error.value.__notes__[0]


def test_a_tensor_is_of_the_thread_that_traces():
    caught = []

    def f(x):
        def work():
            try:
                tnp.sin(x)
            except TraceError as error:
                caught.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x

    jit(f)(X)
    assert "belongs to another function or thread" in caught[0]


def test_a_function_that_calls_itself_without_end_is_refused():
    @jit
    def endless(x):
        return endless(x + 1)

    @jit
    def even(x):
        return odd(x)

    @jit
    def odd(x):
        return even(x)

    for function, name in ((endless, "endless"), (even, "even"), (tfc.grad(odd), "odd")):
        with pytest.raises(TraceError, match=f"{name} calls itself with arguments of the same"):
            function(X)

    def unending(x):
        return unending(x + 1)

    with pytest.raises(RecursionError):
        jit(unending)(X)


def test_recursion_that_ends_is_traced():
    @jit
    def halves(x):
        return x if x.size == 1 else halves(x[: x.size // 2]) + halves(x[x.size // 2 :])

    np.testing.assert_array_equal(halves(np.arange(8.0)), [28])


def test_threads_that_trace_functions_of_each_other_do_not_wait_for_each_other():
    meet, refused = threading.Barrier(2), []

    def waits():
        with suppress(threading.BrokenBarrierError):
            meet.wait(10)

    @jit
    def one(x):
        waits()
        return two(x)

    @jit
    def two(x):
        waits()
        return one(x)

    def work(function):
        try:
            function(X)
        except TraceError as error:
            refused.append(str(error))
        meet.abort()

    threads = [threading.Thread(target=work, args=[f], daemon=True) for f in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(refused) == 2


def test_threads_share_what_is_called_by_what_they_trace():
    traces, barrier, results = [], threading.Barrier(6), []

    @jit
    def inner(x):
        traces.append(x)
        return x * 2

    functions = [jit(lambda x, n=n: inner(x) + n) for n in range(6)]

    def work(function):
        barrier.wait()
        results.append(function(X).sum())

    threads = [threading.Thread(target=work, args=[f]) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [6 + 3 * n for n in range(6)]
    assert 1 <= len(traces) <= 6


def test_tensors_hash_by_identity_and_compare_elementwise():
    def f(x):
        assert {x: 1}[x] == 1
        return x == 1, x != 1

    equal, unequal = jit(f)(X)
    np.testing.assert_array_equal(equal, X == 1)
    np.testing.assert_array_equal(unequal, X != 1)


def test_nested_structures_go_in_and_come_out():
    def f(params, scale, *rest, bias=None):
        return {"p": Point(params["w"] * scale, rest), "none": None, "bias": bias}

    got = jit(f)({"w": X, "unused": [X]}, 2.0, X, (X,), bias=np.int32(3))
    np.testing.assert_array_equal(got["p"].x, X * 2)
    np.testing.assert_array_equal(got["p"].y[1][0], X)
    assert got["none"] is None
    assert got["bias"] == 3


def test_parameters_are_named_after_the_arguments():
    def f(params, x, n=1, *, key):
        return params["w"], params["layers"][1], x, n, key

    module = jit(f).lower({"w": X, "layers": [X, X]}, x=X, key=X).hlo
    names = [p.name for p in module.entry.parameters]
    assert names == ["params_layers_0", "params_layers_1", "params_w", "key", "x"]


def test_what_is_lowered_verifies_prints_parses_and_evaluates():
    def f(x, y):
        return tnp.mean((x @ y) ** 2), tnp.argmax(y)

    x, y = np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32)
    lowered = jit(f).lower(x, y)
    verify(lowered.hlo)
    again = parse(lowered.as_text())
    for module in (lowered.hlo, again):
        value, index = evaluate(module, x, y)
        assert value == 9
        assert index == 2
    with pytest.raises(UnsupportedError, match="not as 'tosa'"):
        lowered.as_text("tosa")


def test_a_compiled_function_takes_what_it_was_compiled_for():
    compiled = jit(lambda d, n: {"y": d["x"] * n}).lower({"x": X}, 2.0).compile()
    np.testing.assert_array_equal(compiled({"x": X}, 3.0)["y"], X * 3)
    assert compiled.hlo.entry.parameters
    assert "multiply" in compiled.as_text("hlo")
    assert compiled.memory_analysis().argument_bytes == X.nbytes + 8
    with pytest.raises(ShapeError, match="structure"):
        compiled([X], 3.0)
    with pytest.raises(ShapeError, match=r"must be f32\[3\]"):
        compiled({"x": X[:2]}, 3.0)


def test_the_cache_is_keyed_by_shapes_dtypes_weakness_structure_and_static_values():
    traces = []

    @tfc.jit(static_argnums=1, backend="interpreter")
    def f(x, n=1):
        traces.append(n)
        return tree.flatten(x)[0][0] * n

    calls = [(X,), (X + 1,), (X[:2],), (X.astype(np.float64),), (1.0,), (2.0,), (np.float64(1),),
             ([X],), (X, 2), (X, 2), (X, 2.0), (X, True)]  # fmt: skip
    for call in calls:
        f(*call)
    assert len(traces) == f.cache_size() == 9
    assert f(X, n=2).dtype == f(X, 2).dtype


def test_static_arguments_must_be_hashable_and_exist():
    with pytest.raises(TraceError, match="static argument 1 of f must be hashable, got list"):
        jit(f, static_argnums=1)(X, [1])
    with pytest.raises(
        TraceError, match="static_argnums of f must be among its 2 arguments, got 5"
    ):
        jit(f, static_argnums=5)
    with pytest.raises(TraceError, match="no memory to donate"):
        jit(f, static_argnums=1, donate_argnums=1)
    with pytest.raises(TraceError, match="argument n of f must be an array or a number"):
        jit(f)(X, "relu")


def f(x, n):
    return x if n == "relu" else -x


def test_static_arguments_are_python_values():
    g = jit(f, static_argnums=-1)
    np.testing.assert_array_equal(g(X, "relu"), X)
    np.testing.assert_array_equal(g(X, n="tanh"), -X)


def test_donated_arguments_are_named_in_the_module():
    lowered = jit(lambda s, p, x: x, static_argnums=0, donate_argnums=1).lower(1, [X, X], X)
    assert dict(lowered.hlo.attributes) == {
        "input_output_alias": "{ {0}: (0, {}, may-alias) }",
        "buffer_donor": "{ (1, {}) }",
    }
    assert dict(parse(lowered.as_text()).attributes) == dict(lowered.hlo.attributes)


def test_a_jitted_function_inside_another_is_a_call_traced_once():
    traces = []

    @jit
    def inner(x, n):
        traces.append(x)
        return {"y": x * n}

    outer = jit(lambda x: inner(inner(x, 2)["y"], 3)["y"])
    lowered = outer.lower(X)
    assert lowered.as_text().count(" call(") == 2
    assert len(traces) == 1
    np.testing.assert_array_equal(outer(X), X * 6)


def test_a_jitted_function_captures_tensors_of_the_function_around_it():
    @jit
    def outer(x, y):
        z = x * y
        inner = jit(lambda v: v + z)
        deeper = jit(lambda v: jit(lambda w: w * z + x)(v) * 1)
        return inner(y), deeper(y)

    x, y = X + 1, X + 2
    one, two = outer(x, y)
    np.testing.assert_array_equal(one, y + x * y)
    np.testing.assert_array_equal(two, y * (x * y) + x)


def test_what_captures_is_traced_for_each_caller():
    scale = []
    inner = jit(lambda v: v * scale[-1])

    @jit
    def outer(x, y):
        scale.append(y)
        return inner(x)

    np.testing.assert_array_equal(outer(X, X), X * X)
    np.testing.assert_array_equal(outer(X, X + 1.0), X * (X + 1))
    np.testing.assert_array_equal(outer(X[:2], X[:2]), X[:2] * X[:2])


def test_threads_trace_apart_and_compile_a_signature_once():
    traces, results, barrier = [], [], threading.Barrier(8)

    @jit
    def f(x):
        traces.append(x)
        return tnp.tanh(x) + 1

    def run():
        barrier.wait()
        results.append(f(X))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(traces) == 1
    assert len(results) == 8


def test_an_error_in_a_trace_leaves_no_trace_open():
    def fails(x):
        raise KeyError("the user's own")

    with pytest.raises(KeyError):
        jit(fails)(X)
    np.testing.assert_array_equal(tnp.add(X, X), X + X)


def test_a_function_of_no_arguments_and_one_of_no_results():
    np.testing.assert_array_equal(jit(lambda: tnp.arange(3) * 2)(), np.arange(3) * 2)
    assert jit(lambda x: None)(X) is None
    assert jit(lambda x: {"a": ()})(X) == {"a": ()}


def test_an_unknown_backend_is_named():
    with pytest.raises(TfcError, match="there is no backend 'tpu'"):
        tfc.jit(lambda x: x, backend="tpu")(X)
