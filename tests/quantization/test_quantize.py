"""tfc.quantize: its formulas against NumPy, exact sums, accuracy, and what it refuses."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import TfcError
from tfc.hlo.shape import S8, U8
from tfc.quantization.affine import affine_of, symmetric_weights

RNG = np.random.default_rng(4)


def normal(*dims: int) -> np.ndarray:
    """Numbers of the standard normal distribution."""
    return RNG.normal(size=dims).astype(np.float32)


def as_u8(x: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.float32, int]:
    """The formulas of the documentation, in NumPy: integers as int64, scale, zero point."""
    scale = np.float32((high - low) / 255)
    zero = int(np.rint(-low / scale))
    integers = np.clip(np.rint(x * (np.float32(1) / scale)) + zero, 0, 255)
    return integers.astype(np.int64), scale, zero


def as_s8(x: np.ndarray, axis: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The formulas of the documentation for weights: integers as int64, scales."""
    scale = (np.max(np.abs(x), axis=axis, keepdims=True) / np.float32(127)).astype(np.float32)
    return np.rint(x / scale).astype(np.int64), scale


def test_a_range_gives_a_scale_and_a_zero_point_that_stands_for_zero():
    made = affine_of(-10, 30, symmetric=False)
    assert (made.element_type, made.zero_point) == (U8, 64)
    assert made.scale == np.float32(40 / 255)
    assert made.dequantized(np.uint8(64)) == 0
    np.testing.assert_allclose(made.dequantized(np.array([0, 128, 255], np.uint8)),
                               [-10, 10, 30], atol=made.scale / 2)  # fmt: skip
    assert affine_of(2, 5, symmetric=False).zero_point == 0
    assert affine_of(-8, -3, symmetric=False).zero_point == 255
    both = affine_of(-10, 30, symmetric=True)
    assert (both.element_type, both.zero_point, both.scale) == (S8, 0, np.float32(30 / 127))


def test_numbers_out_of_range_become_the_nearest_limit():
    made = affine_of(-1, 1, symmetric=True)
    assert made.quantized(np.float32([-9, -1, 0, 1, 9])).tolist() == [-127, -127, 0, 127, 127]


def test_weights_have_a_scale_for_each_channel_that_is_not_summed():
    weight = normal(5, 4, 3)
    integers, scales = symmetric_weights(weight, (1,), per_channel=True)
    wanted, kept = as_s8(weight, 1)
    np.testing.assert_array_equal(integers, wanted)
    np.testing.assert_array_equal(scales, kept[:, 0])
    assert symmetric_weights(weight, (1,), per_channel=False)[1].shape == ()


def test_a_product_is_that_of_the_integers_summed_exactly():
    w, x = normal(300, 7), normal(6, 300)
    q = tfc.quantize(lambda x: x @ w, [x])
    integers, scale, zero = as_u8(x, float(x.min()), float(x.max()))
    weights, scales = as_s8(w, 0)
    total = (integers - zero) @ weights
    assert abs(total).max() > 1 << 16, "f32 would still be exact for small sums"
    wanted = total.astype(np.float32) * (scales[0] * scale)
    np.testing.assert_array_equal(q(x), wanted)


def test_large_sums_are_exact_in_32_bits():
    w, x = np.ones((60_000, 1), np.float32), np.ones((1, 60_000), np.float32)
    x[0, ::3] = 0.99
    q = tfc.quantize(lambda x: x @ w, [x])
    total = np.rint(x * (np.float32(1) / np.float32(1 / 255))).astype(np.int64).sum() * 127
    assert total > 1 << 30
    scale = np.float32(1 / 127) * np.float32(1 / 255)
    np.testing.assert_array_equal(q(x), [[np.float32(total) * scale]])


def test_a_convolution_with_padding_dilation_and_groups_is_that_of_the_integers():
    kernel, x = normal(3, 3, 2, 6), normal(2, 8, 7, 4)

    def f(x: Any, k: Any = kernel) -> Any:
        return nn.conv(x, k, (2, 1), [(1, 2), (0, 1)], rhs_dilation=(1, 2), feature_group_count=2)

    q = tfc.quantize(f, [x])
    integers, scale, zero = as_u8(x, float(x.min()), float(x.max()))
    weights, scales = as_s8(kernel.reshape(-1, 6), 0)
    exact = np.asarray(
        tfc.jit(f)((integers - zero).astype(np.float64), weights.reshape(kernel.shape) * 1.0)
    )
    wanted = exact.astype(np.float32) * (scales[0] * scale)
    np.testing.assert_array_equal(q(x), wanted)


def test_a_transposed_convolution_has_zeros_between_its_elements():
    kernel, x = normal(3, 2, 5), normal(1, 6, 2) + 1

    def f(x: Any) -> Any:
        return nn.conv(x, kernel, 1, [(2, 2)], lhs_dilation=(2,), data_format="NWC",
                       kernel_format="WIO")  # fmt: skip

    exact = tfc.jit(f)(x)
    for activations in ("asymmetric", "symmetric"):
        q = tfc.quantize(f, [x], activations=activations)
        np.testing.assert_allclose(q(x), exact, atol=0.1)


