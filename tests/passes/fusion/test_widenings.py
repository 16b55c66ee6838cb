"""Each reader widens floats for itself, so that no array is wider than what it holds."""

import numpy as np

import tfc
import tfc.numpy as tnp
from tfc.hlo import Module, evaluate, parse, verify
from tfc.passes import KernelKinds, default_pipeline
from tfc.passes.fusion.widenings import Widenings

HEADER = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
SEVERAL = parse(
    HEADER
    + """ENTRY main {
  x = f16[8] parameter(0)
  z = f32[] constant(0)
  w = f32[8] convert(x)
  s = f32[] reduce(w, z), dimensions={0}, to_apply=add
  q = f32[8] multiply(w, w)
  ROOT r = (f32[], f32[8], f32[8]) tuple(s, q, w)
}"""
)


def conversions(module: Module) -> int:
    return sum(i.opcode == "convert" for i in module.entry.instructions)


def test_a_conversion_is_copied_for_each_reader():
    after = Widenings()(SEVERAL)
    verify(after)
    assert (conversions(SEVERAL), conversions(after)) == (1, 3)
    x = np.arange(8, dtype=np.float16)
    for a, b in zip(evaluate(SEVERAL, x), evaluate(after, x)):
        np.testing.assert_array_equal(a, b)


def test_what_has_one_reader_or_narrows_stays():
    text = str(SEVERAL).replace("f16[8]", "f64[8]")
    for module in (parse(text), Widenings()(SEVERAL)):
        assert Widenings()(module) is module


def test_values_of_rows_are_in_memory_as_narrow_as_they_are():
    def normed(x, y):
        halves = x / tnp.sqrt(tnp.mean(x.astype(np.float32) ** 2, -1, keepdims=True))
        narrow = halves.astype(np.float16)
        return narrow.astype(np.float32).sum(0), narrow @ y

    low = tfc.jit(normed).lower(np.ones((9, 32), np.float16), np.ones((32, 5), np.float16))
    kinds = KernelKinds(rows=True, epilogues=True, narrow_products=True, several_results=True)
    after = default_pipeline(kinds=kinds).run(low.hlo)
    arrays = [i for i in after.entry.instructions if i.opcode == "fusion" and "rows" in
              i["calls"].name]  # fmt: skip
    assert [a.array_shape.element_type.name for a in arrays] == ["f16"]
