"""Linear algebra and Fourier transforms outside of traces: where NumPy's own functions are called,
they give what traced ones do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_eager import both, compiled, general  # noqa: F401

import tfc
from tfc import fft, linalg
from tfc.errors import ShapeError, TfcError
from tfc.frontend import tree
from tfc.frontend.numpys_linalg import MODULES
from tfc.runtime.calls import calls
from tfc.testing.evaluated_calls import evaluate

pytestmark = pytest.mark.eager

rng = np.random.default_rng(41)


def product_of(parts: Any) -> Any:
    """What is left of a factorization when its parts' free factors are gone."""
    u, s, vh = parts
    return [s, (u[..., : s.shape[-1]] * s[..., None, :]) @ vh[..., : s.shape[-1], :]]


def squared(parts: Any) -> Any:
    return [parts[0], (parts[1] * parts[0][..., None, :]) @ np.conj(np.swapaxes(parts[1], -1, -2))]


def along_one(f: Callable[..., Any]) -> Callable[..., list[Any]]:
    return lambda a, t, v: [
        f(v), f(t, 7), f(t, 2, 0, "ortho"), f(t, axis=0, norm="forward"), f(v, norm="backward")
    ]  # fmt: skip


def along_many(f: Callable[..., Any]) -> Callable[..., list[Any]]:
    return lambda a, t, v: [
        f(t), f(t, None, (0,)), f(t, axes=(1, 0), norm="ortho"), f(t, norm="forward")
    ]  # fmt: skip


def shifts(f: Callable[..., Any]) -> Callable[..., list[Any]]:
    return lambda a, t, v: [f(v), f(t), f(t, 1), f(t, (0, 1))]


FOURIER = {
    along_one: "fft ifft rfft irfft hfft ihfft",
    along_many: "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn",
    shifts: "fftshift ifftshift",
}
# Calls of each row's function: of a square matrix a with a definite symmetric part, a tall
# matrix t, a vector v.
CALLS: dict[str, Callable[..., list[Any]]] = {
    **{
        f"fft.{name}": kind(getattr(fft, name))
        for kind, names in FOURIER.items()
        for name in names.split()
    },
    "linalg.outer": lambda a, t, v: [linalg.outer(v, t[0])],
    "linalg.cross": lambda a, t, v: [linalg.cross(v, t), linalg.cross(a, a.T, axis=0)],
    "linalg.trace": lambda a, t, v: [linalg.trace(a), linalg.trace(t, offset=-1)],
    "linalg.diagonal": lambda a, t, v: [linalg.diagonal(t), linalg.diagonal(a, offset=1)],
    "multi_dot": lambda a, t, v: [linalg.multi_dot([t, a, v]), linalg.multi_dot((t, a))],
    "matrix_power": lambda a, t, v: [linalg.matrix_power(a, n) for n in (0, 1, 3)],
    "norm": lambda a, t, v: [linalg.norm(t), linalg.norm(v, 1), linalg.norm(t, np.inf, 0),
                             linalg.norm(t, "fro", (0, 1), True), linalg.norm(t, axis=1)],
    "vector_norm": lambda a, t, v: [linalg.vector_norm(t), linalg.vector_norm(v, ord=-np.inf),
                                    linalg.vector_norm(t, axis=0, keepdims=True, ord=1)],
    "matrix_norm": lambda a, t, v: [linalg.matrix_norm(t), linalg.matrix_norm(t, ord=-1),
                                    linalg.matrix_norm(t, keepdims=True, ord=np.inf)],
    "cond": lambda a, t, v: [linalg.cond(a), linalg.cond(t, -2), linalg.cond(a, 1)],
    "qr": lambda a, t, v: [*linalg.qr(t), *linalg.qr(t, "complete"), linalg.qr(a, mode="r")],
    "svd": lambda a, t, v: [*product_of(linalg.svd(t)), *product_of(linalg.svd(t.T, False)),
                            linalg.svd(a, compute_uv=False)],
    "svdvals": lambda a, t, v: [linalg.svdvals(t)],
    "eigh": lambda a, t, v: [*squared(linalg.eigh(a)), *squared(linalg.eigh(a, "U"))],
    "eigvalsh": lambda a, t, v: [linalg.eigvalsh(a), linalg.eigvalsh(a, UPLO="U")],
    "eig": lambda a, t, v: [*linalg.eig(a)],
    "eigvals": lambda a, t, v: [linalg.eigvals(a)],
    "cholesky": lambda a, t, v: [linalg.cholesky(a), linalg.cholesky(a, upper=True),
                                 linalg.cholesky(a, symmetrize_input=False)],
    "inv": lambda a, t, v: [linalg.inv(a), linalg.inv(np.stack([a, 2 * a]))],
    "det": lambda a, t, v: [linalg.det(a)],
    "slogdet": lambda a, t, v: [*linalg.slogdet(a)],
    "pinv": lambda a, t, v: [linalg.pinv(t)],
    "matrix_rank": lambda a, t, v: [linalg.matrix_rank(t), linalg.matrix_rank(v)],
    "solve": lambda a, t, v: [linalg.solve(a, v), linalg.solve(a, t.T)],
    "lstsq": lambda a, t, v: [*linalg.lstsq(t, t[:, 0]), *linalg.lstsq(a, t.T)],
    "tensorinv": lambda a, t, v: [linalg.tensorinv(a, 1), linalg.tensorinv(a[None], ind=2)],
    "tensorsolve": lambda a, t, v: [linalg.tensorsolve(a, v)],
}  # fmt: skip


