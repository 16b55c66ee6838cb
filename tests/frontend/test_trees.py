"""tfc.tree under the names of jax.tree; registered classes in jit and grad; errors with paths."""

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError, TraceError
from tfc.frontend import tree as nested

Point = namedtuple("Point", "x y")
X = np.arange(3.0)


@tfc.tree.register_dataclass
@dataclass(frozen=True)
class State:
    params: Any
    step: Any = 0
    name: str = field(default="state", metadata={"static": True})


class Interval:
    def __init__(self, low: Any, high: Any, unit: str = "m"):
        self.low, self.high, self.unit = low, high, unit


tfc.tree.register(
    Interval,
    lambda i: ((i.low, i.high), i.unit),
    lambda unit, children: Interval(children[0], children[1], unit),
)


@tfc.tree.register_node_class
class Box:
    def __init__(self, value: Any):
        self.value = value

    def tree_flatten(self) -> Any:
        return [self.value], None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> "Box":
        return cls(*children)


def default() -> list[int]:
    return []


TREES = [
    1,
    None,
    [],
    {"b": 1, "a": [2, (3, None)]},
    OrderedDict([("z", 1), ("a", 2)]),
    defaultdict(default, {"k": [1], "j": 2}),
    [Point(1, {"k": 2}), (3,)],
    {2: 1, 1: {"x": (2, 3)}},
]


def like_jax(function: str, tree: Any, *args: Any) -> tuple[Any, Any]:
    return getattr(tfc.tree, function)(*args, tree), getattr(jax.tree, function)(*args, tree)


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_containers_are_those_of_jax(tree: Any):
    found, structure = tfc.tree.flatten(tree)
    assert found == tfc.tree.leaves(tree)
    assert found == jax.tree.leaves(tree)
    again = tfc.tree.unflatten(structure, found)
    assert again == tree
    assert type(again) is type(tree)
    doubled, expected = like_jax("map", tree, lambda x: 2 * x)
    assert doubled == expected
    assert getattr(doubled, "default_factory", None) is getattr(expected, "default_factory", None)
    if found:
        assert tfc.tree.reduce(lambda a, b: a + b, tree) == sum(found)
    assert tfc.tree.reduce(lambda a, b: a + b, tree, 5) == 5 + sum(found)
    assert tfc.tree.all(tree)
    assert structure.num_leaves == len(found)


def test_trees_are_mapped_together():
    tree, other = {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, [30])}
    pairs = tfc.tree.map(lambda x, y: (x, y), tree, other)
    assert pairs == {"a": (1, 10), "b": ((2, 20), (3, [30]))}
    assert tfc.tree.map(len, {"a": [1, 2]}, is_leaf=lambda x: isinstance(x, list)) == {"a": 2}
    with_path = tfc.tree.map_with_path(lambda p, x, y: (p, x + y), {"a": [1]}, {"a": [2]})
    assert with_path == {"a": [(("a", 0), 3)]}
    state = State({"w": [1]}, 2)
    assert tfc.tree.leaves_with_path(state) == [(("params", "w", 0), 1), (("step",), 2)]
    outer, inner = tfc.tree.structure([0, 0]), tfc.tree.structure({"a": 0, "b": 0})
    swapped = tfc.tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    assert swapped == {"a": [1, 3], "b": [2, 4]}
    assert tfc.tree.transpose(outer, None, [(1, 2), (3, 4)]) == ([1, 3], [2, 4])


