"""The precision that is asked for products of matrices, through transformations and texts."""

import re
from typing import Any

import jax
import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import compiler
from tfc.errors import ShapeError
from tfc.hlo import parse
from tfc.hlo.attributes.precision import ALGORITHM_NAMES
from tfc.hlo.ops.sum_types import ALGORITHMS
from tfc.passes import default_pipeline

A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)


def stated(text: Any) -> list[str]:
    """The precisions of the products in a program's text."""
    return re.findall(r"operand_precision=(\{.*?\})", str(text))


@pytest.mark.parametrize(
    "function",
    [
        lambda p: lambda x, y: tnp.matmul(x, y, precision=p),
        lambda p: lambda x, y: tnp.dot(x, y, precision=p),
        lambda p: lambda x, y: tnp.tensordot(x, y, 1, precision=p),
        lambda p: lambda x, y: tnp.einsum("ij,jk->ik", x, y, precision=p),
    ],
    ids=["matmul", "dot", "tensordot", "einsum"],
)
def test_products_state_the_precision_asked_for(function: Any):
    def text(precision: Any) -> str:
        return tfc.jit(function(precision)).lower(A, B).as_text("hlo")

    assert stated(text("highest")) == ["{highest,highest}"]
    assert stated(text(("HIGH", None))) == ["{high,default}"]
    assert stated(text(None)) == stated(text("default")) == []


def algorithms(text: Any) -> list[str]:
    """The algorithms of the products in a program's text."""
    return re.findall(r", algorithm=(\w+)", str(text))


IMAGE, KERNEL = np.ones((1, 5, 5, 2), np.float32), np.ones((2, 2, 2, 3), np.float32)
PRODUCTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "matmul": (tnp.matmul, (A, B)),
    "dot": (tnp.dot, (A, B)),
    "vdot": (tnp.vdot, (A, A)),
    "inner": (tnp.inner, (A, A)),
    "vecdot": (tnp.vecdot, (A, A)),
    "tensordot": (lambda x, y, **named: tnp.tensordot(x, y, 1, **named), (A, B)),
    "einsum": (lambda x, y, **named: tnp.einsum("ij,jk->ik", x, y, **named), (A, B)),
    "multi_dot": (lambda x, y, **named: tfc.linalg.multi_dot([x, y], **named), (A, B)),
    "convolve": (tnp.convolve, (A[0], A[1])),
    "correlate": (tnp.correlate, (A[0], A[1])),
    "conv": (tfc.nn.conv, (IMAGE, KERNEL)),
    "conv_transpose": (tfc.nn.conv_transpose, (IMAGE, KERNEL)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_state_the_algorithm_asked_for(name: str):
    function, args = PRODUCTS[name]

    def text(precision: Any) -> str:
        named = {"precision": precision}
        return tfc.jit(lambda x, y: function(x, y, **named)).lower(*args).as_text("hlo")

    for asked, algorithm in [
        ("tensorfloat32", "dot_tf32_tf32_f32"),
        ("BFloat16", "dot_bf16_bf16_f32"),
        ("TF32_TF32_F32_X3", "dot_tf32_tf32_f32_x3"),
        ("bf16_bf16_f32_x9", "dot_bf16_bf16_f32_x9"),
        (jax.lax.DotAlgorithmPreset.BF16_BF16_F32_X6, "dot_bf16_bf16_f32_x6"),
    ]:
        assert algorithms(text(asked)) == [algorithm]
    assert algorithms(parse(text("tensorfloat32"))) == ["dot_tf32_tf32_f32"]
    for asked in ("float32", jax.lax.Precision.HIGHEST):
        assert stated(text(asked)) == ["{highest,highest}"]


@pytest.mark.parametrize("name", PRODUCTS)
def test_values_are_f32s_where_nothing_is_faster(name: str):
    function, args = PRODUCTS[name]
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(a.shape).astype(np.float32) for a in args]
    exact = tfc.jit(function)(*given)
    permitted = tfc.jit(lambda x, y: function(x, y, precision="tensorfloat32"))(*given)
    np.testing.assert_array_equal(permitted, exact)


@pytest.mark.parametrize(
    ("types", "result"),
    [
        (("float64", "float32"), None), (("float32", "float32"), "float64"),
        (("int32", "int32"), None), (("bfloat16", "bfloat16"), "float32"),
        (("complex64", "float32"), None),
    ],
)  # fmt: skip
def test_algorithms_are_for_products_of_f32(types: tuple[str, str], result: str | None):
    x, y = (tnp.ones((2, 2), dtype) for dtype in types)
    image, kernel = tnp.reshape(x, (1, 2, 2, 1)), tnp.reshape(y, (2, 2, 1, 1))
    for call in (
        lambda: tnp.matmul(x, y, precision="TF32_TF32_F32", preferred_element_type=result),
        lambda: tfc.nn.conv(image, kernel, precision="bfloat16", preferred_element_type=result),
    ):
        with pytest.raises(ShapeError, match=r"precision '\w+' is for products of f32"):
            call()


