"""Parts of sizes that do not divide are filled up, and what fills them gets into no result.

`run_partitioned` fills with NaNs and integers unlike zero. Oracle: the evaluator on the undivided
module.
"""

from random import Random

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import UnsupportedError
from tfc.hlo import evaluate, parse
from tfc.passes.spmd.logical_mesh import LogicalMesh
from tfc.passes.spmd.spmd import Spmd
from tfc.sharding import Mesh, NamedSharding, P
from tfc.testing import arguments_for
from tfc.testing.compare import flat, mismatch
from tfc.testing.shardings import run_partitioned, sharded

ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
# The arrays' shapes and what is computed of them; x, y … are parameters.
OPS = {
    "reduce of a minimum": (["s32[7,5]"], "z = s32[] constant(2147483647)\n"
        "ROOT r = s32[5] reduce(x, z), dimensions={0}, to_apply=s32_minimum"),
    "reduce of or": (["pred[7,5]"], "z = pred[] constant(false)\n"
        "ROOT r = pred[7] reduce(x, z), dimensions={1}, to_apply=pred_or"),
    "reduce of several": (["f32[7,5]", "f32[7,5]"], "z = f32[] constant(0)\n"
        "ROOT r = (f32[5], f32[5]) reduce(x, y, z, z), dimensions={0}, to_apply=both"),
    "reduce from another value": (["f32[7,5]"], "z = f32[] constant(2)\n"
        "ROOT r = f32[] reduce(x, z), dimensions={0,1}, to_apply=f32_add"),
    "dot of integers": (["s32[7,5]", "s32[7,3]"],
        "ROOT r = s32[5,3] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
    "batched dot": (["f32[5,7,3]", "f32[5,3,7]"], "ROOT r = f32[5,7,7] dot(x, y), "
        "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
        "rhs_contracting_dims={1}"),
    "convolution": (["f32[5,7,3]", "f32[3,3,5]"], "ROOT r = f32[5,5,5] convolution(x, y), "
        "window={size=3}, dim_labels=b0f_0io->b0f"),
    "sort": (["s32[7,5]"], "ROOT r = s32[7,5] sort(x), dimensions={0}, to_apply=s32_less"),
    "reverse": (["f32[7,5]"], "ROOT r = f32[7,5] reverse(x), dimensions={0}"),
    "concatenate": (["f32[7,5]", "f32[3,5]"],
        "ROOT r = f32[10,5] concatenate(x, y), dimensions={0}"),
    "pad": (["f32[7,5]"], "z = f32[] constant(3)\n"
        "ROOT r = f32[9,8] pad(x, z), padding=1_1x-1_0_1"),
    "slice": (["f32[7,5]"], "ROOT r = f32[3,5] slice(x), slice={[1:7:2], [0:5]}"),
    "transpose": (["f32[7,5,3]"], "ROOT r = f32[3,7,5] transpose(x), dimensions={2,0,1}"),
    "reshape": (["f32[7,5,3]"], "ROOT r = f32[7,15,1] reshape(x)"),
    "broadcast": (["f32[7]"], "ROOT r = f32[5,7,3] broadcast(x), dimensions={1}"),
    "iota": (["s32[7,5]"], "i = s32[7,5] iota(), iota_dimension=0\nROOT r = s32[7,5] add(x, i)"),
    "divide of integers": (["s32[7,5]", "s32[7,5]"], "ROOT r = s32[7,5] divide(x, y)"),
    "dynamic-slice": (["f32[7,5]", "s32[]"], "z = s32[] constant(0)\n"
        "ROOT r = f32[3,5] dynamic-slice(x, y, z), dynamic_slice_sizes={3,5}"),
    "dynamic-update-slice": (["f32[7,5]", "f32[3,5]", "s32[]"], "k = s32[] constant(0)\n"
        "ROOT r = f32[7,5] dynamic-update-slice(x, y, z, k)"),
    "gather": (["f32[7,5]", "s32[3]"], "ROOT r = f32[3,5] gather(x, y), offset_dims={1}, "
        "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}"),
    "scatter": (["f32[7,5]", "s32[3]", "f32[3,5]"], "ROOT r = f32[7,5] scatter(x, y, z), "
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1, to_apply=f32_add"),
    "reduce-window": (["f32[7,5]"], "z = f32[] constant(0)\n"
        "ROOT r = f32[7,5] reduce-window(x, z), window={size=3x1 pad=1_1x0_0}, to_apply=f32_add"),
    "select-and-scatter": (["f32[7,5]", "f32[3,5]"], "k = f32[] constant(0)\n"
        "ROOT r = f32[7,5] select-and-scatter(x, y, k), window={size=3x1 stride=2x1}, "
        "select=f32_at_least, scatter=f32_add"),
    "cholesky": (["f32[5,1,1]"], "ROOT r = f32[5,1,1] cholesky(x), lower=true"),
    "fft": (["f32[5,8]"], "ROOT r = c64[5,5] fft(x), fft_type=RFFT, fft_length={8}"),
}  # fmt: skip
NAMES = ("x", "y", "z")
FOLDS = {"s32_minimum": ("s32", "minimum"), "pred_or": ("pred", "or"), "f32_add": ("f32", "add")}
TESTS = {"s32_less": ("s32", "LT"), "f32_at_least": ("f32", "GE")}


def computations() -> str:
    """Those that ops apply."""
    both = ["a", "b", "c", "d"]
    made = [
        "both { " + "\n".join(f"{n} = f32[] parameter({k})" for k, n in enumerate(both))
        + "\ns = f32[] add(a, c)\nt = f32[] maximum(b, d)\nROOT r = (f32[], f32[]) tuple(s, t) }"
    ]  # fmt: skip
    for name, (kind, how) in {**FOLDS, **TESTS}.items():
        op = f"pred[] compare(a, b), direction={how}" if name in TESTS else f"{kind}[] {how}(a, b)"
        made.append(f"{name} {{ a = {kind}[] parameter(0)\nb = {kind}[] parameter(1)\n"
                    f"ROOT r = {op} }}")  # fmt: skip
    return "\n".join(made)


@pytest.mark.parametrize("name", OPS)
def test_what_fills_parts_up_is_seen_by_no_op(name: str):
    """Under random shardings of three, and of two by two devices."""
    shapes, lines = OPS[name]
    given = "\n".join(f"{NAMES[k]} = {s} parameter({k})" for k, s in enumerate(shapes))
    module = parse(f"HloModule m\n{computations()}\nENTRY e {{\n{given}\n{lines} }}")
    arguments = arguments_for(module, np.random.default_rng(0))
    for number, sizes in enumerate([(3,), (2, 2)] * 3):
        divided = sharded(module, LogicalMesh(sizes), Random(f"{name} {number}"), 0.5)
        got = run_partitioned(divided, [leaf for a in arguments for leaf in flat(a)])
        assert mismatch(module, arguments, got) is None


def test_calls_take_and_give_arrays_of_their_own_sizes():
    """Arguments, values in the middle and results are cut along what does not divide."""
    mesh = Mesh((2, 2), ("x", "y"))

    def layer(x, w):
        y = tfc.with_sharding_constraint(tnp.exp(x @ w), NamedSharding(mesh, P("y", "x")))
        return y / y.sum(), y.max(0)

    placed = tfc.jit(
        layer, mesh=mesh, in_shardings=(P("x", "y"), P("y")), out_shardings=(P(("x", "y")), P("x"))
    )
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=d).astype(np.float32) for d in ((7, 5), (5, 3)))
    assert "f32[4,3]" in placed.lower(x, w).compile().as_text()
    for got, expected in zip(placed(x, w), tfc.jit(layer)(x, w), strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-5)
    slopes = [tfc.jit(tfc.grad(lambda x, w, f=f: (f(x, w)[0] ** 2).sum()))(x, w)
              for f in (placed, layer)]  # fmt: skip
    np.testing.assert_allclose(*slopes, rtol=1e-4, atol=1e-6)


