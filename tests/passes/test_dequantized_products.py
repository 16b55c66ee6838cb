"""Products of dequantized operands as products of bytes: the same values, and bytes indeed."""

import numpy as np
import pytest

import tfc
from tfc.hlo import Module, evaluate
from tfc.hlo.text.parser import parse
from tfc.passes import parse_passes

RNG = np.random.default_rng(3)


def dequantized(name: str, kind: str, dims: str, zero: str, scale: str) -> str:
    """Lines of text that make `name` of `name`_q; zero and scale are `value@dimensions`."""
    (z, z_at), (s, s_at) = (part.split("@") for part in (zero, scale))
    z_dims, s_dims = (f"[{v.count(',') + 1}]" if "{" in v else "[]" for v in (z, s))
    return f"""
      {name}_q = {kind}{dims} parameter({int(name == "b")})
      {name}_i = s32{dims} convert({name}_q)
      {name}_z = s32{z_dims} constant({z})
      {name}_zs = s32{dims} broadcast({name}_z), dimensions={{{z_at}}}
      {name}_l = s32{dims} subtract({name}_i, {name}_zs)
      {name}_f = f32{dims} convert({name}_l)
      {name}_s = f32{s_dims} constant({s})
      {name}_ss = f32{dims} broadcast({name}_s), dimensions={{{s_at}}}
      {name} = f32{dims} multiply({name}_f, {name}_ss)"""


def dot(kinds: str, left: str, right: str, *, scaled: bool) -> Module:
    """A product of [5,12] and [12,7] less zero points, which are given with their dimension."""
    end = "" if scaled else "_l"
    return parse(f"""HloModule m
    ENTRY main {{{dequantized("a", kinds[:2], "[5,12]", left, "0.5@")}
      {dequantized("b", kinds[3:], "[12,7]", right, "{1,2,3,4,5,6,7}@1")}
      ROOT d = {"f32" if scaled else "s32"}[5,7] dot(a{end}, b{end}),
        lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
    }}""")


def convolution(kinds: str, zero: str, features: int, *, scaled: bool) -> Module:
    """A convolution with padding of an array less a zero point, by a kernel of constants."""
    end = "" if scaled else "_l"
    kernel = RNG.integers(-128, 128, (3, 3, features, 5))
    text = dequantized("b", kinds[3:], f"[3,3,{features},5]", "0@", "{1,2,3,4,5}@3")
    numbers = str(kernel.tolist()).translate(str.maketrans("[]", "{}"))
    text = text.replace("parameter(1)", f"constant({numbers})")
    return parse(f"""HloModule m
    ENTRY main {{{dequantized("a", kinds[:2], f"[2,6,7,{features}]", zero, "0.25@")}
      {text}
      ROOT c = {"f32" if scaled else "s32"}[2,3,7,5] convolution(a{end}, b{end}),
        window={{size=3x3 stride=2x1 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f
    }}""")


def check(m: Module, *, scaled: bool) -> Module:
    """The module after the pass; its values are those before, and the compiled program's."""
    (made,) = parse_passes("integer-products")
    after = made(m)
    arrays = []
    for p in m.entry.parameters:
        dtype = p.array_shape.element_type.dtype
        info = np.iinfo(dtype)
        arrays.append(RNG.integers(info.min, info.max + 1, p.array_shape.dims).astype(dtype))
    wanted = evaluate(m, *arrays)
    for got in (evaluate(after, *arrays), tfc.compile(m)(*arrays)[0]):
        if scaled:
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-4)
        else:
            np.testing.assert_array_equal(got, wanted)
    return after


def product_types(m: Module) -> list[str]:
    """The element types of the operands of the one product of a module."""
    (found,) = (i for i in m.entry.instructions if i.opcode in ("dot", "convolution"))
    return [str(o.array_shape.element_type) for o in found.operands]


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("kinds", ["u8 s8", "s8 s8", "u8 u8"])
@pytest.mark.parametrize(("left", "right"), [("0@", "0@"), ("130@", "0@"), ("3@", "-7@"),
                                             ("{1,2,3,4,5}@0", "{9,8,7,6,5,4,3}@1")])  # fmt: skip
def test_products_of_matrices_are_of_bytes(left: str, right: str, kinds: str, scaled: bool):
    after = check(dot(kinds, left, right, scaled=scaled), scaled=scaled)
    assert product_types(after) == kinds.split()


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("kinds", ["u8 s8", "s8 s8"])
@pytest.mark.parametrize(("zero", "features"), [("0@", 4), ("17@", 8), ("9@", 3), ("-5@", 6)])
def test_convolutions_are_of_bytes(zero: str, features: int, kinds: str, scaled: bool):
    zero = zero if kinds[0] == "s" else zero.replace("-", "")
    after = check(convolution(kinds, zero, features, scaled=scaled), scaled=scaled)
    assert product_types(after) == kinds.split()


def test_dimensions_of_size_one_are_no_obstacle():
    m = parse("""HloModule m
    ENTRY main {
      x = u8[1,4,5,5] parameter(0)
      wide = s32[1,4,5,5] convert(x)
      f = f32[1,4,5,5] convert(wide)
      s = f32[] constant(0.5)
      ss = f32[1,4,5,5] broadcast(s), dimensions={}
      a = f32[1,4,5,5] multiply(f, ss)
      w = s8[3,4,1,1] parameter(1)
      i = s32[3,4,1,1] convert(w)
      g = f32[3,4,1,1] convert(i)
      t = f32[3,1,1] constant({{{1}},{{2}},{{3}}})
      tt = f32[3,4,1,1] broadcast(t), dimensions={0,2,3}
      b = f32[3,4,1,1] multiply(g, tt)
      ROOT c = f32[1,3,5,5] convolution(a, b), window={size=1x1}, dim_labels=bf01_oi01->bf01
    }""")
    assert product_types(check(m, scaled=True)) == ["u8", "s8"]


def test_operands_are_found_behind_a_transpose():
    m = parse(f"""HloModule m
    ENTRY main {{{dequantized("a", "u8", "[5,12]", "3@", "0.5@")}
      {dequantized("b", "s8", "[7,12]", "0@", "{1,2,3,4,5,6,7}@0")}
      t = f32[12,7] transpose(b), dimensions={{1,0}}
      ROOT d = f32[5,7] dot(a, t), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
    }}""")
    assert product_types(check(m, scaled=True)) == ["u8", "s8"]


@pytest.mark.parametrize(("left", "right"), [("{1,2,3,4,5,6,7,8,9,10,11,12}@1", "0@"),
                                             ("0@", "{1,2,3,4,5,6,7,8,9,10,11,12}@0")])  # fmt: skip
def test_zero_points_that_differ_along_a_sum_stay(left: str, right: str):
    after = check(dot("u8 s8", left, right, scaled=True), scaled=True)
    assert product_types(after) == ["f32", "f32"]


def test_features_that_stay_apart_and_sums_beyond_32_bits_stay_in_float():
    deep = dot("u8 u8", "0@", "0@", scaled=True)
    text = str(deep).replace("12]", "40000]").replace("[12,", "[40000,")
    (made,) = parse_passes("integer-products")
    assert product_types(made(parse(text))) == ["f32", "f32"]
    apart = convolution("u8 s8", "9@", 1, scaled=True)
    assert product_types(made(apart)) == ["f32", "f32"]
