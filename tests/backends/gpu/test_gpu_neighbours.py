"""Data movement by 16 bytes: pieces of arrays, what begins at odd places, ragged ends."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tfc
from tfc.hlo import evaluate, parse
from tfc.hlo.shape import ELEMENT_TYPES, leaves
from tfc.testing.ptx.driver import device_for_tests

random = np.random.default_rng(41)


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[Any]:
    with device_for_tests() as driver:
        yield driver


def drawn(shape: Any) -> np.ndarray:
    high = 2 if shape.element_type.kind == "pred" else 100
    return random.integers(0, high, shape.dims).astype(shape.element_type.dtype)


# For each entry the loads and stores by threads that there are at most.
# fmt: off
CASES = {
    "pieces along the last dimension":
        ("concatenate({x}, {y}), dimensions={{1}}",
         "f16[64,256]", "f16[64,256]", "f16[64,512]", 4096, 4096),
    "pieces along the first dimension":
        ("concatenate({x}, {y}), dimensions={{0}}",
         "f32[96,128]", "f32[32,128]", "f32[128,128]", 4096, 4096),
    "pieces that meet inside of a group":
        ("concatenate({x}, {y}), dimensions={{0}}",
         "f32[1001]", "f32[4100]", "f32[5101]", 2310, 1280),
    "pieces of odd lengths":
        ("concatenate({x}, {y}), dimensions={{1}}",
         "f16[64,97]", "f16[64,31]", "f16[64,128]", 8192, 2300),
    "edges of four":
        ("pad({x}, {s}), padding=0_0x4_8",
         "f32[64,52]", "f32[1]", "f32[64,64]", 900, 1024),
    "edges of three":
        ("pad({x}, {s}), padding=0_0x3_5",
         "f32[64,56]", "f32[1]", "f32[64,64]", 2048, 1408),
    "edges around images":
        ("pad({x}, {s}), padding=0_0x1_1x1_1x0_0",
         "f16[2,6,6,32]", "f16[1]", "f16[2,8,8,32]", 288, 512),
    "edges cut off":
        ("pad({x}, {s}), padding=-1_2x-3_3",
         "s8[40,64]", "s8[1]", "s8[41,64]", 2560, 780),
    "in reverse":
        ("reverse({x}), dimensions={{1}}",
         "f16[16,128]", "f16[1]", "f16[16,128]", 256, 256),
    "in reverse, of an odd length":
        ("reverse({x}), dimensions={{0}}",
         "f32[2049]", "f32[1]", "f32[2049]", 2049, 513),
    "a slice from an odd place":
        ("slice({x}), slice={{[0:16], [3:131]}}",
         "f32[16,136]", "f32[1]", "f32[16,128]", 1024, 512),
    "an odd length":
        ("not({x})",
         "u8[4099]", "u8[1]", "u8[4099]", 260, 260),
    "rows of pairs":
        ("concatenate({x}, {y}), dimensions={{1}}",
         "c64[16,64]", "c64[16,64]", "c64[16,128]", 4096, 4096),
    "truths":
        ("concatenate({x}, {y}), dimensions={{1}}",
         "pred[16,64]", "pred[16,64]", "pred[16,128]", 128, 128),
}
# fmt: on


@pytest.mark.parametrize("name", CASES)
def test_pieces_are_moved_as_plain_copies_are(device: Any, name: str):
    text, x, y, result, loads, stores = CASES[name]
    element = x.split("[")[0]
    body = text.format(x="x", y="y", s="s")
    edge = {"pred": "true", "c64": "(7,1)"}.get(element, "7")
    module = parse(f"""HloModule m
    ENTRY e {{ x = {x} parameter(0)
      y = {y} parameter(1)
      s = {element}[] constant({edge})
      ROOT r = {result} {body} }}""")
    arguments = [drawn(p.array_shape) for p in module.entry.parameters]
    device.reports.clear()
    (got,) = tfc.compile(module, backend="gpu")(*arguments)
    np.testing.assert_array_equal(np.asarray(got), evaluate(module, *arguments))
    ((_, report),) = device.reports
    assert report.loads.accesses <= loads
    assert report.stores.accesses <= stores


def test_an_update_of_a_cache_is_moved_by_sixteen_bytes(device: Any):
    """The copy of what is kept, and the rows that are put into it, at a place that data say."""
    module = parse("""HloModule m
    ENTRY e { c = f16[4,32,8,64] parameter(0)
      u = f16[4,1,8,64] parameter(1)
      i = s32[] parameter(2)
      z = s32[] constant(0)
      ROOT r = f16[4,32,8,64] dynamic-update-slice(c, u, z, i, z, z) }""")
    cache, rows = (drawn(p.array_shape) for p in module.entry.parameters[:2])
    for place in (0, 7, 99):
        device.reports.clear()
        (got,) = tfc.compile(module, backend="gpu")(cache, rows, np.int32(place))
        np.testing.assert_array_equal(
            np.asarray(got), evaluate(module, cache, rows, np.int32(place))
        )
        (_, copy), (_, update) = device.reports
        assert copy.loads.accesses == copy.stores.accesses == cache.size // 8
        assert copy.loads.transactions == copy.stores.transactions == cache.nbytes // 32
        assert update.stores.accesses == rows.size // 8


@pytest.mark.parametrize(("element", "width"), [("f32", 64), ("f16", 96), ("s8", 48)])
def test_rows_of_a_table_are_read_by_sixteen_bytes(device: Any, element: str, width: int):
    module = parse(f"""HloModule m
    ENTRY e {{ t = {element}[100,{width}] parameter(0)
      i = s32[64] parameter(1)
      ROOT r = {element}[64,{width}] gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}},
        start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{width}}} }}""")
    table = drawn(module.entry.parameters[0].array_shape)
    numbers = random.integers(-5, 110, 64).astype(np.int32)
    device.reports.clear()
    (got,) = tfc.compile(module, backend="gpu")(table, numbers)
    np.testing.assert_array_equal(np.asarray(got), evaluate(module, table, numbers))
    ((_, report),) = device.reports
    groups = 64 * width * ELEMENT_TYPES[element].bytes // 16
    assert report.stores.accesses == groups
    assert report.loads.accesses == 2 * groups  # of the table and of the numbers


def test_several_results_are_stored_by_sixteen_bytes(device: Any):
    """A step of an optimizer, whose state and weights are made in one kernel."""
    module = parse("""HloModule m
    ENTRY e { w = f32[64,128] parameter(0)
      m = f32[64,128] parameter(1)
      g = f32[64,128] parameter(2)
      n = f32[64,128] add(m, g)
      h = f16[64,128] convert(n)
      v = f32[64,128] subtract(w, n)
      ROOT r = (f32[64,128], f32[64,128], f16[64,128]) tuple(v, n, h) }""")
    arguments = [drawn(p.array_shape) for p in module.entry.parameters]
    device.reports.clear()
    got = tfc.compile(module, backend="gpu")(*arguments)
    for found, expected in zip(got, evaluate(module, *arguments)):
        np.testing.assert_array_equal(np.asarray(found), expected)
    ((_, report),) = device.reports
    assert report.loads.accesses == report.stores.accesses == 3 * 64 * 128 // 4


MOVES = [
    "concatenate({0}, {1}), dimensions={{{d}}}", "pad({0}, s), padding={pad}",
    "reverse({0}), dimensions={{{d}}}",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_moves_of_moves_are_those_of_the_evaluator(seed: int):
    """Random chains of pieces, edges and reversals, of all widths of elements and odd sizes."""
    draw = np.random.default_rng(seed)
    element = draw.choice(["f32", "f16", "bf16", "s8", "u8", "pred", "f64", "c64", "s64", "c128"])
    dims = [int(n) for n in draw.choice([3, 8, 16, 31, 48, 64, 100], draw.integers(1, 4))]
    while np.prod(dims) < 2000:
        dims[-1] *= 2
    lines, last = [], "x0"
    inputs = [f"x0 = {element}[{','.join(map(str, dims))}] parameter(0)"]
    for number in range(draw.integers(1, 4)):
        d, kind = int(draw.integers(len(dims))), draw.integers(3)
        pads = [tuple(int(p) for p in draw.integers(-2, 9, 2)) for _ in dims]
        others = list(dims)
        others[d] = int(draw.integers(1, 40))
        other = f"x{len(inputs)}"
        if kind == 0:
            shape = ",".join(map(str, others))
            inputs.append(f"{other} = {element}[{shape}] parameter({len(inputs)})")
            dims[d] += others[d]
        elif kind == 1:
            dims = [n + sum(p) for n, p in zip(dims, pads)]
        move = MOVES[kind].format(last, other, d=d, pad="x".join(f"{a}_{b}" for a, b in pads))
        lines.append(f"m{number} = {element}[{','.join(map(str, dims))}] {move}")
        last = f"m{number}"
    zero = {"pred": "true", "c64": "(1,2)", "c128": "(1,2)"}.get(element, "3")
    lines[-1] = f"ROOT {lines[-1]}"
    text = [*inputs, f"s = {element}[] constant({zero})", *lines]
    module = parse("HloModule m\nENTRY e {\n" + "\n".join(text) + "\n}")
    arguments = [drawn(s) for p in module.entry.parameters for s in leaves(p.shape)]
    (got,) = tfc.compile(module, backend="gpu")(*arguments)
    np.testing.assert_array_equal(np.asarray(got), evaluate(module, *arguments))


@pytest.mark.parametrize(
    ("starts", "launches"),
    [((0, 1), 2), ((1, 0), 2), ((0, 0), 3), ((1, 5), 3), ((-7, 1), 2)],
)
def test_updates_that_go_to_other_places_are_one_launch(
    starts: tuple[int, int], launches: int, device: Any
):
    """The copy of what is kept, then both parts of a cache; one after the other if they meet, as
    starts are moved inside."""
    module = parse(f"""HloModule m
    ENTRY e {{ c = f16[2,32,8,16] parameter(0)
      k = f16[1,1,8,16] parameter(1)
      v = f16[1,2,8,16] parameter(2)
      i = s32[] parameter(3)
      z = s32[] constant(0)
      a = s32[] constant({starts[0]})
      b = s32[] constant({starts[1]})
      d = f16[2,32,8,16] dynamic-update-slice(c, k, a, i, z, z)
      ROOT r = f16[2,32,8,16] dynamic-update-slice(d, v, b, i, z, z) }}""")
    arrays = [drawn(p.array_shape) for p in module.entry.parameters[:3]]
    for place in (0, 7, 99):
        device.reports.clear()
        (got,) = tfc.compile(module, backend="gpu")(*arrays, np.int32(place))
        np.testing.assert_array_equal(np.asarray(got), evaluate(module, *arrays, np.int32(place)))
        assert len(device.reports) == launches
