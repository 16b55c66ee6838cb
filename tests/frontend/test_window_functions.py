"""Functions of windows: running totals are NumPy's, and pools are told how arrays lie."""

from typing import Any

import numpy as np
import pytest
from spec_helpers import refused

import tfc
import tfc.numpy as tnp
from tfc import nn


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_totals_are_numpys(name: str, dtype: Any):
    x = np.random.default_rng(4).integers(0, 3, (2, 3, 4)).astype(dtype)
    for axis in (None, 0, 1, -1):
        got = tfc.jit(lambda v, axis=axis: getattr(tnp, name)(v, axis))(x)
        np.testing.assert_array_equal(got, getattr(np, name)(x, axis), strict=True)
        if x.dtype != np.bool_:
            wide = tfc.jit(lambda v, axis=axis: getattr(v, name)(axis, dtype=np.float64))(x)
            np.testing.assert_array_equal(
                wide, getattr(x, name)(axis, dtype=np.float64), strict=True
            )
    np.testing.assert_array_equal(getattr(tnp, name)(x[:0], 0), getattr(np, name)(x[:0], 0))
    assert getattr(tnp, name)(x[0, 0, 0]).shape == (1,)


def test_pools_take_channels_first_and_count_padding_if_told():
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    np.testing.assert_array_equal(nn.max_pool(x, 2, data_format="NCHW")[0, 0], [[5, 7]])
    ones = np.ones((1, 2, 1), np.float32)
    means = nn.avg_pool(ones, 2, 1, [(1, 0)], count_include_pad=True)
    np.testing.assert_array_equal(means[0, :, 0], [0.5, 1])
    np.testing.assert_array_equal(nn.avg_pool(ones, 2, 1, [(1, 0)])[0, :, 0], [1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((2, 2, 2),), "2 numbers for spatial dimensions"),
        ((2, 0), "windows and strides of 1 or more"),
        ((2, 1, "FULL"), "padding SAME, SAME_LOWER, VALID or pairs, got 'FULL'"),
        ((2, 1, [(1, 1)]), "2 pairs of padding"),
        ((2, 1, [(2, 0), (0, 0)]), r"less than the window's 2, got \(2, 0\)"),
    ],
)
def test_pools_that_do_not_fit_are_refused(arguments: Any, message: str):
    with refused(message):
        nn.max_pool(np.ones((1, 4, 4, 1)), *arguments)
    with refused(r"an array of 3 dimensions or more \(NWC\), got f64\[4,4\]"):
        nn.avg_pool(np.ones((4, 4)), 2)
    with refused(r"data_format NWC or NCW for f64\[4,4,1\], got NHWC"):
        nn.max_pool(np.ones((4, 4, 1)), 2, data_format="NHWC")
