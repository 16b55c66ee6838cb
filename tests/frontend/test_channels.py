"""Networks of tfc.nn: channels are last by default, and `data_format` means the same everywhere."""

import numpy as np
import pytest

import tfc
import tfc.numpy as tnp
from tfc import nn
from tfc.errors import ShapeError

RNG = np.random.default_rng(5)
IMAGES = RNG.normal(size=(2, 12, 10, 1))
WEIGHTS = {
    "conv1": RNG.normal(size=(3, 3, 1, 4)), "conv2": RNG.normal(size=(3, 3, 4, 6)) / 6,
    "scale": RNG.normal(size=4), "offset": RNG.normal(size=4), "mean": RNG.normal(size=4),
    "variance": RNG.uniform(0.5, 2, size=4), "dense": RNG.normal(size=(3 * 3 * 6, 10)),
}  # fmt: skip


def scores(weights, images, **layout):
    """A classifier of digits: convolution, normalization and pooling twice, then a dense layer."""
    formats = {k: v for k, v in layout.items() if k == "data_format"}
    norm = (weights[name] for name in ("scale", "offset", "mean", "variance"))
    x = nn.conv(images, weights["conv1"], padding="SAME", **layout)
    x = nn.relu(nn.batch_norm_inference(x, *norm, **formats))
    x = nn.max_pool(x, 2, **formats)
    x = nn.conv(x, weights["conv2"], padding=[(1, 1), (1, 2)], **layout)
    x = nn.avg_pool(x, 2, **formats)
    if formats:
        x = tnp.transpose(x, (0, 2, 3, 1))
    return nn.softmax(tnp.reshape(x, (x.shape[0], -1)) @ weights["dense"])


def windows(x, size, stride):
    """All windows of an array of images: [batch, rows, columns, height, width, channels]."""
    found = np.lib.stride_tricks.sliding_window_view(x, size, (1, 2))[:, ::stride, ::stride]
    return found.transpose(0, 1, 2, 4, 5, 3)


def by_numpy(weights, images):
    x = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    x = np.einsum("bijhwc,hwco->bijo", windows(x, (3, 3), 1), weights["conv1"])
    x = (x - weights["mean"]) / np.sqrt(weights["variance"] + 1e-5)
    x = np.maximum(x * weights["scale"] + weights["offset"], 0)
    x = windows(x, (2, 2), 2).max((3, 4))
    x = np.pad(x, ((0, 0), (1, 1), (1, 2), (0, 0)))
    x = np.einsum("bijhwc,hwco->bijo", windows(x, (3, 3), 1), weights["conv2"])
    x = windows(x, (2, 2), 2).mean((3, 4))
    x = np.exp(x.reshape(len(x), -1) @ weights["dense"])
    return x / x.sum(-1, keepdims=True)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_a_network_written_with_defaults_is_numpys(backend):
    expected = by_numpy(WEIGHTS, IMAGES)
    assert np.ptp(expected) > 0.5
    got = tfc.jit(scores, backend=backend)(WEIGHTS, IMAGES)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_the_same_network_with_channels_first():
    weights = {k: v.transpose(3, 2, 0, 1) if v.ndim == 4 else v for k, v in WEIGHTS.items()}
    got = scores(
        weights, IMAGES.transpose(0, 3, 1, 2), data_format="NCHW", kernel_format="OIHW"
    )  # fmt: skip
    np.testing.assert_allclose(got, by_numpy(WEIGHTS, IMAGES), rtol=1e-10, atol=1e-12)


def test_kernels_of_groups_have_the_features_of_one_group():
    x, k = RNG.normal(size=(2, 5, 6)), RNG.normal(size=(1, 1, 12))
    got = nn.conv(x, k, feature_group_count=6)
    np.testing.assert_allclose(got, np.repeat(x, 2, -1) * k[0], rtol=1e-12)


FUNCTIONS = {
    "conv": lambda x, **named: nn.conv(x, WEIGHTS["conv1"], **named),
    "conv_transpose": lambda x, **named: nn.conv_transpose(x, WEIGHTS["conv1"], **named),
    "max_pool": lambda x, **named: nn.max_pool(x, 2, **named),
    "avg_pool": lambda x, **named: nn.avg_pool(x, 2, **named),
    "batch_norm_training": lambda x, **named: nn.batch_norm_training(x, [1.0], [0.0], **named),
    "batch_norm_inference": lambda x, **named: nn.batch_norm_inference(x, *[[1.0]] * 4, **named),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_formats_are_named_with_what_was_got(name):
    for wrong in ("NWC", "NHW", "nhwc", "HWIO", "", 3):
        message = rf"{name} requires the data_format NHWC or NCHW for f64\[2,12,10,1\], got {wrong}"
        with pytest.raises(ShapeError, match=message):
            FUNCTIONS[name](IMAGES, data_format=wrong)
    with pytest.raises(ShapeError, match=rf"{name} requires .*got f64\[\]"):
        FUNCTIONS[name](1.0)


def test_channels_in_another_dimension_than_stated_are_named():
    message = (
        r"f64\[2,1,12,10\] has 10 in dimension 3 and f64\[3,3,1,4\] takes 1 in dimension 2; "
        "other orders are stated by data_format"
    )
    with pytest.raises(ShapeError, match=message):
        nn.conv(IMAGES.transpose(0, 3, 1, 2), WEIGHTS["conv1"])
    with pytest.raises(ShapeError, match=r"vectors of 10 elements for the channels of "
                       r"f64\[2,1,12,10\] \(NHWC\), got f64\[1\]"):  # fmt: skip
        nn.batch_norm_training(IMAGES.transpose(0, 3, 1, 2), [1.0], [0.0])


@pytest.mark.parametrize("dims", [(2, 3), (2, 5, 3), (2, 4, 5, 3), (2, 4, 3, 5, 3)])
def test_channels_first_and_last_agree_in_any_number_of_dimensions(dims):
    x, spatial = RNG.normal(size=dims), "DHW"[5 - len(dims) :]
    first = {"data_format": f"NC{spatial}"}
    scale, offset = RNG.normal(size=3), RNG.normal(size=3)
    moved = np.moveaxis(x, -1, 1)
    calls = [lambda v, **named: nn.batch_norm_training(v, scale, offset, **named)[0]]
    if spatial:
        calls += [lambda v, **n: nn.max_pool(v, 2, 1, "SAME", **n), lambda v, **n:
                  nn.avg_pool(v, 3, 2, "SAME_LOWER", **n)]  # fmt: skip
    kernel = RNG.normal(size=(*[2] * len(spatial), 3, 4))
    calls += [lambda v, **n: nn.conv(v, kernel, padding="SAME", **n)]
    calls += [lambda v, **n: nn.conv_transpose(v, kernel, 2, **n)]
    for call in calls:
        expected = call(x, data_format=f"N{spatial}C")
        np.testing.assert_array_equal(call(x), expected)
        np.testing.assert_allclose(
            np.moveaxis(call(moved, **first), 1, -1), expected, rtol=1e-12, atol=1e-12
        )
