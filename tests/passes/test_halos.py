"""Windows along a dimension that is cut take from neighbours what they reach, and nothing more.

Oracle for values: the evaluator on the undivided module.
"""

import re

import numpy as np
import pytest

import tfc
from tfc import nn
from tfc.errors import TfcError
from tfc.hlo import Module, evaluate, parse
from tfc.hlo.attributes.replica_groups import is_collective
from tfc.passes.spmd.halos import Reach
from tfc.passes.spmd.spmd import Spmd
from tfc.testing import arguments_for
from tfc.testing.compare import mismatch
from tfc.testing.shardings import run_partitioned

SUM = """sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
top { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b) }
"""
# Of an image x cut along its rows: its rows, the lines that make r, and the permutes on 4 devices.
WINDOWS = {
    "the same size": (16, "conv", "size=3 pad=1_1", 2),
    "the same size, uneven": (13, "conv", "size=3 pad=1_1", 2),
    "inside only": (16, "conv", "size=3", 1),
    "padding on one side": (16, "conv", "size=3 pad=2_0", 1),
    "more padding than window": (16, "conv", "size=3 pad=3_3", 2),
    "negative padding": (16, "conv", "size=3 pad=-1_1", 1),
    "strides": (16, "conv", "size=4 stride=2 pad=1_1", 2),
    "strides that leave no halo": (16, "conv", "size=2 stride=2", 0),
    "dilated window": (16, "conv", "size=3 pad=2_2 rhs_dilate=2", 2),
    "dilated image": (8, "conv", "size=3 pad=1_1 lhs_dilate=2", None),
    "dilated image with an odd padding": (8, "conv", "size=4 pad=2_2 lhs_dilate=2", None),
    "a window that is turned around": (16, "conv", "size=3 pad=1_1 rhs_reversal=1", 2),
    "weight gradient": (16, "conv", "size=16 pad=1_1", 2),
    "sums": (16, "sum", "size=1x3x1 pad=0_0x1_1x0_0", 2),
    "largest, uneven": (14, "top", "size=1x3x1 pad=0_0x1_1x0_0", 2),
    "dilated sums": (16, "sum", "size=1x2x1 rhs_dilate=1x3x1", 1),
    "slice": (16, "slice={[0:2], [1:16], [0:2]}", "", 1),
    "slice with strides": (16, "slice={[0:2], [1:16:2], [0:2]}", "", 0),
    "pad": (15, "padding=0_0x1_0x0_0", "", 1),
    "pad inside": (8, "padding=0_0x1_0_1x0_0", "", None),
}  # fmt: skip


def module_of(rows: int, what: str, window: str, devices: int, init: float = 0) -> Module:
    """The window of an image of two batches and two features, whose rows are cut."""
    size = int((re.findall(r"size=(\d+)", window) or ["1"])[0])
    lines = [f"x = f32[2,{rows},2] parameter(0), sharding={{devices=[1,{devices},1]<=[{devices}]}}"]
    if what == "conv":
        weights = np.sin(np.arange(size * 6)).reshape(size, 2, 3)
        lines.append(f"w = f32[{size},2,3] constant({_text(weights)})")
        lines.append(f"ROOT r = f32[] convolution(x, w), window={{{window}}}, "
                     "dim_labels=b0f_0io->b0f")  # fmt: skip
    else:
        lines.append(f"z = f32[] constant({'-inf' if what == 'top' else init})")
        op = {"s": "slice(x)", "p": "pad(x, z)"}.get(what[0] if "=" in what else "", "")
        rest = what if op else f"window={{{window}}}, to_apply={what}"
        lines.append(f"ROOT r = f32[] {op or 'reduce-window(x, z)'}, {rest}")
    text = f"HloModule m, num_partitions={devices}\n{SUM}ENTRY e {{\n" + "\n".join(lines) + " }"
    try:
        return parse(text)
    except TfcError as error:  # says what the result's shape is
        (shape,) = re.findall(r"f32\[\d+,\d+,\d+\]", str(error))[:1]
        return parse(text.replace("ROOT r = f32[]", f"ROOT r = {shape}"))


def _text(array: np.ndarray) -> str:
    if array.ndim == 0:
        return f"{float(array):.6f}"
    return "{" + ", ".join(map(_text, array)) + "}"


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("devices", [2, 4])
def test_windows_take_what_they_reach_from_neighbours(name: str, devices: int):
    """No array is gathered but the result, and each step to a neighbour is one permute."""
    rows, what, window, expected = WINDOWS[name]
    module = module_of(rows, what, window, devices)
    arguments = arguments_for(module, np.random.default_rng(0))
    got = run_partitioned(module, [np.asarray(a) for a in arguments])
    assert mismatch(module, arguments, got) is None
    made = [x for x in Spmd()(module).entry.instructions if is_collective(x)]
    permutes = [x.opcode for x in made].count("collective-permute")
    assert devices == 2 or expected is None or permutes == expected
    others = {x.opcode for x in made} - {"collective-permute"}
    assert others <= ({"all-reduce"} if name == "weight gradient" else set())


def test_infinities_stay_where_windows_reach_them():
    """A weight gradient over rows that do not divide is not divided: 0 * inf would be added."""
    module = module_of(16, "conv", "size=15", 2)
    x = np.ones((2, 16, 2), np.float32)
    x[0, 15] = np.inf
    (got,) = run_partitioned(module, [x])
    expected = np.asarray(evaluate(module, x))
    assert not np.isfinite(expected).all()
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_sums_from_another_value_have_it_once_for_a_window():
    module = module_of(16, "sum", "size=1x3x1 pad=0_0x1_1x0_0", 2, init=0.5)
    x = np.ones((2, 16, 2), np.float32)
    (got,) = run_partitioned(module, [x])
    np.testing.assert_array_equal(got, np.asarray(evaluate(module, x)))
    assert got[0, 0, 0] == 2.5


def test_a_network_and_its_gradient_gather_no_image():
    """Rows of images on four devices: halos both ways, and a sum of the weights' gradients."""
    mesh = tfc.sharding.Mesh((4,), ("rows",))
    rows = tfc.sharding.P(None, "rows")

    def loss(x, w, v):
        y = nn.conv(nn.conv(x, w, padding="SAME").clip(0, None), v, padding="SAME")
        return (nn.avg_pool(y, 2, 2) ** 2).sum()

    rng = np.random.default_rng(0)
    dims = (2, 16, 8, 2), (3, 3, 2, 4), (3, 3, 4, 2)
    arrays = [rng.normal(size=d).astype(np.float32) for d in dims]
    slopes = tfc.grad(loss, (0, 1, 2))
    placed = tfc.jit(slopes, mesh=mesh, in_shardings=(rows, None, None),
                     out_shardings=(rows, None, None))  # fmt: skip
    for got, expected in zip(placed(*arrays), tfc.jit(slopes)(*arrays), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-3)
    text = str(Spmd()(placed.lower(*arrays).hlo))
    assert re.findall(r"all-gather\(|all-to-all\(", text) == []
    assert "collective-permute(" in text


def test_what_reaches_further_than_neighbours_is_not_cut():
    reach = Reach(0, 0, 16, 0, 1, -6, 13)
    assert reach.needed(2, 8) is None
    assert reach.needed(8, 2) is not None
    assert Reach(0, 0, 8, 0, 1, 0, 1, 2).needed(3, 4) is None  # gaps elsewhere in each part
