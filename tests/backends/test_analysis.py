"""What an executable says of its work and memory: rows of kernels, buffers over time, a picture."""

from xml.etree import ElementTree

import numpy as np
import pytest

import tfc
from tfc.hlo.text.parser import parse
from tfc.passes.analysis.cost import cost_analysis
from tfc.passes.analysis.fusible import price
from tfc.tools.pictures.arena import LiveBuffer, alive, arena_svg
from tfc.tools.pictures.svg import bytes_text, element, quantity, ticks

SVG = "{http://www.w3.org/2000/svg}"
LAYER = """HloModule layer

ENTRY layer {
  x = f32[64,96] parameter(0)
  w = f32[96,128] parameter(1)
  y = f32[64,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,128] exponential(y)
  n = f32[64,128] negate(e)
  v = f32[128,72] parameter(2)
  ROOT z = f32[64,72] dot(n, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
LOOP = """body {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[64] multiply(x, x)
  ROOT t = (s32[], f32[64]) tuple(j, y)
}
condition {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] LIMIT
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY loop {
  z = s32[] constant(0)
  x = f32[64] parameter(0)
  t = (s32[], f32[64]) tuple(z, x)
  w = (s32[], f32[64]) while(t), condition=condition, body=body CONFIG
  ROOT r = f32[64] get-tuple-element(w), index=1
}"""


def test_each_kernel_has_a_row_and_they_add_up():
    cost = tfc.compile(parse(LAYER)).cost_analysis()
    assert [(k.name, k.kind) for k in cost.kernels] == [
        ("n_fusion", "fusion kOutput"), ("z", "dot"),
    ]  # fmt: skip
    layer, product = cost.kernels
    assert (layer.flops, layer.transcendentals) == (2 * 64 * 96 * 128 + 64 * 128, 64 * 128)
    assert layer.bytes_written == 4 * 64 * 128
    assert (product.flops, product.transcendentals) == (2 * 64 * 128 * 72, 0)
    assert cost.flops == sum(k.flops for k in cost.kernels)
    assert cost.bytes_accessed == sum(k.bytes_accessed for k in cost.kernels)


@pytest.mark.parametrize(
    ("config", "runs"),
    [("", 10), (', backend_config={"known_trip_count":{"n":"10"}}', 10)],
)
def test_loops_count_as_often_as_they_are_known_to_run(config: str, runs: int):
    # Either the limit tells, or the text does.
    limit = "constant(10)" if not config else "multiply(i, i)"
    cost = cost_analysis(parse(LOOP.replace(" CONFIG", config).replace("LIMIT", limit)))
    found = {k.name: (k.runs, k.runs * k.flops) for k in cost.kernels}
    assert found["body/y"] == (runs, 64 * runs)
    assert found["condition/c"][0] == runs + 1


def test_only_what_is_picked_of_an_array_counts_as_read():
    module = parse("""ENTRY e {
      x = f32[1000,8] parameter(0)
      i = s32[] parameter(1)
      z = s32[] constant(0)
      p = f32[1,8] dynamic-slice(x, i, z), dynamic_slice_sizes={1,8}
      ROOT n = f32[1,8] negate(p)
    }""")
    (row,) = tfc.compile(module).cost_analysis().kernels
    assert row.bytes_read < 100
    assert row.bytes_written == 32


def test_updates_in_place_write_only_what_is_new():
    module = parse("""ENTRY e {
      x = f32[1000] parameter(0)
      u = f32[2] parameter(1)
      i = s32[] parameter(2)
      ROOT y = f32[1000] dynamic-update-slice(x, u, i)
    }""")
    apart = cost_analysis(module).kernels[0]
    inside = cost_analysis(module, {module.entry.root}).kernels[0]
    assert (apart.bytes_written, inside.bytes_written) == (4000, 8)
    assert inside.bytes_read < 100 < apart.bytes_read


def test_buffers_lie_in_the_arena_and_never_on_each_other():
    memory = tfc.compile(parse(LAYER)).memory_analysis()
    names = [b.name for b in memory.buffers]
    assert "n_fusion" in names
    assert max(b.offset + b.size for b in memory.buffers) <= memory.temporary_bytes
    assert max(total for _, total in alive(memory.buffers)) <= memory.lower_bound
    for a in memory.buffers:
        for b in memory.buffers:
            together = a.first <= b.last and b.first <= a.last
            apart = a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
            assert a is b or apart or not together
    assert "buffers" not in repr(memory)  # it stays one line


def test_scratch_memory_is_among_the_buffers():
    text = "ENTRY e { x = f32[9,9] parameter(0) ROOT c = f32[9,9] cholesky(x), lower=false }"
    memory = tfc.compile(parse(text)).memory_analysis()
    assert ("c (scratch)", "scratch") in [(b.name, b.category) for b in memory.buffers]


def test_the_picture_of_the_arena_shows_every_buffer_with_its_name():
    memory = tfc.compile(parse(LAYER)).memory_analysis()
    picture = ElementTree.fromstring(memory.to_svg())
    assert picture.tag == f"{SVG}svg"
    assert picture.attrib["role"] == "img"
    titles = [t.text or "" for t in picture.iter(f"{SVG}title")]
    assert titles[0] == "Arena of layer"
    assert all(any(t.startswith(f"{b.name}: ") for t in titles) for b in memory.buffers)
    texts = [t.text or "" for t in picture.iter(f"{SVG}text")]
    for line in ("peak", "live-set bound"):
        assert any(t.startswith(line) for t in texts)
    assert picture.find(f"{SVG}style") is not None
    inside = ElementTree.fromstring(memory.to_svg(standalone=False))
    assert inside.find(f"{SVG}style") is None


def test_pictures_of_nothing_and_of_very_much_are_drawn():
    ElementTree.fromstring(arena_svg((), 0, 0))
    generator = np.random.default_rng(0)
    many = [
        LiveBuffer(f"<b{n}>", "copy", int(o), int(s), n, n + 5)
        for n, (o, s) in enumerate(generator.integers(1, 1 << 30, (5000, 2)))
    ]
    drawn = arena_svg(many, 1 << 31, 1 << 30, "a&b")
    ElementTree.fromstring(drawn)
    assert "the 2000 smallest are not drawn" in drawn
    assert len(drawn) < 2_000_000


def test_texts_of_quantities():
    assert [bytes_text(n) for n in (0, 1000, 1024, 1 << 20, 3 << 29)] == [
        "0 B", "1000 B", "1 KiB", "1 MiB", "1.5 GiB",
    ]  # fmt: skip
    assert [quantity(n) for n in (0, 999, 1234, 5.6e9)] == ["0", "999", "1.23k", "5.6G"]
    assert ticks(0, 5) == [0]
    for end in (1, 7, 33, 950, 12345):
        made = ticks(end, 10)
        assert made[0] == 0
        assert made[-1] <= end
        assert 2 <= len(made) <= 25
    assert (
        element("a", "b", class_="c", stroke_width=1.5) == '<a class="c" stroke-width="1.5">b</a>'
    )


PRICED = {
    "real": ("c64[8]", "f32[8] real(x)"),
    "imag": ("c64[8]", "f32[8] imag(x)"),
    "complex": ("f32[8]", "c64[8] complex(x, x)"),
    "reduce-precision": ("f32[8]", "f32[8] reduce-precision(x), exponent_bits=5, mantissa_bits=10"),
    "add": ("f32[8]", "f32[8] add(x, x)"),
    "sqrt": ("f32[8]", "f32[8] sqrt(x)"),
    "exponential": ("f32[8]", "f32[8] exponential(x)"),
    "sine": ("f32[8]", "f32[8] sine(x)"),
}


@pytest.mark.parametrize(
    ("opcode", "work", "asked"),
    [("real", (8, 0), 1), ("imag", (8, 0), 1), ("complex", (8, 0), 1), ("add", (8, 0), 1),
     ("reduce-precision", (8, 0), 2), ("sqrt", (0, 8), 2), ("exponential", (0, 8), 16),
     ("sine", (0, 8), 16)],
)  # fmt: skip
def test_parts_of_numbers_are_not_priced_as_functions(opcode, work, asked):
    operand, text = PRICED[opcode]
    module = parse(f"ENTRY e {{ x = {operand} parameter(0)\n ROOT y = {text} }}")
    cost = cost_analysis(module)
    assert (cost.flops, cost.transcendentals) == work
    assert price(module.entry.root) == asked


def test_what_rounds_to_fewer_bits_is_computed_where_it_is_wanted_rather_than_stored():
    text = """add {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = f32[] add(a, b)
    }
    ENTRY e {
      x = f32[64,64] parameter(0)
      r = f32[64,64] reduce-precision(x), exponent_bits=5, mantissa_bits=10
      zero = f32[] constant(0)
      rows = f32[64] reduce(r, zero), dimensions={1}, to_apply=add
      columns = f32[64] reduce(r, zero), dimensions={0}, to_apply=add
      ROOT t = (f32[64], f32[64]) tuple(rows, columns)
    }"""
    kernels = tfc.compile(parse(text)).cost_analysis().kernels
    assert sum(k.bytes_written for k in kernels) == 2 * 64 * 4
