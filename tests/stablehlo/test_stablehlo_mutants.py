"""Hostile StableHLO: an error of the user's or a module, no crash, no hang, nothing else.

The programs are JAX's and a text with the operations that JAX does not print, as text and bytecode.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from mutants import outcomes

from tfc.backends.mlir import provider
from tfc.errors import TfcError
from tfc.imported import read_stablehlo

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
IMAGE = np.ones((1, 6, 6, 2), np.float32)

BY_HAND = b"""
#alias = loc("a.py":3:4)
module @m attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<3x4xf32> {tf.aliasing_output = 0 : i32},
                         %t: !stablehlo.token {jax.buffer_donor = true})
      -> (tensor<3x4xf32>, tensor<3x2xf32>, tensor<3x2xi32>, !stablehlo.token) {
    %c = stablehlo.constant dense<[1, 3]> : tensor<2xi4>
    %z = stablehlo.constant dense<(1.0, -2.0)> : tensor<2xcomplex<f32>>
    %h = stablehlo.constant dense<"0x803F0040"> : tensor<2xbf16>
    %b = stablehlo.constant dense_resource<blob> : tensor<2xi64>
    %0 = stablehlo.composite "my.twice" %x {decomposition = @twice, version = 2 : i32,
      composite_attributes = {k = 2 : i64}} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %v, %i = chlo.top_k(%0, k = 2) : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
    %1 = chlo.erf_inv %0 : tensor<3x4xf32> -> tensor<3x4xf32> loc(#alias)
    %2 = stablehlo.custom_call @mine(%1) {api_version = 2 : i32, backend_config = "b",
      has_side_effect = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %3:2 = stablehlo.custom_call @mhlo.topk(%2) {mhlo.attributes = {k = 2 : i64, largest = true}}
      : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    %4 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1,
      type = 0>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %5 = "stablehlo.outfeed"(%4, %t) <{outfeed_config = "c"}>
      : (tensor<3x4xf32>, !stablehlo.token) -> !stablehlo.token
    %6:2 = "stablehlo.infeed"(%5) <{infeed_config = "d", layout = [[0, 1]]}>
      : (!stablehlo.token) -> (tensor<3x4xf32>, !stablehlo.token)
    %7 = "stablehlo.collective_permute"(%6#0) <{source_target_pairs = dense<[[0, 0]]> :
      tensor<1x2xi64>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
    return %7, %v, %i, %6#1 : tensor<3x4xf32>, tensor<3x2xf32>, tensor<3x2xi32>, !stablehlo.token
  }
  func.func private @twice(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.add %x, %x : tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
}
{-# dialect_resources: { builtin: { blob: "0x0800000001000000000000000200000000000000" } } #-}
"""
SHARDED = b"""
module {
  sdy.mesh @mesh = <["x"=1, "y"=1]> {stablehlo.mesh = {axes = [{name = "x", size = 1 : i64}]}}
  func.func @main(%x: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
      -> tensor<4x2xf32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{"x"}, {}]> : tensor<4x2xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{},
      {}]>] manual_axes={"x"} (%a: tensor<4x2xf32>) {
      %2 = stablehlo.custom_call @Sharding(%a) : (tensor<4x2xf32>) -> tensor<4x2xf32>
      sdy.return %2 : tensor<4x2xf32>
    } : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
}
"""


def network(x: Any, approximate: bool = False) -> Any:
    h = jax.nn.gelu(x @ x.T, approximate=approximate)
    h = lax.fori_loop(0, 3, lambda i, c: c * 0.5 + i, h)
    return jax.nn.softmax(lax.cond(h.sum() > 0, lambda v: v + 1, lambda v: v - 1, h))


def convolution(x: Any) -> Any:
    y = lax.conv_general_dilated(x, jnp.ones((3, 3, 1, 4)), (2, 1), "SAME", feature_group_count=2,
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))  # fmt: skip
    return lax.reduce_window(y, -np.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")


def movement(x: Any) -> Any:
    rows = x.at[jnp.array([0, 2])].add(1.0)[jnp.array([[1], [2]])]
    return lax.sort(jnp.pad(rows, 1)[:, ::2]), lax.dynamic_slice(
        x, (x[0, 0].astype(int), 1), (2, 2)
    )


def functions(x: Any) -> Any:
    return jnp.fft.rfft(x), lax.top_k(x, 2), jnp.cumsum(x, 1), lax.lgamma(x), x.astype(jnp.bfloat16)


PROGRAMS: tuple[tuple[Callable[[Any], Any], np.ndarray], ...] = (
    (network, X), (convolution, IMAGE), (movement, X), (functions, X),
)  # fmt: skip


@cache
def texts() -> list[bytes]:
    printed = [jax.jit(function).lower(x).as_text(debug_info=n == 0).encode()
               for n, (function, x) in enumerate(PROGRAMS)]  # fmt: skip
    return [BY_HAND, BY_HAND, SHARDED, *printed]


@cache
def bytecodes() -> list[bytes]:
    # Without the places in files that JAX writes down, which differ from run to run, and without
    # CHLO's operations, which JAX expands on the way.
    stablehlo = provider.stablehlo()
    version = stablehlo.get_current_version()
    programs = ((partial(network, approximate=True), X), (convolution, IMAGE), (movement, X))
    printed = [jax.jit(function).lower(x).as_text() for function, x in programs]
    return [stablehlo.serialize_portable_artifact_str(t.encode(), version) for t in printed]


def test_a_location_in_the_place_of_an_attribute_is_refused():
    with pytest.raises(TfcError, match="location"):
        read_stablehlo(
            'module attributes {mhlo.num_replicas = loc("here")} { '
            "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> } }"
        )


def test_what_mutants_are_made_of_is_read():
    for content in (*texts(), *bytecodes()):
        read_stablehlo(content)


@pytest.mark.parametrize("form", ["text", "bytecode"])
def test_mutants_are_refused_or_read(form: str, record_property: Any):
    programs = texts() if form == "text" else bytecodes()
    found = outcomes(read_stablehlo, programs, 100, seed=1)
    record_property("mutants", dict(found))
    assert found["refused"] > 20


@pytest.mark.slow
@pytest.mark.parametrize(("form", "count"), [("text", 3500), ("bytecode", 1500)])
def test_five_thousand_mutants_are_refused_or_read(form: str, count: int, record_property: Any):
    programs = texts() if form == "text" else bytecodes()
    found = outcomes(read_stablehlo, programs, count, seed=2)
    record_property("mutants", dict(found))
    assert found["refused"] > count // 5
