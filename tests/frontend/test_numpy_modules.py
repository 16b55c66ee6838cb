"""Every function of tfc.numpy.fft and tfc.numpy.linalg, and of tfc.nn, on every element type."""

import ml_dtypes
import numpy as np
import pytest
import scipy.linalg
from numpy_rows import BFLOAT16, DTYPES, kind_of, ordinary

import tfc.numpy as tnp
from tfc import nn
from tfc.errors import TfcError
from tfc.hlo.shape import element_type_of

EPSILON = float(np.float32(1e-5))  # as HLO has it
OTHER = {"fftfreq", "rfftfreq", "fftshift", "ifftshift"}  # which transform nothing


def close(got, want, unit):
    """Within a few units of the largest element."""
    got, want = (np.asarray(a).astype(np.complex128) for a in (got, want))
    np.testing.assert_allclose(got, want, rtol=0, atol=32 * unit * max(1, np.abs(want).max()))


def unit_of(dtype) -> float:
    component = element_type_of(np.dtype(dtype)).component
    return float(ml_dtypes.finfo(component.dtype).eps) if component.is_float else 2.0**-52


@pytest.mark.parametrize("name", sorted(set(tnp.fft.__all__) - OTHER))
def test_transforms_of_every_type_are_numpys(name: str):
    for dtype in DTYPES:
        x = ordinary(dtype, 4, 6)
        if dtype.kind == "c" and name.startswith(("rfft", "ihfft")):
            with pytest.raises(TfcError, match="RFFT fft requires f32 or f64"):
                getattr(tnp.fft, name)(x)
            continue
        got = getattr(tnp.fft, name)(x)
        narrow = (kind_of(dtype) == "f" and dtype.itemsize <= 4) or dtype == np.complex64
        assert got.real.dtype == (np.float32 if narrow else np.float64)  # of integers in float64
        exact = x.astype(np.complex128 if dtype.kind == "c" else np.float64)
        close(got, getattr(np.fft, name)(exact), unit_of(got.dtype))


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_frequencies_are_moved_as_numpy_moves_them(name: str):
    for dtype in DTYPES:
        x = ordinary(dtype, 4, 5)
        for axes in (None, 0, -1, (1, 0)):
            got = getattr(tnp.fft, name)(x, axes)
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, getattr(np.fft, name)(x, axes))


def test_frequencies_are_numpys():
    np.testing.assert_array_equal(tnp.fft.fftfreq(5, 0.1), np.fft.fftfreq(5, 0.1))
    assert tnp.fft.rfftfreq(6, dtype=np.float32).dtype == np.float32
    with pytest.raises(TfcError, match="require one sample or more, got 0"):
        tnp.fft.fftfreq(0)


@pytest.mark.parametrize("norm", [None, "forward", "backward", "ortho"])
def test_hermitian_transforms_scale_the_other_direction(norm):
    x = ordinary(np.dtype(np.complex128), 3, 5)
    for n in (None, 7, 4):
        close(tnp.fft.hfft(x, n, 0, norm), np.fft.hfft(x, n, 0, norm), 2.0**-52)
        close(tnp.fft.ihfft(x.real, n, 1, norm), np.fft.ihfft(x.real, n, 1, norm), 2.0**-52)
    with pytest.raises(TfcError, match="norm must be backward, ortho or forward"):
        tnp.fft.hfft(x, norm="other")


def test_a_length_of_minus_one_is_the_arrays_own():
    x = ordinary(np.dtype(np.complex128), 3, 5)
    close(tnp.fft.fft2(x, (-1, 4)), np.fft.fft2(x, (-1, 4)), 2.0**-52)


def definite(dtype, size=4):
    """A matrix that is its own adjoint, with eigenvalues above zero."""
    x = ordinary(dtype, size, size).astype(np.complex128 if dtype.kind == "c" else np.float64)
    return (x @ x.conj().T + 40 * np.eye(size)).astype(dtype)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_factors_of_every_type_are_numpys(upper: bool):
    for dtype in DTYPES:
        if kind_of(dtype) in "bi" or dtype == np.uint8:
            continue  # these entries do not fit
        a = definite(dtype)
        got = tnp.linalg.cholesky(a, upper=upper)
        wide = a.astype(np.complex128 if dtype.kind == "c" else np.float64)
        want = np.linalg.cholesky((wide + wide.conj().T) / 2, upper=upper)
        assert got.dtype == (np.float64 if kind_of(dtype) == "u" else dtype)
        close(got, want, unit_of(got.dtype))


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_triangular_systems_of_every_type_are_scipys(trans: int):
    for dtype in DTYPES:
        a = np.tril(ordinary(dtype, 3, 3)) + (np.eye(3) * 5).astype(dtype)
        b = ordinary(dtype, 3, 2)
        got = tnp.linalg.solve_triangular(a, b, trans=trans, lower=True)
        wide = [v.astype(np.complex128 if dtype.kind == "c" else np.float64) for v in (a, b)]
        want = scipy.linalg.solve_triangular(*wide, trans=trans, lower=True)
        assert got.dtype == (dtype if kind_of(dtype) in "fc" else np.float64)
        close(got, want, unit_of(got.dtype))


