"""What goes into the kernels of dots and convolutions, and why the rest does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfc.hlo import Module, evaluate, parse, verify
from tfc.hlo.shape import BF16, F32, F64, S32
from tfc.passes.fusion.epilogues import EpilogueFusion
from tfc.passes.rewriting.decisions import Refused
from tfc.testing import arguments_for, modules
from tfc.testing.compare import flat

DENSE = """x = f32[8,5] parameter(0); w = f32[5,7] parameter(1)
d = f32[8,7] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""


def entry(lines: str, before: str = "") -> Module:
    return parse(f"{before}\nENTRY main {{\n{lines.replace(';', chr(10))}\n}}")


ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }"

# The lines after the dense layer, and the refusal.
# fmt: off
REFUSALS = [
    ("zero = f32[] constant(0)\nROOT r = f32[8] reduce(d, zero), dimensions={1}, to_apply=add",
     "r into d: reduce is not elementwise"),
    ("n = f32[8,7] negate(d)\nROOT s = f32[4,7] slice(n), slice={[0:4], [0:7]}",
     "s into n: slice is not elementwise"),
    ("t = f32[7,8] transpose(d), dimensions={1,0}\nn = f32[8,7] negate(d)\n"
     "ROOT r = (f32[7,8], f32[8,7]) tuple(t, n)",
     "t into d: the value before the transpose is used too"),
    ("y = f32[7,3] parameter(2)\nt = f32[8,7] tanh(d)\ne = f32[8,7] exponential(t)\n"
     "f = f32[8,3] dot(e, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "g = f32[8,8] dot(e, d), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "ROOT r = (f32[8,3], f32[8,8]) tuple(f, g)",
     "e into f: it is used elsewhere too"),
]
PROLOGUES = [
    ("x = c64[8,5] parameter(0); y = c64[5,7] parameter(1); n = c64[8,5] negate(x)\n"
     "ROOT d = c64[8,7] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "n into d: a dot of c64 reads elements for each product"),
    ("x = f32[8,5] parameter(0); y = f32[5,999] parameter(1); n = f32[8,5] tanh(x)\n"
     "ROOT d = f32[8,999] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "n into d: it is expensive, and would be computed once for each block of columns"),
    ("x = f32[8,5] parameter(0); y = f32[5,7] parameter(1); n = f32[4,5] slice(x), "
     "slice={[0:4], [0:5]}\n"
     "ROOT d = f32[4,7] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "n into d: slice is not elementwise"),
    ("x = f32[1,5,3] parameter(0); k = f32[2,3,4] parameter(1); n = f32[1,5,3] negate(x)\n"
     "ROOT c = f32[1,4,4] convolution(n, k), window={size=2}, dim_labels=b0f_0io->b0f",
     "n into c: a convolution reads each element of its operand many times"),
]
# fmt: on


@pytest.mark.parametrize(
    ("lines", "refusal"), [(f"{DENSE}\n{after}", why) for after, why in REFUSALS] + PROLOGUES
)
def test_refusals_say_why(lines: str, refusal: str) -> None:
    module = entry(lines, ADD)
    assert f"refused {refusal}" in map(str, EpilogueFusion().explain(module))


def test_an_epilogue_has_a_limit() -> None:
    steps = [f"n{k + 1} = f32[8,7] negate(n{k})" for k in range(9)]
    module = entry("\n".join([DENSE, "n0 = f32[8,7] tanh(d)", *steps, "ROOT r = f32[8,7] abs(n9)"]))
    limited = EpilogueFusion(4)
    refusal = Refused("n4", "the epilogue would exceed 4 instructions", "n3")
    assert refusal in limited.explain(module)
    (fused,) = (i for i in limited(module).entry.instructions if i.opcode == "fusion")
    assert fused["calls"].root.name == "n3"


def test_a_sum_of_one_number_does_not_take_what_it_is_applied_to() -> None:
    module = entry(
        "x = f32[5] parameter(0); y = f32[1,9] parameter(1)\n"
        "d = f32[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
        "ROOT c = f32[1,9] clamp(d, y, d)"
    )
    assert EpilogueFusion()(module) is module


TYPES = (F32, S32, F64, BF16)


EVERYTHING = EpilogueFusion(narrow_floats=True, instructions_a_byte=8, several_results=True)


@pytest.mark.parametrize("fusion", [EpilogueFusion(), EVERYTHING])
@given(module=modules(14, element_types=TYPES))
def test_values_stay(fusion: EpilogueFusion, module: Module) -> None:
    after = fusion(module)
    verify(after)
    arguments = arguments_for(module, np.random.default_rng(2), "special")
    expected, got = (evaluate(m, *arguments) for m in (module, after))
    pairs = zip(expected, got) if isinstance(expected, tuple) else [(expected, got)]
    for a, b in pairs:
        assert a.dtype == b.dtype
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        np.testing.assert_array_equal(a.astype(wide), b.astype(wide))


def test_it_is_linear_in_the_module() -> None:
    lines = ["x = f32[4,4] parameter(0)", "v0 = f32[4,4] negate(x)"]
    for k in range(1500):
        lines.append(f"d{k} = f32[4,4] dot(v{k}, x), lhs_contracting_dims={{1}}, "
                     f"rhs_contracting_dims={{0}}")  # fmt: skip
        lines.append(f"a{k} = f32[4,4] add(d{k}, v{k})")
        lines.append(f"v{k + 1} = f32[4,4] tanh(a{k})")
    module = entry("\n".join([*lines, "ROOT r = f32[4,4] negate(v1500)"]))
    fused = [i for i in EpilogueFusion()(module).entry.instructions if i.opcode == "fusion"]
    assert len(fused) == 1500


def test_floats_that_several_products_widen_are_read_narrow_by_each() -> None:
    module = entry(
        "x = bf16[1,8,4] parameter(0); k = bf16[3,4,4] parameter(1); h = bf16[3,4,4] parameter(2)\n"
        "a = f32[1,8,4] convert(x); b = f32[3,4,4] convert(k); c = f32[3,4,4] convert(h)\n"
        "y = f32[1,6,4] convolution(a, b), window={size=3}, dim_labels=b0f_0io->b0f\n"
        "z = f32[1,6,4] convolution(a, c), window={size=3}, dim_labels=b0f_0io->b0f\n"
        "ROOT r = (f32[1,6,4], f32[1,6,4]) tuple(y, z)"
    )
    assert EpilogueFusion()(module) is module
    after = EpilogueFusion(narrow_floats=True)(module)
    verify(after)
    fusions = [i for i in after.entry.instructions if i.opcode == "fusion"]
    assert [[o.opcode for o in f.operands] for f in fusions] == [["parameter"] * 2] * 2
    assert all(i.opcode != "convert" for i in after.entry.instructions)


GELU = f"""{DENSE}\nb = bf16[8,7] convert(d); v = bf16[7,3] parameter(2); g = f32[8,3] parameter(3)
o = f32[8,7] convert(b); t = f32[8,7] tanh(o); y = f32[8,7] multiply(o, t); n = bf16[8,7] convert(y)
i = f32[7,3] convert(v)
e = f32[8,7] dot(g, i), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
u = f32[8,7] convert(b); m = f32[8,7] multiply(t, u); r = f32[8,7] multiply(e, m)
ROOT z = (bf16[8,7], f32[8,7]) tuple(n, r)"""


def test_what_others_compute_of_values_that_are_read_is_computed_again_where_that_takes_less() -> (
    None
):
    module = entry(GELU)

    def read(fusion: EpilogueFusion) -> list[str]:
        after = fusion(module)
        verify(after)
        for a, b in zip(*(evaluate(m, *arguments_for(m, np.random.default_rng(1), "normal"))
                          for m in (module, after))):  # fmt: skip
            np.testing.assert_array_equal(a.astype(np.float32), b.astype(np.float32))
        (last,) = (i for i in after.entry.instructions if i.name.startswith("r"))
        return [o.opcode for o in last.operands]

    assert "tanh" in read(EpilogueFusion(narrow_floats=True))
    assert "tanh" not in read(EpilogueFusion(narrow_floats=True, instructions_a_byte=8))
    assert "tanh" in read(EpilogueFusion(narrow_floats=True, instructions_a_byte=2))


def test_an_activation_that_products_read_is_a_result_beside_what_it_is_made_of() -> None:
    module = entry(
        f"{DENSE}\nt = f32[8,7] tanh(d); y = f32[7,3] parameter(2); z = f32[8,7] negate(d)\n"
        "e = f32[8,3] dot(t, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "g = f32[8,8] dot(t, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
        "ROOT r = (f32[8,3], f32[8,8], f32[8,7]) tuple(e, g, z)"
    )
    after = EpilogueFusion(several_results=True)(module)
    verify(after)
    (kernel,) = (i for i in after.entry.instructions if i.opcode == "fusion")
    # The dot itself, which nobody else reads, is in no memory.
    assert [o.opcode for o in kernel["calls"].root.operands] == ["tanh", "negate"]


CROSSED = """x = f32[8,5] parameter(0); w = f32[5,7] parameter(1); v = f32[5,7] parameter(2)
y = f32[7,3] parameter(3)
h = f32[8,7] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
g = f32[8,7] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
p = f32[8,7] multiply(h, g); q = f32[8,7] add(g, h); s = f32[8,7] subtract(h, g)
a = f32[8,3] dot(p, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
b = f32[8,3] dot(q, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
c = f32[8,8] dot(p, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}
d = f32[8,8] dot(q, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}
ROOT r = (f32[8,3], f32[8,3], f32[8,8], f32[8,8]) tuple(a, b, c, d)"""


def test_no_two_kernels_need_results_of_each_other() -> None:
    module = entry(CROSSED)
    for fusion in (EVERYTHING, EpilogueFusion(several_results=True)):
        after = fusion(module)
        verify(after)
        for a, b in zip(*(evaluate(m, *arguments_for(m, np.random.default_rng(1), "normal"))
                          for m in (module, after))):  # fmt: skip
            np.testing.assert_array_equal(a, b)


@st.composite
def crossing(draw: st.DrawFn) -> Module:
    """Two or three products, elementwise operations on any two of them, and products of these."""
    lines = ["v0 = f32[4,4] parameter(0)", "v1 = f32[4,4] parameter(1)"]

    def add(kind: str, low: int, high: int) -> None:
        a, b = (draw(st.integers(low, high - 1)) for _ in range(2))
        rest = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}" if kind == "dot" else ""
        lines.append(f"v{len(lines)} = f32[4,4] {kind}(v{a}, v{b}){rest}")

    for _ in range(draw(st.integers(2, 3))):
        add("dot", 0, 2)
    first = len(lines)
    for _ in range(draw(st.integers(2, 6))):
        add(draw(st.sampled_from(["add", "multiply", "maximum"])), 2, first)
    last = len(lines)
    for _ in range(draw(st.integers(2, 5))):
        add("dot", first, last)
    results = range(last, len(lines))
    shapes, names = ", ".join(["f32[4,4]"] * len(results)), ", ".join(f"v{n}" for n in results)
    return entry("\n".join([*lines, f"ROOT r = ({shapes}) tuple({names})"]))


@settings(max_examples=300)
@given(module=crossing())
def test_no_crossing_of_products_makes_kernels_need_each_other(module: Module) -> None:
    after = EVERYTHING(module)
    verify(after)
    arguments = arguments_for(module, np.random.default_rng(1), "whole")
    for a, b in zip(*(evaluate(m, *arguments) for m in (module, after))):
        np.testing.assert_array_equal(a, b)


def test_a_wider_form_of_a_result_is_left_to_its_readers() -> None:
    module = entry(
        f"{DENSE}\nb = bf16[8,7] convert(d); o = f32[8,7] convert(b)\n"
        "y = f32[7,3] parameter(2)\nROOT e = f32[8,3] dot(o, y), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}"
    )
    kinds = [
        [i.array_shape.element_type for i in fusion(module).entry.instructions
         if i.opcode == "fusion"]
        for fusion in (EpilogueFusion(), EpilogueFusion(narrow_floats=True))
    ]  # fmt: skip
    assert kinds == [[F32], [BF16, F32]]


@pytest.mark.parametrize("is_read_elsewhere", [False, True])
def test_dynamic_slices_are_read_where_they_lie(is_read_elsewhere: bool) -> None:
    root = "ROOT r = (f32[8,7], f32[1,8,7]) tuple(s, p)" if is_read_elsewhere else ""
    module = entry(
        f"{DENSE}\nxs = f32[9,8,7] parameter(2); i = s32[] parameter(3); z = s32[] constant(0)\n"
        "p = f32[1,8,7] dynamic-slice(xs, i, z, z), dynamic_slice_sizes={1,8,7}\n"
        f"q = f32[8,7] reshape(p); {'' if root else 'ROOT '}s = f32[8,7] add(d, q)\n{root}"
    )
    apart = EpilogueFusion()(module)
    assert any(i.opcode == "dynamic-slice" for i in apart.entry.instructions)
    result = EpilogueFusion(takes_slices=True)(module)
    verify(result)
    stays = any(i.opcode == "dynamic-slice" for i in result.entry.instructions)
    assert stays == is_read_elsewhere
    arguments = arguments_for(module, np.random.default_rng(3), "special")
    for a, b in zip(flat(evaluate(module, *arguments)), flat(evaluate(result, *arguments))):
        np.testing.assert_array_equal(a, b, strict=True)
