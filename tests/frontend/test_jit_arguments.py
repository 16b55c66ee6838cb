"""Arguments of jitted functions: static and donated ones by number and name, methods, errors."""

import inspect
from dataclasses import dataclass, field
from enum import Enum
from functools import partial, wraps

import numpy as np
import pytest

import tfc
from tfc.errors import ShapeError, TraceError

X = np.arange(3, dtype=np.float32)
jit = partial(tfc.jit, backend="interpreter")


def positional(x, n, /, m=1, *rest, mode="up", **more):
    return x * n * m + len(rest) if mode == "up" else x - more.get("other", 0)


def plain(x, n, m=1):
    return x * n * m


@pytest.mark.parametrize(
    ("settings", "numbers", "names"),
    [
        ({"static_argnums": 2}, (2,), {"m"}),
        ({"static_argnames": "m"}, (2,), {"m"}),
        ({"static_argnums": -1}, (2,), {"m"}),
        ({"static_argnums": (-1, 1), "static_argnames": ["x"]}, (0, 1, 2), {"x", "n", "m"}),
        ({"static_argnums": np.int64(1)}, (1,), {"n"}),
        ({}, (), set()),
    ],
)
def test_a_number_stands_for_its_name_and_a_name_for_its_number(settings, numbers, names):
    function = jit(plain, **settings)
    assert (function.static.numbers, set(function.static.names)) == (numbers, names)


def test_numbers_and_names_where_the_signature_is_open():
    assert jit(positional, static_argnums=1).static.names == frozenset()
    assert jit(positional, static_argnums=7).static.numbers == (7,)
    assert jit(positional, static_argnames=("mode", "other")).static.numbers == ()
    assert jit(max, static_argnums=3, static_argnames="key").static.numbers == (3,)


def test_static_arguments_may_be_passed_either_way():
    for settings in ({"static_argnums": (1, 2)}, {"static_argnames": ("n", "m")}):
        function = jit(lambda x, n, m=1: x[:n] * m, **settings)
        for got in (function(X, 2), function(X, n=2), function(n=2, x=X), function(X, 2, 1),
                    function(X, 2, m=1), function(m=1, n=2, x=X)):  # fmt: skip
            np.testing.assert_array_equal(got, X[:2])
        np.testing.assert_array_equal(function(X, m=3, n=1), X[:1] * 3)


def test_arguments_passed_by_name_and_without_end_are_traced_and_named():
    function = jit(positional, static_argnames=("mode", "other"))
    np.testing.assert_array_equal(function(X, 2.0, 3.0, X, X), X * 6 + 2)
    np.testing.assert_array_equal(function(X, 2.0, mode="down", other=2, unused=X), X - 2)
    lowered = function.lower(X, 2.0, 3.0, X, mode="up", extra=[X])
    names = [p.name for p in lowered.hlo.entry.parameters]
    assert names == ["x", "n", "m", "arg3", "extra_0"]
    np.testing.assert_array_equal(jit(positional, static_argnums=4)(X, 1, 1, X, "s"), X + 2)


def test_donated_arguments_by_name_however_they_are_passed():
    for settings in ({"donate_argnames": ("state", "more")}, {"donate_argnums": 1,
                     "donate_argnames": "more"}):  # fmt: skip
        function = tfc.jit(lambda x, state, *, more: (state + x, more * x), **settings)
        for args, named in (((X, X.copy()), {}), ((X,), {"state": X.copy()})):
            given = X.copy()
            places = {given.ctypes.data, named.get("state", args[-1]).ctypes.data}
            results = function(*args, more=given, **named)
            assert {r.ctypes.data for r in results} == places
            np.testing.assert_array_equal(results[0], X + X)
            np.testing.assert_array_equal(results[1], X * X)