def test_more_parts_than_elements():
    """The last devices have none; one element on three devices, and none at all."""
    for count in (0, 1, 2):
        text = (
            "HloModule m, num_partitions=4\n" + ADD + "ENTRY e {\n"
            f"x = f32[{count}] parameter(0), sharding={{devices=[4]<=[4]}}\n"
            "z = f32[] constant(0)\ny = f32[] reduce(x, z), dimensions={0}, to_apply=add\n"
            f"w = f32[{count}] negate(x)\nROOT r = (f32[], f32[{count}]) tuple(y, w) }}"
        )
        x = np.arange(1, count + 1, dtype=np.float32)
        got = run_partitioned(parse(text), [x])
        for a, b in zip(got, flat(evaluate(parse(text), x)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_programs_of_parts_are_not_given_what_fills_them_up():
    text = (
        "HloModule m, num_partitions=2\nENTRY e {\nx = f32[5] parameter(0)\n"
        's = f32[5] custom-call(x), custom_call_target="Sharding", sharding={devices=[2]<=[2]}\n'
        'p = f32[3] custom-call(s), custom_call_target="SPMDFullToShardShape", sharding={manual}\n'
        'ROOT y = f32[5] custom-call(p), custom_call_target="SPMDShardToFullShape", '
        "sharding={devices=[2]<=[2]} }"
    )
    with pytest.raises(UnsupportedError, match=r"array of \[5\], which \[2\] parts do not divide"):
        Spmd()(parse(text))
