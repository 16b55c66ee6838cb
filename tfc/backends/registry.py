"""Finding backends by name: tfc's own, and those that other packages offer."""

from functools import cache
from typing import TYPE_CHECKING

from tfc.backends.interfaces import Backend
from tfc.errors import UnsupportedError
from tfc.runtime.later import later, load

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = later("importlib.metadata")

GROUP = "tfc.backends"
# Loaded when first asked for: the MLIR bindings take a fifth of a second that a user of the
# interpreter need not spend.
_OWN = {
    "cpu": "tfc.backends.cpu",
    "gpu": "tfc.backends.gpu",
    "interpreter": "tfc.backends.interpreter",
}


def backend_names() -> list[str]:
    """The names that `get_backend` knows."""
    return sorted({*_OWN, *(e.name for e in metadata.entry_points(group=GROUP))})


@cache
def get_backend(name: str) -> Backend:
    """The backend of that name.

    Raises:
        UnsupportedError: there is none, or the package that offers it cannot be loaded.
    """
    if name in _OWN:
        return load(_OWN[name]).backend
    for entry in metadata.entry_points(group=GROUP):
        if entry.name == name:
            try:
                return entry.load()
            except Exception as error:
                raise UnsupportedError(
                    f"the backend '{name}' of {entry.value} cannot be loaded: {error}"
                ) from error
    raise UnsupportedError(
        f"there is no backend '{name}'; the backends are {', '.join(backend_names())}"
    )
