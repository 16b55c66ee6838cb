"""Other dialects and libraries in StableHLO: shardings are dropped, the rest is refused by name."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tfc
from tfc.errors import ParseError, TfcError, UnsupportedError

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def program(lines: str, before: str = "", argument: str = "") -> str:
    """A module whose function returns %r, computed by these lines from %x."""
    return f"""module {{
  {before}
  func.func @main(%x: tensor<3x4xf32> {argument}) -> tensor<3x4xf32> {{
    {lines}
    return %r : tensor<3x4xf32>
  }} }}"""


# --- shardings ----------------------------------------------------------------------------------

MESH = 'sdy.mesh @mesh = <["x"=1, "y"=1], device_ids=[0]> {stablehlo.mesh = {axes = []}} loc("m")'
NEGATE = "%r = stablehlo.negate %x : tensor<3x4xf32>"
REGION = """ ({arguments}) {{
      // sdy.comment "here }}"
      %1 = stablehlo.negate %a : tensor<3x4xf32>
      sdy.return %1 : tensor<3x4xf32> loc("r")
    }} : (tensor<3x4xf32>) -> tensor<3x4xf32>""".format(arguments="%a: tensor<3x4xf32>")
SHARDED = {
    "a mesh": program(NEGATE, MESH),
    "an argument": program(
        NEGATE, MESH, '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}], replicated={"y"}>}'
    ),
    "a constraint": program(
        '%0 = sdy.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<3x4xf32> loc("c")\n'
        "%r = stablehlo.negate %0 : tensor<3x4xf32>", MESH),
    "a constraint in generic form": program(
        '%0 = "sdy.sharding_constraint"(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>\n'
        "%r = stablehlo.negate %0 : tensor<3x4xf32>"),
    "a barrier": program(
        "%0 = sdy.propagation_barrier %x allowed_direction=NONE : tensor<3x4xf32>\n"
        "%r = stablehlo.negate %0 : tensor<3x4xf32>"),
    "a group": program(f"sdy.sharding_group %x group_id=3 : tensor<3x4xf32>\n{NEGATE}"),
    "a computation over axes": program(
        '%r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] '
        'out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"}' + REGION, MESH),
    "a computation with a name": program(
        '%r = sdy.named_computation<"f">(%x) in_shardings=[<@mesh, [{"x"}, {}]>]' + REGION, MESH),
    "calls": program("""%0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{replicated}"}
      : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %r = stablehlo.negate %1 : tensor<3x4xf32>"""),
}  # fmt: skip


@pytest.mark.parametrize("text", SHARDED.values(), ids=SHARDED)
def test_shardings_mean_nothing_on_one_device(text: str):
    function = tfc.from_stablehlo(text)
    np.testing.assert_array_equal(function(X), -X)
    assert [i.opcode for i in function.hlo.entry.instructions] == ["parameter", "negate"]


@pytest.mark.parametrize("form", ["text", "exported"])
def test_sharded_functions_of_jax_run_on_one_device(form: str):
    sharding = NamedSharding(Mesh(np.array(jax.devices()[:1]), ("x",)), P("x"))

    @jax.jit
    def function(x: Any) -> Any:
        constrained = jax.lax.with_sharding_constraint(x * 2, sharding)
        summed = jax.shard_map(lambda v: jax.lax.psum(v, "x") + 1, mesh=sharding.mesh,
                               in_specs=P("x"), out_specs=P())  # fmt: skip
        return summed(constrained)

    x = jax.device_put(X, sharding)
    source = function.lower(x).as_text() if form == "text" else jax.export.export(function)(x)
    np.testing.assert_array_equal(tfc.from_stablehlo(source)(X), X * 2 + 1)


@pytest.mark.parametrize(("lines", "message"), [
    ("%r = sdy.all_gather [{}, {\"x\"}] %x out_sharding=<@mesh, [{}, {}]> : tensor<3x4xf32>",
     "<stablehlo>:4:.*sdy.all_gather is not supported, since tfc runs a program on one device"),
    ("%r = sdy.sharding_constraint <@mesh, []>", "expected a value"),
    ("%r = sdy.sharding_constraint %x <@mesh, []>", "expected ':' and a type"),
    ("%r = sdy.manual_computation(%x", r"expected '\('"),
    ("%r = sdy.manual_computation(%x) in_shardings=[] %x", r"expected '\('"),
    ("\n\n%r = sdy.reshard %x <@mesh, []> : tensor<3x4xf32>\n"
     "%q = stablehlo.abs %none : tensor<f32>",
     "<stablehlo>:7:20: "),
])  # fmt: skip
def test_operations_of_shardy_are_refused_at_their_place(lines: str, message: str):
    with pytest.raises(ParseError, match=message):
        tfc.from_stablehlo(program(lines, MESH))


def test_what_lies_on_several_devices_is_refused():
    text = program("""%r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<1x4xf32>) {
        sdy.return %a : tensor<1x4xf32>
      } : (tensor<3x4xf32>) -> tensor<3x4xf32>""")
    message = r"sdy.manual_computation makes f32\[1,4\].* of f32\[3,4\].*for several devices"
    with pytest.raises(UnsupportedError, match=message):
        tfc.from_stablehlo(text)


def test_bytecode_that_only_jax_reads_says_what_to_pass_instead():
    artifact = jax.export.export(jax.jit(jnp.linalg.inv))(np.eye(3, dtype=np.float32))
    with pytest.raises(UnsupportedError, match=r"dialect sdy.*pass what jax.export.export returns"):
        tfc.from_stablehlo(artifact.mlir_module_serialized)


# --- what is refused by name ----------------------------------------------------------------------


@pytest.mark.parametrize(("target", "message"), [
    ("lapack_sunheard_ffi", "is a routine of a library .*: compute it outside of the program"),
    ("cusolver_getrf_ffi", "which jax.scipy.linalg.lu calls, .*: export .* platforms=."),
    ("xla_python_cpu_callback", "which jax.pure_callback calls, is a routine of a library"),
    ("lapack_strsm_ffi", "called with operands that it does not take"),
    ("lapack_sgeqrf_ffi", "called with operands that it does not take"),
    ("lapack_spotrf_ffi", "uplo must be one of L, U, got None"),
])  # fmt: skip
def test_routines_of_libraries_are_refused_by_name(target: str, message: str):
    lines = f"%r = stablehlo.custom_call @{target}(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>"
    with pytest.raises(UnsupportedError, match=message):
        tfc.from_stablehlo(program(lines))


@pytest.mark.parametrize(("lines", "message"), [
    ("%r = stablehlo.custom_call @mhlo.unheard(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>",
     "'mhlo.unheard' is not registered; call tfc.register_custom_call"),
    ("%r = mhlo.add %x, %x : tensor<3x4xf32>", "mhlo.add is of another dialect: lower"),
    ('%r = "mhlo.add"(%x, %x) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>',
     "mhlo.add has no counterpart in HLO: lower the program to StableHLO before"),
    ("%r = chlo.unheard %x : tensor<3x4xf32>", "chlo.unheard is unknown to StableHLO 1"),
    ("%r = stablehlo.unheard %x : tensor<3x4xf32>", "stablehlo.unheard is unknown to StableHLO 1"),
    ('%r = "stablehlo.unheard"(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>',
     "stablehlo.unheard is unknown to StableHLO 1.*: export the program for that version"),
])  # fmt: skip
def test_other_operations_are_refused_by_name(lines: str, message: str):
    with pytest.raises(TfcError, match=message):
        tfc.from_stablehlo(program(lines)).compile()


def test_all_operations_without_a_counterpart_are_listed():
    lines = """%a = "mhlo.add"(%x, %x) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %b = "mhlo.add"(%x, %a) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %c = stablehlo.custom_call @lapack_spotrf_ffi(%b) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %r = stablehlo.custom_call @lapack_swobble_ffi(%c) : (tensor<3x4xf32>) -> tensor<3x4xf32>"""
    with pytest.raises(UnsupportedError, match=r"mhlo.add has no counterpart") as caught:
        tfc.from_stablehlo(program(lines))
    listed = "operations without a counterpart: lapack_swobble_ffi (1), mhlo.add (2)"
    assert listed in caught.value.__notes__


def test_attributes_of_other_dialects_are_dropped():
    text = program(
        NEGATE.replace(" :", " {foo.bar = #foo.baz<1 -> [2]>} :"), "", "{mhlo.sharding = #foo<1>}"
    )
    np.testing.assert_array_equal(tfc.from_stablehlo(text)(X), -X)
