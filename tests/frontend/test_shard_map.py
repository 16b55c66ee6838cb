"""shard_map: functions of parts as functions of whole arrays, and the collectives in them.

What is expected is NumPy's, or the gradient of the same function without devices.
"""

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import TfcError
from tfc.sharding import (
    Mesh,
    P,
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
    shard_map,
)

MESH = Mesh((2, 2), ("x", "y"))
LINE = Mesh((4,), ("i",))
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 4)).astype(np.float32)
Q = X.reshape(4, 2, 4)  # what each device of LINE has

COLLECTIVES = {
    "psum": (lambda a: psum(a, "i"), P("i"), P(), Q.sum(0)),
    "psum of a number": (lambda a: a + psum(1, "i"), P("i"), P("i"), X + 4),
    "pmean": (lambda a: pmean(a, "i"), P("i"), P(), Q.mean(0)),
    "pmax": (lambda a: pmax(a, "i"), P("i"), P(), Q.max(0)),
    "pmin": (lambda a: pmin(a, "i"), P("i"), P(), Q.min(0)),
    "gathered": (lambda a: all_gather(a, "i", axis=1), P("i"), P(), Q.transpose(1, 0, 2)),
    "gathered in place": (lambda a: all_gather(a, "i", tiled=True), P("i"), P(), X),
    "scattered": (
        lambda a: psum_scatter(a, "i", scatter_dimension=1, tiled=True), P("i"), P(None, "i"),
        Q.sum(0)),
    "scattered away": (
        lambda a: psum_scatter(a, "i", scatter_dimension=1)[:, None], P("i"), P(None, "i"),
        Q.sum(0)),
    "permuted": (
        lambda a: ppermute(a, "i", [(0, 1), (1, 2), (3, 0)]), P("i"), P("i"),
        np.concatenate([Q[3], Q[0], Q[1], 0 * Q[0]])),
    "exchanged": (
        lambda a: all_to_all(a, "i", 1, 0, tiled=True), P("i"), P(None, "i"), X),
    "exchanged anew": (
        lambda a: all_to_all(a, "i", 1, 0), P("i"), P(None, None, "i"), None),
    "place": (lambda a: a * 0 + axis_index("i"), P("i"), P("i"),
              np.repeat(np.float32([0, 1, 2, 3]), 2)[:, None] * np.ones(4, np.float32)),
    "size": (lambda a: a * axis_size("i"), P("i"), P("i"), X * 4),
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in COLLECTIVES if COLLECTIVES[n][3] is not None])
def test_collectives_along_an_axis(name: str):
    function, given, made, expected = COLLECTIVES[name]
    mapped = shard_map(function, LINE, given, made)
    np.testing.assert_allclose(tfc.jit(mapped)(X), expected, rtol=1e-6)


def test_untiled_all_to_all_stacks_what_it_gets():
    """Device d has row d of each of the others' columns."""
    mapped = shard_map(lambda a: all_to_all(a, "i", 1, 0), LINE, P(None, None), P("i"))
    got = tfc.jit(mapped)(X)  # each device has all of X, and gets from each its column d
    expected = np.stack([X[:, d] for d in range(4) for _ in range(4)])
    np.testing.assert_array_equal(got, expected)


def test_two_axes_of_a_mesh():
    """Parts are cut by rows along x and by columns along y; axes go together in any order."""
    totals = shard_map(
        lambda a: (psum(a, "x"), psum(a, "y"), psum(a, ("x", "y"))),
        MESH, P("x", "y"), (P(None, "y"), P("x"), P()),
    )  # fmt: skip
    by_x, by_y, by_both = tfc.jit(totals)(X)
    np.testing.assert_allclose(by_x, X[:4] + X[4:], rtol=1e-6)
    np.testing.assert_allclose(by_y, X[:, :2] + X[:, 2:], rtol=1e-6)
    np.testing.assert_allclose(by_both, X.reshape(2, 4, 2, 2).sum((0, 2)), rtol=1e-5)
    places = shard_map(lambda: axis_index(("y", "x"))[None], MESH, (), P(("y", "x")))
    np.testing.assert_array_equal(tfc.jit(places)(), [0, 1, 2, 3])


def matmul(a, b):
    """A product whose sums are divided among the devices."""
    return psum(a @ b, "i")


PRODUCT = shard_map(matmul, LINE, (P(None, "i"), P("i")), P())
A = RNG.normal(size=(3, 8)).astype(np.float32)


def normalized(a):
    """A softmax down the rows, which lie on several devices."""
    high = tfc.stop_gradient(pmax(a.max(0), "i"))
    e = tnp.exp(a - high)
    return e / psum(e.sum(0), "i")


