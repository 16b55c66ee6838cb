"""Convolutions of tfc.nn, and gradients of convolution: JAX's, and exact by linearity."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import ShapeError
from tfc.frontend.operations import operation
from tfc.frontend.promotion import as_tensor
from tfc.hlo.ir import Module
from tfc.hlo.shape import F64
from tfc.testing import instructions_of

RNG = np.random.default_rng(0)
NHWC = ("NHWC", "HWIO", "NHWC")
X, K = RNG.normal(size=(2, 7, 8, 6)), RNG.normal(size=(3, 2, 6, 4))
GROUPED = RNG.normal(size=(3, 2, 3, 4))
# Arguments of conv_general_dilated beside the arrays, by the names that tfc has for them.
# fmt: off
CASES = {
    "valid": (X, K, {"strides": (1, 1), "padding": "VALID"}),
    "same": (X, K, {"strides": (2, 3), "padding": "SAME"}),
    "same, lower": (X, K, {"strides": (2, 3), "padding": "SAME_LOWER"}),
    "same of holes": (X, K, {"strides": (1, 2), "padding": "SAME", "rhs_dilation": (2, 3)}),
    "dilated": (X, K, {"strides": (1, 2), "padding": [(1, 2), (-1, 3)], "lhs_dilation": (2, 1),
                       "rhs_dilation": (1, 2)}),
    "groups": (X, GROUPED, {"strides": (2, 1), "padding": "SAME", "feature_group_count": 2}),
    "groups, dilated": (X, GROUPED, {"strides": (2, 1), "padding": [(1, 2), (2, 0)],
                                     "lhs_dilation": (2, 3), "feature_group_count": 2}),
    "batch groups": (X, K, {"strides": (2, 1), "padding": [(0, 1), (2, 2)],
                            "rhs_dilation": (2, 1), "batch_group_count": 2}),
    "other order": (X.transpose(0, 3, 1, 2), K.transpose(3, 2, 0, 1), {
        "strides": (1, 2), "padding": "SAME", "data_format": "NCHW", "kernel_format": "OIHW"}),
}
# fmt: on


def both(case):
    """The case's function in tfc and in JAX, of the array and the kernel."""
    given = ("strides", "padding", "data_format", "kernel_format")
    data, kernel = case.get("data_format", "NHWC"), case.get("kernel_format", "HWIO")
    jaxs = {k: v for k, v in case.items() if k not in given}
    jaxs["dimension_numbers"] = (data, kernel, data)
    return (
        lambda x, k: nn.conv(x, k, **case),
        lambda x, k: jax.lax.conv_general_dilated(x, k, case["strides"], case["padding"], **jaxs),
    )


@pytest.mark.parametrize("name", CASES)
def test_conv_is_jaxs(name):
    x, k, case = CASES[name]
    ours, theirs = both(case)
    with jax.enable_x64(True):
        expected = theirs(x, k)
    np.testing.assert_allclose(ours(x, k), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_conv_are_jaxs(name):
    x, k, case = CASES[name]
    ours, theirs = both(case)

    def loss(np_, function):
        return lambda x, k: np_.sum(np_.tanh(function(x, k)))

    with jax.enable_x64(True):
        expected = jax.grad(loss(jnp, theirs), (0, 1))(x, k)
    got = tfc.jit(tfc.grad(loss(tnp, ours), (0, 1)), backend="interpreter")(x, k)
    for a, b in zip(got, expected):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@settings(max_examples=80)
@given(instructions_of("convolution", (F64,)))
def test_gradients_of_random_convolutions_are_exact(module: Module):
    """Convolution is linear in each operand, so along any direction a difference is the value."""
    root, rng = module.entry.root, np.random.default_rng(0)
    x, k, g, u, v = (
        rng.normal(size=s.array_shape.dims) for s in (*root.operands, root, *root.operands)
    )

    def weighted(x, k):
        made = operation("convolution", as_tensor(x), as_tensor(k), **root.attributes)
        return tnp.sum(made * g)

    value = tfc.jit(weighted, backend="interpreter")
    of_x, of_k = tfc.jit(tfc.grad(weighted, (0, 1)), backend="interpreter")(x, k)
    np.testing.assert_allclose((of_x * u).sum(), value(u, k), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((of_k * v).sum(), value(x, v), rtol=1e-9, atol=1e-9)


def test_gradients_of_narrow_operands_with_a_wide_result_are_narrow():
    x, k = X.astype(ml_dtypes.bfloat16), K.astype(ml_dtypes.bfloat16)

    def total(x, k):
        made = nn.conv(x, k, preferred_element_type=np.float32)
        assert made.dtype == np.float32
        return tnp.sum(made)

    got = tfc.jit(tfc.grad(total, (0, 1)))(x, k)
    assert [g.dtype for g in got] == [x.dtype, k.dtype]
    expected = jax.grad(lambda x, k: both({"strides": (1, 1), "padding": "VALID"})[1](x, k).sum(),
                        (0, 1))(x.astype(np.float32), k.astype(np.float32))  # fmt: skip
    for a, b in zip(got, expected):
        np.testing.assert_allclose(a.astype(np.float32), b, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2), (2, 2)]], ids=str)