def exactly(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def softmax(x):
    shifted = np.exp(x - x.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True)


def pooled(x, function):
    return function(np.lib.stride_tricks.sliding_window_view(x, 2, 1)[:, ::2], -1)


# name: (the call in tfc.nn, the same in NumPy on float64, kinds that it refuses)
NETWORKS = {
    "relu": (nn.relu, lambda x: np.maximum(x, 0), "c"),
    "sigmoid": (nn.sigmoid, lambda x: 1 / (1 + np.exp(-x)), ""),
    "elu": (nn.elu, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))) if x.dtype.kind != "c"
            else x, "c"),
    "gelu": (nn.gelu, lambda x: x * (0.5 + 0.5 * np.tanh((2 / np.pi) ** 0.5
                                                         * (x + 0.044715 * x**3))), "c"),
    "layer_norm": (nn.layer_norm, lambda x: (x - x.mean(-1, keepdims=True))
                   / np.sqrt(x.var(-1, keepdims=True) + 1e-5), "c"),
    "relu6": (nn.relu6, lambda x: np.minimum(np.maximum(x, 0), 6), "c"),
    "silu": (nn.silu, lambda x: x / (1 + np.exp(-x)), "c"),
    "squared_error": (nn.squared_error, lambda x: x**2, ""),
    "softplus": (nn.softplus, lambda x: np.log1p(np.exp(x)), "c"),
    "softmax": (nn.softmax, softmax, ""),
    "log_softmax": (lambda x: np.exp(nn.log_softmax(x)), softmax, ""),
    "logsumexp": (nn.logsumexp, lambda x: np.log(np.exp(x).sum()), ""),
    "one_hot": (lambda x: nn.one_hot(x, 4), lambda x: 1.0 * (x[..., None] == np.arange(4)), "c"),
    "top_k": (lambda x: nn.top_k(x, 2)[0], lambda x: -np.sort(-x)[..., :2], "c"),
    "cummax": (lambda x: nn.cummax(x, 1), lambda x: np.maximum.accumulate(x, 1), "c"),
    "cummin": (lambda x: nn.cummin(x, 1), lambda x: np.minimum.accumulate(x, 1), "c"),
    "max_pool": (lambda x: nn.max_pool(x, 2), lambda x: pooled(x, np.max), "c"),
    "avg_pool": (lambda x: nn.avg_pool(x, 2), lambda x: pooled(x, np.mean), "c"),
    "conv": (lambda x: nn.conv(x, x[:1, :1].swapaxes(1, 2)),
             lambda x: x @ x[:1, :1].swapaxes(1, 2)[0], "b"),
    "conv_transpose": (lambda x: nn.conv_transpose(x, x[:1, :1].swapaxes(1, 2)),
                       lambda x: x @ x[:1, :1].swapaxes(1, 2)[0], "b"),
    "batch_norm_training": (
        lambda x: nn.batch_norm_training(x, *(np.ones_like(x[0, 0]),) * 2)[0],
        lambda x: (x - x.mean((0, 1))) / np.sqrt(x.var((0, 1)) + EPSILON) + 1, "c"),
    "batch_norm_inference": (
        lambda x: nn.batch_norm_inference(x, *(np.ones_like(x[0, 0]),) * 4),
        lambda x: (x - 1) / np.sqrt(1 + EPSILON) + 1, "c"),
    "stop_gradient": (nn.stop_gradient, lambda x: x, ""),
}  # fmt: skip


def test_the_rows_are_of_functions_that_exist():
    assert set(NETWORKS) <= set(nn.__all__)


@pytest.mark.parametrize("name", NETWORKS)
def test_functions_of_networks_on_every_type(name: str):
    call, reference, refused = NETWORKS[name]
    for dtype in DTYPES:
        x = ordinary(dtype, 2, 4, 3)
        if kind_of(dtype) == "b" and name in (
            "conv",
            "conv_transpose",
            "cummax",
            "cummin",
            "top_k",
        ):
            continue  # of booleans: or, and
        if kind_of(dtype) in refused:
            with pytest.raises(TfcError, match=r"complex|c64|c128"):
                call(x)
            continue
        got = call(x)
        width = 2.0**-8 if dtype in (BFLOAT16, np.int8, np.uint8, np.bool_) else unit_of(dtype)
        close(got, reference(exactly(x)), max(width, unit_of(got.dtype)))
