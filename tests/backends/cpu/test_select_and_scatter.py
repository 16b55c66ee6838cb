"""Select-and-scatter whose windows do not reach along the fastest dimension in memory: neighbours
side by side, with the results of one element after the other.
"""

import numpy as np
import pytest

import tfc
from tfc.testing import arguments_for
from tfc.testing.compare import mismatch

PROGRAM = """
select {
  a = %(t)s[] parameter(0)
  b = %(t)s[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=%(direction)s
}
scatter {
  a = %(t)s[] parameter(0)
  b = %(t)s[] parameter(1)
  ROOT c = %(t)s[] add(a, b)
}
ENTRY main {
  x = %(t)s[2,9,8,%(channels)d] parameter(0)
  s = %(t)s[2,%(places)s,%(channels)d] parameter(1)
  zero = %(t)s[] constant(%(init)s)
  twice = %(t)s[2,%(places)s,%(channels)d] add(s, s)
  ROOT y = %(t)s[2,9,8,%(channels)d] select-and-scatter(x, twice, zero), window={%(window)s},
      select=select, scatter=scatter
}"""
WINDOWS = {
    "apart": ("size=1x3x2x1 stride=1x3x2x1", "3,4"),
    "overlapping": ("size=1x3x3x1 stride=1x2x2x1", "4,3"),
    "padded": ("size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_0x0_0", "5,4"),
    "all padding at the edge": ("size=1x2x2x1 stride=1x4x4x1 pad=0_0x4_1x0_0x0_0", "4,2"),
}


EDGED = """
ENTRY main {
  x = %(t)s[2,9,8,%(channels)d] parameter(0)
  s = %(t)s[2,%(places)s,%(channels)d] parameter(1)
  init = %(t)s[] parameter(2)
  low = %(t)s[] constant(%(low)s)
  p = %(t)s[%(padded)s,%(channels)d] pad(x, low), padding=%(edges)s
  r = %(t)s[%(padded)s,%(channels)d] select-and-scatter(p, s, init), window={%(window)s},
      select=select, scatter=scatter
  ROOT y = %(t)s[2,%(kept)s,%(channels)d] slice(r), slice={[0:2], %(cut)s, [0:%(channels)d]}
}"""
# What is padded, the windows over it, and what is kept.
EDGES = {
    "as JAX pads": ("0_0x1_1x1_1x0_0", "2,11,10", "size=1x3x3x1 stride=1x2x2x1", "5,4",
                    "[1:10], [1:9]", "9,8"),
    "high only": ("0_0x0_2x0_3x0_0", "2,11,11", "size=1x3x3x1 stride=1x2x2x1", "5,5",
                  "[0:9], [0:8]", "9,8"),
    "wide, with padding of the window": ("0_0x3_3x4_2x0_0", "2,15,14",
                                         "size=1x3x2x1 stride=1x4x3x1 pad=0_0x2_0x0_1x0_0",
                                         "4,5", "[2:13], [5:14]", "11,9"),
    "cropped": ("0_0x-2_1x1_-1x0_0", "2,8,8", "size=1x2x2x1 stride=1x2x2x1", "4,4",
                "[1:7], [2:3]", "6,1"),
}  # fmt: skip


def program(channels: int = 8, t: str = "f32", window: str = "overlapping", **given: str):
    size, places = WINDOWS[window]
    stated = {"t": t, "channels": channels, "window": size, "places": places}
    return tfc.hlo.parse(PROGRAM % {**stated, "direction": "GE", "init": "0", **given})


def check(module: tfc.hlo.Module, arguments: list[np.ndarray] | None = None) -> None:
    arguments = arguments or list(arguments_for(module, np.random.default_rng(0)))
    assert mismatch(module, arguments, tfc.compile(module)(*arguments)) is None


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("channels", [7, 8, 63, 64, 65])
def test_windows_and_channels(window: str, channels: int) -> None:
    check(program(channels, window=window))


@pytest.mark.parametrize("t", ["f32", "f64", "s32", "u64"])
@pytest.mark.parametrize("channels", [9, 64])
@pytest.mark.parametrize("direction", ["GE", "LT"])
@pytest.mark.parametrize("edges", EDGES)
def test_edges_are_part_of_the_kernel(edges: str, direction: str, channels: int, t: str) -> None:
    names = ("edges", "padded", "window", "places", "cut", "kept")
    low = "-inf" if t[0] == "f" else "0"
    stated = {"t": t, "channels": channels, "direction": direction, "low": low, "init": "0"}
    computations, _ = PROGRAM.split("ENTRY")
    module = tfc.hlo.parse((computations + EDGED) % {**stated, **dict(zip(names, EDGES[edges]))})
    executable = tfc.compile(module)
    opcodes = {i.opcode for i in executable.hlo.entry.instructions if i.operands}
    assert opcodes == ({"fusion", "slice"} if edges == "cropped" else {"fusion"})
    random = np.random.default_rng(0)
    arguments = list(arguments_for(module, random))
    if t[0] == "f":
        # What is padded with may be selected: the gradient is lost there.
        odd = random.choice([np.nan, -np.inf, 0, 1], arguments[0].shape)
        arguments[0] = np.where(random.random(odd.shape) < 0.3, odd, arguments[0]).astype(odd.dtype)
        arguments[0] = arguments[0].astype(arguments[1].dtype)
    assert mismatch(module, arguments, executable(*arguments)) is None


@pytest.mark.parametrize("t", ["f64", "bf16", "f16", "s8", "u32", "s64"])
def test_element_types(t: str) -> None:
    check(program(10, t))


@pytest.mark.parametrize("direction", ["GE", "GT", "LE", "LT"])
def test_of_equal_elements_the_select_computation_decides(direction: str) -> None:
    module = program(9, direction=direction, init="3")
    x = np.random.default_rng(1).integers(0, 3, (2, 9, 8, 9)).astype(np.float32)
    x[0, 4] = np.nan
    check(module, [x, np.random.default_rng(2).standard_normal((2, 4, 3, 9), np.float32)])


def test_neighbours_are_made_vectors_of() -> None:
    text = tfc.compile(program(64)).as_text("llvm")
    assert any(f"select <{n} x i1>" in text for n in (4, 8, 16))