@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (4, 2)])
def test_conv_transpose_is_jaxs(strides, padding):
    for transposed, k in ((False, K), (True, K.transpose(0, 1, 3, 2))):
        with jax.enable_x64(True):
            expected = jax.lax.conv_transpose(
                X, k, strides, padding, dimension_numbers=NHWC, transpose_kernel=transposed
            )
        got = nn.conv_transpose(X, k, strides, padding, transpose_kernel=transposed)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_conv_transpose_with_the_kernel_transposed_is_the_gradient_of_conv():
    x = RNG.normal(size=(2, 6, 8, 6))

    def total(x, g):
        return tnp.sum(nn.conv(x, K, 2, "VALID") * g)

    g = RNG.normal(size=(2, 2, 4, 4))
    expected = tfc.jit(tfc.grad(total), backend="interpreter")(x, g)
    got = nn.conv_transpose(g, K, 2, [(2, 3), (1, 1)], transpose_kernel=True)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_spec_cnv1_cnv2_any_number_of_spatial_dimensions_in_the_order_of_the_semantics():
    for spatial in range(4):
        x, k = RNG.normal(size=(2, 3, *[5] * spatial)), RNG.normal(size=(4, 3, *[2] * spatial))
        for padding in ("SAME", "VALID"):
            with jax.enable_x64(True):
                expected = jax.lax.conv_general_dilated(x, k, (1,) * spatial, padding)
            letters = "DHW"[3 - spatial :]
            got = nn.conv(
                x, k, 1, padding, data_format="NC" + letters, kernel_format="OI" + letters
            )
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
            order = range(2, 2 + spatial)
            last, kernel = x.transpose(0, *order, 1), k.transpose(*order, 1, 0)
            got = nn.conv(last, kernel, 1, padding)
            np.testing.assert_allclose(np.moveaxis(got, -1, 1), expected, rtol=1e-12, atol=1e-12)


REFUSED = [
    ({"strides": (1, 2, 3)}, "conv requires 2 numbers for spatial dimensions"),
    ({"padding": "FULL"}, "padding SAME, SAME_LOWER, VALID or pairs, got 'FULL'"),
    ({"padding": [(1, 1)]}, r"conv requires 2 pairs of padding, got \[\(1, 1\)\]"),
    ({"data_format": "NWC"}, r"data_format NHWC or NCHW for f64\[2,7,8,6\], got NWC"),
    ({"kernel_format": "IHWO"}, r"kernel_format HWIO or OIHW for f64\[3,2,6,4\], got IHWO"),
    ({"data_format": "NCHW"}, r"f64\[2,7,8,6\] has 7 in dimension 1 and f64\[3,2,6,4\] takes 6"),
    ({"kernel_format": "OIHW"}, r"has 6 in dimension 3 and f64\[3,2,6,4\] takes 2 in dimension 1"),
    ({"strides": 0, "padding": "SAME"}, "strides of 1 or more"),
    ({"strides": 0}, "window sizes, strides and dilations of 1 or more"),
    ({"feature_group_count": 4}, r"input features.*\(CGP-2\)"),
]


@pytest.mark.parametrize(("named", "message"), REFUSED)
def test_what_does_not_fit_is_refused(named, message):
    with pytest.raises(ShapeError, match=message):
        nn.conv(X, K, **named)


def test_what_has_no_features_or_no_known_padding_is_refused():
    with pytest.raises(ShapeError, match=r"2 dimensions or more \(NC\), got f64\[3\]"):
        nn.conv(np.ones(3), K)
    with pytest.raises(
        ShapeError, match=r"kernel of 3 dimensions \(WIO\).*got f64\[3,2,6,4\].*CGP-1"
    ):
        nn.conv(X[0], K)
    with pytest.raises(ShapeError, match="padding SAME, VALID or pairs, got 'SAME_LOWER'"):
        nn.conv_transpose(X, K, padding="SAME_LOWER")
