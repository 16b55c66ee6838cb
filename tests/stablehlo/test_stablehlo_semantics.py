"""What StableHLO programs mean at the edges, held against XLA; and HLO that goes there and back."""

from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from xla_bridge import run_hlo_text_apart, run_stablehlo_text_apart

import tfc
from tfc.compiler import module_text
from tfc.errors import ParseError, UnsupportedError
from tfc.hlo import evaluate, parse

TRUTH = (np.array([False, False, True, True]), np.array([False, True, False, True]))
NAN = float("nan")
COMPLEX = np.array([0, 1j, 1, complex(0, NAN), complex(NAN, 0), complex(-0.0, 2), 1 + 1j], "c8")


def both(module: Any, *values: Any) -> list[Any]:
    """The results of a module on the evaluator and compiled, which must be the same bits."""
    evaluated = evaluate(module, *values)
    expected = list(evaluated) if isinstance(evaluated, tuple) else [evaluated]
    for got, want in zip(tfc.compile(module)(*values), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    return expected


def test_the_real_part_decides_whether_a_complex_number_is_true():
    text = """func.func @main(%a: tensor<7xcomplex<f32>>) -> tensor<7xi1> {
      %r = stablehlo.convert %a : (tensor<7xcomplex<f32>>) -> tensor<7xi1>
      return %r : tensor<7xi1> }"""
    (got,) = both(tfc.from_stablehlo(text).hlo, COMPLEX)
    np.testing.assert_array_equal(got, run_stablehlo_text_apart(text, COMPLEX)[0])
    assert not got[1]


def test_numpys_truth_of_complex_numbers_is_of_both_parts():
    got = tfc.jit(lambda x: x.astype(bool))(COMPLEX)
    np.testing.assert_array_equal(got, COMPLEX.astype(bool))


def test_the_sum_of_truth_values_is_or_and_the_product_and():
    text = """func.func @main(%a: tensor<4xi1>, %b: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
      %0 = stablehlo.add %a, %b : tensor<4xi1>
      %1 = stablehlo.multiply %a, %b : tensor<4xi1>
      return %0, %1 : tensor<4xi1>, tensor<4xi1> }"""
    found = both(tfc.from_stablehlo(text).hlo, *TRUTH)
    for got, expected in zip(found, run_stablehlo_text_apart(text, *TRUTH), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("opcode", "init"), [*product(("add", "multiply"), ("false", "true"))])
def test_truth_values_are_summed_and_multiplied_in_reductions(opcode: str, init: str):
    text = f"""HloModule m

combine {{
  a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT c = pred[] {opcode}(a, b)
}}

ENTRY e {{
  x = pred[4,3] parameter(0)
  i = pred[] constant({init})
  w = pred[4,3] reduce-window(x, i), window={{size=2x1 pad=1_0x0_0}}, to_apply=combine
  r = pred[3] reduce(x, i), dimensions={{0}}, to_apply=combine
  ROOT t = (pred[4,3], pred[3]) tuple(w, r)
}}"""
    x = np.random.default_rng(0).random((4, 3)) < 0.6
    for got, expected in zip(both(parse(text), x), run_hlo_text_apart(text, x), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("opcode", ["subtract", "divide", "power", "remainder", "negate"])
def test_other_arithmetic_on_truth_values_is_refused_as_by_xla(opcode: str):
    operands = "a" if opcode == "negate" else "a, a"
    text = f"""HloModule m

ENTRY e {{
  a = pred[4] parameter(0)
  ROOT r = pred[4] {opcode}({operands})
}}"""
    with pytest.raises(ParseError, match=f"{opcode} requires operands of type"):
        parse(text)
    with pytest.raises(RuntimeError, match="operand #0 must be"):
        run_hlo_text_apart(text, TRUTH[0])


@pytest.mark.parametrize(("name", "function"), [("maximum", lax.max), ("minimum", lax.min)])
def test_complex_numbers_are_ordered_by_real_then_imaginary_part(name: str, function: Any):
    """As the specification has it, and JAX, which writes it out; XLA only looks at real parts."""
    text = f"""func.func @main(%a: tensor<49xcomplex<f32>>, %b: tensor<49xcomplex<f32>>)
        -> tensor<49xcomplex<f32>> {{
      %r = stablehlo.{name} %a, %b : tensor<49xcomplex<f32>>
      return %r : tensor<49xcomplex<f32>> }}"""
    parts = np.array([0, 1, -1, 2, -0.0, NAN, np.inf], np.float32)
    numbers = np.array(list(product(parts, parts)), np.float32).view("c8").reshape(-1)
    others = np.random.default_rng(1).permutation(numbers)
    (got,) = both(tfc.from_stablehlo(text).hlo, numbers, others)
    np.testing.assert_array_equal(got, jax.jit(function)(numbers, others))


def test_convolutions_of_mixed_types_are_exported_with_conversions():
    text = """ENTRY e {
      x = f32[1,4,4,1] parameter(0)
      w = s8[2,2,1,1] parameter(1)
      ROOT c = f32[1,3,3,1] convolution(x, w), window={size=2x2}, dim_labels=b01f_01io->b01f
    }"""
    module, generator = parse(text), np.random.default_rng(0)
    x, w = generator.normal(size=(1, 4, 4, 1)).astype("f4"), np.array([[1, -2], [3, 4]], "i1")
    exported = module_text(module, "stablehlo")
    expected = evaluate(module, x, w.reshape(2, 2, 1, 1))
    (xla,) = run_stablehlo_text_apart(exported, x, w.reshape(2, 2, 1, 1))
    np.testing.assert_allclose(xla, expected, rtol=1e-6)
    again = tfc.from_stablehlo(exported)(x, w.reshape(2, 2, 1, 1))
    np.testing.assert_allclose(again, expected, rtol=1e-6)


TYPES = ("s8", "u8", "s32", "u64", "bf16", "f32", "f64", "c64")


@pytest.mark.parametrize(("lhs", "rhs"), [*product(TYPES, TYPES)])
def test_products_of_any_two_types_are_exported(lhs: str, rhs: str):
    result = max(lhs, rhs, key=TYPES.index)
    for trailing, line in (
        ("", "dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
        (",1", "convolution(x, w), window={size=1}, dim_labels=bf0_io0->bf0"),
    ):
        module = parse(f"""ENTRY e {{
          x = {lhs}[2,3{trailing}] parameter(0)
          w = {rhs}[3,2{trailing}] parameter(1)
          ROOT c = {result}[2,2{trailing}] {line}
        }}""")
        exported = tfc.from_stablehlo(module_text(module, "stablehlo")).hlo
        shapes = [p.array_shape for p in module.entry.parameters]
        values = [np.arange(1, 7).reshape(s.dims).astype(s.element_type.dtype) for s in shapes]
        np.testing.assert_array_equal(evaluate(exported, *values), evaluate(module, *values))


@pytest.mark.parametrize("start", [0, 1, 2**63, 2**64 - 1])
def test_start_indices_of_mixed_types_are_exported(start: int):
    module = parse("""ENTRY e {
      x = f32[4,3] parameter(0)
      i = u64[] parameter(1)
      j = s8[] parameter(2)
      s = f32[2,2] dynamic-slice(x, i, j), dynamic_slice_sizes={2,2}
      ROOT u = f32[4,3] dynamic-update-slice(x, s, j, i)
    }""")
    exported = tfc.from_stablehlo(module_text(module, "stablehlo")).hlo
    values = (np.arange(12, dtype="f4").reshape(4, 3), np.uint64(start), np.int8(-1))
    np.testing.assert_array_equal(evaluate(exported, *values), evaluate(module, *values))


def test_a_sharding_in_hlo_text_gives_its_operand():
    module = parse("""ENTRY e {
      x = f32[4] parameter(0)
      s = f32[4] custom-call(x), custom_call_target="Sharding", sharding={replicated}
      ROOT n = f32[4] negate(s)
    }""")
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(both(module, x)[0], -x)
    assert 'custom_call_target="Sharding"' in str(module)


def test_a_shard_on_one_of_several_devices_is_refused_by_name():
    module = parse("""ENTRY e {
      x = f32[4] parameter(0)
      ROOT s = f32[2] custom-call(x), custom_call_target="SPMDFullToShardShape"
    }""")
    message = "'SPMDFullToShardShape' makes f32\\[2\\] of f32\\[4\\], which is for several devices"
    with pytest.raises(UnsupportedError, match=message):
        tfc.compile(module)
    with pytest.raises(UnsupportedError, match=message):
        evaluate(module, np.zeros(4, "f4"))
