"""StableHLO programs become HLO modules: each form of a program, each kind of construct, errors."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from jax import lax

import tfc
from tfc import cli
from tfc.errors import ParseError, TfcError, UnsupportedError
from tfc.hlo.evaluation.evaluator import evaluate
from tfc.hlo.verification.verifier import verify

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def body(text: str, signature: str = "(%x: tensor<3x4xf32>) -> tensor<3x4xf32>") -> str:
    """A module whose function has this body, in which %x is the argument and %r the result."""
    result = signature.partition("->")[2]
    return f"module @m {{ func.func @main{signature} {{\n{text}\n return %r :{result} }} }}"


def run(text: str, *values: Any) -> Any:
    """The result of a program on the reference evaluator."""
    module = tfc.from_stablehlo(text).hlo
    verify(module)
    return evaluate(module, *values)


def exported(function, *values):
    return jax.export.export(jax.jit(function))(*values)


def model(x, w):
    h = jax.nn.gelu(x @ w)
    h = lax.fori_loop(0, 3, lambda i, c: c * 0.5 + i, h)
    return jax.nn.softmax(lax.cond(h.sum() > 0, lambda v: v + 1, lambda v: v - 1, h))


# --- forms --------------------------------------------------------------------------------------


def test_every_form_of_a_program_is_read(tmp_path: Path):
    artifact = exported(model, X, X.T)
    expected = np.asarray(jax.jit(model)(X, X.T))
    path = tmp_path / "program.mlirbc"
    path.write_bytes(artifact.mlir_module_serialized)
    text = tmp_path / "program.mlir"
    text.write_text(artifact.mlir_module())
    lowered = jax.jit(model).lower(X, X.T).as_text()  # has operations of CHLO
    sources = [artifact, artifact.mlir_module_serialized, artifact.mlir_module(), path, str(text),
               lowered, lowered.encode()]  # fmt: skip
    for source in sources:
        function = tfc.from_stablehlo(source)
        np.testing.assert_allclose(function(X, X.T), expected, rtol=1e-5, atol=1e-6)


def test_a_program_with_several_results_gives_a_tuple():
    function = tfc.from_stablehlo(exported(lambda x: (x + 1, x.sum()), X))
    plus, total = function(X)
    np.testing.assert_array_equal(plus, X + 1)
    assert total == X.sum()
    assert "f32[3,4]" in repr(function)
    assert "stablehlo.reduce" in function.as_text("stablehlo")
    with pytest.raises(UnsupportedError, match="not as 'tosa'"):
        function.as_text("tosa")


def test_locations_become_metadata():
    text = body('%r = stablehlo.abs %x : tensor<3x4xf32> loc("f/abs"("a.py":7:3))')
    metadata = tfc.from_stablehlo(text).hlo.entry.root.metadata
    assert metadata is not None
    assert (metadata.op_name, metadata.source_file, metadata.source_line) == ("f/abs", "a.py", 7)


def test_donated_arguments_are_named_in_the_module():
    function = jax.jit(lambda x: x + 1, donate_argnums=0)
    text = (
        function.lower(X)
        .as_text()
        .replace("tf.aliasing_output = 0 : i32", "jax.buffer_donor = true")
    )
    assert dict(tfc.from_stablehlo(text).hlo.attributes)["buffer_donor"] == "{ (0, {}) }"


# --- constants ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("written", "shape", "expected"), [
    ("dense<2.5>", "3xf32", [2.5] * 3),
    ("dense<[1.5, 0x7FC0, -3.0]>", "3xbf16", [1.5, np.nan, -3]),
    ("dense<[1.0, -2.0]>", "2xf16", [1, -2]),
    ('dense<"0x803F0040">', "2xbf16", [1, 2]),
    ("dense<[1.0, -0.5]>", "2xf8E4M3FN", [1, -0.5]),
    ("dense<[(1.0, -2.0), (0x7F800000, 3.0)]>", "2xcomplex<f32>", [1 - 2j, complex(np.inf, 3)]),
    ("dense<(1.0, 2.0)>", "2xcomplex<f64>", [1 + 2j] * 2),
    ("dense<[true, false]>", "2xi1", [True, False]),
    ("dense<[-8, 7]>", "2xi4", [-8, 7]),
    ("dense<[15, 0]>", "2xui4", [15, 0]),
    ("dense<[[255], [1]]>", "2x1xui8", [[255], [1]]),
    ("dense<>", "0x2xi32", np.zeros((0, 2))),
    ("dense<-5>", "i64", -5),
])  # fmt: skip
def test_constants(written: str, shape: str, expected: Any):
    text = body(f"%r = stablehlo.constant {written} : tensor<{shape}>", f"() -> tensor<{shape}>")
    got = run(text)
    wide = np.complex128 if "complex" in shape else np.float64
    np.testing.assert_array_equal(np.asarray(got).astype(wide), np.asarray(expected, wide))


def test_a_long_constant_and_a_resource():
    values = np.arange(300, dtype=np.float32)
    function = exported(lambda x: x + jnp.asarray(values).astype(jnp.bfloat16), np.zeros(300, "f4"))
    np.testing.assert_array_equal(
        tfc.from_stablehlo(function)(np.zeros(300, "f4")), values.astype(jnp.bfloat16).astype("f4")
    )
    text = body(
        "%r = stablehlo.constant dense_resource<blob> : tensor<2xi64>", "() -> tensor<2xi64>"
    )
    blob = '"0x0800000001000000000000000200000000000000"'
    text += f"\n{{-# dialect_resources: {{ builtin: {{ blob: {blob} }} }} #-}}"
    np.testing.assert_array_equal(run(text), [1, 2])


# --- structure ----------------------------------------------------------------------------------


def test_functions_are_called_and_composites_keep_their_name():
    text = """module {
      func.func public @main(%x: tensor<f32>) -> tensor<f32> {
        %0 = func.call @twice(%x) : (tensor<f32>) -> tensor<f32>
        %1 = stablehlo.composite "my.twice" %0 {decomposition = @twice, version = 2 : i32}
          : (tensor<f32>) -> tensor<f32>
        return %1 : tensor<f32>
      }
      func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
        %0 = stablehlo.add %x, %x : tensor<f32>
        return %0 : tensor<f32>
      }
    }"""
    module = tfc.from_stablehlo(text).hlo
    assert evaluate(module, np.float32(3)) == 12
    assert [i.opcode for i in module.entry.instructions] == ["parameter", "call", "call"]
    assert module.entry.root["is_composite"]
    assert 'composite.name="my.twice"' in dict(module.entry.root.annotations)["frontend_attributes"]


def test_known_composites_become_operations():
    module = tfc.from_stablehlo(exported(lambda x: lax.erf(lax.asinh(x)), X)).hlo
    assert [i.opcode for i in module.entry.instructions] == ["parameter", "asinh", "erf"]


def test_regions_may_use_values_from_outside():
    text = body("""
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %y = stablehlo.negate %x : tensor<3x4xf32>
      %n, %l = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<3x4xf32>
        cond { %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
               stablehlo.return %c : tensor<i1>
        } do { %j = stablehlo.add %i, %one : tensor<i32>
               %w = stablehlo.subtract %v, %y : tensor<3x4xf32>
               stablehlo.return %j, %w : tensor<i32>, tensor<3x4xf32> }
      %p = stablehlo.compare EQ, %n, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %r = "stablehlo.if"(%p) ({ %s = stablehlo.add %l, %y : tensor<3x4xf32>
                                 stablehlo.return %s : tensor<3x4xf32> },
                               { stablehlo.return %y : tensor<3x4xf32> })
        : (tensor<i1>) -> tensor<3x4xf32>""")
    np.testing.assert_array_equal(run(text, X), X * 3)


def test_dynamic_forms_of_fixed_sizes():
    text = body("""
      %s = stablehlo.constant dense<[4, 3]> : tensor<2xi64>
      %t = stablehlo.dynamic_reshape %x, %s : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<4x3xf32>
      %b = stablehlo.dynamic_broadcast_in_dim %t, %s, dims = [0, 1]
        : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<4x3xf32>
      %n = "stablehlo.get_dimension_size"(%b) {dimension = 0 : i64}
        : (tensor<4x3xf32>) -> tensor<i32>
      %f = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
      %l = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
      %o = stablehlo.constant dense<0> : tensor<2xi64>
      %r = stablehlo.dynamic_pad %b, %f, %l, %o, %o
        : (tensor<4x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
        -> tensor<5x3xf32>""", "(%x: tensor<3x4xf32>) -> tensor<5x3xf32>")  # fmt: skip
    np.testing.assert_array_equal(
        run(text, X), np.concatenate([np.full((1, 3), 4), X.reshape(4, 3)])
    )


@pytest.mark.parametrize("function", [
    lambda x: lax.lgamma(jnp.abs(x) + 1), lambda x: lax.digamma(jnp.abs(x) + 1), lax.erf_inv,
    lambda x: lax.nextafter(x, x + 1), lax.bessel_i1e, lambda x: lax.top_k(x, 2)[0], lax.tan,
    lambda x: lax.polygamma(x * 0 + 1, jnp.abs(x) + 1), lax.erfc, lax.asinh,
])  # fmt: skip
def test_operations_of_chlo(function):
    """In text they are CHLO's; bytes and Exported have them decomposed."""
    x = X / 2.5
    got = tfc.from_stablehlo(jax.jit(function).lower(x).as_text())(x)
    np.testing.assert_allclose(got, jax.jit(function)(x), rtol=2e-6, atol=1e-6)


# --- what is refused ----------------------------------------------------------------------------

REDUCE_CAPTURE = """%z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  %r = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({ ^bb0(%e: tensor<f32>):
    %q = stablehlo.add %e, %s : tensor<f32>
    stablehlo.return %q : tensor<f32> }) : (tensor<3x4xf32>) -> tensor<3x4xf32>"""


@pytest.mark.parametrize(("source", "message"), [
    (b"", "must have a function main, or one public function, got none"),
    ("module {}", "must have a function main"),
    (b"\xff\xfe{", "neither MLIR bytecode nor text"),
    (b"ML\xefR garbage", "is no StableHLO that version"),
    (3, "taken as text, bytes, a path or a jax.export.Exported, got int"),
    ("no/such/file.mlir", "cannot read no/such/file.mlir: No such file"),
    (body("%r = foo %x"), r"<stablehlo>:2:6: custom op 'foo' is unknown"),
    (body("%r = stablehlo.abs %x : tensor<3xf32>"), "<stablehlo>:2:"),
    ("{" * 1000, "brackets nest deeper than 200"),
    ('module attributes {a = "\\FF"} {}', "this string is not UTF-8"),
    (body("%r = stablehlo.abs %x : tensor<?xf32>", "(%x: tensor<?xf32>) -> tensor<?xf32>"),
     "dynamic sizes are not supported"),
    (body("%r = stablehlo.add %x, %x : tensor<2x!quant.uniform<i8:f32, 2.0>>",
          "(%x: tensor<2x!quant.uniform<i8:f32, 2.0>>) -> tensor<2x!quant.uniform<i8:f32, 2.0>>"),
     "dequantize the program first"),
    (body("%r = arith.addf %x, %x : tensor<3x4xf32>"), "arith.addf has no counterpart in HLO"),
    (body("%r = func.call @main(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>"), "called by itself"),
    (body(REDUCE_CAPTURE), "only if, case and while may"),
])  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_sentence(source: Any, message: str):
    with pytest.raises(TfcError, match=message):
        tfc.from_stablehlo(source)


def test_errors_in_text_show_the_line():
    with pytest.raises(ParseError) as caught:
        tfc.from_stablehlo(body("%r = stablehlo.abs %y : tensor<3x4xf32>"))
    assert "%r = stablehlo.abs %y" in str(caught.value)


def test_damaged_bytecode_never_ends_the_process():
    whole = exported(model, X, X.T).mlir_module_serialized
    generator = np.random.default_rng(3)
    for _ in range(6):
        damaged = bytearray(whole)
        for place in generator.integers(4, len(damaged), 3):
            damaged[place] = generator.integers(256)
        with suppress(TfcError):
            tfc.from_stablehlo(bytes(damaged))


# --- the command line ---------------------------------------------------------------------------


def test_commands_take_stablehlo_by_name_and_by_content(tmp_path: Path):
    artifact = exported(lambda x: x * 2, X[0])
    bytecode, text = tmp_path / "program.bin", tmp_path / "program.txt"
    bytecode.write_bytes(artifact.mlir_module_serialized)
    text.write_text("// a comment\n" + artifact.mlir_module())
    for path in (bytecode, text):
        ran = CliRunner().invoke(cli.tfc, ["run", str(path), "--arg", "{1, 2, 3, 4}"])
        assert ran.exit_code == 0, ran.output
        assert "[2. 4. 6. 8.]" in ran.output
    shown = CliRunner().invoke(cli.tfc, ["emit", str(text), "--stage", "stablehlo"])
    assert "stablehlo.multiply" in shown.output
    wrong = tmp_path / "wrong.mlir"
    wrong.write_text("HloModule m")
    refused = CliRunner().invoke(cli.tfc, ["run", str(wrong)])
    assert refused.exit_code == 1
    assert f"{wrong}:1:1: " in refused.output