def test_mixed_operands_have_the_type_they_are_promoted_to():
    half = np.ones((4, 5), np.float16)
    text = tfc.jit(lambda x, y: tnp.matmul(x, y, precision="tensorfloat32")).lower(A, half)
    assert algorithms(text.as_text("hlo")) == ["dot_tf32_tf32_f32"]


def test_algorithms_are_known_to_hlo():
    assert set(ALGORITHM_NAMES.values()) <= ALGORITHMS


@pytest.mark.parametrize(
    "precision",
    ["exact", 3, ("high",), ("high", 2), ("tensorfloat32", "tensorfloat32"), "F64_F64_F64"],
)
def test_other_precisions_are_refused_by_name(precision: Any):
    with pytest.raises(ShapeError, match=re.escape(repr(precision))):
        tnp.matmul(A, B, precision=precision)


def test_gradients_have_each_operands_precision():
    def loss(x: Any, y: Any) -> Any:
        return tnp.sum(tnp.matmul(x, y, precision=("highest", "high")))

    text = tfc.jit(tfc.grad(loss, (0, 1))).lower(A, B).as_text("hlo")
    # The products by the left operand and by the right one, whose places the cotangent takes.
    assert {"{highest,high}", "{high,highest}"} <= set(stated(text))


def test_operands_that_change_places_take_their_precision_along():
    program = """HloModule m
    ENTRY e {
      x = f32[3,4] parameter(0)
      y = f32[4,5] parameter(1)
      d = f32[3,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0},
        operand_precision={high,default}
      ROOT t = f32[5,3] transpose(d), dimensions={1,0}
    }"""
    assert stated(default_pipeline().run(parse(program))) == ["{default,high}"]
    batched = tfc.vmap(lambda x, y: tnp.matmul(x, y, precision=("high", "default")), (None, 0))
    text = tfc.jit(batched).lower(A, np.ones((7, 4), np.float32)).as_text("hlo")
    assert stated(text) == ["{default,high}"]


def test_gradients_of_convolutions_have_each_operands_precision():
    def loss(x: Any, y: Any) -> Any:
        return tnp.sum(tfc.nn.conv(x, y, precision=("highest", "high")) ** 2)

    text = tfc.jit(tfc.grad(loss, (0, 1))).lower(IMAGE, KERNEL).as_text("hlo")
    # In both the cotangent takes the place of the operand whose gradient it is.
    assert stated(text) == ["{highest,high}"] * 3


def test_gradients_of_what_is_not_all_f32_have_no_algorithm():
    program = """HloModule m
    ENTRY e {
      x = bf16[3,4] parameter(0)
      y = bf16[4,5] parameter(1)
      ROOT d = f32[3,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0},
        algorithm=dot_bf16_bf16_f32
    }"""
    call = tfc.from_stablehlo(compiler.module_text(parse(program), "stablehlo"))
    x, y = tnp.astype(A, "bfloat16"), tnp.astype(B, "bfloat16")
    lowered = tfc.jit(tfc.grad(lambda x, y: tnp.sum(call(x, y) ** 2), (0, 1))).lower(x, y)
    assert algorithms(lowered.as_text("hlo")) == ["dot_bf16_bf16_f32"]


def test_stablehlo_of_dots_has_the_algorithm_and_that_of_convolutions_none():
    def function(x: Any, y: Any, image: Any, kernel: Any) -> Any:
        with tfc.default_matmul_precision("TF32_TF32_F32_X3"):
            return x @ y, tfc.nn.conv(image, kernel)

    text = tfc.jit(function).lower(A, B, IMAGE, KERNEL).as_text("stablehlo")
    assert algorithms(tfc.from_stablehlo(text).hlo) == ["dot_tf32_tf32_f32_x3"]


def test_stablehlo_keeps_the_precision():
    lowered = tfc.jit(lambda x, y: tnp.matmul(x, y, precision=("high", "highest"))).lower(A, B)
    text = lowered.as_text("stablehlo")
    assert "precision = [HIGH, HIGHEST]" in text
    assert stated(tfc.from_stablehlo(text).hlo) == ["{high,highest}"]