def test_products_of_two_activations_are_symmetric():
    x = normal(2, 5, 8)
    q = tfc.quantize(lambda x: tnp.einsum("bik,bjk->bij", x, x), [x])
    scale = np.float32(abs(x).max() / 127)
    integers = np.clip(np.rint(x * (np.float32(1) / scale)), -127, 127).astype(np.int64)
    total = np.einsum("bik,bjk->bij", integers, integers)
    np.testing.assert_array_equal(q(x), total.astype(np.float32) * (scale * scale))
    assert q.report.layers[0].zero_points == (0, 0)


def test_a_scale_for_each_channel_is_more_accurate_where_channels_differ():
    w = normal(64, 8) * (10.0 ** -np.arange(8)).astype(np.float32)
    x = normal(32, 64)
    errors = []
    for per_channel in (True, False):
        q = tfc.quantize(lambda x: x @ w, [x], per_channel=per_channel)
        found = np.linalg.norm(q(x) - x @ w, axis=0) / np.linalg.norm(x @ w, axis=0)
        errors.append(found.max())
    assert errors[0] < 0.03, errors
    assert errors[1] > 0.5, errors


def test_percentiles_cut_rare_large_values_off():
    x = normal(100, 64)
    x[0, 0] = 1000
    w = normal(64, 4)
    whole, cut = (tfc.quantize(lambda x: x @ w, [x], percentile=p) for p in (100, 99.9))
    assert cut.report.layers[0].ranges[0][1] < 10 < whole.report.layers[0].ranges[0][1]
    usual = x[1:]
    worse, better = (float(np.abs(q(usual) - usual @ w).max()) for q in (whole, cut))
    assert better < worse / 8