REFUSED = [
    ({"static_argnums": 3}, r"static_argnums of plain must be among its 3 arguments, got 3"),
    ({"static_argnums": -4}, r"must be among its 3 arguments, got -4"),
    ({"static_argnums": "n"}, r"takes a number or several, got 'n'; names go into static_argnames"),
    ({"static_argnums": 1.5}, r"takes a number or several, got 1.5"),
    ({"static_argnames": "mm"}, r"among its arguments \(x, n, m\), got 'mm'; did you mean 'm'"),
    ({"static_argnames": (1,)}, r"static_argnames of plain takes names, got 1"),
    ({"donate_argnums": 3}, r"donate_argnums of plain must be among"),
    ({"donate_argnames": "y"}, r"donate_argnames of plain must be among"),
    ({"donate_argnames": "n", "static_argnums": 1}, r"hold no memory to donate, got \[1\]"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_what_is_no_argument_is_refused(settings, message):
    with pytest.raises(TraceError, match=message):
        jit(plain, **settings)


def test_numbers_that_a_signature_cannot_have_are_refused():
    with pytest.raises(TraceError, match="must be counted from the first argument"):
        jit(positional, static_argnums=-1)
    with pytest.raises(TraceError, match="only passed by name go into static_argnames"):
        jit(lambda x, *, mode: x, static_argnums=1)
    with pytest.raises(TraceError, match=r"among its arguments \(x\), got 'rest'"):
        jit(lambda x, *rest: x, static_argnames="rest")
    with pytest.raises(TraceError, match=r"no memory to donate, got \['mode'\]"):
        jit(lambda x, *, mode: x, static_argnames="mode", donate_argnames="mode")


@pytest.mark.parametrize("value", [[1], {}, ([1],), np.ones(2)], ids=lambda v: type(v).__name__)
def test_static_values_that_cannot_be_hashed_are_refused(value):
    with pytest.raises(
        TraceError, match=r"static argument n of plain must be hashable, got .*pass"
    ):
        jit(plain, static_argnames="n")(X, n=value)


def test_a_traced_value_is_no_static_one():
    inner = jit(plain, static_argnums=1)
    for use in (
        lambda x: inner(x, x[0]), lambda x: inner(x, (1, x[0])), lambda x: inner(x, Settings(x)),
    ):  # fmt: skip
        with pytest.raises(TraceError, match="static argument 1 of plain must be a Python value"):
            jit(use)(X)


@dataclass(frozen=True)
class Settings:
    size: object
    names: tuple = ("a", 1.5)
    more: object = None


@pytest.mark.parametrize(
    "wrapped", [lambda v: v, lambda v: (1, (v,)), Settings, lambda v: frozenset([v])]
)
def test_values_that_python_takes_for_equal_are_told_apart(wrapped):
    traces = []
    function = jit(lambda x, value: traces.append(value) or x, static_argnums=1)
    values = [0.0, -0.0, 0, False, np.float64(0), np.float64(-0.0), 0j, -0j, complex(0, -0.0)]
    for value in values * 2:
        function(X, wrapped(value))
    assert [str(t) for t in traces] == [str(wrapped(v)) for v in values]


@pytest.mark.parametrize("args", [(), (X,), (X, X, X, X)])
def test_a_call_that_python_would_refuse_is_refused(args):
    with pytest.raises(TraceError, match=r"plain\(x, n, m=1\) cannot take these arguments: "):
        jit(plain)(*args)
    with pytest.raises(TypeError):
        jit(plain)(*args)


def test_a_wrapper_may_take_other_arguments_than_what_it_wraps():
    def scaled(scale, x):
        return x * scale

    @wraps(scaled)
    def doubled(x):
        return scaled(2, x)

    np.testing.assert_array_equal(jit(doubled)(X), X * 2)
    np.testing.assert_array_equal(jit(partial(scaled, 3))(X), X * 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tfc.grad(plain)(X),
        lambda: tfc.vjp(jit(plain), X),
        lambda: tfc.cond(True, plain, plain, X),
        lambda: tfc.while_loop(lambda x: True, plain, X),
        lambda: tfc.fori_loop(0, 3, lambda: X, X),
    ],
)
def test_functions_that_are_given_to_tfc_must_take_its_arguments(call):
    with pytest.raises(TraceError, match="cannot take these arguments: "):
        call()


@pytest.mark.parametrize("value", [None, 3, classmethod(plain), staticmethod(plain)])
def test_what_is_no_function_is_refused(value):
    with pytest.raises(TraceError, match="takes a function, got"):
        tfc.jit(static_argnums=())(value)


class Model:
    """A class whose objects are told apart by identity."""

    kept = 2

    def __init__(self, factor):
        self.factor = factor

    @partial(tfc.jit, static_argnums=0)
    def apply(self, x, shift=0.0):
        """Scale and shift."""
        return x * self.factor + shift

    @tfc.jit
    def forgotten(self, x):
        return x

    @classmethod
    @partial(tfc.jit, static_argnums=0)
    def of_class(cls, x):
        return x * cls.kept

    @staticmethod
    @tfc.jit
    def of_nothing(x):
        return x + 1


class Other(Model):
    kept = 3


def test_methods_compile_for_each_object():
    one, two = Model(2), Model(3)
    for _ in range(2):
        np.testing.assert_array_equal(one.apply(X), X * 2)
        np.testing.assert_array_equal(two.apply(X), X * 3)
        np.testing.assert_array_equal(one.apply(X, shift=1.0), X * 2 + 1)
        np.testing.assert_array_equal(Model.apply(two, X), X * 3)
    assert Model.apply.cache_size() == 3
    inside = jit(lambda x: one.apply(x) + two.apply(x))
    np.testing.assert_array_equal(inside(X), X * 5)
    lowered = Model.apply.lower(two, X)
    np.testing.assert_array_equal(lowered.compile()(X), X * 3)


def test_class_methods_and_static_methods():
    for _ in range(2):
        np.testing.assert_array_equal(Model.of_class(X), X * 2)
        np.testing.assert_array_equal(Other(1).of_class(X), X * 3)
        np.testing.assert_array_equal(Other(1).of_nothing(X), X + 1)


def test_a_method_whose_object_is_traced_says_what_to_do():
    with pytest.raises(TraceError, match=r"self of forgotten must be an array .* type Model; with "
                       r"static_argnums=0"):  # fmt: skip
        Model(1).forgotten(X)
    with pytest.raises(
        TraceError, match=r"argument other of positional .* static_argnames='other'"
    ):
        jit(positional)(X, 1, other="text")
    with pytest.raises(TraceError, match=r"argument x of plain must be .* got an array of <U1"):
        jit(plain)(np.array(["a"]), 1)


class Equal:
    """A class whose objects are equal when their numbers are."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Equal) and other.number == self.number

    def __hash__(self):
        return hash(self.number)

    @partial(tfc.jit, static_argnums=0)
    def add(self, x):
        return x + self.number


def test_objects_that_change_their_hash_are_compiled_anew():
    thing = Equal(1)
    np.testing.assert_array_equal(thing.add(X), X + 1)
    thing.number = 5
    np.testing.assert_array_equal(thing.add(X), X + 5)
    np.testing.assert_array_equal(Equal(5).add(X), X + 5)
    assert Equal.add._quick == ()


@dataclass(frozen=True)
class Loose:
    values: Equal = field(default_factory=lambda: Equal(1))


class Mode(Enum):
    FAST = 1


CONSTANTS = [1, "a", None, (1, ("b",)), Mode.FAST, Settings(1), Model, plain, np.dtype("f4"),
             frozenset([1])]  # fmt: skip


@pytest.mark.parametrize("value", CONSTANTS, ids=lambda v: type(v).__name__)
def test_constants_are_told_by_identity(value):
    function = tfc.jit(lambda x, how: x + 1, static_argnums=1)
    function(X, value)
    (entry,) = function._quick
    np.testing.assert_array_equal(entry(X, value), X + 1)


@pytest.mark.parametrize("value", [Equal(1), (Equal(1),), Loose(), Settings(1, more=Equal(2))])
def test_what_may_change_is_compared_at_each_call(value):
    function = tfc.jit(lambda x, how: x + 1, static_argnums=1)
    function(X, value)
    assert function._quick == ()


def test_what_is_known_of_a_function_is_kept():
    assert (Model.apply.__name__, Model.apply.__doc__) == ("apply", "Scale and shift.")
    assert Model.apply.__qualname__ == "Model.apply"
    assert Model.apply.__module__ == __name__
    assert inspect.isfunction(Model.apply.__wrapped__)
    assert list(inspect.signature(Model.apply).parameters) == ["self", "x", "shift"]
    assert list(inspect.signature(Model(1).apply).parameters) == ["x", "shift"]
    assert inspect.signature(jit(plain, static_argnums=1)) == inspect.signature(plain)


def test_integers_that_are_arguments_wrap_around_and_those_that_are_known_must_fit():
    x = np.arange(3, dtype=np.int8)
    product = lambda x, n: x * n  # noqa: E731
    assert np.array_equal(jit(product)(x, 300), [0, 44, 88])
    with pytest.raises(ShapeError, match="300 does not fit into int8"):
        jit(product, static_argnums=1)(x, 300)