MISMATCHES = {
    "a key": ({"w": [1, {"a": 2}]}, {"w": [1, {"b": 2}]},
              "at the tree['w'][1] a dict with the keys 'a' is expected, got a dict with the keys"),
    "a leaf": ((1, [2]), (1, 2), "at the tree[1] a list of 1 is expected, got a leaf"),
    "a length": ([1, 2], [1], "at the tree a list of 2 is expected, got a list of 1"),
    "none": ([None], [3], "at the tree[0] None is expected, got a leaf"),
    "a field": (State({"a": 1}), State([1]),
                "at the tree.params a dict with the keys 'a' is expected, got a list of 1"),
    "a static field": (State(1), State(1, 0, "x"), "a State of 2 with ('state',) is expected"),
    "a kind": (Point(1, 2), (1, 2), "at the tree a Point of 2 is expected, got a tuple of 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISMATCHES)
def test_what_does_not_match_is_refused_with_its_path(name: str):
    first, second, message = MISMATCHES[name]
    with pytest.raises(TraceError) as error:
        tfc.tree.map(lambda x, y: x, first, second)
    assert message in str(error.value)


def test_other_mistakes_are_one_sentence():
    unhashable: Any = Interval(1, 2)
    unhashable.unit = []
    tree: Any = tfc.tree  # which is given what it is not meant for
    structure = tree.structure([1, 2])
    for call, message in (
        (lambda: tree.unflatten(structure, [1]), r"has 2 leaves, got 1"),
        (lambda: tree.reduce(max, []), "needs an initializer"),
        (lambda: tree.register(State, list, list), "State is registered as a"),
        (lambda: tree.register(list, list, list), "list is registered"),
        (lambda: tree.register(3, list, list), "only classes"),
        (lambda: tree.register_dataclass(int), "takes a dataclass"),
        (lambda: tree.register_node_class(int), "tree_flatten"),
        (lambda: tree.register_dataclass(Plain, ["x", "z"], []), "no field z; it has x, y"),
        (lambda: tree.register_dataclass(Plain, ["x"], []), "without its field y"),
        (lambda: tree.register_dataclass(Plain, ["x", "y"], ["x"]), "as data and as meta"),
        (lambda: tree.leaves(unhashable), "must be hashable, as programs are"),
        (lambda: tree.leaves({1: 2, Box(1): 3, Box(2): 4}), "must have an order"),
    ):  # fmt: skip
        with pytest.raises(TraceError, match=message):
            call()


@dataclass
class Plain:
    x: Any
    y: Any


VALUES = {
    "dataclass": lambda: State({"w": X}, X + 1),
    "registered": lambda: Interval(X, X * 2),
    "class": lambda: Box([X, X + 1]),
    "defaultdict": lambda: defaultdict(default, {"a": X, "b": X}),
    "ordered": lambda: OrderedDict([("z", X), ("a", X + 1)]),
    "in a list": lambda: [State(X, X), {"i": Interval(X, X)}],
}


@pytest.mark.parametrize("name", VALUES)
def test_containers_pass_through_jit_and_grad(name: str):
    given = VALUES[name]()
    double = tfc.jit(lambda tree: tfc.tree.map(lambda x: 2 * x, tree))
    for _ in range(3):  # the first call compiles
        got = double(given)
        assert tfc.tree.structure(got) == tfc.tree.structure(given)
        for x, y in zip(tfc.tree.leaves(got), tfc.tree.leaves(given)):
            np.testing.assert_array_equal(x, 2 * y)
    assert double.cache_size() == 1

    def loss(tree: Any) -> Any:
        return tfc.tree.reduce(lambda a, b: a + b, tfc.tree.map(lambda x: tnp.sum(x**2), tree))

    found = tfc.jit(tfc.grad(loss))(given)
    assert type(found) is type(given)
    for x, y in zip(tfc.tree.leaves(found), tfc.tree.leaves(given)):
        np.testing.assert_array_equal(x, 2 * y)


def test_what_is_part_of_the_structure_is_compiled_for():
    @tfc.jit
    def scaled(state: State) -> Any:
        return state.params * len(state.name)

    assert scaled(State(X, name="ab"))[1] == 2
    assert scaled(State(X, name="abc"))[1] == 3
    assert scaled(State(X, name="ab"))[1] == 2
    assert scaled.cache_size() == 2


def test_a_registered_named_tuple_is_made_as_it_says():
    class Pair(namedtuple("Pair", "x y")):
        total: Any

    def made(_: None, children: Any) -> Pair:
        pair = Pair(*children)
        pair.total = "made"
        return pair

    tfc.tree.register(Pair, lambda p: (tuple(p), None), made)
    swap = tfc.jit(lambda p: Pair(p.y, p.x))
    for _ in range(2):
        got = swap(Pair(X, X + 1))
        assert got.total == "made"
        np.testing.assert_array_equal(got.x, X + 1)


def test_compiled_functions_say_where_arguments_differ():
    compiled = tfc.jit(lambda p: p["w"][0]).lower({"w": [X]}).compile()
    with pytest.raises(
        ShapeError, match=r"at arguments\[0\]\['w'\] a list of 1 is expected, got a "
    ):
        compiled({"w": (X,)})


def test_structures_print_what_they_hold():
    structure = nested.flatten(State({"w": [1, None]}, Interval(1, 2)))[1]
    assert str(structure) == "State(params={'w': [*, None]}, step=Interval(*, *))"
    assert tfc.tree.structure(State(X)) == tfc.tree.structure(State(2.0))
    assert hash(structure) == hash(nested.flatten(State({"w": [1, None]}, Interval(1, 2)))[1])
