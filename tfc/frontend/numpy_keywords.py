"""Keywords that NumPy's functions have and those of tfc.numpy have not, refused with advice."""

from tfc.errors import TraceError
from tfc.frontend.trace import refusal

# Keywords of NumPy's functions that those of tfc do not have, and what to do instead.
_OF_NUMPY = {
    "out": "use the result, as arrays are never written to",
    "where": "choose with tfc.numpy.where",
    "order": "leave it out, as values have no order in memory",
    "subok": "leave it out, as there are no subclasses of Tensor",
    "like": "leave it out",
    "casting": "convert with astype",
    "signature": "convert with astype",
}


def numpys_keyword(error: TypeError) -> str | None:
    """The keyword of NumPy's that a function was called with and does not have."""
    return next((k for k in _OF_NUMPY if f"unexpected keyword argument '{k}'" in str(error)), None)


def refuse_out(name: str, out: None) -> None:
    """Refuse NumPy's argument `out`, which has a place of its own in the function `name`.

    Raises:
        TraceError: it is not None.
    """
    if out is not None:
        raise keyword_refusal(name, "out")


def keyword_refusal(name: str, keyword: str) -> TraceError:
    """The error for a keyword that NumPy's function has, and the function of tfc has not."""
    return refusal(f"tfc.numpy.{name} has no argument '{keyword}': {_OF_NUMPY[keyword]}")