def operands(dtype: np.dtype) -> tuple[np.ndarray, ...]:
    a = rng.integers(0, 3, (3, 3)) + np.diag([8, 9, 11])
    t, v = rng.integers(1, 5, (4, 3)), np.array([1, 3, 2])
    t[:3] += np.diag([5, 7, 9])
    parts = 1j * (np.triu(a, 1) - np.tril(a, -1)) if dtype.kind == "c" else 0
    return (a + parts).astype(dtype), t.astype(dtype), v.astype(dtype)


def test_every_row_is_tried():
    assert set(CALLS) == set(MODULES)


@pytest.mark.parametrize("name", CALLS)
def test_numpys_function_gives_what_the_traced_one_gives(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    """Values; shape and dtype too, by the evaluator."""
    given = operands(np.dtype(np.float32))
    if name in ("fft.irfft", "fft.irfft2", "fft.irfftn", "fft.hfft"):
        given = tuple(x.astype(np.complex64) for x in given)
    found = both(lambda: CALLS[name](*given), monkeypatch)
    assert found is not None, "no call is NumPy's"
    for got, want in zip(*found, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert_allclose(got, want, rtol=2e-4, atol=2e-4)


# What the values of traced arrays do not decide, of each element type.
ONLY_OF_VALUES = ("eig", "eigvals")


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ONLY_OF_VALUES])
def test_dtypes_and_containers_are_those_of_traced_calls(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    """What NumPy's function takes tracing takes, and both give the same types."""
    wrong, taken = [], 0
    for dtype in map(np.dtype, "?bQefdF"):
        given = operands(dtype)
        try:
            want, outer = tree.flatten(tfc.eval_shape(CALLS[name], *given))
        except TfcError:
            want, outer = None, None
        with monkeypatch.context() as patch:
            patch.setattr(calls, "run", general)
            try:
                got, inner = tree.flatten(CALLS[name](*given))
            except Exception as error:
                if want is None or "_General" in type(error).__name__:
                    continue
                wrong.append(f"{dtype}: {error}")
                continue
        taken += 1
        if want is None:
            wrong.append(f"{dtype}: NumPy takes what tfc refuses")
        elif [(g.dtype, g.shape) for g in got] != [(w.dtype, w.shape) for w in want]:
            wrong.append(f"{dtype}: {[g.dtype for g in got]}, {[w.dtype for w in want]}")
        elif str(inner) != str(outer):
            wrong.append(f"{dtype}: {inner}, {outer}")
    assert not wrong
    assert taken >= 3


FLOAT = operands(np.dtype(np.float32))
RESULTS = {
    "svd": linalg.svd, "qr": linalg.qr, "eigh": linalg.eigh, "slogdet": linalg.slogdet,
    "lstsq": lambda x: linalg.lstsq(x, x[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_what_factorizations_give_is_of_one_class(name: str):
    outside = RESULTS[name](FLOAT[0])
    assert type(outside) is type(tfc.eval_shape(RESULTS[name], FLOAT[0]))
    assert all(type(part) is np.ndarray for part in outside)


SINGULAR = np.array([[1, 2], [2, 4]], np.float32)


def test_what_numpy_refuses_goes_the_general_way(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calls, "run", evaluate)
    assert not np.isfinite(linalg.inv(SINGULAR)).any()
    assert not np.isfinite(linalg.solve(SINGULAR, np.ones(2, np.float32))).any()
    assert np.isnan(linalg.cholesky(-np.eye(2, dtype=np.float32))).any()
    assert linalg.inv(np.zeros((0, 0))).shape == (0, 0)
    rank_one = linalg.lstsq(np.ones((3, 2), np.float32), np.ones(3, np.float32))
    assert rank_one.residuals.shape == (1,)
    with pytest.raises(ShapeError, match="square"):
        linalg.inv(np.ones((2, 3)))
    with pytest.raises(ShapeError, match="length"):
        fft.fft(FLOAT[1], 0)


def test_cholesky_factors_the_mean_of_both_triangles():
    a = np.array([[4, 0], [2, 5]], np.float32)
    assert_allclose(linalg.cholesky(a), np.linalg.cholesky((a + a.T) / 2), rtol=1e-6)
    assert_allclose(linalg.cholesky(a, symmetrize_input=False), np.linalg.cholesky(a), rtol=1e-6)


def test_numpys_functions_compile_nothing(compiled: list[str]):  # noqa: F811
    a, t, v = FLOAT
    for name in CALLS:
        CALLS[name](a, t, v.astype(np.float32))
    assert compiled == []


def test_lengths_of_several_axes_go_the_general_way(monkeypatch: pytest.MonkeyPatch):
    assert_array_equal(fft.fftn(FLOAT[1], (2, 2)).shape, (2, 2))
    assert both(lambda: fft.fft2(FLOAT[1], (2, 2)), monkeypatch) is None
    assert fft.fft2(FLOAT[1], (2, 2)).dtype == np.complex64