@pytest.mark.parametrize(("storage", "most"), [("int8", 0.02), ("f16", 0.001)])
def test_weights_alone_are_stored_in_fewer_bits(storage: Any, most: float):
    w, x = normal(64, 32), normal(4, 64)
    q = tfc.quantize(lambda x: tnp.tanh(x @ w), [x], activations=None, weights=storage)
    np.testing.assert_allclose(q(x), np.tanh(x @ w), atol=64**0.5 * most)
    compiled = q.lower(x).compile()
    stored = compiled.memory_analysis().constant_bytes
    assert stored <= (w.nbytes // 4 + 512 if storage == "int8" else w.nbytes // 2 + 512)
    assert q.report.layers[0].weight_error > (35 if storage == "int8" else 65)


def test_weights_in_loops_are_stored_in_fewer_bits():
    w, x = normal(16, 16) / 8, normal(3, 16)

    def f(x: Any) -> Any:
        return tfc.fori_loop(0, 4, lambda _, x: tnp.tanh(x @ w), x)

    q = tfc.quantize(f, [x], activations=None)
    np.testing.assert_allclose(q(x), tfc.jit(f)(x), atol=0.02)
    assert 0 < q.report.bytes_after < 0.5 * q.report.bytes_before
    with pytest.raises(TfcError, match=r"nothing to quantize.* in a loop or a branch"):
        tfc.quantize(f, [x])


def digits() -> tuple[np.ndarray, np.ndarray]:
    """The handwritten digits of scikit-learn, 8 × 8 with values from 0 to 1."""
    images, labels = load_digits(return_X_y=True)
    return images.astype(np.float32) / 16, labels


def with_read_out(features: Callable[[Any], Any], x: np.ndarray, y: np.ndarray) -> Any:
    """A classifier: features, and a last layer that is fitted to examples."""
    made = np.asarray(tfc.jit(features)(x), np.float64)
    last = np.linalg.solve(made.T @ made + np.eye(made.shape[1]), made.T @ np.eye(10)[y])
    last = last.astype(np.float32)
    return lambda x: features(x) @ last


@pytest.mark.parametrize("activations", ["asymmetric", "symmetric"])
@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_classifiers_of_digits_lose_less_than_one_percent(kind: str, activations: str):
    x, y = digits()
    w, kernel = normal(64, 256) / 4, normal(3, 3, 1, 32) / 3

    def mlp(x: Any) -> Any:
        return nn.relu(x @ w)

    def cnn(x: Any) -> Any:
        made = nn.relu(nn.conv(tnp.reshape(x, (-1, 8, 8, 1)), kernel, 1, "SAME"))
        return tnp.reshape(nn.max_pool(made, 2, 2), (-1, 512))

    f = with_read_out(mlp if kind == "mlp" else cnn, x[:1000], y[:1000])
    q = tfc.quantize(f, [x[:200], x[200:400]], activations=activations, validation=[x[1000:]])
    exact, made = (np.mean(np.argmax(g(x[1000:]), 1) == y[1000:]) for g in (tfc.jit(f), q))
    assert exact > 0.9
    assert abs(made - exact) < 0.01
    report = q.report
    assert len(report.layers) == 2
    assert not report.in_float
    assert report.accuracy.top1 > 0.98
    assert report.bytes_after < 0.3 * report.bytes_before


def test_the_batch_may_be_another_and_functions_nest():
    w, x = normal(8, 3), normal(5, 8)
    q = tfc.quantize(lambda x: x @ w, [x])
    assert q(normal(2, 8)).shape == (2, 3)
    np.testing.assert_array_equal(tfc.jit(lambda x: q(x) * 2)(x), q(x) * 2)
    inside = tfc.quantize(tfc.jit(lambda x: x @ w), [(x,)])
    np.testing.assert_array_equal(inside(x), q(x))


def test_it_compiles_ahead_of_time(tmp_path: Path):
    w, x = normal(256, 64), normal(5, 256)
    q = tfc.quantize(lambda x: x @ w, [x])
    made = tfc.aot.compile(q, x, cpp_class="Quantized", out_dir=tmp_path)
    assert made.signature.arguments[0].shape.dims == (5, 256)
    plain = tfc.aot.compile(lambda x: x @ w, x, cpp_class="Plain", out_dir=tmp_path)
    assert made.signature.constant_size < 0.3 * plain.signature.constant_size


def test_products_can_be_kept_in_float_by_name():
    w, v, x = normal(8, 8), normal(8, 2), normal(5, 8)
    q = tfc.quantize(lambda x: nn.relu(x @ w) @ v, [x], keep=["dot_1"])
    assert [layer.name for layer in q.report.layers] == ["dot_0"]
    assert q.report.in_float == (("dot_1", "it is to stay in float"),)
    with pytest.raises(TfcError, match="no product 'dot_7' to keep; there are dot_0, dot_1"):
        tfc.quantize(lambda x: nn.relu(x @ w) @ v, [x], keep=["dot_7"])


def test_constant_zero_activations_give_zero():
    w = normal(4, 3)
    q = tfc.quantize(lambda x: x @ w, [np.zeros((2, 4), np.float32)])
    np.testing.assert_array_equal(q(np.zeros((2, 4), np.float32)), np.zeros((2, 3)))
    assert q.report.layers[0].scales == (1.0,)


def test_what_cannot_be_quantized_is_an_error_that_says_why():
    w, x = normal(4, 3), normal(2, 4)
    with pytest.raises(TfcError, match="at least one typical call"):
        tfc.quantize(lambda x: x @ w, [])
    with pytest.raises(TfcError, match="put the array into one"):
        tfc.quantize(lambda x: x @ w, x)
    with pytest.raises(TfcError, match=r"dot_0 cannot be quantized: in call 1 .*NaN or infinite"):
        tfc.quantize(lambda x: x @ w, [x, x * np.float32(np.nan)])
    with pytest.raises(TfcError, match="dot_0 cannot be quantized: its weight has an element"):
        tfc.quantize(lambda x: x @ (w * np.float32(np.inf)), [x])
    with pytest.raises(TfcError, match=r"nothing to quantize.*: dot_0: its operands are s32"):
        tfc.quantize(lambda x: x @ x.T, [np.ones((2, 2), np.int32)])
    with pytest.raises(TfcError, match="no product and no convolution"):
        tfc.quantize(lambda x: x + 1, [x])
    with pytest.raises(TfcError, match="activations are"):
        tfc.quantize(lambda x: x @ w, [x], activations="int4")
    with pytest.raises(TfcError, match="weights of f16 are for activations=None"):
        tfc.quantize(lambda x: x @ w, [x], weights="f16")
    with pytest.raises(TfcError, match="percentile must be"):
        tfc.quantize(lambda x: x @ w, [x], percentile=10)


def test_sums_that_32_bits_may_not_hold_stay_in_float():
    x, v = normal(1, 70_000), normal(2, 2)
    q = tfc.quantize(lambda x: (x @ np.ones((70_000, 2), np.float32)) @ v, [x])
    assert q.report.in_float[0][0] == "dot_0"
    assert "70000 products of 8-bit integers may need more than 32 bits" in str(q.report)


def test_the_example_of_the_documentation_prints_what_it_says():
    text = (Path(__file__).parents[2] / "docs" / "quantization.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    printed = re.findall(r"```text\n(.*?)```", text, re.DOTALL)[0]
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(code, "quantization.md", "exec"), {})
    number = re.compile(r"\d+(?:\.\d+)?")
    assert number.sub("#", out.getvalue()) == number.sub("#", printed)
    got, wanted = (list(map(float, number.findall(t))) for t in (out.getvalue(), printed))
    np.testing.assert_allclose(got, wanted, rtol=0.02)
