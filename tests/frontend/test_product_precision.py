"""The precision that is asked for products of matrices, through transformations and texts."""

import re
from typing import Any

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc.errors import ShapeError
from tfc.hlo import parse
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


@pytest.mark.parametrize("precision", ["exact", 3, ("high",), ("high", 2)])
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


def test_stablehlo_keeps_the_precision():
    lowered = tfc.jit(lambda x, y: tnp.matmul(x, y, precision=("high", "highest"))).lower(A, B)
    text = lowered.as_text("stablehlo")
    assert "precision = [HIGH, HIGHEST]" in text
    assert stated(tfc.from_stablehlo(text).hlo) == ["{high,highest}"]
