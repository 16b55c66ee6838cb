"""Kernels equal but for numbers as one function: how much code there is, and the same bits."""

import numpy as np
import pytest
from counting import functions_and_calls
from hypothesis import given

from tfc.backends.cpu.compiler import KERNEL_KINDS
from tfc.compiler import compile
from tfc.hlo import Module, evaluate, parse, verify
from tfc.hlo.shape import F32, F64
from tfc.options import Options
from tfc.passes import Pipeline, default_pipeline
from tfc.passes.fusion.fusion import Fusion
from tfc.passes.fusion.multi_output import MultiOutput
from tfc.passes.fusion.number_tables import NumberTables
from tfc.passes.rewriting.decisions import Taken
from tfc.testing import arguments_for, modules
from tfc.testing.compare import flat

INLINE = Options(disabled=("number-tables",))
X = np.concatenate(
    [np.linspace(-30, 30, 1018), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30]]
).astype(np.float32)  # fmt: skip


def sines(count: int, element_type: str = "f32") -> Module:
    """The sum of sines of x, each with a frequency and a phase of its own."""
    array = f"{element_type}[{X.size}]{{0}}"
    lines = [f"x = {array} parameter(0)"]
    for i in range(count):
        lines += [
            f"k{i} = {element_type}[] constant({i / 100 + 0.505})",
            f"d{i} = {element_type}[] constant({i / 70 - 1.003})",
            f"b{i} = {array} broadcast(k{i}), dimensions={{}}",
            f"e{i} = {array} broadcast(d{i}), dimensions={{}}",
            f"m{i} = {array} multiply(x, b{i})",
            f"a{i} = {array} add(m{i}, e{i})",
            f"y{i} = {array} sine(a{i})",
        ]
    lines.append("t0 = " + f"{array} add(y0, y1)")
    lines += [f"t{i} = {array} add(t{i - 1}, y{i + 1})" for i in range(1, count - 1)]
    lines[-1] = f"ROOT {lines[-1]}"
    return parse("HloModule sines\nENTRY e {\n" + "\n".join(lines) + "\n}\n")


def test_hundreds_of_different_sines_are_few_functions() -> None:
    functions, calls = functions_and_calls(sines(200))
    assert functions <= 10
    assert calls >= 16


def test_few_sines_hold_their_numbers() -> None:
    module = default_pipeline(kinds=KERNEL_KINDS).run(sines(16))
    assert not [i for i in module.entry.instructions if i.opcode == "constant"]


@pytest.mark.parametrize("element_type", ["f32", pytest.param("f64", marks=pytest.mark.slow)])
def test_numbers_from_a_table_give_the_same_bits(element_type: str) -> None:
    module, x = sines(40, element_type), X.astype(np.dtype(element_type.replace("f", "float")))
    tabled = default_pipeline(kinds=KERNEL_KINDS).run(module)
    assert [i for i in tabled.entry.instructions if i.opcode == "constant"]
    (got,), (inline,) = compile(module)(x), compile(module, options=INLINE)(x)
    np.testing.assert_array_equal(got, inline, strict=True)
    bits = f"u{x.itemsize}"
    np.testing.assert_array_equal(got.view(bits)[~np.isnan(got)], inline.view(bits)[~np.isnan(got)])
    (expected,) = flat(evaluate(module, x))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_kernels_of_a_loop_and_after_it_share_a_function() -> None:
    wave = "p = f32[8] parameter(0) a = f32[] constant({}) b = f32[8] broadcast(a), dimensions={{}}"
    wave += " m = f32[8] multiply(p, b) ROOT s = f32[8] sine(m)"
    text = f"""HloModule loop
    first {{ {wave.format(0.5)} }}
    second {{ {wave.format(0.75)} }}
    less {{ s = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(s), index=0
      n = s32[] constant(3) ROOT l = pred[] compare(i, n), direction=LT }}
    body {{ s = (s32[], f32[8]) parameter(0) i = s32[] get-tuple-element(s), index=0
      x = f32[8] get-tuple-element(s), index=1 y = f32[8] fusion(x), kind=kLoop, calls=first
      one = s32[] constant(1) j = s32[] add(i, one) ROOT t = (s32[], f32[8]) tuple(j, y) }}
    ENTRY main {{ x = f32[8] parameter(0) zero = s32[] constant(0)
      t = (s32[], f32[8]) tuple(zero, x)
      w = (s32[], f32[8]) while(t), condition=less, body=body
      y = f32[8] get-tuple-element(w), index=1
      ROOT z = f32[8] fusion(y), kind=kLoop, calls=second }}"""
    module = parse(text)
    result = NumberTables(min_code=8)(module)
    verify(result)
    called = [
        i["calls"] for c in result.computations for i in c.instructions if "calls" in i.attributes
    ]
    assert len(called) == 2
    assert called[0] is called[1]
    assert NumberTables(min_code=8).explain(module) == (
        Taken("1 numbers in a table", "first"),
        Taken("1 numbers in a table", "second"),
    )
    assert NumberTables(min_code=8)(result) is result
    np.testing.assert_array_equal(evaluate(result, X[:8])[0], evaluate(module, X[:8])[0])


@given(modules(14, element_types=(F32, F64)))
def test_random_modules_keep_their_values(module: Module) -> None:
    result = Pipeline("tables", (Fusion(), MultiOutput(), NumberTables(min_code=1))).run(module)
    verify(result)
    arguments = arguments_for(module, np.random.default_rng(0))
    for a, b in zip(flat(evaluate(module, *arguments)), flat(evaluate(result, *arguments))):
        np.testing.assert_array_equal(a, b, strict=True)
