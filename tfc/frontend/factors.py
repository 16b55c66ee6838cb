"""What factorizations give: tuples whose parts have the names that NumPy gives them."""

from typing import Any, NamedTuple


class QRResult(NamedTuple):
    """What qr gives."""

    Q: Any
    R: Any


class EighResult(NamedTuple):
    """What eigh gives."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """What eig gives."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """What svd gives."""

    U: Any
    S: Any
    Vh: Any


class SlogdetResult(NamedTuple):
    """What slogdet gives."""

    sign: Any
    logabsdet: Any


class LstsqResult(NamedTuple):
    """What lstsq gives."""

    x: Any
    residuals: Any
    rank: Any
    s: Any
