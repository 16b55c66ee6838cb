"""The rows of numpys_own.py for linear algebra and Fourier transforms.

Where NumPy raises an error that traced functions cannot, such as for singular matrices, the general
way goes on and gives what they give. Vectors that are unique up to a factor of magnitude one, of
svd and eigh, have NumPy's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tfc.frontend.factors import (
    EighResult,
    EigResult,
    LstsqResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)
from tfc.frontend.numpys_own import COMPLEX, INTEGERS, LIST, SUMS, WIDE, Option, Own

_FACTORED = INTEGERS + WIDE + COMPLEX


def _one_of(*values: Any) -> Option:
    """An option that is one of these values, and of its type."""
    known = {(type(value), value) for value in values}
    return lambda value: (
        isinstance(value, (str, int, float, type(None))) and ((type(value), value) in known)
    )


def _whole(value: Any) -> bool:
    return type(value) is int


def _natural(value: Any) -> bool:
    return type(value) is int and value > 0


def _length(value: Any) -> bool:
    return value is None or _natural(value)


def _axes(value: Any) -> bool:
    return value is None or _whole(value) or (type(value) is tuple and all(map(_whole, value)))


_SWITCH, _NO, _NONE = _one_of(True, False), _one_of(False), _one_of(None)


def _filled(
    call: Callable[..., Any], makes: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """NumPy's function of arrays that have elements.

    Args:
        makes: what takes the parts of its result, which is a tuple.
    """

    def function(*operands: Any, **options: Any) -> Any:
        if not all(operand.size for operand in operands):
            raise ValueError
        found = call(*operands, **options)
        return makes(*found) if makes and isinstance(found, tuple) else found

    return function


def _factored(name: str, makes: Callable[..., Any] | None = None, **options: Option) -> Own:
    return Own(_filled(getattr(np.linalg, name), makes), _FACTORED, 1, options)


def _cholesky(a: Any, upper: bool = False, symmetrize_input: bool = True) -> Any:
    if not a.size:
        raise ValueError
    # Halves of integers, and of floats without an overflow.
    symmetric = a / 2 + a.mT.conj() / 2 if symmetrize_input else a
    return np.linalg.cholesky(symmetric, upper=upper)


def _lstsq(a: Any, b: Any, rcond: None = None) -> Any:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    if rank < min(a.shape):
        raise ValueError  # there are no residuals then
    return LstsqResult(x, residuals, np.asarray(rank, np.int32), s)


def _slogdet(sign: Any, logabsdet: Any) -> SlogdetResult:
    return SlogdetResult(np.asarray(sign), np.asarray(logabsdet))


def _scaled(call: Callable[..., Any]) -> Callable[..., Any]:
    """A transform along several axes, which are named where lengths are given."""

    def function(a: Any, s: Any = None, **options: Any) -> Any:
        if s is not None:
            raise ValueError
        return call(a, **options)

    return function


_NORM = _one_of(None, "backward", "ortho", "forward")
_ORDER_OF_VECTORS = {"ord": _one_of(1, 2, np.inf, -np.inf), "axis": _axes, "keepdims": _SWITCH}
_ORDER = _one_of("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
# fmt: off
MODULES: dict[str, Own] = {
    **{f"fft.{name}": Own(getattr(np.fft, name), _FACTORED, 1,
                          {"n": _length, "axis": _whole, "norm": _NORM})
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": Own(_scaled(getattr(np.fft, name)), _FACTORED, 1,
                          {"s": _NONE, "axes": _axes, "norm": _NORM})
       for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}": Own(getattr(np.fft, name), options={"axes": _axes})
       for name in ("fftshift", "ifftshift")},
    # products
    "linalg.outer": Own(np.linalg.outer, SUMS, 2),
    "linalg.cross": Own(np.linalg.cross, _FACTORED, 2, {"axis": _whole}),
    "linalg.trace": Own(np.linalg.trace, SUMS, 1, {"offset": _whole}),
    "linalg.diagonal": Own(np.linalg.diagonal, options={"offset": _whole}),
    "multi_dot": Own(np.linalg.multi_dot, SUMS, LIST, {}),
    "matrix_power": _factored("matrix_power", n=_whole),
    # norms
    "norm": _factored("norm", ord=_one_of(None, "fro", 1, 2, np.inf, -np.inf), axis=_axes,
                      keepdims=_SWITCH),
    "vector_norm": Own(_filled(np.linalg.vector_norm), _FACTORED, 1, _ORDER_OF_VECTORS),
    "matrix_norm": _factored("matrix_norm", ord=_ORDER, keepdims=_SWITCH),
    "cond": _factored("cond", p=_one_of(None, 1, -1, 2, -2, np.inf, -np.inf)),
    # factors
    "qr": _factored("qr", QRResult, mode=_one_of("reduced", "complete", "r")),
    "svd": _factored("svd", SVDResult, full_matrices=_SWITCH, compute_uv=_SWITCH, hermitian=_NO),
    "svdvals": _factored("svdvals"),
    "eigh": _factored("eigh", EighResult, UPLO=_one_of("L", "U")),
    "eigvalsh": _factored("eigvalsh", UPLO=_one_of("L", "U")),
    "eig": _factored("eig", EigResult), "eigvals": _factored("eigvals"),
    "cholesky": Own(_cholesky, _FACTORED, 1, {"upper": _SWITCH, "symmetrize_input": _SWITCH}),
    # systems
    "inv": _factored("inv"), "det": _factored("det"), "slogdet": _factored("slogdet", _slogdet),
    "pinv": _factored("pinv", hermitian=_NO),
    "matrix_rank": _factored("matrix_rank", hermitian=_NO),
    "solve": Own(_filled(np.linalg.solve), _FACTORED, 2),
    "lstsq": Own(_filled(_lstsq), _FACTORED, 2, {"rcond": _NONE}),
    "tensorinv": _factored("tensorinv", ind=_natural),
    "tensorsolve": Own(_filled(np.linalg.tensorsolve), _FACTORED, 2, {"axes": _NONE}),
}
# fmt: on
