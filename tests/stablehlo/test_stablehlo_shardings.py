"""Shardings in StableHLO for several devices, as JAX writes them: programs run on partitions."""

import numpy as np
import pytest

import tfc
from tfc.errors import TfcError
from tfc.passes.spmd.spmd import Spmd

X = np.arange(32, dtype=np.float32).reshape(8, 4) / 10
W = np.arange(16, dtype=np.float32).reshape(4, 4) / 10

# What jax.jit(...).lower(...).as_text() gives for a mesh of 2 x 2 devices.
SHARDY = """module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]DEVICES> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
      %arg1: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})
      -> (tensor<8x2xf32> {jax.result_info = "result[0]"},
          tensor<4xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
      : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.tanh %0 : tensor<8x4xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
    %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%arg2: tensor<4x2xf32>) {
      %12 = "stablehlo.all_reduce"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<GROUPS> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %13 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %13 : tensor<f32>
      }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
      sdy.return %12 : tensor<4x2xf32>
    } : (tensor<8x4xf32>) -> tensor<8x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0]
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %3, %4 : tensor<8x2xf32>, tensor<4xf32>
  }
}
"""  # noqa: E501
GSPMD = """module @jit_f attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"})
      -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}) {
    %0 = stablehlo.negate %x : tensor<8x4xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[1,2]<=[2]}"}
      : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = stablehlo.abs %1 : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}"""


@pytest.mark.parametrize(("devices", "groups"), [
    ("", "[[0, 1], [2, 3]]"), (", device_ids=[0, 2, 1, 3]", "[[0, 2], [1, 3]]"),
])  # fmt: skip
def test_programs_of_shardy_are_divided(devices: str, groups: str):
    function = tfc.from_stablehlo(SHARDY.replace("DEVICES", devices).replace("GROUPS", groups))
    h = np.tanh(X @ W)
    got = function(X, W)
    np.testing.assert_allclose(got[0], h[:, :2] + h[:, 2:], rtol=1e-5)
    np.testing.assert_allclose(got[1], h.sum(0), rtol=1e-5)
    parts = Spmd()(function.hlo).entry
    assert [p.array_shape.dims for p in parts.parameters] == [(4, 2), (4, 2)]


def test_shardings_in_xlas_notation_divide_a_program():
    function = tfc.from_stablehlo(GSPMD)
    np.testing.assert_array_equal(function(X), X)
    parts = Spmd()(function.hlo)
    assert [p.array_shape.dims for p in parts.entry.parameters] == [(4, 4)]
    assert parts.entry.root.array_shape.dims == (8, 2)
    assert "all-to-all" in str(parts)


@pytest.mark.parametrize("wrong", ['"{devices=[2,1]<=[4]}"', '"{devices=[2]0,0}"', '"{"', '"x"'])
def test_damaged_shardings_are_told(wrong: str):
    with pytest.raises(TfcError):
        tfc.from_stablehlo(GSPMD.replace('"{devices=[1,2]<=[2]}"', wrong))(X)


def test_what_tfc_writes_of_shardings_is_read_again():
    """A function with shardings, through StableHLO's text, is divided as before."""
    mesh = tfc.Mesh((2,), ("i",))
    spec = tfc.PartitionSpec("i")
    function = tfc.jit(lambda x: -x, mesh=mesh, in_shardings=(spec,))
    text = function.lower(X).as_text("stablehlo")
    again = tfc.from_stablehlo(text)
    np.testing.assert_array_equal(again(X), -X)
    assert Spmd()(again.hlo).entry.parameters[0].array_shape.dims == (4, 4)
