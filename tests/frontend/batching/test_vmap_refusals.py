"""What vmap refuses: a sentence that says what it requires and what it got, at the user's line."""

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import TraceError
from tfc.frontend import operations as ops
from tfc.frontend.batching import walk
from tfc.hlo.attributes.replica_groups import ReplicaGroups
from tfc.hlo.shape import F64, S32, TOKEN, Shape, TupleShape

X, Y = np.ones((5, 3)), np.ones((4, 3))
IDENTITY = lambda x: x  # noqa: E731
PAIR = lambda x, y: x  # noqa: E731


def outfeed(x):
    return ops.operation("outfeed", x, ops.operation("after-all")), x


def infeed(x):
    shape = TupleShape((Shape(F64), TOKEN))
    return x + ops.elements(ops.operation("infeed", ops.operation("after-all"), shape=shape))[0]


def all_reduced(x):
    to_apply = ops.scalar_computation("add", F64)
    return ops.operation("all-reduce", x, replica_groups=ReplicaGroups(), to_apply=to_apply)


def drawn(x):
    zero = ops.constant(0.0)
    number = ops.operation("rng", zero, zero, shape=Shape(F64), distribution="rng_uniform")
    return tfc.cond(x[0] > 0, lambda: x + number, lambda: x + ops.operation(
        "rng", zero, zero, shape=Shape(F64), distribution="rng_uniform"))  # fmt: skip


def resized(x, size):
    return ops.operation("set-dimension-size", x, ops.convert(size, S32), dimensions=(0,))


# fmt: off
REFUSALS = {
    "sizes": (lambda: tfc.vmap(PAIR)(X, Y),
              r"mapped axes of one size, got 5 for x \(f64\[5,3\], axis 0\) and 4 for y "
              r"\(f64\[4,3\], axis 0\)"),
    "sizes in structures": (lambda: tfc.vmap(lambda p, *rest: p)({"a": [X]}, X, y=Y),
                            r"5 for p\['a'\]\[0\] \(.*\) and 4 for y \("),
    "axis_size": (lambda: tfc.vmap(IDENTITY, axis_size=2)(X), r"5 for x .* and 2 for axis_size"),
    "out of bounds": (lambda: tfc.vmap(IDENTITY, 2)(X),
                      r"in_axes within the axes -2 to 1 of x, f64\[5,3\], got 2"),
    "out of bounds in the result": (
        lambda: tfc.vmap(IDENTITY, out_axes=-3)(X),
        r"out_axes within the axes -2 to 1 of the mapped result, .* f64\[3\] for each.*, got -3"),
    "scalar": (lambda: tfc.vmap(PAIR)(X, 2.0), r"cannot map y, f64\[\], a scalar; give None in"),
    "nothing": (lambda: tfc.vmap(IDENTITY, None)(X), "at least one mapped array, got in_axes wit"),
    "no arguments": (tfc.vmap(lambda: 2), "at least one mapped array"),
    "count": (lambda: tfc.vmap(PAIR, (0,))(X, X), "1 entries for 2 arguments"),
    "structure": (lambda: tfc.vmap(IDENTITY, ((0, 0),))([X, X]),
                  r"in_axes to be a prefix .*, got \(\*, \*\) for x, which is \[\*, \*\]"),
    "deep": (lambda: tfc.vmap(IDENTITY, ({"a": (0, 1)},))({"a": X}),
             r"got \(\*, \*\) for x\['a'\], which is an array"),
    "in_axes": (lambda: tfc.vmap(IDENTITY, 1.5), "in_axes to be an integer, None or a tuple"),
    "entry": (lambda: tfc.vmap(IDENTITY, ("b",))(X), "in_axes of integers and None, got 'b' for x"),
    "out_axes": (lambda: tfc.vmap(IDENTITY, out_axes=(0, 0))(X),
                 r"out_axes to be a prefix .*, got \(\*, \*\) for the result, which is an array"),
    "out_axes None": (lambda: tfc.vmap(lambda x: {"s": x}, out_axes=None)(X),
                      r"None in out_axes for result\['s'\], which is f64\[3\] for each .* differs"),
    "axis_name": (lambda: tfc.vmap(IDENTITY, axis_name="i"), "does not take axis_name, as tfc has"),
    "spmd": (lambda: tfc.vmap(IDENTITY, spmd_axis_name="i"), "does not take spmd_axis_name"),
    "negative size": (lambda: tfc.vmap(IDENTITY, axis_size=-1), "axis_size that is an integer"),
    "function": (lambda: tfc.vmap("sum"), "vmap requires a function, got 'sum'"),
    "text": (lambda: tfc.vmap(PAIR)(X, "mean"), "an array, a number or a Tensor is needed"),
    "infeed": (lambda: tfc.vmap(infeed)(X), "cannot map infeed: what is outside of the program"),
    "effects": (lambda: tfc.vmap(drawn)(X), "cannot map a conditional with effects whose"),
    "size": (lambda: tfc.vmap(resized)(X, np.arange(5)), "cannot map set-dimension-size with a si"),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSALS)
def test_what_vmap_refuses(name):
    call, message = REFUSALS[name]
    with pytest.raises(TraceError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_the_refusal_shows_the_users_line():
    with pytest.raises(TraceError) as caught:
        tfc.jit(tfc.vmap(infeed))(X)
    assert any("infeed" in note for note in caught.value.__notes__)
    with pytest.raises(TraceError) as caught:
        tfc.vmap(PAIR)(X, Y)
    assert any("tfc.vmap(PAIR)(X, Y)" in note for note in caught.value.__notes__)


def test_a_batch_is_reduced_over_replicas_at_once():
    np.testing.assert_array_equal(tfc.vmap(all_reduced)(X), X)


def test_what_is_the_same_for_all_may_be_reduced_over_replicas():
    got = tfc.vmap(lambda x: x + all_reduced(tnp.ones(3)))(X)
    np.testing.assert_array_equal(got, X + 1)


def test_what_is_refused_says_what_to_do():
    assert set(walk.REFUSED) <= set(walk.RULES)
    assert all("outside of vmap" in advice for advice in walk.REFUSED.values())