def ring(a):
    """What the neighbour has, times the own."""
    return a * ppermute(a, "i", [(k, (k + 1) % 4) for k in range(4)])


def looped(a):
    """A loop with a collective in each step."""

    def step(carry, row):
        carry = tnp.tanh(carry + psum(row, "i"))
        return carry, carry * row

    _, rows = tfc.scan(step, tnp.zeros(4, np.float32), a)
    return rows


def in_order(x):
    """`looped` without devices: step k has row k of each part."""
    parts, carry, made = x.reshape(4, 2, 4), tnp.zeros(4, np.float32), []
    for k in range(2):
        carry = tnp.tanh(carry + parts[:, k].sum(0))
        made.append(carry * parts[:, k])
    return tnp.stack(made, 1).reshape(8, 4)


# A function of one array by parts, in and out specs, and the same without devices.
FUNCTIONS = {
    "product": (lambda a: psum((a.T @ a), "i"), P("i"), P(), lambda x: x.T @ x),
    "softmax": (normalized, P("i"), P("i"), lambda x: tnp.exp(x) / tnp.exp(x).sum(0)),
    "ring": (ring, P("i"), P("i"), lambda x: x * tnp.roll(x, 2, 0)),
    "gather": (lambda a: a * all_gather(a, "i", tiled=True).sum(0), P("i"), P("i"),
               lambda x: x * x.sum(0)),
    "scatter": (lambda a: psum_scatter(a * a, "i", scatter_dimension=1, tiled=True), P("i"),
                P(None, "i"), lambda x: (x * x).reshape(4, 2, 4).sum(0)),
    "exchange": (lambda a: all_to_all(a, "i", 1, 0, tiled=True).sum(0)[None], P("i"), P(None, "i"),
                 lambda x: x.sum(0)[None]),
    "mean": (lambda a: pmean(tnp.sin(a), "i"), P("i"), P(),
             lambda x: tnp.sin(x).reshape(4, 2, 4).mean(0)),
    "largest": (lambda a: pmax(a, "i"), P("i"), P(), lambda x: x.reshape(4, 2, 4).max(0)),
    "the same everywhere": (lambda a: tnp.cos(a) * a, P(), P(), lambda x: tnp.cos(x) * x),
    "by place": (lambda a: a * (axis_index("i") + 1), P("i"), P("i"),
                 lambda x: x * np.repeat(np.float32([1, 2, 3, 4]), 2)[:, None]),
    "loop": (looped, P("i"), P("i"), in_order),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_without_devices(name: str):
    """In both modes; the cotangent is no constant, so that shares and sums cannot hide."""
    function, given, made, plain = FUNCTIONS[name]
    mapped = shard_map(function, LINE, given, made)
    weight = np.sin(np.arange(np.asarray(tfc.jit(plain)(X)).size, dtype=np.float32))

    def losses(x):
        return [(f(x).ravel() * weight).sum() for f in (mapped, plain)]

    def both(x, t):
        gradients = [tfc.grad(lambda v, k=k: losses(v)[k])(x) for k in (0, 1)]
        tangents = [tfc.jvp(f, (x,), (t,))[1] for f in (mapped, plain)]
        return mapped(x), plain(x), gradients, tangents

    value, expected, gradients, tangents = tfc.jit(both)(X, np.cos(X))
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(*tangents, rtol=1e-4, atol=1e-5)


def test_gradients_by_what_is_captured_and_of_gradients():
    """A captured array is whole on every device: its gradient is the sum of theirs."""

    def through(w, x):
        return shard_map(lambda a: tnp.tanh(a * w), LINE, P("i"), P("i"))(x).sum()

    w = X[0]
    got = tfc.jit(tfc.grad(through))(w, X)
    np.testing.assert_allclose(got, ((1 - np.tanh(X * w) ** 2) * X).sum(0), rtol=1e-4)
    second = tfc.jit(tfc.grad(lambda v: tfc.grad(through)(v, X).sum()))(w)
    t = np.tanh(X * w)
    np.testing.assert_allclose(second, (-2 * t * (1 - t * t) * X * X).sum(0), rtol=1e-4, atol=1e-5)


def test_a_product_of_two_cut_arrays():
    got = tfc.jit(tfc.value_and_grad(lambda a, b: (PRODUCT(a, b) ** 2).sum(), (0, 1)))(A, X)
    product = A @ X
    np.testing.assert_allclose(got[0], (product**2).sum(), rtol=1e-4)
    np.testing.assert_allclose(got[1][0], 2 * product @ X.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(got[1][1], 2 * A.T @ product, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["psum", "gathered", "scattered", "permuted", "exchanged"])
def test_vmap_of_a_mapped_function(name: str):
    function, given, made, _ = COLLECTIVES[name]
    mapped = shard_map(function, LINE, given, made)
    batch = np.stack([X, -X, X * X])
    got = tfc.jit(tfc.vmap(mapped))(batch)
    np.testing.assert_allclose(got, np.stack([tfc.jit(mapped)(x) for x in batch]), rtol=1e-6)


def test_nested_arguments_take_a_prefix_of_specs():
    def step(params, x):
        return {"y": x @ params["w"] + params["b"], "n": psum(x.sum(), "i")}

    mapped = shard_map(step, LINE, (P(), P("i")), {"y": P("i"), "n": P()})
    w, b = A[:, :4].T, A[:, 0]
    got = tfc.jit(mapped)({"w": w, "b": b}, X)
    np.testing.assert_allclose(got["y"], X @ w + b, rtol=1e-5)
    np.testing.assert_allclose(got["n"], X.sum(), rtol=1e-5)


@pytest.mark.eager
def test_equal_programs_on_other_axes_are_told_apart():
    """Calls outside of jit keep programs by what they compute, of which specs are part."""
    square = X[:4]
    rows = shard_map(lambda a: a * (1 + axis_index("x")), MESH, P("x"), P("x"))
    columns = shard_map(lambda a: a * (1 + axis_index("x")), MESH, P(None, "x"), P(None, "x"))
    factor = np.float32([1, 1, 2, 2])
    np.testing.assert_allclose(rows(square), square * factor[:, None])
    np.testing.assert_allclose(columns(square), square * factor)


ERRORS = {
    "unknown axis in a spec": (lambda: shard_map(lambda a: a, LINE, P("z"), P()), "the axis 'z'"),
    "no specs": (lambda: shard_map(lambda a: a, LINE, "i", P()), "in_specs of PartitionSpecs"),
    "no mesh": (lambda: shard_map(lambda a: a, None, P(), P()), "needs mesh"),
    "axis twice": (lambda: P("x", ("y", "x")), "names an axis twice"),
    "mesh of nothing": (lambda: Mesh((0,), ("x",)), "from 1 to"),
    "names of a mesh": (lambda: Mesh((2, 2), ("x",)), "2 axes, got names"),
    "size that does not divide": (
        lambda: shard_map(lambda a: a, LINE, P(None, "i"), P())(X[:, :3]),
        "dimension 1 of argument a of .lambda., of size 3, is not divisible by the 4 parts"),
    "too many entries": (
        lambda: shard_map(lambda a: a, LINE, P(None, None, "i"), P())(X), "3 entries"),
    "result of lower rank": (
        lambda: shard_map(lambda a: a.sum(), LINE, P("i"), P("i"))(X), "1 entries, but the result"),
    "specs for other arguments": (
        lambda: shard_map(lambda a: a, LINE, (P(), P()), P())(X), "prefix of the arguments"),
    "unknown axis in a collective": (
        lambda: shard_map(lambda a: psum(a, "z"), LINE, P("i"), P())(X), "psum needs an axis of"),
    "outside": (lambda: tfc.jit(lambda a: psum(a, "i"))(X), "given to tfc.shard_map"),
    "part that does not divide": (
        lambda: shard_map(lambda a: psum_scatter(a, "i"), LINE, P("i"), P("i"))(X),
        "psum_scatter needs dimension 0 of size 4, got 2"),
    "bad permutation": (
        lambda: shard_map(lambda a: ppermute(a, "i", [(0, 1), (2, 1)]), LINE, P("i"), P("i"))(X),
        "occur once"),
    "nested": (
        lambda: shard_map(
            shard_map(tnp.sin, LINE, P("i"), P("i")), LINE, P("i"), P("i"))(X),
        "within a shard_map"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_mistakes_are_told_in_a_sentence(name: str):
    call, message = ERRORS[name]
    with pytest.raises(TfcError, match=message):
        call()


def test_mistakes_name_the_users_line():
    with pytest.raises(TfcError) as caught:
        shard_map(lambda a: psum(a, "z"), LINE, P("i"), P())(X)
    assert any("test_shard_map.py" in note for note in caught.value.__notes__)


def test_a_mesh_of_one_device_needs_no_partitions():
    alone = Mesh((1,), ("i",))
    mapped = shard_map(lambda a: psum(a, "i") + axis_index("i"), alone, P("i"), P("i"))
    got = tfc.jit(mapped)(X)
    np.testing.assert_array_equal(got, X)
